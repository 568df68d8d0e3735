"""Parts of pages that a benchmark writes: what stands between two lines that are comments."""

from __future__ import annotations

from pathlib import Path


def put(page: Path, text: str) -> None:
    """Replaces the text between two marks by `text`, whose first and last line are these marks."""
    begin, end = text.splitlines()[0], text.splitlines()[-1]
    before, _, rest = page.read_text().partition(begin)
    page.write_text(before + text + rest.partition(end)[2])
