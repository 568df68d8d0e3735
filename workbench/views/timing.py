"""Times: a table, a figure of one launch's breakdown, and one of times or rates over shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from workbench.display import plots, shows
from workbench.operators import Published, Shape, shape_text
from workbench.origin import Figure, Origin
from workbench.profile.model import BESIDE_UNITS, UNITS
from workbench.profile.timing import SweepResult, TimeResult
from workbench.theme import GREY, INK, SERIES, readable
from workbench.views.badge import badge, marker, style, unknown
from workbench.views.markup import block, figure_text
from workbench.views.table import Table

HEAD = ("shape", "device", "median us", "10% to 90%", "TFLOP/s", "TB/s", "bound by", "")


@shows(TimeResult)
def time_html(result: TimeResult) -> Markup:
    """Table of one launch's time."""
    return block(
        Table(
            ("step" if result.steps else "shape", *HEAD[1:]),
            [_row(result), *((step.name, *_row(step)[1:]) for step in result.steps)],
            caption=f"time: {result.name}",
        ),
        unknown([result.median]),
    )


@shows(SweepResult)
def sweep_html(results: SweepResult) -> Markup:
    """The table of several shapes."""
    table = Table(HEAD, map(_row, results), caption=f"time: {results.name}")
    return block(table, unknown(result.median for result in results))


def _row(r: TimeResult) -> tuple[str, ...]:
    return (
        shape_text(r.shape),
        r.device,
        f"{r.median.value:.4g}",
        _range(r),
        *(f"{f.value:.4g}" if f is not None else "" for f in (r.rate, r.bandwidth)),
        r.model.bound_text if r.model is not None else "",
        badge(r.median),
    )


def _range(r: TimeResult) -> str:
    """Quantiles where measured; where modelled, what the time is in 80 % of like cases."""
    if r.runs:
        return f"{r.low.value:.4g} to {r.high.value:.4g}"
    around = r.median.error.around(r.median.value) if r.median.error is not None else None
    return f"{around[0]:.4g} to {around[1]:.4g} expected" if around is not None else ""


def breakdown_bars(result: TimeResult) -> tuple[list[str], list[float]]:
    """Names and microseconds of a modelled time's parts, longest last (as plotly draws bars from below)."""
    if result.model is None:
        return [], []
    parts = result.model.breakdown
    names = [{**UNITS, **BESIDE_UNITS}.get(name, figure_text(name)) for name in parts]
    return names[::-1], [figure.value for figure in parts.values()][::-1]


@plots(TimeResult)
def time_figure(result: TimeResult) -> Any:
    """One launch: the model's parts as bars, or the measured median with its quantiles. A plotly Figure."""
    import plotly.graph_objects as go

    figure = go.Figure()
    if result.model is not None:
        names, values = breakdown_bars(result)
        figure.add_trace(
            go.Bar(
                x=values,
                y=names,
                orientation="h",
                marker=marker(SERIES[0], [Origin.MODELLED]),
                text=[f"{value:.3g}" for value in values],
                textposition="outside",
                textfont={"color": INK},
                cliponaxis=False,
                hovertemplate="%{y}: %{x:.4g} us<extra>modelled</extra>",
            )
        )
        figure.update_xaxes(title="busy, us", range=[0, 1.15 * max(values, default=1)])
    else:
        median = result.median.value
        figure.add_trace(
            go.Bar(
                x=[median],
                y=[figure_text(result.name)],
                orientation="h",
                marker=marker(SERIES[0], [result.origin]),
                text=[f"{median:.4g} us"],
                textposition="inside",
                insidetextanchor="middle",
                textfont={"color": readable(SERIES[0])},
                width=0.4,
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [result.high.value - median],
                    "arrayminus": [median - result.low.value],
                },
            )
        )
        figure.update_xaxes(title="us, median with 10% and 90% quantiles", rangemode="tozero")
    title = f"{result.name} on {result.device}: {result.median.value:.4g} us, {result.quantity}"
    return style(figure, [result.median], title)


