"""What the layout explorer draws in a panel: cells, the veil over them, numbers of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.theme import CLEAR
from workbench.tiles import Row
from workbench.views.layout.panels import CONFLICTING, FIELDS, SEEN, Mode, Panel, top_value
from workbench.views.layout.steps import Step

CONFLICT = "#e0312d"
CONFLICTS = "rgba(224,49,45,0.7)"
VEIL = "rgba(128,134,145,0.78)"


def base(panel: Panel, mode: Mode, scale: bool, numbers: bool) -> Any:
    """The cells in colour, with `numbers` in them; the first panel's has the colour bar for both."""
    import plotly.graph_objects as go

    # The tile's own panel says the element at the head.
    fields = [(name, panel.grid(value)) for name, value in (FIELDS[2:] if scale else FIELDS)]
    fields = [(name, grid) for name, grid in fields if not np.isnan(grid).all()]
    lines = [panel.head, *(f"{name} %{{customdata[{n}]}}" for n, (name, _) in enumerate(fields))]
    text: dict[str, Any] = {}
    if numbers:
        text = {"texttemplate": "%{z}", "textfont": {"size": 9}}
    return go.Heatmap(
        z=panel.grid(mode.value),
        customdata=np.stack([grid for _, grid in fields], axis=-1) if fields else None,
        colorscale="Viridis",
        zmin=0,
        zmax=top_value([panel], mode),
        showscale=scale,
        colorbar={"title": {"text": mode.name}, "thickness": 12, "x": 1.01} if scale else None,
        hovertemplate="<br>".join(lines) + "<extra></extra>",
        x0=panel.start[1],
        y0=panel.start[0],
        xgap=1,
        ygap=1,
        hoverongaps=False,
        **text,
    )


def veil(panel: Panel, rows: Sequence[Row] | None) -> Any:
    """What lies over the cells: red on conflicts, grey on what is not lit."""
    import plotly.graph_objects as go

    third = 1 / 3
    # Where all accesses are shown at once, the colours below stay visible.
    conflict = CONFLICTS if rows is None else CONFLICT
    return go.Heatmap(
        z=panel.veil(rows),
        zmin=SEEN,
        zmax=CONFLICTING,
        colorscale=[
            [0, CLEAR],
            [third, CLEAR],
            [third, VEIL],
            [2 * third, VEIL],
            [2 * third, conflict],
            [1, conflict],
        ],
        showscale=False,
        hoverinfo="skip",
        x0=panel.start[1],
        y0=panel.start[0],
        xgap=1,
        ygap=1,
    )


def frame(panels: Sequence[Panel], step: Step, name: str) -> Any:
    """What a position of the slider changes."""
    import plotly.graph_objects as go

    count = len(panels)
    data: list[Any] = [veil(panel, step.rows) for panel in panels]
    data += [lanes(panel, step.rows) for panel in panels]
    return go.Frame(data=data, traces=[*range(count, 3 * count)], name=name)


def lanes(panel: Panel, rows: Sequence[Row] | None) -> Any:
    """The numbers of the lanes that meet in each lit cell, where there is room for them."""
    import plotly.graph_objects as go

    found: dict[tuple[int, int], list[int]] = {}
    for row in panel.first.values() if rows is None else rows:
        place = panel.place(row)
        if place is not None and row.lane is not None and row.lane not in found.setdefault(place, []):
            found[place].append(row.lane)
    if not panel.is_small:
        found = {}
    return go.Scatter(
        x=[place[1] for place in found],
        y=[place[0] for place in found],
        text=["/".join(map(str, numbers)) for numbers in found.values()],
        mode="text",
        textfont={"size": 8, "color": "#ffffff", "shadow": "0px 0px 2px #000000"},
        hoverinfo="skip",
        showlegend=False,
    )
