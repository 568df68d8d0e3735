"""Benchmarks: bars, lines, a roofline of all implementations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from markupsafe import Markup

from workbench.bench.cases import Analysis, analyses
from workbench.bench.compare import Regressions
from workbench.bench.results import OURS, Result
from workbench.bench.run import BenchResult, base
from workbench.display import plots, shows
from workbench.errors import UsageError
from workbench.operators import Published, kernels, shape_text
from workbench.origin import Figure, Origin
from workbench.targets import Product, product
from workbench.theme import GREY, INK, SERIES
from workbench.views.badge import badge, marker, style
from workbench.views.markup import block, figure_text
from workbench.views.table import Table, number
from workbench.views.timing import MEMORY_BOUND, ShapeAxis, axis_title

HEAD = ("problem", "implementation", "us", "10% to 90%", "TFLOP/s", "TB/s", "limited by", "verified at", "")
ORDER = (OURS, "HipKittens", "AITER", "hipBLASLt", "CK", "Triton", "PyTorch", "PyTorch compiled")
"""Implementations in the order of their hues; others follow."""

UPRIGHT = 9
"""Number of bars above which values are written upright: side by side they would overlap."""

SYMBOLS = {
    Origin.MEASURED: "circle",
    Origin.EMULATED: "circle",
    Origin.MODELLED: "circle",
    Origin.PUBLISHED: "diamond-open",
}


@dataclass(frozen=True)
class Bar:
    """One value of a figure.

    Attributes:
        x: place on the axis.
        who: name of the implementation.
        us: microseconds.
        value: value in the figure's unit.
        figure: the time with its origin.
    """

    x: str
    who: str
    us: float
    value: float
    figure: Figure


@shows(BenchResult)
def bench_html(result: BenchResult) -> Markup:
    """One table per operator, with published figures among the rows."""
    return block(*(bench_table(result, name) for name in result.operators))


def bench_table(result: BenchResult, operator: str) -> Table:
    """Table of one operator's results."""
    rows: list[tuple[Any, ...]] = []
    tips: list[str] = []
    for shape, text in _problems(result.of(operator)).items():
        records = [record for record in result.of(operator) if repr(dict(record.shape)) == shape]
        rows += [_row(record, text) for record in records]
        tips += [_tip(record) for record in records]
        for figure, us in _published(result, operator, records[0]):
            rate = _rates(us, records[0])
            rows.append((text, figure.implementation, us, "", *rate, "", "", badge(figure.figure)))
            tips.append(figure.source)
    return Table(HEAD, rows, caption=f"{operator}: {result.title}", tips=tips)


def _row(record: Result, text: str) -> tuple[Any, ...]:
    name = record.implementation + (f": {record.variant.partition(':')[2]}" if ":" in record.variant else "")
    if record.failure:
        return text, name, record.failure, "", "", "", "", "", ""
    span = f"{record.low:.4g} to {record.high:.4g}" if record.runs else ""
    around = record.figure.error.around(record.us) if record.figure.error is not None else None
    if around is not None:
        span = f"{around[0]:.4g} to {around[1]:.4g} expected"
    where = "as timed" if record.verified == shape_text(record.shape) else record.verified
    return text, name, record.us, span, *_rates(record.us, record), record.bound, where, badge(record.figure)


def _rates(us: float, record: Result) -> tuple[Any, Any]:
    return tuple(number(work / us * 1e-6, ".4g") if work else "" for work in (record.flops, record.bytes))  # type: ignore[return-value]


def _tip(record: Result) -> str:
    setting = record.setting
    commit = str(setting.get("git", {}).get("commit", ""))[:10]
    build = f"{setting.get('compiler', '')}, code {record.code}, sources {record.source}, commit {commit}"
    return f"{record.when}, {build}"


def _problems(results: Sequence[Result]) -> dict[str, str]:
    """Shapes by their differing parameters, in the order of their sizes."""
    axis = ShapeAxis([record.shape for record in results])
    ordered = sorted(results, key=lambda record: (axis.size(record.shape), record.operator))
    several = len({record.operator for record in results}) > 1
    texts = {}
    for record in ordered:
        place = str(axis.position(record.shape))
        special = record.operator.partition(":")[2] or record.operator.partition("[")[2].rstrip("]")
        texts[repr(dict(record.shape))] = f"{place} {special}".strip() if several and special else place
    return texts


