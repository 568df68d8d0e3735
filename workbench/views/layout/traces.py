"""What the layout explorer draws in a panel: cells, the veil over them, numbers of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from workbench.theme import CLEAR, readable
from workbench.tiles import Row
from workbench.views.layout.panels import CONFLICTING, FIELDS, SEEN, Grid, Mode, Panel, compact, top_value
from workbench.views.layout.steps import Step

PALE = 0.45
"""How much white is in the scale's colours: so much that one ink is read on all of them. The menu changes a
cell's colour and the slider its number in a page without Python, which could choose no ink for the two."""

CONFLICT = "#f0574f"
CONFLICTS = "rgba(240,87,79,0.7)"
VEIL = "rgba(128,134,145,0.78)"


@cache
def colours() -> tuple[str, ...]:
    """Of the scale, from the least value to the greatest."""
    from plotly.colors import get_colorscale

    hues = (hue for _, hue in get_colorscale("Viridis"))
    parts = ([int(hue[i : i + 2], 16) for i in (1, 3, 5)] for hue in hues)
    return tuple("#" + bytes(round(v + (255 - v) * PALE) for v in each).hex() for each in parts)


def _numbered() -> dict[str, Any]:
    """The look of numbers in cells: the ink of the palest colour is read on all."""
    return {"color": readable(colours()[-1])}


def base(panel: Panel, mode: Mode, scale: bool, numbers: bool) -> Any:
    """The cells in colour, with `numbers` in them; the first panel's has the colour bar for both."""
    import plotly.graph_objects as go

    # The tile's own panel says the element at the head.
    fields = [(name, panel.grid(value)) for name, value in (FIELDS[2:] if scale else FIELDS)]
    fields = [(name, grid) for name, grid in fields if not np.isnan(grid).all()]
    lines = [panel.head, *(f"{name} %{{customdata[{n}]}}" for n, (name, _) in enumerate(fields))]
    text: dict[str, Any] = {}
    if numbers:
        text = {"texttemplate": "%{z}", "textfont": _numbered()}
    return go.Heatmap(
        z=compact(panel.grid(mode.value)),
        customdata=_hovered([grid for _, grid in fields]) if fields else None,
        colorscale=colours(),
        zmin=0,
        zmax=top_value([panel], mode),
        showscale=scale,
        colorbar={"title": {"text": mode.name}, "thickness": 12} if scale else None,
        hovertemplate="<br>".join(lines) + "<extra></extra>",
        x0=panel.start[1],
        y0=panel.start[0],
        xgap=1,
        ygap=1,
        hoverongaps=False,
        **text,
    )


def _hovered(grids: Sequence[Grid]) -> Any:
    """What hovering tells of each cell; of one with nothing in it nothing, so its numbers may be any."""
    told = np.stack(grids, axis=-1)
    return compact(np.where(np.isnan(told).all(axis=-1, keepdims=True), 0, told))


def veil(panel: Panel, rows: Sequence[Row] | None, told: bool) -> Any:
    """What lies over the cells: red on conflicts, grey on what is not lit; numbers of lanes where told.

    Numbers are a heat map's own, which plotly sets as small as the cells are in a narrow figure.
    """
    import plotly.graph_objects as go

    text: dict[str, Any] = {}
    if told and panel.is_small:
        text = {"text": lanes(panel, rows), "texttemplate": "%{text}", "textfont": _numbered()}
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
        **text,
    )


def frame(panels: Sequence[Panel], step: Step, name: str, told: bool) -> Any:
    """What a position of the slider changes."""
    import plotly.graph_objects as go

    count = len(panels)
    data = []
    for panel in panels:
        lit = veil(panel, step.rows, told)
        data.append(go.Heatmap(z=lit.z, text=lit.text, colorscale=lit.colorscale))
    return go.Frame(data=data, traces=[*range(count, 2 * count)], name=name)


def lanes(panel: Panel, rows: Sequence[Row] | None) -> list[list[str]]:
    """The numbers of the lanes that meet in each lit cell; "" in those between."""
    found: dict[tuple[int, int], list[int]] = {}
    for row in panel.first.values() if rows is None else rows:
        place = panel.place(row)
        if place is not None and row.lane is not None:
            there = found.setdefault(panel.cell(place), [])
            if row.lane not in there:
                there.append(row.lane)
    # A row ends with its last number: a frame lights a few of two thousand cells.
    ends = {y: max(x for row, x in found if row == y) for y in {y for y, _ in found}}
    return [
        ["/".join(map(str, found.get((y, x), ()))) for x in range(ends.get(y, -1) + 1)]
        for y in range(panel.shape[0])
    ]
