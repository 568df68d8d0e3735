"""Only a page's generated part is replaced."""

from __future__ import annotations

from pathlib import Path

import page_parts
import pytest


def test_what_is_around_a_part_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- end of a -->\nafter\n")
    for text in ("| new |", "| newer |"):
        page_parts.write(page, "<!-- a -->\n", text, "<!-- end of a -->\n")
        assert page.read_text() == f"before\n<!-- a -->\n\n{text}\n<!-- end of a -->\nafter\n"


@pytest.mark.parametrize("content", ["<!-- a -->\nrest\n", "rest\n<!-- end -->\n"])
def test_a_page_without_a_marker_loses_nothing(content: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(content)
    with pytest.raises(ValueError, match="the page has no <!-- "):
        page_parts.write(page, "<!-- a -->\n", "text", "<!-- end -->\n")
    assert page.read_text() == content


def test_a_text_may_bring_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- end -->\nafter\n")
    page_parts.write_marked(page, "<!-- a -->\n\n| new |\n<!-- end -->")
    assert page.read_text() == "before\n<!-- a -->\n\n| new |\n<!-- end -->\nafter\n"
