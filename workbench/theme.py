"""The look that all figures share, on light and dark pages: colours, and a plotly template with them."""

from __future__ import annotations

from typing import Any

NAME = "hipkittens"
"""The template's name in plotly.io.templates."""

INK = "#767c87"
"""Of text and lines: contrast 4.2 to a white page, 4.5 to JupyterLab's dark one. A page that knows its theme
replaces it (views/grid.js)."""

CLEAR = "rgba(0,0,0,0)"
"""Of backgrounds: the page's own shows."""

GRID = "rgba(128,134,145,0.25)"
ZERO = "rgba(128,134,145,0.4)"

GREY = "rgba(128,134,145,0.55)"
"""Of the baseline: neither an origin's colour, nor a series', nor a theme's text."""

SERIES = ("#3a86d4", "#d97f2b", "#2a9d77", "#c0508f", "#8a75d6", "#a8921a", "#3f9fb5", "#d2555f")
"""Hues of kernels, devices and other series, in their order, on light and dark; no origin has one of them."""

RIGHT = 44
"""Pixels right of a figure, in which the tool bar stands: above it would cover titles and badges."""


def template() -> Any:
    """The plotly Template."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": GRID,
        "zerolinecolor": ZERO,
        "linecolor": ZERO,
        "automargin": True,
        "title": {"standoff": 6},
    }
    bar = {"outlinewidth": 0, "thickness": 14}
    return go.layout.Template(
        layout={
            "font": {"color": INK},
            "title": {"x": 0, "xanchor": "left", "xref": "paper", "font": {"size": 15}},
            "paper_bgcolor": CLEAR,
            "plot_bgcolor": CLEAR,
            "colorway": SERIES,
            "colorscale": {"sequential": "Viridis", "sequentialminus": "Viridis", "diverging": "RdBu"},
            "coloraxis": {"colorbar": bar},
            "xaxis": axis,
            "yaxis": axis,
            "legend": {"orientation": "h", "y": -0.2},
            "hoverlabel": {"font": {"size": 12}},
            "modebar": {"orientation": "v", "bgcolor": CLEAR, "color": INK},
            "margin": {"l": 60, "r": RIGHT, "t": 60, "b": 50},
            "autosize": True,
            "bargap": 0.25,
        },
        data={"heatmap": [{"colorbar": bar}], "contour": [{"colorbar": bar}]},
    )


def register() -> None:
    """Makes it one of plotly's templates, and the default one where the user has chosen none."""
    import plotly.io

    if NAME not in plotly.io.templates:
        plotly.io.templates[NAME] = template()
        if plotly.io.templates.default == "plotly":
            plotly.io.templates.default = NAME
