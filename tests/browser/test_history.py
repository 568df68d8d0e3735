"""The dashboard's list of runs: a run appears at once, and is pinned as a baseline."""

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


def test_a_run_appears_at_once_and_is_pinned(lab: Lab) -> None:
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
