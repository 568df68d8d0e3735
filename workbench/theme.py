"""The look that all figures share, on light and dark pages: colours, and a plotly template with them."""

from __future__ import annotations

from functools import cache
from typing import Any

NAME = "hipkittens"
"""The template's name in plotly.io.templates."""

INK = "#767c87"
"""Colour of text and lines: contrast 4.2 to a white page, 4.5 to JupyterLab's dark one. A page with a theme
replaces it (views/grid.js)."""

CLEAR = "rgba(0,0,0,0)"
"""Colour of backgrounds: transparent, so that the page's own shows."""

GRID = "rgba(128,134,145,0.25)"
ZERO = "rgba(128,134,145,0.4)"

GREY = "rgba(128,134,145,0.55)"
"""Colour of the baseline, which no origin, series or theme's text has."""

SERIES = ("#3a86d4", "#d97f2b", "#2a9d77", "#c0508f", "#8a75d6", "#a8921a", "#3f9fb5", "#d2555f")
"""Hues of kernels, devices and other series, in their order, on light and dark; no origin has one of them."""

RIGHT = 44
"""Pixels right of a figure for the tool bar: above the figure it would cover titles and badges."""

WHITE = 0.45
"""Share of white in the colours of a heat map with numbers."""

PAD, PAD_SEVERAL = 10, 21
"""Pixels above a title of one line, and of several, which plotly sets higher."""

TITLE: dict[str, Any] = {
    "x": 0,
    "xref": "container",
    "xanchor": "left",
    "y": 1,
    "yref": "container",
    "yanchor": "top",
    "pad": {"t": PAD, "l": 10},
    "font": {"size": 15},
}
"""Places the title in the upper left corner, wherever the axes begin."""


def luminance(colour: str) -> float:
    """WCAG's relative luminance of "#rrggbb", 0 to 1."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """WCAG's contrast of two colours, 1 to 21; text needs 4.5 (AA), large text and lines 3."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def readable(on: str) -> str:
    """Black or white, whichever is easier to read on a colour; that has a contrast of 4.58 or more."""
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, on))


@cache
def pale() -> tuple[str, ...]:
    """The colours of a heat map with numbers, from the least value to the greatest: Viridis, paler.

    They are pale enough for black text.
    """
    from plotly.colors import get_colorscale

    parts = ([int(hue[i : i + 2], 16) for i in (1, 3, 5)] for _, hue in get_colorscale("Viridis"))
    return tuple("#" + bytes(round(v + (255 - v) * WHITE) for v in channels).hex() for channels in parts)


def template() -> Any:
    """The workbench's plotly Template."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": GRID,
        "zerolinecolor": ZERO,
        "linecolor": ZERO,
        "automargin": True,
        "title": {"standoff": 6},
    }
    # In pixels from the axes: a fraction of their width would reach into the tool bar in a wide figure.
    bar = {"outlinewidth": 0, "thickness": 14, "x": 1, "xpad": 8}
    return go.layout.Template(
        layout={
            "font": {"color": INK},
            "title": TITLE,
            "paper_bgcolor": CLEAR,
            "plot_bgcolor": CLEAR,
            "colorway": SERIES,
            "colorscale": {"sequential": "Viridis", "sequentialminus": "Viridis", "diverging": "RdBu"},
            "coloraxis": {"colorbar": bar},
            "xaxis": axis,
            # Invisible ticks: otherwise labels would touch the bars, and the values of short ones.
            "yaxis": {**axis, "ticks": "outside", "ticklen": 5, "tickcolor": CLEAR},
            "legend": {"orientation": "h", "y": -0.2},
            "hoverlabel": {"font": {"size": 12}},
            "modebar": {"orientation": "v", "bgcolor": CLEAR, "color": INK},
            "margin": {"l": 60, "r": RIGHT, "t": 60, "b": 50},
            "autosize": True,
            "bargap": 0.25,
        },
        data={"heatmap": [{"colorbar": bar}], "contour": [{"colorbar": bar}]},
    )


def tree() -> dict[str, Any]:
    """The template as a plain tree for a figure's layout; the caller owns it."""
    import plotly.io

    register()
    template: dict[str, Any] = plotly.io.templates[NAME].to_plotly_json()
    return template


def register() -> None:
    """Makes it one of plotly's templates, and the default if the user has chosen none."""
    import plotly.io

    if NAME not in plotly.io.templates:
        plotly.io.templates[NAME] = template()
        if plotly.io.templates.default == "plotly":
            plotly.io.templates.default = NAME
