"""Typing: findings within two seconds of the last key, definitions, formatting, the right-click menu."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from workbench.lab import clangd

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

WANTED = 2000
"""Milliseconds from the last key to the mark."""

ANSWER = 2
"""Seconds after which JupyterLab no longer shows an answer to Tab."""

LOAD, CPP = range(2)
CELLS = [
    "%load_ext workbench\nimport workbench as wb",
    """\
%%hipkittens tiles
#include "kittens.cuh"
using namespace kittens;
__global__ void k(float *p) {
    rt_fl<32, 32> tile;
    zero(tile);
    p[0] = 1.0f;
}""",
    # So that there is something to scroll.
    "\n" * 60,
]

# Times of the last key press and of the first mark of an error after it.
WATCH = """() => {
    window.typed = { key: 0, mark: 0 };
    document.addEventListener('keydown', () => { window.typed = { key: performance.now(), mark: 0 }; }, true);
    new MutationObserver(() => {
        if (!window.typed.mark && document.querySelector('.cm-lintRange-error')) {
            window.typed.mark = performance.now();
        }
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""


@pytest.fixture(scope="module")
def lab(open_lab: Callable[..., Lab], server: Server) -> Lab:
    opened = open_lab()
    opened.open_beside_sidebar(server.notebook("typing.ipynb", CELLS))
    opened.run(LOAD)
    return opened


def put_cursor(lab: Lab, line: str, word: str) -> None:
    """Puts the cursor into a word of the C++ cell."""
    lab.editor(CPP).evaluate(
        """(dom, [line, word]) => {
            const view = (dom.cmTile ?? dom.cmView).view;
            const text = view.state.doc.toString();
            const at = text.indexOf(word, text.indexOf(line)) + 1;
            view.focus();
            view.dispatch({ selection: { anchor: at } });
        }""",
        [line, word],
    )


class TestTyping:
    """Steps of one visit, in order; after a failure the rest are skipped."""

    STEPS = True

    def test_findings_come_while_one_types(self, lab: Lab) -> None:
        page = lab.page
        page.evaluate(WATCH)
        lab.editor(CPP).click()
        took = []
        # The first reading parses the headers; later ones do not.
        for wrong in ("p[0] = 1.0f + first;", "p[0] = 1.0f + second;", "p[0] = third;"):
            put_cursor(lab, "p[0] =", "[0]")
            page.keyboard.press("End")
            page.keyboard.press("Shift+Home")
            page.keyboard.type(wrong)
            marked = lab.cell(CPP).locator(".cm-line:has(.cm-lintRange-error)")
            lab.until(lambda: page.evaluate("window.typed.mark") > 0, "a mark")
            typed = page.evaluate("window.typed")
            took.append(typed["mark"] - typed["key"])
            assert marked.inner_text().strip() == wrong
        print("ms from the last key to the mark:", [round(t) for t in took])
        assert sorted(took[1:])[0] < WANTED, took
        # This runs no cell.
        assert lab.prompt(CPP) == "[ ]:"

    def test_an_error_s_text_stays_beside_its_place(self, lab: Lab) -> None:
        lab.editor(CPP).click()
        lab.page.keyboard.press("Control+Home")
        lab.page.keyboard.press("F8")
        tip = lab.page.locator(".cm-tooltip-lint")
        tip.wait_for()
        mark = lab.cell(CPP).locator(".cm-lintRange-error").first

        def beside() -> bool:
            place, text = mark.bounding_box(), tip.bounding_box()
            if place is None or text is None:
                return False
            below = text["y"] - (place["y"] + place["height"])
            above = place["y"] - (text["y"] + text["height"])
            return (
                -1 <= max(below, above) <= place["height"]
                and text["x"] <= place["x"] + place["width"]
                and text["x"] + text["width"] >= place["x"]
            )

        lab.until(beside, "the text beside the place")
        before = mark.bounding_box()
        panel = lab.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer")
        panel.evaluate("dom => { dom.scrollTop += 60; }")
        lab.until(lambda: mark.bounding_box() != before, "the notebook to scroll")
        lab.until(beside, "the text to scroll with its place")
        lab.page.set_viewport_size({"width": 1100, "height": 700})
        lab.until(beside, "the text beside the place in a smaller window")
        lab.shot("error-beside")
        lab.page.set_viewport_size({"width": 1600, "height": 1000})
        lab.page.keyboard.press("Escape")
        tip.wait_for(state="hidden")

    def test_a_right_text_has_no_mark(self, lab: Lab) -> None:
        lab.write(CPP, CELLS[CPP])
        lab.until(lambda: lab.cell(CPP).locator(".cm-lintRange-error").count() == 0, "the mark to go")

    def test_definitions_are_found_in_the_cell_and_in_headers(self, lab: Lab) -> None:
        put_cursor(lab, "zero(tile)", "tile")
        lab.page.keyboard.press("F12")
        row = """dom => {
            const { state } = (dom.cmTile ?? dom.cmView).view;
            return state.doc.lineAt(state.selection.main.head).text.trim();
        }"""
        lab.until(lambda: lab.editor(CPP).evaluate(row) == "rt_fl<32, 32> tile;", "the declaration")
        put_cursor(lab, "zero(tile)", "zero")
        lab.page.keyboard.press("F12")
        header = lab.page.locator(".jp-hipkittens-Header")
        asked = header.locator(".jp-hipkittens-headerLine")
        lab.until(lambda: asked.count() == 1 and "zero" in asked.inner_text(), "the header's line")
        assert header.locator(".cm-content").get_attribute("contenteditable") == "true"
        before = header.locator(".cm-content").inner_text()
        lab.page.keyboard.type("x")
        assert header.locator(".cm-content").inner_text() == before
        lab.shot("definition")
        lab.command("application:close")

    @pytest.mark.skipif(clangd.find() is None, reason="there is no clangd")
    def test_names_are_completed_and_calls_have_their_signature(self, lab: Lab) -> None:
        from playwright.sync_api import TimeoutError

        lab.write(CPP, CELLS[CPP])
        put_cursor(lab, "zero(tile)", "zero")
        keyboard = lab.page.keyboard
        keyboard.press("End")
        keyboard.type("\ntile.ro")
        names = lab.page.locator(".jp-Completer:not(.lm-mod-hidden) .jp-Completer-match")
        pressed = 0.0

        def completed() -> bool:
            # Alone in its list the name is inserted at once.
            if "tile.rows" in lab.text(CPP):
                return True
            # Too late an answer is not shown. With the list open, Tab would go on to its next name.
            nonlocal pressed
            if "rows" in names.all_inner_texts():
                lab.shot("completion")
                # The list may close meanwhile.
                with contextlib.suppress(TimeoutError):
                    names.get_by_text("rows", exact=True).click(timeout=1000 * ANSWER)
            elif names.count() == 0 and time.monotonic() - pressed > ANSWER:
                keyboard.press("Tab")
                pressed = time.monotonic()
            return False

        lab.until(completed, "the member's name in the cell")
        keyboard.press("End")
        keyboard.type(";\nmul(tile, ")
        tip = lab.page.locator(".jp-hipkittens-Signature")
        lab.says(tip, "mul(RT &dst, const RT &lhs, const U &rhs)", "dst = lhs * rhs", "more of this name")
        assert tip.locator("strong").inner_text() == "const RT &lhs"
        lab.shot("signature")
        keyboard.press("Escape")
        tip.wait_for(state="hidden")
        lab.write(CPP, CELLS[CPP])

    def test_a_cell_is_formatted(self, lab: Lab) -> None:
        lab.write(CPP, CELLS[CPP].replace("    zero(tile);", "zero( tile ) ;"))
        lab.page.keyboard.press("Alt+Shift+F")
        lab.until(lambda: lab.text(CPP) == CELLS[CPP], lambda: lab.text(CPP))

    def test_the_right_click_menu_has_the_acts(self, lab: Lab) -> None:
        lab.line(CPP, "zero(tile)").click(button="right")
        menu = lab.page.locator(".lm-Menu")
        lab.says(menu, "Verify HipKittens Cell", "Profile HipKittens Cell", "Go to Definition", "Format Cell")
        lab.shot("menu")
        lab.page.keyboard.press("Escape")
        lab.editor(LOAD).click(button="right")
        menu.wait_for()
        assert "HipKittens Cell" not in menu.inner_text()
        lab.page.keyboard.press("Escape")
