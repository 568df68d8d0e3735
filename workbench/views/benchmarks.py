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
"""Bars of a figure beyond which their values stand upright: beside each other they would overlap."""

SYMBOLS = {Origin.MEASURED: "circle", Origin.MODELLED: "circle", Origin.PUBLISHED: "diamond-open"}


@dataclass(frozen=True)
class Bar:
    """One value of a figure.

    Attributes:
        x: place on the axis.
        who: implementation.
        us: microseconds.
        value: in the figure's unit.
        figure: the time with its origin.
    """

    x: str
    who: str
    us: float
    value: float
    figure: Figure


@shows(BenchResult)
def bench_html(result: BenchResult) -> Markup:
    """A table for each operator, published figures among the rows."""
    return block(*(bench_table(result, name) for name in result.operators))


def bench_table(result: BenchResult, operator: str) -> Table:
    """One operator's table."""
    rows: list[tuple[Any, ...]] = []
    tips: list[str] = []
    for shape, text in _problems(result.of(operator)).items():
        own = [each for each in result.of(operator) if repr(dict(each.shape)) == shape]
        rows += [_row(each, text) for each in own]
        tips += [_tip(each) for each in own]
        for figure, us in _published(result, operator, own[0]):
            rate = _rates(us, own[0])
            rows.append((text, figure.implementation, us, "", *rate, "", "", badge(figure.figure)))
            tips.append(figure.source)
    return Table(HEAD, rows, caption=f"{operator}: {result.title}", tips=tips)


def _row(each: Result, text: str) -> tuple[Any, ...]:
    name = each.implementation + (f": {each.variant.partition(':')[2]}" if ":" in each.variant else "")
    if each.failure:
        return text, name, each.failure, "", "", "", "", "", ""
    span = f"{each.low:.4g} to {each.high:.4g}" if each.runs else ""
    around = each.figure.error.around(each.us) if each.figure.error is not None else None
    if around is not None:
        span = f"{around[0]:.4g} to {around[1]:.4g} expected"
    where = "as timed" if each.verified == shape_text(each.shape) else each.verified
    return text, name, each.us, span, *_rates(each.us, each), each.bound, where, badge(each.figure)


def _rates(us: float, each: Result) -> tuple[Any, Any]:
    return tuple(number(work / us * 1e-6, ".4g") if work else "" for work in (each.flops, each.bytes))  # type: ignore[return-value]


def _tip(each: Result) -> str:
    setting = each.setting
    commit = str(setting.get("git", {}).get("commit", ""))[:10]
    made = f"{setting.get('compiler', '')}, code {each.code}, sources {each.source}, commit {commit}"
    return f"{each.when}, {made}"


def _problems(results: Sequence[Result]) -> dict[str, str]:
    """Shapes by what they differ in, in the order of their sizes."""
    axis = ShapeAxis([each.shape for each in results])
    ordered = sorted(results, key=lambda each: (axis.size(each.shape), each.operator))
    several = len({each.operator for each in results}) > 1
    found = {}
    for each in ordered:
        place = str(axis.place(each.shape))
        special = each.operator.partition(":")[2] or each.operator.partition("[")[2].rstrip("]")
        found[repr(dict(each.shape))] = f"{place} {special}".strip() if several and special else place
    return found


def _published(result: BenchResult, operator: str, like: Result) -> list[tuple[Published, float]]:
    """Figures of a problem, of its GPU where there are some, as microseconds."""
    known = [f for f in result.published.get(operator, ()) if f.shape.items() <= dict(like.shape).items()]
    here = [f for f in known if f.gpu.startswith(like.product) or like.product in f.gpu]
    found: dict[tuple[str, str], tuple[Published, float]] = {}
    for figure in here or known:
        us = microseconds(figure.value, figure.unit, like.flops)
        if us is not None:
            # The first of equal ones: the spec's own, then that of the analysis.
            found.setdefault((figure.implementation, figure.gpu), (figure, us))
    return list(found.values())


