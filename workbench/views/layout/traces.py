"""The layout explorer's plotly traces: cells, the veil over them, lane numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.theme import CLEAR, pale, readable
from workbench.tiles import Row
from workbench.views.layout.panels import CONFLICTED, FIELDS, SEEN, Grid, Mode, Panel, compact, top_value
from workbench.views.layout.steps import Step

CONFLICT = "#f0574f"
CONFLICTS = "rgba(240,87,79,0.7)"
VEIL = "rgba(128,134,145,0.78)"


def _numbered() -> dict[str, Any]:
    """The look of numbers in cells.

    One ink, that of the palest colour, is read on all: the menu changes a cell's colour and the slider its
    number in a page without Python, which could choose no ink for the two.
    """
    return {"color": readable(pale()[-1])}


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
        colorscale=pale(),
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
    """Hover values of each cell; an empty cell shows no hover text, so its values are arbitrary."""
    fields = np.stack(grids, axis=-1)
    return compact(np.where(np.isnan(fields).all(axis=-1, keepdims=True), 0, fields))


def veil(panel: Panel, rows: Sequence[Row] | None, numbered: bool) -> Any:
    """The overlay: red on conflicts, grey on unlit cells; with the lanes' numbers if asked for.

    The numbers are the heat map's own text, which plotly shrinks with the cells in a narrow figure.
    """
    import plotly.graph_objects as go

    text: dict[str, Any] = {}
    if numbered and panel.is_small:
        text = {"text": lanes(panel, rows), "texttemplate": "%{text}", "textfont": _numbered()}
    over = (CLEAR, VEIL, CONFLICT, CONFLICTS)
    return go.Heatmap(
        z=panel.veil(rows),
        zmin=SEEN,
        zmax=CONFLICTED,
        colorscale=[[(n + side) / len(over), tone] for n, tone in enumerate(over) for side in (0, 1)],
        showscale=False,
        hoverinfo="skip",
        x0=panel.start[1],
        y0=panel.start[0],
        xgap=1,
        ygap=1,
        **text,
    )


def frame(panels: Sequence[Panel], step: Step, name: str, numbered: bool) -> Any:
    """The plotly frame of one slider position."""
    import plotly.graph_objects as go

    count = len(panels)
    data = []
    for panel in panels:
        lit = veil(panel, step.rows, numbered)
        data.append(go.Heatmap(z=lit.z, text=lit.text))
    return go.Frame(data=data, traces=[*range(count, 2 * count)], name=name)


def lanes(panel: Panel, rows: Sequence[Row] | None) -> list[list[str]]:
    """The numbers of the lanes that meet in each lit cell; "" in those between.

    Plotly sizes the text by the space between consecutive entries: blanks in the corner tell it
    a cell's size where rows and columns between the lit ones are empty.
    """
    meeting: dict[tuple[int, int], list[int]] = {}
    for row in panel.first.values() if rows is None else rows:
        place = panel.place(row)
        if place is not None and row.lane is not None:
            there = meeting.setdefault(panel.cell(place), [])
            if row.lane not in there:
                there.append(row.lane)
    texts = {place: "/".join(map(str, numbers)) for place, numbers in meeting.items()}
    texts = {
        place: " "
        for place in ((0, 0), (0, 1), (1, 0))
        if place[0] < panel.shape[0] and place[1] < panel.shape[1]
    } | texts
    # A row ends with its last number: a frame lights a few of two thousand cells.
    ends = {y: max(x for row, x in texts if row == y) for y in {y for y, _ in texts}}
    return [[texts.get((y, x), "") for x in range(ends.get(y, -1) + 1)] for y in range(panel.shape[0])]
