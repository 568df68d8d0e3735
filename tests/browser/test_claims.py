"""What JupyterLab says of a kernel in each state: sidebar, runs, the cell's output, and an exported page.

`tests/views/test_claims.py` has more states, without a browser; only here can text change under a result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import nbformat
import pytest

from workbench.views.edited import EDITED
from workbench.views.notebook_page import notebook_page

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

# The reference waits for a file, so that the cell can be looked at while it runs.
LOADING = """\
%load_ext workbench
import pathlib, time
import torch
def after_gate(value):
    while pathlib.Path("closed").exists():
        time.sleep(0.05)
    return value"""
REFERENCE = {
    "launch": "scale[4, 64]",
    "inputs": "dict(x=torch.ones(256), by=2.0)",
    "outputs": "x",
    "reference": "lambda x, by: after_gate(x * by)",
}
SCALE = """\
%%hipkittens scale
#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by) {
    x[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}"""
LOAD, CELL = range(2)
CLAIM = re.compile(r"(?<!not )\bverified\b|\bpassed\b|✓", re.IGNORECASE)


def test_no_state_claims_more_than_its_run_showed(open_lab: Callable[..., Lab], server: Server) -> None:
    lab = open_lab()
    path = server.folder / server.notebook("claims.ipynb", [LOADING, SCALE])
    notebook = json.loads(path.read_text())
    notebook["cells"][CELL]["metadata"] = {"hipkittens": {"reference": REFERENCE}}
    path.write_text(json.dumps(notebook))
    gate = server.folder / "closed"
    lab.open_beside_sidebar(path.name)
    cell = lab.sidebar.get_by_role("region", name="Cell scale")
    runs = lab.sidebar.get_by_role("list", name="Run history, newest first").get_by_role("listitem")

    def places() -> dict[str, str]:
        """What a reader sees, by place; the page is the one that File > Save and export writes."""
        lab.save()
        page = notebook_page(nbformat.read(path, as_version=4), "claims")  # type: ignore[no-untyped-call]
        page = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
        return {
            "sidebar": cell.inner_text(),
            "runs": runs.first.inner_text() if runs.count() else "",
            "output": "".join(lab.output(CELL).all_inner_texts()),
            "export": re.sub(r"<[^>]+>", " ", page),
        }

    def state(sentence: str, *, claiming: bool, run: str = "") -> None:
        """Waits for the sidebar's sentence and the latest run; all places claim a right result, or none."""
        lab.editor(CELL).click()
        lab.says(cell, sentence)
        if run:
            lab.says(runs.first, run)
        claims = {place: CLAIM.findall(text) for place, text in places().items()}
        assert all(map(bool, claims.values())) if claiming else not any(claims.values()), (sentence, claims)

    def above_output() -> str:
        area = lab.cell(CELL).locator(".jp-Cell-outputArea")
        return str(area.evaluate("dom => getComputedStyle(dom, '::before').content"))

    def verify(text: str) -> None:
        lab.write(CELL, text)
        lab.press("Verify", CELL)

    state("Verify compares with", claiming=False)
    lab.run(LOAD)
    gate.touch()
    lab.editor(CELL).click()
    lab.button("Verify").click()
    state("Verify will compare with", claiming=False)
    gate.unlink()
    lab.finish(CELL)
    state("Verified against", claiming=True, run="✓ verified")

    wrong = SCALE.replace("*= by", "+= by")
    lab.write(CELL, wrong)
    # The result of the text before stands there still, below a sentence; the sidebar is about the new text.
    lab.says(cell, "Edited since it was compared with")
    assert not CLAIM.search(cell.inner_text())
    assert above_output() == f'"{EDITED}"'
    assert EDITED in places()["export"]
    lab.write(CELL, SCALE)
    state("Verified against", claiming=True)
    assert above_output() == "none"
    assert EDITED not in places()["export"]

    verify(wrong)
    state("Differs from", claiming=False, run="✗ wrong")
    verify(SCALE.replace("*= by", "*= buy"))
    state("Verify compares with", claiming=False, run="does not compile")
    verify(SCALE.replace("x[block", "x[(1 << 28) + block"))
    state("Verify compares with", claiming=False, run="past the end of argument 'x'")
    assert "✗ failed" in runs.first.inner_text()
