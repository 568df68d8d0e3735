"""A timeline in JupyterLab: live while its kernel runs, its copy hidden, linked with the cell's lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

SOURCE = """\
%%hipkittens turns
#include <hip/hip_runtime.h>
__global__ void turns(const float *x, float *out) {
    __shared__ float tile[256];
    float sum = 0;
    for (int turn = 0; turn < 8; turn++) {
        tile[threadIdx.x] = x[turn * 256 + threadIdx.x];
        __syncthreads();
        sum += tile[255 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}"""
CELLS = [
    "%load_ext workbench\nimport torch\nimport workbench as wb",
    SOURCE,
    'given = (torch.zeros(2048), torch.zeros(256))\nwb.timeline(turns["turns"][1, 256], *given)',
]


def test_a_timeline_is_live_and_selects_the_line(open_lab: Callable[..., Lab], server: Server) -> None:
    lab = open_lab()
    lab.open_beside_sidebar(server.notebook("timeline.ipynb", CELLS))
    for number in range(len(CELLS)):
        lab.run(number)
    waves = lab.page.locator(".wb-waves")
    waves.locator("canvas").wait_for()
    lab.page.wait_for_function("Number(document.querySelector('.wb-waves').dataset.drawn) > 0")
    lab.until(lambda: lab.page.locator(".wb-waves-entry").count() == 9, "the legend")
    lab.page.wait_for_function(
        "[...document.querySelectorAll('.jp-OutputArea-child')].some("
        "one => one.querySelector('.wb-static') && one.style.display === 'none')"
    )
    waves.scroll_into_view_if_needed()
    # Tries one position after another: the model decides which cycle has which instruction.
    linked = lab.page.locator(".jp-hipkittens-linked")
    for step in range(40):
        # The page above may still grow.
        canvas = waves.locator("canvas").bounding_box()
        assert canvas is not None
        lab.page.mouse.click(canvas["x"] + 100 + 6 * step, canvas["y"] + 44)
        if linked.count():
            break
    lab.until(linked.count, "a click to select a line of the cell")
    lab.shot("timeline-lab")
    # The tool tip belongs to the span under the pointer, also when the timeline moves and the pointer does
    # not.
    x, y = canvas["x"] + canvas["width"] / 3, canvas["y"] + 44
    lab.page.mouse.move(x, y)
    tip, visible_range = lab.page.locator(".wb-waves-tip"), lab.page.locator(".wb-waves-range")
    for key in "+++":
        before = visible_range.inner_text()
        lab.page.keyboard.press(key)
        lab.until(lambda before=before: visible_range.inner_text() != before, "the timeline to be nearer")
    state = tip.text_content(), tip.is_visible()
    lab.page.mouse.move(x, 5)
    lab.page.mouse.move(x, y)
    assert (tip.text_content(), tip.is_visible()) == state
