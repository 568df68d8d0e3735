"""Generated parts of pages, between two comments that mark each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import json_records

DOCS = Path(__file__).resolve().parents[1] / "docs"
DATA = Path(__file__).parent / "data"


def replace(content: str, begin: str, text: str, end: str) -> str:
    """A page's content with `text` between its markers.

    Raises:
        ValueError: a marker is not there.
    """
    head, opened, rest = content.partition(begin)
    _, closed, tail = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"the page has no {(end if opened else begin).strip()}")
    return f"{head}{begin}{text}{end}{tail}"


def write(page: Path, begin: str, text: str, end: str) -> None:
    """Put `text`, on lines of its own, between the markers of a page."""
    content = replace(page.read_text(encoding="utf-8"), begin, f"\n{text}\n", end)
    page.write_text(content, encoding="utf-8")


def write_marked(page: Path, text: str) -> None:
    """The same with a text whose first and last lines are the markers."""
    begin, *lines, end = text.splitlines()
    write(page, begin, "\n".join(lines), end)


@dataclass(frozen=True)
class StoredResults:
    """Results that a command adds to a file, and the part of a page with the table of all of them.

    Attributes:
        data: JSON file of the results.
        page: Markdown page.
        begin, end: markers of the table in the page.
        depth: levels of the results whose entries begin on separate lines of the file.
        sort_keys: True to sort the entries of each level.
    """

    data: Path
    page: Path
    begin: str
    end: str
    depth: int
    sort_keys: bool = True

    def read(self) -> dict[str, Any]:
        """The results; empty if nothing was stored."""
        return json.loads(self.data.read_text()) if self.data.exists() else {}  # type: ignore[no-any-return]

    def write(self, results: Mapping[str, Any], table: str) -> None:
        """Replaces the results, and the table of them in the page."""
        self.data.write_text(json_records.dumps(results, self.depth, sort_keys=self.sort_keys))
        write(self.page, self.begin, table, self.end)
