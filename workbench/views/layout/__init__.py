"""The layout explorer: where a tile's elements are, and what moving them costs."""

from workbench.views.layout.figure import layout_figure
from workbench.views.layout.table import layout_html

__all__ = ["layout_figure", "layout_html"]
