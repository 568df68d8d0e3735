"""A newcomer's path by links only, from the README to a verified kernel; anchors exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
OWN_KERNEL = ROOT / "docs" / "howto" / "run_my_kernel.md"


@cache
def text_of(page: Path) -> str:
    """A page's prose, without its code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Pages that a page leads to, with the anchor on each."""
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text_of(page))):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if "://" not in link and target.suffix in (".md", ".ipynb"):
            yield target, anchor


def reached(start: Path) -> dict[Path, int]:
    """Pages that links lead to, each with its distance in clicks."""
    clicks, new = {start: 0}, [start]
    while new:
        page = new.pop(0)
        for target, _ in links(page):
            if target not in clicks and target.exists():
                clicks[target] = clicks[page] + 1
                new.append(target)
    return clicks


def test_the_tour_leads_a_newcomer_to_a_kernel_of_their_own() -> None:
    clicks = reached(README)
    assert clicks[OWN_KERNEL] <= 2
    assert clicks[ROOT / "notebooks" / "01_first_kernel.ipynb"] <= 2
    assert clicks[ROOT / "docs" / "reference" / "glossary.md"] <= 2
    text = OWN_KERNEL.read_text()
    # tests/docs/test_howto.py runs them.
    assert "wb.compile(" in text
    assert "wb.verify(" in text


def test_every_page_is_reached_from_the_readme() -> None:
    clicks = reached(README)
    pages = {page.resolve() for page in (ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / "index.md"}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - clicks.keys()) == []


PAGES = [
    *(README, ROOT / "CONTRIBUTING.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
]


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted((ROOT / "notebooks").glob("*.ipynb"))], ids=lambda p: p.name
)
def test_anchors_are_there(page: Path) -> None:
    wrong = [f"{target.name}#{anchor}" for target, anchor in links(page) if anchor not in anchors(target)]
    assert wrong == []


@cache
def anchors(page: Path) -> set[str]:
    """Anchors of a page: slugs of its headings, as GitHub and MyST make them."""
    text = text_of(page)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}
    return {"", *slugs, *re.findall(r'<a id="([\w-]+)"', text)}
