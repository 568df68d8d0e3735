"""A small window with both sidebars: a view opens below its notebook, and moves beside it by a click."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

SCALE = """\
%%hipkittens scale
#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by) {
    x[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}"""


def test_a_view_leaves_the_notebook_room_to_be_read(open_lab: Callable[..., Lab], server: Server) -> None:
    lab = open_lab(size={"width": 1000, "height": 700})
    lab.open(server.notebook("room.ipynb", ["%load_ext workbench", SCALE]))
    lab.command("hipkittens:show-sidebar")
    lab.run(0)
    lab.run(1)
    lab.editor(1).click()
    lab.command("hipkittens:open-isa")
    view = lab.page.locator(".jp-hipkittens-Isa")
    view.locator(".cm-line", has_text="s_endpgm").first.wait_for()
    notebook = lab.page.locator(".jp-NotebookPanel")

    def sizes() -> tuple[float, float, bool]:
        """Widths of both, and whether the view is below."""
        first, second = notebook.bounding_box(), view.bounding_box()
        assert first is not None
        assert second is not None
        return first["width"], second["width"], second["y"] >= first["y"] + first["height"]

    lab.until(lambda: sizes()[2], "the view to stand below")
    assert min(sizes()[:2]) > 400
    # Each instruction stays on one line, below the notebook and in the narrow panel beside it.
    line = view.locator(".cm-line").first.evaluate("dom => parseFloat(getComputedStyle(dom).lineHeight)")
    heights = view.locator(".cm-line").evaluate_all("all => all.map(dom => dom.clientHeight)")
    assert max(heights) < 2.5 * line
    lab.page.get_by_role("button", name="Close sidebars, put it there").click()
    lab.until(lambda: not sizes()[2] and min(sizes()[:2]) > 400, "the view beside the notebook")