@plots(SweepResult)
def sweep_figure(results: SweepResult, *, baseline: Sequence[TimeResult] = (), hue: str = SERIES[0]) -> Any:
    """Times over shapes, or rates where the work is known, with published figures. A plotly Figure.

    Args:
        baseline: earlier times of the same kernel, drawn grey.
        hue: colour of the first line; the others take the following colours.
    """
    import plotly.graph_objects as go

    first = SERIES.index(hue)
    hues = SERIES[first:] + SERIES[:first]
    quantity = _quantity([*results, *baseline])
    unit = quantity[1] if quantity is not None else "us"
    figure = go.Figure()
    axis = ShapeAxis([r.shape for r in (*results, *baseline)])
    origins: list[Figure | Origin] = []
    devices = dict.fromkeys(r.device for r in results)
    lines: list[tuple[str, list[TimeResult], str | None]] = [
        (device, [r for r in results if r.device == device], None) for device in devices
    ]
    lines += [(f"baseline, {d}", [r for r in baseline if r.device == d], GREY) for d in devices]
    for n, (name, series, grey) in enumerate(line for line in lines if line[1]):
        series = sorted(series, key=lambda r: axis.size(r.shape))
        origin = series[0].origin
        origins.append(series[0].median)
        figure.add_trace(
            go.Scatter(
                x=[axis.mark(r.shape) for r in series],
                y=[_in_unit(r.median.value, r.work, quantity) for r in series],
                mode="lines+markers",
                name=figure_text(f"{name} ({origin})"),
                line={
                    "color": grey or hues[n % len(hues)],
                    "dash": "dash" if origin is Origin.MODELLED else "solid",
                },
                customdata=[
                    [r.median.value, r.model.bound_text if r.model else "", figure_text(shape_text(r.shape))]
                    for r in series
                ],
                hovertemplate="%{customdata[2]}<br>%{y:.4g} " + unit + "<br>%{customdata[0]:.4g} us "
                f"%{{customdata[1]}}<extra>{origin}</extra>",
            )
        )
    for n, (who, points) in enumerate(_published(results, results.published, quantity).items()):
        origins.append(Origin.PUBLISHED)
        name = figure_text(who)
        figure.add_trace(
            go.Scatter(
                x=[axis.mark(shape) for shape, _ in points],
                y=[value for _, value in points],
                mode="markers",
                marker={
                    "symbol": "diamond-open",
                    "size": 10,
                    "color": hues[(len(devices) + n) % len(hues)],
                },
                name=f"{name} (published)",
                hovertemplate="%{x}<br>%{y:.4g} " + unit + f"<extra>{name}, published</extra>",
            )
        )
    figure.update_yaxes(title=axis_title(unit), rangemode="tozero")
    figure.update_xaxes(**axis.look)
    return style(figure, origins, f"{results.name} over shapes")


def axis_title(unit: str) -> str:
    """Title of an axis in a unit, such as "rate, TFLOP/s"."""
    return f"{QUANTITIES.get(unit, 'rate')}, {unit}"


class ShapeAxis:
    """An axis of shapes: numbers on a logarithmic axis where they differ in one, else what they differ in.

    Args:
        shapes: all that are drawn.
    """

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._shapes = sorted(shapes, key=self.size)
        keys = list(dict.fromkeys(key for shape in shapes for key in shape))
        self._differing = [key for key in keys if len({shape.get(key) for shape in shapes}) > 1] or keys
        columns = {tuple(shape.get(key) for shape in shapes) for key in self._differing}
        # m = n = k is one number that three parameters have.
        self._numeric = len(columns) == 1 and all(_is_size(value) for column in columns for value in column)

    def size(self, shape: Shape) -> float:
        """Sort key of a shape: the product of its numbers."""
        return math.prod(float(value) for value in shape.values() if _is_size(value))

    def position(self, shape: Shape) -> Any:
        """Coordinate of a shape: a number, or a text of what differs."""
        if self._numeric:
            return shape[self._differing[0]]
        return ", ".join(f"{key}={shape[key]}" for key in self._differing if key in shape)

    def mark(self, shape: Shape) -> Any:
        """The same for plotly."""
        place = self.position(shape)
        return figure_text(place) if isinstance(place, str) else place

    @property
    def look(self) -> dict[str, Any]:
        """Attributes of the plotly axis."""
        places = list(dict.fromkeys(map(self.mark, self._shapes)))
        title = {"title": figure_text(" = ".join(self._differing))} if self._numeric else {}
        if not self._numeric:
            return {"type": "category", "categoryarray": places, "categoryorder": "array", **title}
        if len(places) > 12:
            return {"type": "log", **title}
        return {"type": "log", "tickvals": places, "ticktext": [f"{place:g}" for place in places], **title}


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


QUANTITIES = {"us": "time", "TB/s": "bandwidth", "TFLOP/s": "rate"}

MEMORY_BOUND = 16.0
"""FLOPs a byte below which a kernel is judged by bandwidth; no GPU here is compute bound with fewer."""

Quantity = tuple[str, str] | None
"""The work that a rate counts ("flops" or "bytes") and the rate's unit; None for plain times."""


def _quantity(results: Sequence[TimeResult]) -> Quantity:
    """TB/s for kernels with little arithmetic, TFLOP/s for others, times where the work is not known."""
    work = [r.work for r in results]
    flops = bool(work) and all(w.get("flops") for w in work)
    size = bool(work) and all(w.get("bytes") for w in work)
    if size and (not flops or all(w["flops"] < MEMORY_BOUND * w["bytes"] for w in work)):
        return "bytes", "TB/s"
    return ("flops", "TFLOP/s") if flops else None


def _in_unit(microseconds: float, work: Mapping[str, int], quantity: Quantity) -> float:
    return microseconds if quantity is None else work[quantity[0]] / microseconds * 1e-6


def _published(
    results: Sequence[TimeResult], published: Sequence[Published], quantity: Quantity
) -> dict[str, list[tuple[Shape, float]]]:
    """Published points of the results' shapes by implementation and GPU; times become rates by the work."""
    unit = quantity[1] if quantity is not None else "us"
    points: dict[str, list[tuple[Shape, float]]] = {}
    for p in published:
        # A publication need not say every parameter, such as a tile size.
        result = next((r for r in results if p.shape.items() <= r.shape.items()), None)
        if result is None:
            continue
        value = p.value if p.unit == unit else None
        if value is None and p.unit == "us":
            value = _in_unit(p.value, result.work, quantity)
        if value is not None:
            points.setdefault(f"{p.implementation} {p.gpu}", []).append((result.shape, value))
    return points
