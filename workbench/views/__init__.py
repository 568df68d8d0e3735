"""What one sees: plotly figures, tables and panels, each figure with its origin beside it.

The results of `verify`, `time` and `profile` have a `.figure` made here; `panel` gives live controls for a
spec, `dashboard` a page that follows everything that runs, `report` a page that needs nothing else,
`view_xcd` the dies that compute a kernel's output.
"""

from workbench.views.controls import panel
from workbench.views.html import report
from workbench.views.live import Dashboard, dashboard
from workbench.views.xcd import view_xcd

__all__ = ["Dashboard", "dashboard", "panel", "report", "view_xcd"]
