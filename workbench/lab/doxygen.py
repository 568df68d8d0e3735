"""Doc comments as people read them: Doxygen's commands become words, lists and code of plain Markdown.

The index of names and clangd both return comments as they were written. The result has paragraphs with an
empty line between them, `code`, lists whose lines begin with "- ", and fenced code; editors without Markdown
show it as plain text.
"""

from __future__ import annotations

import re

_PARAMETER = re.compile(r"[@\\](tparam|param)\s*(?:\[[\w,\s]*\])?\s+([\w.,:]+)\s*(.*)")
_RAISES = re.compile(r"[@\\](?:throws?|exception)\s+([\w:]+)\s*(.*)")
_SECTION = re.compile(r"[@\\](returns?|result|note|warning|attention|see|sa|pre|post|since|todo)\b\s*(.*)")
_TITLES = {
    **dict.fromkeys(("return", "returns", "result"), "Returns"),
    **dict.fromkeys(("warning", "attention"), "Warning"),
    **dict.fromkeys(("see", "sa"), "See"),
    **{"note": "Note", "pre": "Before", "post": "After", "since": "Since", "todo": "To do"},
}
_CODE = re.compile(r"[@\\](?:code(?:\{[^}]*\})?|verbatim)\s?(.*)")
_CODE_END = re.compile(r"\s*[@\\]end(?:code|verbatim)\b.*")
_DROPPED = re.compile(r"[@\\](?:brief|details|short|file|ingroup\s+\w+|addtogroup\s+\w+|par)\b[ \t]*")
_WORD = re.compile(r"[@\\](?:p|c|ref|a|e|em|b)\s+(\w[\w.:<>\-]*(?:\(\))?)")
_INDENT = "    "
_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")


def tidy(comment: str) -> str:
    """A comment's text, without its markers, as plain Markdown; see the module."""
    parts: list[list[str]] = [[]]
    code: list[str] | None = None
    indented = False

    def begin(text: str) -> None:
        parts.append([text])

    for line in comment.strip().splitlines():
        if code is not None and indented and line.strip() and not line.startswith(_INDENT):
            parts += [["```", *_without_empty_end(code), "```"], []]
            code = None
        if code is not None:
            if _CODE_END.match(line):
                parts += [["```", *code, "```"], []]
                code = None
            else:
                code.append(line.rstrip().removeprefix(_INDENT) if indented else line.rstrip())
            continue
        if line.startswith(_INDENT) and parts[-1] == [""]:
            code, indented = [line.rstrip().removeprefix(_INDENT)], True
            continue
        line = _DROPPED.sub("", line.rstrip(), count=1) if _DROPPED.match(line.lstrip()) else line.rstrip()
        bare = line.strip()
        if match := _CODE.match(bare):
            code, indented = [match[1]] if match[1] else [], False
        elif match := _PARAMETER.match(bare):
            begin(f"- `{match[2]}`: {match[3]}" if match[3] else f"- `{match[2]}`")
        elif match := _RAISES.match(bare):
            begin(f"- `{match[1]}` is thrown: {match[2]}" if match[2] else f"- `{match[1]}` is thrown")
        elif match := _SECTION.match(bare):
            begin(f"{_TITLES[match[1]]}: {match[2]}")
        elif not bare:
            begin("")
        elif match := _ITEM.match(line):
            begin(f"- {line[match.end() :]}")
        else:
            parts[-1].append(bare)
    if code is not None:
        parts.append(["```", *_without_empty_end(code), "```"])
    return _joined(parts)


def _without_empty_end(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def _joined(parts: list[list[str]]) -> str:
    """Joins the lines of each paragraph; items follow each other, all else has an empty line before it."""
    text = ""
    item = False
    for part in parts:
        lines = [line for line in part if line]
        if not lines:
            continue
        paragraph = "\n".join(part) if lines[0] == "```" else _WORD.sub(r"`\1`", " ".join(lines))
        follows = paragraph.startswith("- ")
        text += ("\n" if item and follows else "\n\n" if text else "") + paragraph
        item = follows
    return text