def microseconds(value: float, unit: str, flops: int) -> float | None:
    """A published figure as time; None where that does not follow."""
    if unit == "us":
        return value
    return flops / value * 1e-6 if unit == "TFLOP/s" and flops and value else None


@plots(BenchResult)
def bench_figure(result: BenchResult) -> Any:
    """One operator: bars of all implementations; several: the roofline. A plotly Figure."""
    return operator_bars(result, result.operators[0]) if len(result.operators) == 1 else roofline(result)


def unit_of(results: Sequence[Result]) -> str:
    """TB/s for operators with little arithmetic, TFLOP/s for others, us where the work is not known."""
    if not results or not all(each.flops or each.bytes for each in results):
        return "us"
    little = all(each.bytes and each.flops < MEMORY_BOUND * each.bytes for each in results)
    return "TB/s" if little else "TFLOP/s" if all(each.flops for each in results) else "us"


def in_unit(us: float, each: Result, unit: str) -> float:
    """A time of a problem in the unit of a figure."""
    return us if unit == "us" else (each.bytes if unit == "TB/s" else each.flops) / us * 1e-6


def bars_of(result: BenchResult, operator: str) -> tuple[list[Bar], str]:
    """Every value of an operator's figure, and their unit."""
    own = result.of(operator)
    timed = [each for each in own if not each.failure]
    unit = unit_of(timed)
    texts = _problems(list(own))
    found: list[Bar] = []
    for each in timed:
        found.append(_bar_of(each, texts[repr(dict(each.shape))], unit))
    for like in {repr(dict(each.shape)): each for each in timed}.values():
        for figure, us in _published(result, operator, like):
            who = (
                figure.implementation
                if figure.gpu == like.product
                else f"{figure.implementation}, {figure.gpu}"
            )
            x = texts[repr(dict(like.shape))]
            found.append(Bar(x, who, us, in_unit(us, like, unit), figure.figure))
    order = list(texts.values())
    return sorted(found, key=lambda bar: order.index(bar.x)), unit


def _bar_of(each: Result, x: str, unit: str) -> Bar:
    return Bar(x, each.implementation, each.us, in_unit(each.us, each, unit), each.figure)


def operator_bars(result: BenchResult, operator: str) -> Any:
    """Bars side by side, the value on each: implementations by problem. A plotly Figure."""
    values, unit = bars_of(result, operator)
    axis = ShapeAxis([each.shape for each in result.of(operator)]).look.get("title", "")
    return _grouped(values, unit, f"{operator} on {result[0].product}", axis)