def _published(result: BenchResult, operator: str, like: Result) -> list[tuple[Published, float]]:
    """Figures of a problem, for its GPU if there are any, as microseconds."""
    matches = [f for f in result.published.get(operator, ()) if f.shape.items() <= dict(like.shape).items()]
    here = [f for f in matches if f.gpu.startswith(like.product) or like.product in f.gpu]
    figures: dict[tuple[str, str], tuple[Published, float]] = {}
    for figure in here or matches:
        us = microseconds(figure.value, figure.unit, like.flops)
        if us is not None:
            # The first of equal ones: the spec's own, then that of the analysis.
            figures.setdefault((figure.implementation, figure.gpu), (figure, us))
    return list(figures.values())


def microseconds(value: float, unit: str, flops: int) -> float | None:
    """A published figure as time; None if that does not follow."""
    if unit == "us":
        return value
    return flops / value * 1e-6 if unit == "TFLOP/s" and flops and value else None


@plots(BenchResult)
def bench_figure(result: BenchResult) -> Any:
    """One operator: bars of all implementations; several: the roofline. A plotly Figure."""
    return operator_bars(result, result.operators[0]) if len(result.operators) == 1 else roofline(result)


def unit_of(results: Sequence[Result]) -> str:
    """TB/s for operators with little arithmetic, TFLOP/s for others, us if the work is unknown."""
    if not results or not all(record.flops or record.bytes for record in results):
        return "us"
    little = all(record.bytes and record.flops < MEMORY_BOUND * record.bytes for record in results)
    return "TB/s" if little else "TFLOP/s" if all(record.flops for record in results) else "us"


def in_unit(us: float, record: Result, unit: str) -> float:
    """A time of a problem in the unit of a figure."""
    return us if unit == "us" else (record.bytes if unit == "TB/s" else record.flops) / us * 1e-6


def bars_of(result: BenchResult, operator: str) -> tuple[list[Bar], str]:
    """Every value of an operator's figure, and their unit."""
    records = result.of(operator)
    timed = [record for record in records if not record.failure]
    unit = unit_of(timed)
    texts = _problems(list(records))
    bars: list[Bar] = []
    for record in timed:
        bars.append(_bar_of(record, texts[repr(dict(record.shape))], unit))
    for like in {repr(dict(record.shape)): record for record in timed}.values():
        for figure, us in _published(result, operator, like):
            who = (
                figure.implementation
                if figure.gpu == like.product
                else f"{figure.implementation}, {figure.gpu}"
            )
            x = texts[repr(dict(like.shape))]
            bars.append(Bar(x, who, us, in_unit(us, like, unit), figure.figure))
    order = list(texts.values())
    return sorted(bars, key=lambda bar: order.index(bar.x)), unit


def _bar_of(record: Result, x: str, unit: str) -> Bar:
    return Bar(x, record.implementation, record.us, in_unit(record.us, record, unit), record.figure)


def operator_bars(result: BenchResult, operator: str) -> Any:
    """Bars side by side, the value on each: implementations by problem. A plotly Figure."""
    values, unit = bars_of(result, operator)
    axis = ShapeAxis([record.shape for record in result.of(operator)]).look.get("title", "")
    return _grouped(values, unit, f"{operator} on {result[0].product}", axis)


def _grouped(values: Sequence[Bar], unit: str, title: str, axis: str = "") -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    places = list(dict.fromkeys(bar.x for bar in values))
    for name, colour in hues({bar.who for bar in values}).items():
        by_place = {bar.x: bar for bar in values if bar.who == name}
        some, who = next(iter(by_place.values())), figure_text(name)
        heights = [by_place[x].value if x in by_place else None for x in places]
        figure.add_trace(
            go.Bar(
                x=list(map(figure_text, places)),
                y=heights,
                name=f"{who} ({some.figure.origin})",
                marker=marker(colour, [some.figure.origin]),
                text=["" if height is None else short(height) for height in heights],
                textposition="outside",
                textfont={"size": 10, "color": INK},
                constraintext="none",
                cliponaxis=False,
                customdata=[by_place[x].us if x in by_place else None for x in places],
                hovertemplate="%{x}<br>%{y:.4g} "
                + unit
                + "<br>%{customdata:.4g} us<extra>"
                + who
                + "</extra>",
            )
        )
    if sum(len(trace.x) for trace in figure.data) > UPRIGHT:
        figure.update_traces(textangle=-90)
    figure.update_layout(barmode="group", bargap=0.15)
    top = max((bar.value for bar in values), default=1.0)
    figure.update_yaxes(title=axis_title(unit), range=[0, 1.2 * top])
    figure.update_xaxes(type="category", title=axis)
    return style(figure, [bar.figure for bar in values], title)


