"""The origin badge (measured, counted, modelled, published) beside every figure, and our tables' style."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.origin import Figure, Origin

COLOURS: Mapping[Origin, str] = {
    Origin.MEASURED: "#1a7f4b",
    Origin.COUNTED: "#2563b0",
    Origin.MODELLED: "#b45f06",
    Origin.PUBLISHED: "#6b5b95",
}
"""One colour an origin, readable with white text on it, the same in tables and plots."""

MEANINGS: Mapping[Origin, str] = {
    Origin.MEASURED: "read from a clock or a hardware counter",
    Origin.COUNTED: "counted exactly by the emulated device",
    Origin.MODELLED: "computed from a machine model; never seen on hardware",
    Origin.PUBLISHED: "taken from a publication",
}

# Only JupyterLab's theme variables, with fallbacks for a page without it, so that both themes look right.
STYLE = (
    "<style>"
    ".wb{font-size:var(--jp-content-font-size0,13px);color:var(--jp-content-font-color1,inherit);"
    "font-family:var(--jp-content-font-family,sans-serif);overflow-x:auto;line-height:1.4}"
    ".wb table{border-collapse:collapse;margin:.4em 0}"
    ".wb caption{text-align:left;font-weight:600;padding:.2em 0;white-space:nowrap}"
    # Notebook front ends align table cells to the right by rules of their own.
    ".wb table th,.wb table td{text-align:left !important;padding:.15em .7em .15em 0;vertical-align:top;"
    "border-bottom:1px solid var(--jp-border-color2,#8884);"
    # A narrow window scrolls a table; it does not break its words.
    "overflow-wrap:normal;word-break:normal}"
    ".wb th{font-weight:600;color:var(--jp-content-font-color2,inherit)}"
    ".wb table td.wb-num{text-align:right !important;font-variant-numeric:tabular-nums}"
    ".wb .wb-ok{color:var(--jp-success-color1,#1a7f4b);white-space:nowrap}"
    ".wb .wb-bad{color:var(--jp-error-color1,#c0392b);font-weight:600;white-space:nowrap}"
    ".wb .wb-dim{color:var(--jp-content-font-color2,#777)}"
    ".wb .wb-warn{color:var(--jp-warn-color1,#b45f06)}"
    ".wb pre{margin:.2em 0;white-space:pre-wrap;font-family:var(--jp-code-font-family,monospace)}"
    ".wb-badge{color:#fff;border-radius:.6em;padding:0 .5em;font-size:.85em;white-space:nowrap}"
    "</style>"
)


def badge(of: Figure | Origin) -> str:
    """The badge as HTML; its tool tip says what the origin means, and a figure's source."""
    origin = of.origin if isinstance(of, Figure) else of
    tip = MEANINGS[origin]
    if isinstance(of, Figure) and of.source:
        tip += f": {of.source}"
    colour = COLOURS[origin]
    look = f"background:{colour};color:#fff"
    return f'<span class="wb-badge" style="{look}" title="{html.escape(tip)}">{origin}</span>'


def badges(of: Iterable[Figure | Origin]) -> str:
    """One badge for each different origin."""
    return " ".join(badge(o) for o in dict.fromkeys(f.origin if isinstance(f, Figure) else f for f in of))


def style(figure: Any, origins: Iterable[Origin], title: str) -> Any:
    """Gives a plotly figure its title, its badges in the upper right corner, and colours for both themes."""
    shown = list(dict.fromkeys(origins))
    figure.update_layout(
        title={"text": title, "x": 0, "xanchor": "left", "xref": "paper", "font": {"size": 15}},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "#808691"},
        margin={"l": 60, "r": 20, "t": 60, "b": 50},
        autosize=True,
        legend={"orientation": "h", "y": -0.2},
    )
    figure.update_xaxes(gridcolor="rgba(128,134,145,0.25)", zerolinecolor="rgba(128,134,145,0.4)")
    figure.update_yaxes(gridcolor="rgba(128,134,145,0.25)", zerolinecolor="rgba(128,134,145,0.4)")
    for i, origin in enumerate(reversed(shown)):
        figure.add_annotation(
            text=str(origin),
            name="origin",
            hovertext=MEANINGS[origin],
            xref="paper",
            yref="paper",
            x=1,
            y=1,
            xanchor="right",
            yanchor="bottom",
            xshift=-86 * i,
            yshift=8,
            showarrow=False,
            font={"color": "white", "size": 12},
            bgcolor=COLOURS[origin],
            borderpad=3,
        )
    return figure
