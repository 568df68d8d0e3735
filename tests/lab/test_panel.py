"""The dashboard of the extension's panel."""

from __future__ import annotations

from typing import Any

from ipywidgets.widgets import widget

from workbench.lab import panel
from workbench.lab.service import Service


def test_the_panel_has_one_dashboard_a_kernel(displayed: list[Any]) -> None:
    try:
        panel.show()
        panel.show()
        first, again = displayed
        assert again is first
        widgets = len(widget._instances)
        assert Service({}).answer({"id": 1, "method": "close_dashboard"}) == {"id": 1, "result": None}
        assert len(widget._instances) < widgets
        panel.show()
        assert displayed[-1] is not first
    finally:
        panel.close()