def operator_lines(result: BenchResult, operator: str) -> Any:
    """Lines over sizes: TFLOP/s or TB/s, or us if the work is unknown. A plotly Figure."""
    import plotly.graph_objects as go

    values, unit = bars_of(result, operator)
    figure = go.Figure()
    for name, colour in hues({bar.who for bar in values}).items():
        bars = [bar for bar in values if bar.who == name]
        origin, who = bars[0].figure.origin, figure_text(name)
        figure.add_trace(
            go.Scatter(
                x=[figure_text(bar.x) for bar in bars],
                y=[bar.value for bar in bars],
                mode="lines+markers",
                name=f"{who} ({origin})",
                line={"color": colour, "dash": "dash" if origin is Origin.MODELLED else "solid"},
                marker={"symbol": SYMBOLS.get(origin, "circle"), "size": 8},
                hovertemplate="%{x}<br>%{y:.4g} " + unit + f"<extra>{who}, {origin}</extra>",
            )
        )
    figure.update_yaxes(title=axis_title(unit), rangemode="tozero")
    places = list(dict.fromkeys(figure_text(bar.x) for bar in values))
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=places)
    return style(figure, [bar.figure for bar in values], f"{operator} over sizes")


def short(value: float) -> str:
    """Three digits or more, without an exponent, for the text above a bar."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _in_order(names: set[str]) -> list[str]:
    return sorted(names, key=lambda name: (_rank(name), name))


def _rank(name: str) -> int:
    """Index in `ORDER`; a name with brackets, such as "Triton (ours)", ranks as the name before them."""
    kind = name.partition(" (")[0].partition(",")[0]
    return next((n for n, implementation in enumerate(ORDER) if kind == implementation), len(ORDER))


def hues(names: set[str]) -> dict[str, str]:
    """A colour for each implementation of a figure: its own in every figure, unless another there has it."""
    colours: dict[str, str] = {}
    free = list(SERIES)
    for name in _in_order(names):
        colour = SERIES[_rank(name)] if _rank(name) < len(SERIES) else ""
        if colour not in free:
            # A colour that belongs to no other implementation in this figure, while there is one left.
            taken = {SERIES[_rank(other)] for other in names - colours.keys() if _rank(other) < len(SERIES)}
            colour = next(
                (candidate for candidate in free if candidate not in taken),
                SERIES[len(colours) % len(SERIES)],
            )
        colours[name] = colour
        if colour in free:
            free.remove(colour)
    return colours


def roofline(result: BenchResult) -> Any:
    """TFLOP/s over FLOP/byte of all problems and implementations, under the roofs. A plotly Figure."""
    import plotly.graph_objects as go

    figure = go.Figure()
    timed = [record for record in result if not record.failure and record.flops and record.bytes]
    machine = _product_of(timed)
    points = [(record, record.implementation, record.us, record.figure) for record in timed]
    for record in {(record.operator, repr(dict(record.shape))): record for record in timed}.values():
        for publication, us in _published(result, base(record.operator), record):
            points.append((record, publication.implementation, us, publication.figure))
    if machine is not None:
        _roofs(figure, machine, [record.flops / record.bytes for record in timed])
    for implementation, colour in hues({who for _, who, _, _ in points}).items():
        series = [point for point in points if point[1] == implementation]
        who = figure_text(implementation)
        published = series[0][3].origin is Origin.PUBLISHED
        figure.add_trace(
            go.Scatter(
                x=[record.flops / record.bytes for record, *_ in series],
                y=[record.flops / us * 1e-6 for record, _, us, _ in series],
                mode="markers",
                name=f"{who} ({series[0][3].origin})",
                marker={"color": colour, "size": 8, "symbol": "diamond-open" if published else "circle"},
                text=[figure_text(record.problem) for record, *_ in series],
                hovertemplate="%{text}<br>%{x:.4g} FLOP/byte, %{y:.4g} TFLOP/s<extra>" + who + "</extra>",
            )
        )
    figure.update_xaxes(type="log", dtick=1, title="FLOP / byte of compulsory traffic")
    figure.update_yaxes(type="log", dtick=1, title="TFLOP/s")
    name = machine.name if machine is not None else "no product"
    return style(figure, [point[3] for point in points], f"Roofline of {name}, all implementations")


def _product_of(results: Sequence[Result]) -> Product | None:
    try:
        return product(results[0].product) if results else None
    except UsageError:
        return None


def _roofs(figure: Any, machine: Product, intensities: Sequence[float]) -> None:
    """HBM's slope, and the ceilings of matrix cores by element type."""
    import plotly.graph_objects as go

    kinds = {kind: machine.matrix_flops(kind) for kind in ("BF16", "F8", "F6F4")}
    ceilings = {kind: peak / 1e12 for kind, peak in kinds.items() if peak is not None}
    bandwidth = machine.hbm_bytes_per_second / 1e12
    left, right = min(0.05, *intensities) / 2, 3 * max(1e4, *intensities)
    top = max(ceilings.values())
    figure.add_trace(
        go.Scatter(
            x=[left, top / bandwidth],
            y=[left * bandwidth, top],
            mode="lines",
            name=f"HBM {bandwidth:.3g} TB/s",
            line={"color": GREY, "width": 2},
        )
    )
    for n, (kind, peak) in enumerate(ceilings.items()):
        figure.add_trace(
            go.Scatter(
                # Names of roofs that are close together are placed side by side.
                x=[peak / bandwidth, right / 30**n, right],
                y=[peak, peak, peak],
                mode="lines+text",
                text=["", f"MFMA {kind.lower()} {peak:,.0f}", ""],
                textposition="top left",
                line={"color": GREY, "width": 2},
                showlegend=False,
            )
        )
    figure.update_xaxes(range=[log10(left), log10(right)])


