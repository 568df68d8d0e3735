"""Generated parts of pages, between two comments that mark each."""

from __future__ import annotations

from pathlib import Path


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
