"""Runs that outlive their kernel: pinned, compared after a restart, stale marked, cards arranged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(600)

LOAD, CELL, LAUNCHED = range(3)
KERNEL = """\
%%hipkittens scale --profile
extern "C" __global__ void scale(float* x, float by) {
    x[blockIdx.x * 64 + threadIdx.x] *= by;
}"""
SLOWER = KERNEL.replace("*= by;", "= sqrtf(x[blockIdx.x * 64 + threadIdx.x]) * by;")
LAUNCH = """\
import torch
x = torch.ones(256)
scale["scale"][4, 64](x, 2.0)"""
CELLS = [
    "%env HIPKITTENS_HISTORY=history-test.sqlite\n%load_ext workbench",
    KERNEL.replace(" --profile", ""),
    LAUNCH,
]


@pytest.fixture(scope="module")
def lab(open_lab: Callable[..., Lab], server: Server) -> Iterator[Lab]:
    lab = open_lab(size={"width": 1440, "height": 900})
    lab.open(server.notebook("history.ipynb", CELLS))
    lab.command("application:toggle-left-area")
    return lab


class TestReturn:
    """After a week: what was fast, and what changed since."""

    STEPS = True

    def test_a_run_appears_at_once_and_is_pinned(self, lab: Lab) -> None:
        for cell in (LOAD, CELL, LAUNCHED):
            lab.run(cell)
        lab.command("hipkittens:open-dashboard")
        lab.dashboard.get_by_text("nothing was timed or profiled yet").wait_for()
        lab.write(CELL, KERNEL)
        lab.run(CELL)
        run = lab.dashboard.locator(".wb-run-us").first
        run.wait_for()
        assert re.match(r"[\d.]+ us", run.inner_text())
        lab.dashboard.get_by_role("button", name="Pin as baseline").click()
        lab.dashboard.get_by_role("group", name="baselines").get_by_text("scale #1").wait_for()
        lab.shot("history-pinned")

    def test_after_a_restart_all_is_there(self, lab: Lab) -> None:
        lab.editor(LOAD).click()
        lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
        lab.dashboard.get_by_role("button", name="Show the dashboard").wait_for()
        lab.idle()
        lab.write(CELL, KERNEL.replace(" --profile", ""))
        for cell in (LOAD, CELL, LAUNCHED):
            lab.run(cell)
        lab.write(CELL, SLOWER)
        lab.run(CELL)
        lab.dashboard.get_by_role("button", name="Show the dashboard").click()
        lab.dashboard.get_by_text("this session").wait_for()
        sessions = lab.dashboard.locator(".wb-session caption").all_inner_texts()
        assert sessions[0] == "this session"
        assert sessions[1].startswith("session of 20")
        lab.shot("history-restarted")

    def test_what_changed_is_a_click(self, lab: Lab) -> None:
        lab.dashboard.locator("button.jupyter-button", has_text="What changed").click()
        verdict = lab.dashboard.locator(".wb", has_text="scale → #").locator("b").first
        verdict.wait_for()
        assert re.search(r"slower|faster|as fast", verdict.inner_text())
        source = lab.dashboard.locator("pre.wb-diff").first
        assert "+     x[blockIdx.x * 64 + threadIdx.x] = sqrtf" in source.inner_text()
        assert "v_sqrt_f32" in lab.dashboard.inner_text() or "instructions new" in lab.dashboard.inner_text()
        lab.shot("history-changes", lab.dashboard)

    def test_a_compiled_cell_makes_the_figures_stale(self, lab: Lab) -> None:
        lab.write(CELL, KERNEL.replace(" --profile", "").replace("*= by;", "*= by + 3.f;"))
        lab.run(CELL)
        lab.dashboard.get_by_text("stale: scale was compiled anew").wait_for()
        lab.card("speed").locator(".wb-stale-mark", has_text="stale").wait_for()

    def test_cards_are_hidden_ordered_and_opened_alone(self, lab: Lab) -> None:
        card = lab.card("speed")
        card.get_by_role("button", name=re.compile("^Hide this card")).click()
        card.wait_for(state="hidden")
        card = lab.card("mix")
        card.get_by_role("button", name=re.compile("^Show this card alone")).click()
        lab.dashboard.locator(".wb-card[data-key='shapes']").wait_for(state="hidden")
        lab.shot("card-alone", lab.dashboard)
        lab.page.keyboard.press("Escape")
        lab.dashboard.locator(".wb-card[data-key='shapes']").wait_for()
        lab.dashboard.get_by_role("button", name=re.compile("^Show the card")).click()
        lab.card("speed")
        # JupyterLab itself complains of what a kernel that is restarted does not answer any more.
        assert [text for text in lab.complaints if "hipkittens" in text.lower()] == []
