"""Links the first use of a glossary word on each page for reading to its entry, with the entry as its tip."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

GLOSSARY = "docs/reference/glossary"
READ = ("docs/howto/", "docs/explanation/", "notebooks/")
"""Folders of pages for reading; so are the pages that lie in docs/ itself, but for generated tables."""

COMMON = {
    "wait",
    "layout",
    "launch",
    "published",
    "measured",
    "counted",
    "modelled",
    "verify",
    "operator",
    "grid",
}
"""Words that a page uses in their plain sense as well."""


def entries(app: Any) -> dict[str, tuple[str, str]]:
    """Each word as it may stand in a text, with the id and the text of its entry."""
    doctree = app.env.get_doctree(GLOSSARY)
    words: dict[str, tuple[str, str]] = {}
    for item in doctree.findall(nodes.definition_list_item):
        term, definition = item[0].astext(), item[1].astext().replace("\n", " ")
        for word in re.split(r", | \(|\)", term):
            if word and word.lower() not in COMMON:
                words[word] = (anchor(term), definition)
    return words


def anchor(term: str) -> str:
    return "term-" + re.sub(r"\W+", "-", term.lower()).strip("-")


def link(app: Any, doctree: nodes.document, page: str) -> None:
    if page == GLOSSARY:
        for item in doctree.findall(nodes.definition_list_item):
            item[0]["ids"].append(anchor(item[0].astext()))
        return
    import made

    name = page.removeprefix("docs/")
    if not (page.startswith(READ) or ("/" not in name and name not in made.looks())):
        return
    left = entries(app)
    where = app.builder.get_relative_uri(page, GLOSSARY)
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.paragraph | nodes.emphasis | nodes.strong):
            continue
        if _inside(text, nodes.reference | nodes.title | nodes.literal | nodes.table | nodes.definition_list):
            continue
        _replace(text, left, where)


def _inside(node: nodes.Node, kinds: Any) -> bool:
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def _replace(text: nodes.Text, left: dict[str, tuple[str, str]], where: str) -> None:
    """Puts links in place of the words of a text that the page has not linked yet."""
    if not left:
        return
    words = sorted(left, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, words))})(e?s)?(?![\w-])")
    parts: list[nodes.Node] = []
    at = 0
    content = text.astext()
    for match in pattern.finditer(content):
        entry = left.pop(match[1], None)
        if entry is None:
            continue
        for other in [word for word, same in left.items() if same == entry]:
            del left[other]
        parts.append(nodes.Text(content[at : match.start()]))
        link = nodes.reference("", match[0], refuri=f"{where}#{entry[0]}", reftitle=entry[1], internal=True)
        link["classes"].append("term-link")
        parts.append(link)
        at = match.end()
    if parts:
        parts.append(nodes.Text(content[at:]))
        text.parent.replace(text, [part for part in parts if part.astext()])