def _grouped(values: Sequence[Bar], unit: str, title: str, axis: str = "") -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    places = list(dict.fromkeys(bar.x for bar in values))
    for name, colour in hues({bar.who for bar in values}).items():
        own = {bar.x: bar for bar in values if bar.who == name}
        some, who = next(iter(own.values())), figure_text(name)
        heights = [own[x].value if x in own else None for x in places]
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
                customdata=[own[x].us if x in own else None for x in places],
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
    """Lines over sizes: TFLOP/s or TB/s, or us where the work is not known. A plotly Figure."""
    import plotly.graph_objects as go

    values, unit = bars_of(result, operator)
    figure = go.Figure()
    for name, colour in hues({bar.who for bar in values}).items():
        own = [bar for bar in values if bar.who == name]
        origin, who = own[0].figure.origin, figure_text(name)
        figure.add_trace(
            go.Scatter(
                x=[figure_text(bar.x) for bar in own],
                y=[bar.value for bar in own],
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
    """Three digits or more, without an exponent: it stands above a bar."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _in_order(names: set[str]) -> list[str]:
    return sorted(names, key=lambda name: (_rank(name), name))


def _rank(name: str) -> int:
    """Index in `ORDER`; a name with brackets, such as "Triton (ours)", ranks as the name before them."""
    kind = name.partition(" (")[0].partition(",")[0]
    return next((n for n, known in enumerate(ORDER) if kind == known), len(ORDER))


def hues(names: set[str]) -> dict[str, str]:
    """A colour for each implementation of a figure: its own in every figure, unless another there has it."""
    found: dict[str, str] = {}
    free = list(SERIES)
    for name in _in_order(names):
        own = SERIES[_rank(name)] if _rank(name) < len(SERIES) else ""
        if own not in free:
            # A colour that belongs to no other implementation in this figure, while there is one left.
            taken = {SERIES[_rank(other)] for other in names - found.keys() if _rank(other) < len(SERIES)}
            own = next((one for one in free if one not in taken), SERIES[len(found) % len(SERIES)])
        found[name] = own
        if own in free:
            free.remove(own)
    return found


def roofline(result: BenchResult) -> Any:
    """TFLOP/s over FLOP/byte of all problems and implementations, under the roofs. A plotly Figure."""
    import plotly.graph_objects as go

    figure = go.Figure()
    timed = [each for each in result if not each.failure and each.flops and each.bytes]
    machine = _product_of(timed)
    points = [(each, each.implementation, each.us, each.figure) for each in timed]
    for each in {(each.operator, repr(dict(each.shape))): each for each in timed}.values():
        for told, us in _published(result, base(each.operator), each):
            points.append((each, told.implementation, us, told.figure))
    if machine is not None:
        _roofs(figure, machine, [each.flops / each.bytes for each in timed])
    for implementation, colour in hues({who for _, who, _, _ in points}).items():
        own = [point for point in points if point[1] == implementation]
        who = figure_text(implementation)
        published = own[0][3].origin is Origin.PUBLISHED
        figure.add_trace(
            go.Scatter(
                x=[each.flops / each.bytes for each, *_ in own],
                y=[each.flops / us * 1e-6 for each, _, us, _ in own],
                mode="markers",
                name=f"{who} ({own[0][3].origin})",
                marker={"color": colour, "size": 8, "symbol": "diamond-open" if published else "circle"},
                text=[figure_text(each.problem) for each, *_ in own],
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
                # Names of roofs close together stand side by side.
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
        (each.operator, repr(dict(each.shape))): each for each in results if each.implementation == OURS
    }
    works = [spec.work(point.shape) for point in analysis.points]
    little = all(work["flops"] < MEMORY_BOUND * work["bytes"] for work in works)
    unit = "TB/s" if little else "TFLOP/s"
    found = []
    for point, work in zip(analysis.points, works, strict=True):
        amount = work["bytes" if little else "flops"]
        if point.operator:
            own = kernels[point.operator].tuned(**point.settings)
            mine = by_key.get((own.name, repr(own.shape(point.shape))))
            if mine is not None and not mine.failure:
                found.append(Bar(point.x, OURS, mine.us, amount / mine.us * 1e-6, mine.figure))
        for who, value in point.published.items():
            us = microseconds(value, analysis.unit, work["flops"])
            if us is not None:
                told = Published(point.shape, value, analysis.unit, analysis.gpu, who, analysis.source)
                found.append(Bar(point.x, who, us, amount / us * 1e-6, told.figure))
    return found, unit


def analyses_of(result: BenchResult) -> list[Analysis]:
    """HipKittens' figures for which a benchmark has something of ours."""
    return [
        each for each in analyses() if any(bar.who == OURS for bar in analysis_bars(each, list(result))[0])
    ]


@shows(Regressions)
def regressions_html(found: Regressions) -> Markup:
    """The cases, those that became slower first."""
    rows = [
        (
            each.new.problem,
            each.new.implementation,
            each.old.us,
            each.new.failure or each.new.us,
            f"{each.slower:+.1%}",
            "slower" if each in found.failed else "",
        )
        for each in found.changes
    ]
    # The text goes on with the cases.
    caption = str(found).partition("\n")[0]
    return block(
        Table(("problem", "implementation", "old us", "new us", "change", ""), rows, caption=caption)
    )
