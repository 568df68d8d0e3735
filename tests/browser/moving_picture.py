"""Records the README's moving picture: one kernel from its first line to a faster one, on the real page.

    python -m pytest tests/browser/moving_picture.py

Writes docs/images/main_job.webp. JupyterLab, the kernel and the emulated device are those of the browser
tests; a frame is a picture of the page after something happened on it, and lasts as long as a reader needs.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "main_job.webp"
SIZE = {"width": 1200, "height": 720}
SHOWN = (960, 576)
LIMIT = 1_500_000
"""Limit of the picture's size, in bytes."""

SETUP = "%load_ext workbench\nimport torch"
HEAD = (
    '%%hipkittens turn --profile --launch "turn[1, 64]" --outputs out --reference "lambda x: x.T" '
    '--inputs "dict(x=torch.randn(64, 64), out=torch.empty(64, 64))"'
)
# A column is read by 64 lanes from one bank.
KERNEL = """
#include <hip/hip_runtime.h>
__global__ void turn(const float *x, float *out) {
    __shared__ float tile[64][64];
    const int lane = threadIdx.x;
    for (int row = 0; row < 64; row++) tile[row][lane] = x[row * 64 + lane];
    __syncthreads();
    for (int row = 0; row < 64; row++) out[row * 64 + lane] = tile[lane][row];
}"""
BROKEN = KERNEL.replace("threadIdx.x;", "threadIdx.x")
FASTER = KERNEL.replace("tile[64][64]", "tile[64][65]")


class Recorder:
    """Pictures of a page, each with its milliseconds on screen."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.frames: list[Image.Image] = []
        self.lasts: list[int] = []

    def frame(self, milliseconds: int) -> None:
        self.lab.page.wait_for_timeout(150)
        with Image.open(io.BytesIO(self.lab.page.screenshot(animations="disabled"))) as picture:
            self.frames.append(picture.convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS))
        self.lasts.append(milliseconds)

    def save(self, path: Path) -> int:
        """Writes the picture as well as the limit allows; returns its size in bytes."""
        first, *others = self.frames
        for quality in (80, 65, 50, 35):
            first.save(
                path, save_all=True, append_images=others, duration=self.lasts, quality=quality, method=6
            )
            if path.stat().st_size <= LIMIT:
                break
        return path.stat().st_size


def put(lab: Lab, number: int, text: str) -> None:
    """Replaces a cell's text, with the cursor at its end."""
    lab.editor(number).evaluate(
        """(dom, text) => {
            const view = (dom.cmTile ?? dom.cmView).view;
            view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
            view.dispatch({ selection: { anchor: view.state.doc.length } });
        }""",
        text,
    )


def top(lab: Lab) -> None:
    """Scrolls to the notebook's beginning and to that of its lines, and moves the pointer off the code."""
    lab.page.mouse.move(5, SIZE["height"] - 5)
    lab.page.evaluate(
        """() => {
            document.querySelectorAll('.jp-WindowedPanel-outer').forEach(dom => { dom.scrollTop = 0; });
            document.querySelectorAll('.cm-scroller').forEach(dom => { dom.scrollLeft = 0; });
        }"""
    )


def test_record(open_lab: Callable[..., Lab], server: Server) -> None:
    lab = open_lab(size=SIZE)
    lab.page.set_default_timeout(60_000)
    lab.open_beside_sidebar(server.notebook("turn.ipynb", [SETUP, HEAD]))
    lab.run(0)
    record = Recorder(lab)
    lines = BROKEN.splitlines()
    for count in range(0, len(lines), 2):
        put(lab, 1, HEAD + "\n".join(lines[: count + 1]))
        top(lab)
        record.frame(350)
    put(lab, 1, HEAD + BROKEN)
    top(lab)
    record.frame(600)

    lab.run(1)
    lab.cell(1).locator(".cm-line:has(.cm-lintRange-error)").first.wait_for()
    top(lab)
    record.frame(2500)

    put(lab, 1, HEAD + KERNEL)
    top(lab)
    record.frame(700)
    lab.run(1)
    lab.cell(1).locator(".jp-hipkittens-HeatMark").first.wait_for()
    output = lab.cell(1).locator(".jp-OutputArea")
    lab.until(lambda: re.search("passed|verified", output.inner_text()), "the verdict")
    top(lab)
    record.frame(3000)
    slow = output.inner_text()

    line = lab.line(1, "tile[lane][row]")
    line.click()
    lab.button("ISA").click()
    lab.page.locator(".jp-hipkittens-Isa").wait_for()
    # Again, for the rows of the line.
    line.click()
    lab.page.wait_for_timeout(1000)
    record.frame(3000)

    put(lab, 1, HEAD + FASTER)
    top(lab)
    record.frame(900)
    lab.run(1)
    lab.until(lambda: slow != output.inner_text(), "the second version's result")
    lab.cell(1).locator(".jp-hipkittens-HeatMark").first.wait_for()
    top(lab)
    record.frame(3500)

    tab = lab.page.locator(".lm-TabBar-tab", has_text="ISA of turn")
    tab.locator(".lm-TabBar-tabCloseIcon").click()
    lab.button("Dashboard").click()
    lab.until(lambda: lab.dashboard.locator(".wb-run-us").count() >= 2, "both runs in the dashboard")
    lab.dashboard.locator(".js-plotly-plot").first.wait_for()
    record.frame(4000)

    size = record.save(PICTURE)
    print(f"{PICTURE}: {len(record.frames)} frames, {size / 1000:.0f} kB")
    assert size <= LIMIT
