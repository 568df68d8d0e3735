"""The tile library's operations as a page, read from its headers.

The site has the whole page, docs/tile_operations.md only the names by header.

python -m workbench.lab.operations
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

from workbench.lab import library
from workbench.lab.library import Function
from workbench.paths import include_dir

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tile_operations.md"

HEAD = """# Operations on tiles

This is what your kernel gets from `#include "kittens.cuh"`, header by header, in the headers' own words.
Operations of one wave are in `kittens`; `group<N>` has those of N waves together under the same names. The
notebook on [tiles, layouts and bank conflicts](../notebooks/03_tiles_and_layouts.ipynb) shows where tiles
keep their elements, and [Tile tests](tile_tests.md) lists the tested pairs. `python -m
workbench.lab.operations` writes this page.
"""

TITLES = {
    "cdna5": "CDNA5 (gfx1250) alone",
    "group": "Groups of waves",
    "warp/memory": "Loads and stores",
    "warp/register/tile": "Register tiles",
    "warp/register/vec": "Register vectors",
    "warp/register": "Registers",
    "warp/shared": "Shared memory",
}
"""Headings by folder of `ops/`; the longest that fits counts."""


def operations() -> list[Function]:
    """Functions of the library that kernels call, in the order of the headers."""
    return [function for function in library.functions() if function.header.startswith("ops/")]


def summary() -> str:
    """The names of the operations by header, as Markdown."""
    site = "`make docs` builds the page that has every operation with its parameters and what it does."
    lines = [f"{HEAD}\n{site}\n", "| header | operations |", "| --- | --- |"]
    for header, group in itertools.groupby(_by_title(), key=lambda entry: entry.header):
        names = dict.fromkeys(entry.name for entry in group)
        lines.append(f"| `{header}` | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(lines) + "\n"


def _by_title() -> list[Function]:
    return sorted(operations(), key=lambda e: (list(TITLES.values()).index(_title(e)), e.header))


def page() -> str:
    """Every operation with its parameters and description, as Markdown."""
    lines = [HEAD]
    for title, group in itertools.groupby(_by_title(), key=_title):
        lines.append(f"\n## {title}\n")
        for header, entries in itertools.groupby(group, key=lambda e: e.header):
            lines += [
                f"\n### `{header}`\n",
                _about(header),
                "| operation | |",
                "| --- | --- |",
                *_rows(entries),
            ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _rows(entries: Iterable[Function]) -> list[str]:
    """One row per name: its forms, and the first paragraph that describes them."""
    by_name: dict[str, list[Function]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    rows = []
    for name, forms in by_name.items():
        calls = dict.fromkeys(f"{name}{form.parameters}" for form in forms)
        sentences = dict.fromkeys(
            form.doc.partition("\n\n")[0].replace("\n", " ") for form in forms if form.doc
        )
        cell = "<br>".join(f"`{call}`" for call in calls)
        rows.append(f"| {_escaped(cell)} | {_escaped('<br>'.join(sentences))} |")
    return rows


def _about(header: str) -> str:
    """The sentences at the beginning of a header, after its licence."""
    text = (include_dir() / header).read_text(encoding="utf-8")
    comment = re.match(r"(?://[^\n]*\n)*\s*/\*\*(.*?)\*/", text, re.DOTALL)
    if comment is None:
        return ""
    lines = re.sub(r"^\s*\* ?", "", comment[1], flags=re.MULTILINE)
    return re.sub(r"@(file|brief)\b *", "", lines).strip().partition("\n\n")[0] + "\n"


def _title(entry: Function) -> str:
    folder = entry.header.removeprefix("ops/")
    return next(title for start, title in TITLES.items() if folder.startswith(start))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(summary(), encoding="utf-8")
