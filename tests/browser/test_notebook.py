"""Notebook 7: highlighting, marks, heat, and the machine code in the panel below."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

PYTHON, CPP, LAUNCH = range(3)
SCALE = """\
%%hipkittens scale
#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= by;
}"""
CELLS = ["%load_ext workbench\nimport torch", SCALE, 'scale["scale"][4, 64](torch.ones(256), 3.0)']


def test_notebook_7(open_lab: Callable[..., Lab], server: Server) -> None:
    pytest.importorskip("notebook", reason="Notebook 7 is not installed: pip install notebook")
    lab = open_lab()
    lab.page.goto(server.url(f"notebooks/{server.notebook('classic.ipynb', CELLS)}"))
    lab.ready()
    lab.cell(CPP).locator(".jp-hipkittens-editor").wait_for(state="attached")
    lab.run(PYTHON)
    lab.write(CPP, SCALE.replace("by;", "bye;"))
    lab.run(CPP)
    marked = lab.cell(CPP).locator(".cm-line:has(.cm-lintRange-error)")
    marked.wait_for()
    assert marked.inner_text().strip() == "x[i] *= bye;"
    lab.write(CPP, SCALE)
    lab.run(CPP)
    lab.until(lambda: lab.cell(CPP).locator(".cm-lintRange-error").count() == 0, "the mark to go")
    lab.run(LAUNCH)
    lab.editor(CPP).click()
    lab.command("hipkittens:profile-cell")
    lab.cell(CPP).locator(".jp-hipkittens-HeatMark").first.wait_for()
    lab.editor(CPP).click()
    lab.command("hipkittens:open-isa")
    view = lab.page.locator(".jp-hipkittens-Isa")
    view.locator(".cm-line", has_text=re.compile("store_dword")).first.wait_for()
    lab.until(lambda: view.bounding_box()["height"] > 150, "the panel to have its height")
    headings = view.locator(".jp-hipkittens-IsaHeadings b")
    titles = ["address", "executed", "Time", "live", "line", "instruction"]
    lab.until(lambda: headings.all_inner_texts() == titles, "all columns")
    lab.shot("notebook-7")
    lab.command("hipkittens:show-sidebar")
    history = lab.sidebar.get_by_role("list", name="Run history, newest first")
    history.get_by_text("profile").first.wait_for()
    marks = lab.cell(CPP).locator(".jp-hipkittens-HeatMark")
    before = marks.all_inner_texts()
    lab.sidebar.get_by_label("Measure of the line heat").select_option("bytes")
    lab.until(lambda: marks.all_inner_texts() != before, "the other measure")
    lab.editor(CPP).click()
    lab.button("Dashboard").click()
    lab.card("timeline")
    lab.says(lab.dashboard, "scale")
    lab.shot("notebook-7-dashboard")
    # Notebook 7 logs its own complaints.
    assert [text for text in lab.complaints if "hipkittens" in text.lower()] == []