def analysis_figure(analysis: Analysis, results: Sequence[Result]) -> Any:
    """One of HipKittens' figures: its published bars, and ours beside them. A plotly Figure."""
    values, unit = analysis_bars(analysis, results)
    title = f"{analysis.title}: published on {analysis.gpu}, and ours"
    return _grouped(values, unit, title, analysis.axis)


def analysis_bars(analysis: Analysis, results: Sequence[Result]) -> tuple[list[Bar], str]:
    """Every value of one of HipKittens' figures, published and ours, and their unit."""
    spec = kernels[analysis.operator]
    by_key = {
        (record.operator, repr(dict(record.shape))): record
        for record in results
        if record.implementation == OURS
    }
    works = [spec.work(point.shape) for point in analysis.points]
    little = all(work["flops"] < MEMORY_BOUND * work["bytes"] for work in works)
    unit = "TB/s" if little else "TFLOP/s"
    bars = []
    for point, work in zip(analysis.points, works, strict=True):
        amount = work["bytes" if little else "flops"]
        if point.operator:
            tuned = kernels[point.operator].tuned(**point.settings)
            mine = by_key.get((tuned.name, repr(tuned.shape(point.shape))))
            if mine is not None and not mine.failure:
                bars.append(Bar(point.x, OURS, mine.us, amount / mine.us * 1e-6, mine.figure))
        for who, value in point.published.items():
            us = microseconds(value, analysis.unit, work["flops"])
            if us is not None:
                publication = Published(point.shape, value, analysis.unit, analysis.gpu, who, analysis.source)
                bars.append(Bar(point.x, who, us, amount / us * 1e-6, publication.figure))
    return bars, unit


def analyses_of(result: BenchResult) -> list[Analysis]:
    """HipKittens' figures for which a benchmark has results of ours."""
    return [
        analysis
        for analysis in analyses()
        if any(bar.who == OURS for bar in analysis_bars(analysis, list(result))[0])
    ]


@shows(Regressions)
def regressions_html(regressions: Regressions) -> Markup:
    """The cases; those that became slower come first."""
    rows = [
        (
            change.new.problem,
            change.new.implementation,
            change.old.us,
            change.new.failure or change.new.us,
            f"{change.slower:+.1%}",
            "slower" if change in regressions.failed else "",
        )
        for change in regressions.changes
    ]
    # The text continues with the cases.
    caption = str(regressions).partition("\n")[0]
    return block(
        Table(("problem", "implementation", "old us", "new us", "change", ""), rows, caption=caption)
    )
