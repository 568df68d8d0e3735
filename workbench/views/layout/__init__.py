"""The layout explorer: the places of a tile's elements, and the cost of moving them."""

from workbench.views.layout.figure import layout_figure
from workbench.views.layout.table import layout_html

__all__ = ["layout_figure", "layout_html"]
