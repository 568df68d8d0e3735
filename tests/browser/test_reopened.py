"""A dashboard in a cell: saved with the notebook, displayed without a kernel, run again over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

LOAD, SHOW, PANEL = range(3)
CELLS = [
    """\
%load_ext workbench
import workbench as wb
profile = wb.profile("activations/softmax", shape={"rows": 16, "cols": 128})""",
    "wb.dashboard()",
    'wb.panel("activations/softmax")',
]


def test_a_saved_dashboard(open_lab: Callable[..., Lab], server: Server) -> None:
    lab = open_lab()
    lab.open(server.notebook("kept.ipynb", CELLS))
    lab.run(LOAD)
    lab.run(SHOW)
    lab.card("timeline", lab.cell(SHOW))
    copy = lab.cell(SHOW).locator(".wb-static")
    lab.until(lambda: copy.count() == 1 and not copy.is_visible(), "the copy to be there and hidden")
    lab.run(PANEL)
    panel = lab.cell(PANEL)
    lab.card("breakdown", panel)
    panel.get_by_role("slider").first.focus()
    lab.page.keyboard.press("ArrowLeft")
    panel.locator("button.jupyter-button", has_text="Run").click()
    panel.get_by_text("verify: activations/softmax").first.wait_for()
    panel_copy = panel.locator(".wb-static")
    lab.until(lambda: "SQ_WAVES" in panel_copy.inner_html(), "the copy of the run")
    lab.save()
    saved = (server.folder / "kept.ipynb").read_text()
    # No file contains plotly itself, 5 MB.
    assert len(saved) < 1_500_000
    # JupyterLab takes a picture of each figure that it shows, and later shows that in its place.
    assert '"image/png":' not in saved
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")

    # A new page, and a kernel that knows nothing of the widgets.
    lab.page.reload()
    lab.ready()
    copy.first.wait_for()
    figures = lab.cell(SHOW).locator(".js-plotly-plot .main-svg")
    lab.until(lambda: figures.count() > 0, "the figures of the copy")
    assert lab.cell(SHOW).locator(".wb-grid").count() == 0
    assert "softmax" in lab.cell(SHOW).inner_text()
    # The front end's message about a widget without a kernel is hidden.
    assert "widget" not in lab.cell(SHOW).inner_text()
    lab.shot("reopened")
    panel_copy.first.wait_for()
    lab.until(lambda: panel.locator(".js-plotly-plot .main-svg").count() > 1, "the panel's figures")
    assert panel.locator(".wb-grid").count() == 0
    assert "SQ_WAVES" in panel_copy.first.inner_html()
    lab.shot("reopened-panel", panel.locator(".jp-Cell-outputWrapper"))

    lab.complaints.clear()
    lab.run(LOAD)
    lab.run(SHOW)
    lab.card("timeline", lab.cell(SHOW))
    lab.until(lambda: not copy.first.is_visible(), "the copy to be hidden again")
    assert lab.complaints == []
