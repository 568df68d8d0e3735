"""What one sees: plotly figures, tables and panels, each figure with its origin beside it.

Importing this package registers what draws each type of result (`workbench.display`). `panel` gives live
controls for a spec, `dashboard` a page that follows everything that runs, `report` a page that needs nothing
else, `view_xcd` the dies that compute a kernel's output.
"""

from importlib import import_module

from workbench.display import add_pictures
from workbench.views.controls import panel
from workbench.views.html import report
from workbench.views.live import Dashboard, dashboard
from workbench.views.xcd import view_xcd

DRAWERS = (
    "advice",
    "benchmarks",
    "doctor",
    "history",
    "launch",
    "layout",
    "listings",
    "profile",
    "resources",
    "sanitizer",
    "stalls",
    "timelines",
    "timing",
    "tuning",
    "verify",
    "xcd",
)
"""Modules that register drawers as they are imported."""

for _name in DRAWERS:
    import_module(f"{__name__}.{_name}")

add_pictures()

__all__ = ["DRAWERS", "Dashboard", "dashboard", "panel", "report", "view_xcd"]
