"""The layout explorer's menu of colours, slider and buttons; they work in an exported page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from workbench.theme import CLEAR, INK
from workbench.views.layout.panels import Grid, Mode, Panel, compact, top_value
from workbench.views.markup import figure_text


def menu(panels: Sequence[Panel], modes: Sequence[Mode], active: int) -> dict[str, Any]:
    """The menu of what colours say."""
    count = len(panels)
    return {
        "type": "dropdown",
        "active": active,
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 24},
        "buttons": [
            {
                "label": f"colour: {mode.name}",
                "method": "restyle",
                "args": [
                    {
                        "z": [_packed(panel.grid(mode.value)) for panel in panels],
                        "zmax": [top_value(panels, mode)] * count,
                        "colorbar.title.text": mode.name,
                    },
                    [*range(count)],
                ],
            }
            for mode in modes
        ],
    }


def _packed(grid: Grid) -> dict[str, str]:
    """A grid as plotly's script reads one; in what a button does the package leaves arrays as lists."""
    small = compact(grid)
    return {
        "dtype": small.dtype.str.lstrip("|<"),
        "bdata": base64.b64encode(small.tobytes()).decode(),
        "shape": ", ".join(map(str, small.shape)),
    }


_AT_ONCE = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}


def slider(labels: Sequence[str], active: int) -> dict[str, Any]:
    """A slider over a figure's frames, one for each label."""
    return {
        "active": active,
        "y": 0,
        "pad": {"t": 60, "l": 90},
        "len": 1,
        "ticklen": 3,
        # Only the label of the chosen step: the others would overlap.
        "font": {"color": CLEAR, "size": 1},
        "currentvalue": {"font": {"size": 13, "color": INK}, "xanchor": "left"},
        "steps": [
            {"label": figure_text(label), "method": "animate", "args": [[str(n)], _AT_ONCE]}
            for n, label in enumerate(labels)
        ],
    }


def play() -> dict[str, Any]:
    """Buttons that move the slider."""
    running = {"frame": {"duration": 700, "redraw": True}, "transition": {"duration": 0}, "fromcurrent": True}
    return {
        "type": "buttons",
        "direction": "right",
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "pad": {"t": 84},
        "showactive": False,
        "buttons": [
            {"label": "▶", "method": "animate", "args": [None, running]},
            {"label": "❚❚", "method": "animate", "args": [[None], _AT_ONCE]},
        ],
    }
