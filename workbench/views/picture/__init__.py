"""Pictures of plotly figures that need neither script nor browser: SVG and PDF, drawn by matplotlib.

An exported page, GitHub, LaTeX and a notebook without plotly's extension show these. They have what the live
figure has at first sight: traces, axes, texts, legend, in the same colours; no menus, sliders or hover.
"""

from workbench.views.picture.figure import pictures_of, svg_of
from workbench.views.picture.pdf import pdf_of_svg, png_of_svg
from workbench.views.picture.text import text_of

__all__ = ["pdf_of_svg", "pictures_of", "png_of_svg", "svg_of", "text_of"]
