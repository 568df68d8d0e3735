"""Tables in a narrow cell: nothing is cut off, and every word is readable on light and dark pages.

JupyterLab's pages have its theme's colours and the extension's sheet, by which tables fold; others' (VS Code,
GitHub) have one colour of text, and a table that is too wide scrolls by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from workbench.views.gallery import samples
from workbench.views.markup import LAB_SHEET

if TYPE_CHECKING:
    from playwright.sync_api import Page

THEMES = Path(sys.prefix) / "share" / "jupyter" / "lab" / "themes" / "@jupyterlab"
PAGES: Mapping[str, tuple[str, str]] = {
    "JupyterLab Light": ("theme-light-extension", "background:#ffffff"),
    "JupyterLab Dark": ("theme-dark-extension", "background:#111111"),
    "VS Code Light Modern": ("", "background:#ffffff;color:#3b3b3b"),
    "VS Code Dark Modern": ("", "background:#1f1f1f;color:#cccccc"),
}
"""Pages by name: JupyterLab's style sheet, and other properties of the page."""

WIDE = """() => [...document.querySelectorAll('.wb')].filter(one => one.scrollWidth > one.clientWidth)
    .map(one => `${one.scrollWidth} of ${one.clientWidth} px: ${one.innerText.slice(0, 60)}`)"""

PAGE = "() => document.scrollingElement.scrollWidth - innerWidth"

FAINT = """() => {
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const painted = (...colours) => {
        context.clearRect(0, 0, 1, 1);
        for (const [colour, alpha] of colours) {
            context.globalAlpha = alpha;
            context.fillStyle = colour;
            context.fillRect(0, 0, 1, 1);
        }
        const part = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(c => part(c / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const paper = getComputedStyle(document.body).backgroundColor;
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
        const holder = node.parentElement;
        if (!node.textContent.trim() || !holder.closest('.wb') || holder.matches('style')) continue;
        const under = [[paper, 1]];
        for (let one = holder; one; one = one.parentElement) {
            under.splice(1, 0, [getComputedStyle(one).backgroundColor, 1]);
        }
        const looks = [[getComputedStyle(holder).color, 1]];
        const title = getComputedStyle(holder, '::before');
        if (title.content.startsWith('"')) looks.push([title.color, +title.opacity]);
        for (const look of looks) {
            const [low, high] = [painted(...under), painted(...under, look)].sort((a, b) => a - b);
            const text = node.textContent.trim().slice(0, 40);
            if (high / low < 4.5) faint.push(`${(high / low).toFixed(2)}: ${text}`);
        }
    }
    return [...new Set(faint)];
}"""


@pytest.fixture(scope="module")
def tables() -> str:
    results = (
        samples.kept()["small"],
        samples.timed(1024, 13.3),
        samples.swept(),
        samples.verified(broken=False),
        samples.verified(broken=True),
        samples.tuned(),
    )
    return "".join(result._repr_html_() for result in results)


def show(page: Page, where: str, body: str, width: int) -> None:
    theme, look = PAGES[where]
    sheet = (THEMES / theme / "index.css").read_text() + LAB_SHEET.read_text() if theme else ""
    page.set_viewport_size({"width": width, "height": 800})
    page.set_content(
        f"<!doctype html><style>{sheet}</style><body style='margin:8px;font:13px sans-serif;{look}'>{body}"
    )


@pytest.mark.parametrize("where", PAGES)
def test_tables_hold_in_a_narrow_cell(bare_page: Page, tables: str, where: str) -> None:
    if PAGES[where][0] and not THEMES.is_dir():
        pytest.skip("JupyterLab's themes are not installed")
    for width in (1400, 500):
        show(bare_page, where, tables, width)
        assert bare_page.evaluate(WIDE) == [] or not PAGES[where][0], width
        assert bare_page.evaluate(PAGE) <= 0, width
        assert bare_page.evaluate(FAINT) == [], width


def test_what_is_wide_or_faint_is_found(bare_page: Page) -> None:
    body = (
        '<div class="wb" style="overflow-x:auto"><div style="width:900px;color:#999">far too pale</div></div>'
    )
    show(bare_page, "VS Code Light Modern", body, 500)
    assert bare_page.evaluate(WIDE) == ["900 of 484 px: far too pale"]
    assert bare_page.evaluate(FAINT) == ["2.85: far too pale"]
