"""Pages of the reference that are made from records, and what the site adds to pages.

    python docs/made.py    # writes those that are kept in the repository

`make docs` writes them too, so the site never shows an old one; tests/docs/test_made.py keeps them equal.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
for folder in (DOCS, ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from workbench import magic_options, targets  # noqa: E402
from workbench.__main__ import commands  # noqa: E402
from workbench.settings import SETTINGS, Setting  # noqa: E402

WORDS_A_MINUTE = 220
"""Of prose with code in between (Brysbaert 2019 has 238 for English non-fiction)."""

NOTE = "<!-- Made by `python docs/made.py`; edit the records, not this page. -->"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def magics() -> str:
    """Every magic with its options, from the tables that parse them."""
    parts = [
        "# Magics",
        NOTE,
        "Load the magics once with `%load_ext workbench`. In a notebook, `%%hipkittens?` and `%%triton?` "
        "show the same options; the cell completes them too.",
    ]
    texts = {
        "%%hipkittens": (
            "Compiles the cell as HIP C++ and binds the module to NAME.",
            magic_options.OPTIONS,
        ),
        "%%triton": (
            "Runs the cell as Python, with Triton on the workbench's device.",
            magic_options.TRITON_OPTIONS,
        ),
    }
    for magic, (summary, options) in texts.items():
        rows = [
            (f"`{option}`", _plain(option.help) + ("; you can repeat it" if option.repeated else ""))
            for option in (magic_options.NAME, *options)
        ]
        usage = magic_options.usage(magic, options).replace("\n    ", "\n").strip()
        parts += [f"## {magic}", summary, f"```text\n{usage}\n```", table(("option", "what it does"), rows)]
    parts += ["## %hipkittens", "Answers a question.", table(("line", "what you get"), _questions())]
    return "\n\n".join(parts) + "\n"


def _questions() -> list[tuple[str, str]]:
    from workbench.magics.questions import LINE_HELP

    lines = re.findall(r"^    (%hipkittens .*?)  +(.*)$", LINE_HELP, re.MULTILINE)
    return [(f"`{line}`", what) for line, what in lines]


def command_line() -> str:
    """Every command of `python -m workbench` with its arguments, from the parser."""
    parts = [
        "# Commands",
        NOTE,
        "Each is a word after `python -m workbench`. `--help` behind a command shows the same.",
    ]
    (tree,) = (a for a in commands()._actions if isinstance(a, argparse._SubParsersAction))
    helps = {each.dest: each.help or "" for each in tree._choices_actions}
    for name, parser in tree.choices.items():
        parts += [f"## {name}", _sentence(helps[name])]
        rows = [(_argument(each), each.help or "") for each in parser._actions if each.dest != "help"]
        rows = [(argument, _plain(text.replace("%%", "%"))) for argument, text in rows]
        if rows:
            parts.append(table(("argument", "what it does"), rows))
        elif parser.usage:
            parts.append(f"```text\n{parser.usage}\n```")
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """A text of a terminal in Markdown: `__ocml_*` has no emphasis there."""
    return re.sub(r"([*_])", r"\\\1", text)


def _argument(action: argparse.Action) -> str:
    value = action.metavar or action.dest.upper()
    if isinstance(value, tuple):
        value = " ".join(value)
    if action.choices:
        value = ",".join(map(str, action.choices))
    if not action.option_strings:
        return f"`{value}`"
    return f"`{action.option_strings[-1]}`" if action.nargs == 0 else f"`{action.option_strings[-1]} {value}`"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def environment_variables() -> str:
    """Every variable that the package or its tests read."""

    def rows(which: Iterable[Setting]) -> list[tuple[str, ...]]:
        return [(f"`{each.name}`", each.sets, *([each.default] if each.default else [])) for each in which]

    parts = [
        "# Environment variables",
        NOTE,
        "`python -m workbench doctor` lists those that you set, and warns you about a `HIPKITTENS_` name "
        "that nothing reads.",
        table(("variable", "what it sets", "default"), rows(s for s in SETTINGS if not s.of_tests)),
        "These are for the tests:",
        table(("variable", "what it sets"), rows(s for s in SETTINGS if s.of_tests)),
    ]
    return "\n\n".join(parts) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "reference/magics.md": magics,
    "reference/commands.md": command_line,
    "environment_variables.md": environment_variables,
}
"""Pages that are kept, by their place in docs/."""


def _benchmarks() -> str:
    # Imported here since it needs PyTorch.
    import benchmark_pages

    return str(benchmark_pages.whole_page())


def _kernels() -> str:
    from workbench.operators import catalogue_page

    return catalogue_page.document()


def _tile_operations() -> str:
    from workbench.lab import operations

    return operations.page()


WHOLE: dict[str, Callable[[], str]] = {
    "docs/benchmarks": _benchmarks,
    "docs/kernels": _kernels,
    "docs/tile_operations": _tile_operations,
}
"""Pages that the site has whole, and of which the repository has a summary."""


def _of_tests(module: str, *folders: str) -> Any:
    """A module of the tests, imported where it is needed: it may need PyTorch."""
    for folder in ("", *folders):
        if str(ROOT / "tests" / folder) not in sys.path:
            sys.path.append(str(ROOT / "tests" / folder))
    return importlib.import_module(module)


def _collection() -> str:
    document = _of_tests("collection_document")
    return str(document.page(document.stored()))


def _instructions() -> str:
    from workbench.emulator import instruction_table

    tested = _of_tests("tested_opcodes", "emulator").tested()
    return instruction_table.document(tested)


def _kernel_costs() -> str:
    return str(_of_tests("kernel_costs", "kernels").page())


def _model_error() -> str:
    return str(_of_tests("model_error", "benchmarks").stored_document())


SHORT: dict[str, tuple[Callable[[], str], str]] = {
    "collection": (_collection, "## Where functions differ"),
    "instructions": (_instructions, "Refused, graphics aside"),
    "kernel_costs": (_kernel_costs, "## Beside published times"),
    "model_error": (_model_error, "| kernel |"),
}
"""Pages of which the repository has the beginning, up to a line that begins so, without long tables."""

WHOLE |= {f"docs/{page}": make for page, (make, _) in SHORT.items()}
WHOLE["docs/targets"] = targets.document

LONG_TABLE = 20
"""Rows of a table that the site alone has."""


def short(text: str, until: str) -> str:
    """The beginning of a page, with the number of rows in the place of each long table."""
    lines = text.splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith(until))
    kept: list[str] = []
    for is_table, group in itertools.groupby(lines[:end], lambda line: line.startswith("|")):
        block = list(group)
        rows = len(block) - 2
        kept += [f"A table of {rows} rows."] if is_table and rows > LONG_TABLE else block
    note = "`make docs` builds the whole page, with the tables and sections that are left out here."
    return "\n".join(("\n".join(kept).rstrip(), "", note, ""))


def write() -> None:
    """Writes the pages that the site shows as they are in the repository."""
    for name, make in PAGES.items():
        _write(name, make())


def write_short() -> None:
    for page, (make, until) in SHORT.items():
        _write(f"{page}.md", short(make(), until))
    _write("targets.md", targets.summary())


def _write(name: str, text: str) -> None:
    path = DOCS / name
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def looks() -> dict[str, str]:
    """What to look for in each generated table, by page: the rows of reference/tables.md."""
    text = (DOCS / "reference" / "tables.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| \[[^]]+\]\(\.\./([\w./]+)\.md\) \| (.*?) \|$", text, re.MULTILINE))


def with_look(page: str, text: str) -> str:
    """A generated page with its two sentences below the title; `page` is its name in docs/."""
    sentences = looks().get(page)
    if sentences is None:
        return text
    title, _, rest = text.partition("\n")
    return f"{title}\n\n:::{{admonition}} What to look for\n:class: tip\n{sentences}\n:::\n{rest}"


def reading_times() -> str:
    """Pages and notebooks with the minutes that reading takes, tables left out."""
    generated = {*looks(), *(name.removesuffix(".md") for name in PAGES)}
    rows = []
    for path in sorted(DOCS.rglob("*.md")):
        page = path.relative_to(DOCS).as_posix()
        if page.removesuffix(".md") in generated or page in ("index.md", "reference/pages.md"):
            continue
        text = path.read_text(encoding="utf-8")
        rows.append((_title(text), f"/docs/{page}", words(text)))
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join("".join(each["source"]) for each in cells if each["cell_type"] == "markdown")
        rows.append((_title(text), f"/notebooks/{path.name}", words(text)))
    minutes = [(f"[{title}]({link})", str(count), _minutes(count)) for title, link, count in rows]
    total = sum(count for *_, count in rows)
    return table(("page", "words", "minutes"), [*minutes, ("**all**", str(total), _minutes(total))])


def words(text: str) -> int:
    """Words of a page's prose: code, tables, comments and directives do not count."""
    text = re.sub(r"^(`{3,}|:{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return sum(len(line.split()) for line in text.splitlines() if not line.lstrip().startswith("|"))


def _title(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _minutes(count: int) -> str:
    return str(max(1, round(count / WORDS_A_MINUTE)))


def site_source(page: str, text: str) -> str:
    """What the site shows of a page's source; `page` is its name from the root, without suffix."""
    if page in WHOLE:
        text = WHOLE[page]()
    if page == "docs/compatibility":
        text = _of_tests("compatibility_tables", "kernels").filled(text)
    if page == "docs/reference/pages":
        return text.replace("<!-- table of pages -->", reading_times())
    return with_look(page.removeprefix("docs/"), text)


if __name__ == "__main__":
    write()
    write_short()
