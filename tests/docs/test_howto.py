"""The Python of each how-to page runs unmodified, from the page's first block to its last."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "howto").glob("*.md"))


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def test_there_are_blocks() -> None:
    assert sum(len(blocks(page)) for page in PAGES) >= 8


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_blocks_run(page: Path) -> None:
    names: dict[str, object] = {"__name__": "howto"}
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, block {number + 1}", "exec"), names)


def test_every_page_is_listed() -> None:
    index = (PAGES[0].parent / "index.md").read_text()
    assert [page.stem for page in PAGES if page.stem != "index" and f"]({page.name})" not in index] == []
