"""The XCD map: a kernel's output coloured by the die that computes it, with the L2 hit rate of each order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from workbench import theme
from workbench.display import figure_of, plots, shows
from workbench.operators import shape_text
from workbench.origin import Origin
from workbench.profile.chiplets import DispatchOrder, XcdMap, xcd_map
from workbench.views.badge import badge, style
from workbench.views.markup import block, figure_text
from workbench.views.table import Table

HEAD = ("order", "L2 hit rate %", "of one XCD", "fetched MB", "")

COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#bbbbbb", "#332288")
"""One colour per die, distinguishable with colour-blind eyes too (Paul Tol's bright scheme, and indigo)."""

MAX_CELLS = 384
"""Maximum rows and columns of a panel; a map with more distinct ones leaves some out."""

MAX_NUMBERED = 300
"""Maximum number of cells in which each shows its place in the order of dispatch."""

_PANEL, _LEFT, _TOP = 430, 56, 120


def view_xcd(*targets: Any, **options: Any) -> Any:
    """Draws the XCD that computes each tile of a kernel's output, with the L2 hit rate.

    Args:
        targets: arguments of `xcd_map`, or several of its results to draw side by side (each in its own
            order), such as those of two kernels.
        options: keyword arguments of `xcd_map`.

    Returns:
        a plotly Figure.

    Raises:
        UsageError, DeviceError: see `xcd_map`.
    """
    if targets and all(isinstance(target, XcdMap) for target in targets):
        return figure_of(*targets)
    return figure_of(xcd_map(*targets, **options))


def distinct(writers: npt.NDArray[np.int64], axis: int) -> npt.NDArray[np.int64]:
    """Indexes where rows (axis 0) or columns (axis 1) differ from the previous one, with start and end.

    These are the edges of what can be drawn as one; of more than `MAX_CELLS` parts, some are left out.
    """
    table = writers if axis == 0 else writers.T
    changes = np.flatnonzero((table[1:] != table[:-1]).any(axis=1)) + 1
    edges = np.concatenate([[0], changes, [len(table)]])
    if len(edges) - 1 > MAX_CELLS:
        edges = np.unique(np.linspace(0, len(table), MAX_CELLS + 1).astype(np.int64))
    return edges.astype(np.int64)


@shows(XcdMap)
def xcd_html(result: XcdMap) -> Markup:
    """The L2 hit rate and bytes fetched for each dispatch order."""
    return block(Table(HEAD, map(_row, result.orders), caption=f"XCDs: {result.name}, {result.output}"))


def _row(order: DispatchOrder) -> tuple[str, ...]:
    rate = order.l2_hit_rate
    rates = [r.value for r in order.l2_hit_rates if r is not None]
    return (
        order.name,
        f"{rate.value:.1f}" if rate is not None else "",
        f"{min(rates):.1f} to {max(rates):.1f}" if rates else "",
        f"{order.fetched.value / 2**20:,.4g}",
        badge(order.fetched),
    )


@plots(XcdMap)
def xcd_figure(*maps: XcdMap) -> Any:
    """One panel per order of a map; several maps are each in their own order. A plotly Figure."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    panels = [
        (result, order)
        for result in maps
        for order in (result.orders if len(maps) == 1 else result.orders[:1])
    ]
    figure = make_subplots(
        rows=1,
        cols=len(panels),
        subplot_titles=[_title(result, order, len(maps) > 1) for result, order in panels],
        horizontal_spacing=0.1 if len(panels) > 1 else 0,
    )
    for column, (result, order) in enumerate(panels, 1):
        _panel(figure, go, result, order, column, column == len(panels))
    first = maps[0]
    size = shape_text(first.shape)
    of = f"{first.output} of {first.name}{f' ({size})' if size else ''}"
    title = f"{of} by XCD, {first.device}" if len(maps) == 1 else "Output by XCD"
    for annotation in figure.layout.annotations:
        annotation.update(font={"size": 12}, yshift=2)
    style(figure, [Origin.COUNTED, Origin.MODELLED], title, below=50)
    figure.update_layout(
        height=_TOP + _PANEL,
        margin={"l": _LEFT, "b": 46},
    )
    figure.update_xaxes(title="column", title_standoff=4, showgrid=False, constrain="domain")
    figure.update_yaxes(showgrid=False, constrain="domain")
    figure.update_yaxes(title="row", title_standoff=4, col=1)
    return figure


def _title(result: XcdMap, order: DispatchOrder, named: bool) -> str:
    rate = order.l2_hit_rate
    hits = "nothing asked of L2" if rate is None else f"L2 hit rate {rate.value:.1f}%"
    name = f"{result.name}, {order.name}" if named else order.name
    return f"{figure_text(name)}<br>{hits}<br>{order.fetched.value / 2**20:,.4g} MB fetched"


def _panel(figure: Any, go: Any, result: XcdMap, order: DispatchOrder, column: int, scale: bool) -> None:
    rows, columns = distinct(result.writers, 0), distinct(result.writers, 1)
    groups = result.writers[np.ix_(rows[:-1], columns[:-1])]
    turns = np.where(groups >= 0, order.turn_of()[groups], -1)
    dies = np.where(turns >= 0, turns % result.xcds, np.nan)
    spans = [[[*map(int, edges[i : i + 2])] for i in range(len(edges) - 1)] for edges in (rows, columns)]
    hover = [
        [
            _hover(int(groups[i, j]), int(turns[i, j]), result.xcds, high, wide)
            for j, wide in enumerate(spans[1])
        ]
        for i, high in enumerate(spans[0])
    ]
    numbered = groups.size <= MAX_NUMBERED
    figure.update_xaxes(range=[0, int(columns[-1])], row=1, col=column)
    figure.update_yaxes(range=[int(rows[-1]), 0], row=1, col=column)
    figure.add_trace(
        go.Heatmap(
            z=dies,
            x=columns,
            y=rows,
            zmin=-0.5,
            zmax=result.xcds - 0.5,
            colorscale=[stop for die in range(result.xcds) for stop in _band(die, result.xcds)],
            showscale=scale,
            colorbar={
                "title": {"text": "XCD", "side": "top"},
                "tickvals": list(range(result.xcds)),
                "thickness": 14,
                "outlinewidth": 0,
            },
            text=hover,
            hovertemplate="%{text}<extra></extra>",
            xgap=int(numbered),
            ygap=int(numbered),
        ),
        row=1,
        col=column,
    )
    if numbered:
        middle_x, middle_y = (columns[1:] + columns[:-1]) / 2, (rows[1:] + rows[:-1]) / 2
        labels = [(middle_x[j], middle_y[i], int(turns[i, j])) for i, j in np.argwhere(turns >= 0)]
        figure.add_trace(
            go.Scatter(
                x=[x for x, _, _ in labels],
                y=[y for _, y, _ in labels],
                text=[str(turn) for _, _, turn in labels],
                mode="text",
                textfont={"size": 9, "color": [ink_on(turn % result.xcds) for _, _, turn in labels]},
                hoverinfo="skip",
                showlegend=False,
            ),
            row=1,
            col=column,
        )


def _band(die: int, xcds: int) -> Sequence[tuple[float, str]]:
    colour = COLOURS[die % len(COLOURS)]
    return (die / xcds, colour), ((die + 1) / xcds, colour)


def ink_on(die: int) -> str:
    return theme.readable(COLOURS[die % len(COLOURS)])


def _hover(group: int, turn: int, xcds: int, rows: Sequence[int], columns: Sequence[int]) -> str:
    place = f"rows {rows[0]} to {rows[1] - 1}, columns {columns[0]} to {columns[1] - 1}"
    if group < 0:
        return f"{place}<br>written by nobody"
    launched = f", launched as {group}" if group != turn else ""
    return f"{place}<br>XCD {turn % xcds}<br>work-group {turn}{launched}"
