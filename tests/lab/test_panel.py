"""The dashboard of the extension's panel."""

from __future__ import annotations

from typing import Any

import pytest
from ipywidgets.widgets import widget

from workbench.lab import panel
from workbench.lab.service import Service


def test_the_panel_has_one_dashboard_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs: list[Any] = []
    monkeypatch.setattr("IPython.display.display", outputs.append)
    try:
        panel.show()
        panel.show()
        first, again = outputs
        assert again is first
        widgets = len(widget._instances)
        assert Service({}).answer({"id": 1, "method": "close_dashboard"}) == {"id": 1, "result": None}
        assert len(widget._instances) < widgets
        panel.show()
        assert outputs[-1] is not first
    finally:
        panel.close()
