"""Pictures of plotly figures that need neither script nor browser: SVG, drawn by matplotlib.

An exported page, GitHub, a PDF and a notebook without plotly's extension show this one. It has what the live
figure has at first sight: traces, axes, texts, legend, in the same colours; no menus, sliders or hover.
"""

from workbench.views.picture.figure import svg_of
from workbench.views.picture.text import text_of

__all__ = ["svg_of", "text_of"]
