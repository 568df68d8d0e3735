"""Values recorded by `show` in a kernel: a table of names, and for each a matrix with a slider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from workbench.display import plots, shows
from workbench.kernel.show import Kind, Moment, Moments, ShownValues
from workbench.origin import Origin
from workbench.targets import target
from workbench.views.badge import style
from workbench.views.layout.controls import play, slider
from workbench.views.markup import block, code, tag
from workbench.views.table import Cell, Table

MAX_CELLS, MAX_STEPS = 200_000, 200
"""Limits of matrix elements and of frames in one figure, all of which are saved with the notebook."""

CELL = 12
"""Pixels of a row of a matrix, up to a height of `TALL`."""
TALL = 520

BROKEN = "#d81bd8"
"""NaN and infinity: a colour of neither scale."""

Array = npt.NDArray[Any]

_HEAD = (
    *("name", "line", "what", "shape", "type", "groups", "waves", "trips"),
    *("lowest", "highest", "NaN or inf"),
)


@shows(ShownValues)
def shown_html(values: ShownValues) -> Markup:
    """A row for each name."""
    rows = [_row(name, values.of(name)) for name in values]
    every, count = values.groups
    remark = (
        f"{count} of {every:,} work-groups; wb.showing(groups=...) chooses others" if count < every else ""
    )
    if not rows:
        return block(tag("div", "nothing was shown: no selected wave reached a show(...)"))
    return block(Table(_HEAD, rows), tag("div", remark, kind="wb-dim"))


@shows(Moments)
def moments_html(moments: Moments) -> Markup:
    """The row of one name."""
    return block(Table(_HEAD, [_row(moments[0].name, moments)]))


def _row(name: str, moments: Moments) -> list[Cell]:
    first = moments[0]
    numbers = _numbers(moments)
    finite = _finite(numbers)
    ends = [f"{f(finite):.4g}" for f in (np.min, np.max)] if finite.size else ["", ""]
    counts = [len({getattr(moment, axis) for moment in moments}) for axis in ("group", "wave", "trip")]
    broken = int(numbers.size - finite.size)
    return [
        Cell(code(name)),
        Cell(first.line, "wb-num"),
        Cell(first.kind.name.lower().replace("_", " ")),
        Cell(" x ".join(map(str, first.values.shape))),
        Cell(first.dtype.name),
        *(Cell(count, "wb-num") for count in counts),
        *(Cell(end, "wb-num") for end in ends),
        Cell(f"{broken:,}", "wb-num wb-bad" if broken else "wb-num"),
    ]


@plots(Moments)
def moments_figure(moments: Moments) -> Any:
    """One moment as a matrix, rows down; the slider goes through groups, waves and trips in this order.

    Returns:
        a plotly Figure; its slider works in an exported page.
    """
    import plotly.graph_objects as go

    rows, cols = _matrix(moments[0]).shape
    drawn = moments[: max(1, min(MAX_STEPS, MAX_CELLS // (rows * cols)))]
    ends = _ends(drawn)
    banks = int(target(moments.arch).lds_banks)
    figure = go.Figure([*_traces(drawn[0], ends, banks)])
    figure.update_yaxes(autorange="reversed", title="row", constrain="domain")
    figure.update_xaxes(title="lane" if drawn[0].kind is Kind.SCALAR else "column", constrain="domain")
    if rows == 1:
        figure.update_yaxes(visible=False)
    title = moments.title
    if len(drawn) < len(moments):
        title += f"; the first {len(drawn)} of {len(moments)} moments"
    style(figure, [Origin.COUNTED if moments.counted else Origin.MEASURED], title)
    height = max(110, min(TALL, rows * CELL)) + 170
    if len(drawn) > 1:
        figure.frames = [
            go.Frame(data=[*_traces(moment, ends, banks)], name=str(number))
            for number, moment in enumerate(drawn)
        ]
        labels = [_label(moment) for moment in drawn]
        figure.update_layout(sliders=[slider(labels, 0)], updatemenus=[play()])
        height += 110
    figure.update_layout(height=height)
    return figure


def _label(moment: Moment) -> str:
    return f"group {moment.group}, wave {moment.wave}, trip {moment.trip}"


def _matrix(moment: Moment) -> Array:
    """Its numbers as float64, [rows, columns]; lanes that were off have none."""
    values = moment.values.double().numpy()
    if moment.kind is Kind.SCALAR:
        on = (moment.lanes >> np.arange(64, dtype=np.uint64).astype(object) & 1).astype(bool)
        values = np.where(on, values, np.nan)
    return values if values.ndim == 2 else values[None]


def _numbers(moments: Sequence[Moment]) -> Array:
    return np.concatenate([_matrix(moment).ravel() for moment in moments])


def _finite(numbers: Array) -> Array:
    finite: Array = numbers[np.isfinite(numbers)]
    return finite


def _ends(moments: Sequence[Moment]) -> tuple[float, float]:
    """The colour scale's ends, the same for all moments, so that moving the slider shows changes."""
    finite = _finite(_numbers(moments))
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def _traces(moment: Moment, ends: tuple[float, float], banks: int) -> tuple[Any, Any]:
    """The numbers, and over them what is not a number."""
    import plotly.graph_objects as go

    numbers = _matrix(moment)
    broken = ~np.isfinite(numbers)
    if moment.kind is Kind.SCALAR:
        broken &= np.array([[bool(moment.lanes >> lane & 1) for lane in range(64)]])
    cells = go.Heatmap(
        z=np.where(np.isfinite(numbers), numbers, np.nan).astype(np.float32),
        zmin=ends[0],
        zmax=ends[1],
        colorscale="RdBu" if ends[0] < 0 < ends[1] else "Viridis",
        zmid=0 if ends[0] < 0 < ends[1] else None,
        customdata=_told(moment, numbers, banks),
        hovertemplate="%{customdata}<extra></extra>",
    )
    marks = go.Heatmap(
        z=np.where(broken, 1.0, np.nan).astype(np.float32),
        colorscale=[[0, BROKEN], [1, BROKEN]],
        showscale=False,
        hoverinfo="skip",
    )
    return cells, marks


def _told(moment: Moment, numbers: Array, banks: int) -> list[list[str]]:
    """The hover text of each element: its place and value."""
    is_matrix = moment.values.ndim == 2

    def text(row: int, col: int) -> str:
        place = moment.place(row, col) if is_matrix else moment.place(col)
        at = f"row {row}, column {col}" if is_matrix else f"element {col}"
        if place.lds is not None:
            where = f"LDS byte {place.lds}, bank {place.lds // 4 % banks}"
        elif moment.kind is Kind.SCALAR:
            at, where = f"lane {place.lane}", ""
        else:
            where = f"lane {place.lane}, its element {place.element}"
        return "<br>".join((at, f"{numbers[row, col]:.6g}", where))

    return [[text(row, col) for col in range(numbers.shape[1])] for row in range(numbers.shape[0])]
