"""The tables of docs/compatibility.md: stored in docs/data/compatibility.json, put between the page's marks.

A section has tables; the rows of a scope or a folder are one line. In the repository the page has only the
short tables, on the site all.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
import json_records  # noqa: E402

PAGE = ROOT / "docs" / "compatibility.md"
DATA = ROOT / "docs" / "data" / "compatibility.json"
SHORT = 8
"""Rows of a table that the repository's page has."""


def _place(row: str) -> str:
    """A row's scope or folder, by its first two cells."""
    first, second = (cell.strip() for cell in row.strip("|").split(" | ")[:2])
    return first.rpartition("::")[0] if first.startswith("`") else f"{first} {second.rpartition('/')[0]}"


def parsed(text: str) -> list[dict[str, Any]]:
    """The tables of a section's Markdown."""
    tables = []
    for block in text.strip().split("\n\n"):
        head, rule, *rows = block.splitlines()
        groups = [list(group) for _, group in itertools.groupby(rows, _place)]
        tables.append({"head": f"{head}\n{rule}", "rows": groups})
    return tables


def section(name: str, *, short: bool = False) -> str:
    """A section's tables as Markdown; with `short` a long one is replaced by its number of rows."""
    tables = []
    for table in json.loads(DATA.read_text(encoding="utf-8"))[name]:
        rows = [row for group in table["rows"] for row in group]
        if short and len(rows) > SHORT:
            tables.append(f"A table of {len(rows)} rows is on the site.")
        else:
            tables.append("\n".join((table["head"], *rows)))
    return "\n\n".join(tables)


def filled(text: str, *, short: bool = False) -> str:
    """The page with each section between its marks."""
    for name in json.loads(DATA.read_text(encoding="utf-8")):
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        _, end, behind = rest.partition(f"<!-- end of {name} -->")
        text = f"{before}{mark}{section(name, short=short)}\n{end}{behind}"
    return text


def store(name: str, text: str) -> None:
    """Stores a section's Markdown, and updates the page."""
    content = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    content[name] = parsed(text)
    DATA.write_text(json_records.dumps(content, 4, sort_keys=False), encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), short=True), encoding="utf-8")
