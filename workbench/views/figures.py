"""The dashboard's figures: each a plotly Figure with its origins, and the same data as a table.

Every function takes what is shown and what it is compared with, and draws the difference where there is one.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.codeobject.occupancy import occupancy
from workbench.origin import Figure, Origin
from workbench.profile.metrics import NOT_COLLECTED, NOTHING
from workbench.profile.timing import SweepResult
from workbench.views.badge import COLOURS, STYLE, badges, style
from workbench.views.timing import breakdown_bars, shape_label, sweep_figure

if TYPE_CHECKING:
    from workbench.profile.profiler import ProfileResult
    from workbench.targets import Product
    from workbench.views.board import Board, Failure, Run

GREY = "rgba(128,134,145,0.55)"
"""Of the baseline: neither an origin's colour nor a theme's text."""

FAILED = "#c0392b"
"""Of what failed, as in the tables."""

HEIGHT = 300
"""Pixels of a figure; room for a legend comes on top."""

LEGEND_ROW = 22

MARKED = 200
"""Runs up to which each has a marker; of more, those that are wrong have one."""

TABLE_ROWS = 50
"""Rows of a table that are shown; the figure has all."""


@dataclass(frozen=True)
class View:
    """One figure of the dashboard.

    Attributes:
        key: short name, stable.
        title: as shown above it.
        figure: a plotly Figure.
        head, rows: the table under it; None is what was not collected, `NOTHING` a rate of nothing.
        origins: of the data.
    """

    key: str
    title: str
    figure: Any = field(repr=False)
    head: Sequence[str]
    rows: Sequence[Sequence[Any]] = field(repr=False)
    origins: Sequence[Origin]

    @property
    def table(self) -> str:
        """The data as HTML."""
        head = "".join(f"<th>{html.escape(h)}</th>" for h in self.head)
        body = "".join(f"<tr>{''.join(_cell(c) for c in row)}</tr>" for row in self.rows[-TABLE_ROWS:])
        more = len(self.rows) - TABLE_ROWS
        note = f'<div class="wb-dim">the last {TABLE_ROWS} of {len(self.rows)} rows</div>' if more > 0 else ""
        return (
            f'{STYLE}<div class="wb"><details><summary>{html.escape(self.title)}: data {badges(self.origins)}'
            f"</summary>{note}<table><tr>{head}</tr>{body}</table></details></div>"
        )


def _cell(value: Any) -> str:
    if value is None or value in (NOT_COLLECTED, NOTHING):
        return f'<td class="wb-dim">{value or NOT_COLLECTED}</td>'
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"<td>{html.escape(str(value))}</td>"
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f'<td class="wb-num">{text}</td>'


def difference(new: float | None, old: float | None) -> str:
    """Change from the baseline in words: "+12.5%", "same", or "" where one is missing."""
    if new is None or old is None:
        return ""
    if new == old:
        return "same"
    return f"{(new - old) / abs(old):+.1%}" if old else "new"


def views(board: Board, keys: Collection[str] | None = None) -> list[View]:
    """Figures of a board, in the order of the page; those without data are empty, never missing.

    Args:
        keys: of the figures that are wanted; all where it is None.
    """
    shown = board.shown
    now = shown.profile if shown is not None else None
    base = board.pinned.run.profile if board.pinned is not None else None
    makers: Mapping[str, Callable[[], View]] = {
        "timeline": lambda: timeline(
            board.runs, board.pinned.run if board.pinned is not None else None, board.failures
        ),
        "shapes": lambda: shapes(board),
        "speed": lambda: speed_of_light(now, base),
        "breakdown": lambda: breakdown(now, base),
        "mix": lambda: mix(now, base),
        "occupancy": lambda: fits(now, base),
        "lds": lambda: lds(now, base),
        "traffic": lambda: traffic(now, base),
        "roofline": lambda: roofline(now, base),
    }
    return [make() for key, make in makers.items() if keys is None or key in keys]


TIME_KEYS = ("timeline", "shapes")
"""Figures that a time without counters changes."""


def _finish(
    figure: Any, title: str, key: str, origins: Sequence[Origin], head: Sequence[str], rows: Sequence[Any]
) -> View:
    shown = list(dict.fromkeys(origins))
    style(figure, shown, title)
    figure.update_layout(
        height=HEIGHT + _legend(figure),
        margin={"l": 10, "r": 44, "t": 52, "b": 40 + _legend(figure)},
        legend={"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "x": 0},
        barmode="group",
        bargap=0.25,
        bargroupgap=0.1,
        # Plotly keeps a reader's zoom through updates.
        uirevision=key,
        hoverlabel={"font": {"size": 12}},
        modebar={"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": "#808691"},
    )
    figure.update_layout(
        title={"font": {"size": 14}, "yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 6}}
    )
    figure.update_xaxes(automargin=True, title_standoff=4)
    figure.update_yaxes(automargin=True)
    figure.update_annotations(selector={"name": "origin"}, font={"color": "white", "size": 11}, yshift=3)
    if not figure.data:
        figure.add_annotation(
            text="nothing to show yet", xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False
        )
        figure.update_xaxes(visible=False)
        figure.update_yaxes(visible=False)
    return View(key, title, figure, head, rows, shown)


def _legend(figure: Any) -> int:
    """Pixels that the legend takes below a figure in a narrow card."""
    named = [trace.name or "" for trace in figure.data if trace.showlegend is not False]
    if figure.layout.showlegend is False or (figure.layout.showlegend is None and len(named) < 2):
        return 0
    width = sum(48 + 6 * len(name) for name in named)
    return LEGEND_ROW * -(-width // 380)


def _bars(
    figure: Any,
    names: Sequence[str],
    values: Sequence[float | None],
    base: Sequence[float | None] | None,
    *,
    colours: Sequence[str],
    text: Sequence[str],
    unit: str,
) -> None:
    """Horizontal bars from above, those of the baseline in grey beside them."""
    import plotly.graph_objects as go

    order = range(len(names) - 1, -1, -1)
    if base is not None:
        figure.add_trace(
            go.Bar(
                name="baseline",
                orientation="h",
                y=[names[i] for i in order],
                x=[base[i] for i in order],
                marker_color=GREY,
                hovertemplate="%{y}: %{x:.4g} " + unit + "<extra>baseline</extra>",
            )
        )
    figure.add_trace(
        go.Bar(
            name="shown",
            orientation="h",
            y=[names[i] for i in order],
            x=[values[i] for i in order],
            marker_color=[colours[i] for i in order],
            text=[text[i] for i in order],
            textposition="outside",
            textfont={"size": 11, "color": "#808691"},
            cliponaxis=False,
            constraintext="none",
            hovertemplate="%{y}: %{x:.4g} " + unit + "<extra></extra>",
        )
    )
    figure.update_layout(showlegend=base is not None)


def _one(values: Sequence[str]) -> Any:
    """A single value where all are equal: plotly checks each."""
    return values[0] if len(set(values)) == 1 else list(values)


def timeline(runs: Sequence[Run], base: Run | None, failures: Sequence[Failure] = ()) -> View:
    """Times of the runs, one after another; what an exception ended stands on the axis."""
    import plotly.graph_objects as go

    figure = go.Figure()
    if runs:
        symbols = {True: "circle", False: "x", None: "circle-open"}
        figure.add_trace(
            go.Scatter(
                x=[r.number for r in runs],
                y=[r.time.value for r in runs],
                # A thousand markers are a thousand nodes to draw ten times a second.
                mode="lines+markers" if len(runs) <= MARKED else "lines",
                line={"color": GREY, "width": 1},
                marker={
                    "color": _one([COLOURS[r.time.origin] for r in runs]),
                    "symbol": _one([symbols[r.verified] for r in runs]),
                    "size": 8,
                },
                text=[f"{r.label}, {r.timing.device}, {r.time.origin}" for r in runs],
                hovertemplate="%{text}<br>%{y:.4g} us<extra></extra>",
                showlegend=False,
            )
        )
    wrong = [r for r in runs if r.verified is False] if len(runs) > MARKED else []
    if wrong:
        figure.add_trace(
            go.Scatter(
                x=[r.number for r in wrong],
                y=[r.time.value for r in wrong],
                mode="markers",
                marker={"color": [COLOURS[r.time.origin] for r in wrong], "symbol": "x", "size": 8},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    if failures:
        figure.add_trace(
            go.Scatter(
                x=[f.number for f in failures],
                y=[0] * len(failures),
                mode="markers",
                marker={"color": FAILED, "symbol": "x", "size": 9},
                text=[_wrapped(f"{f.name}, {f.kind}: {f.text}") for f in failures],
                hovertemplate="%{text}<extra>failed</extra>",
                cliponaxis=False,
                showlegend=False,
            )
        )
    if base is not None:
        figure.add_hline(
            y=base.time.value,
            line={"dash": "dot", "color": "#808691"},
            annotation_text=f"baseline #{base.number}",
        )
    figure.update_yaxes(title="us", rangemode="tozero")
    stopped = f", <span style='color:{FAILED}'>✕</span> stopped" if failures else ""
    figure.update_xaxes(title=f"run; ● verified, ✕ wrong, ○ not verified{stopped}", tickformat="d")
    if len(runs) + len(failures) <= 12:
        figure.update_xaxes(dtick=1)
    rows: list[tuple[Any, ...]] = [
        (
            r.number,
            r.name,
            shape_label(r.timing.shape),
            r.timing.device,
            r.time.value,
            difference(r.time.value, base.time.value if base is not None else None),
            {True: "passed", False: "failed", None: ""}[r.verified],
            str(r.time.origin),
        )
        for r in runs
    ]
    rows += [
        (f.number, f.name, shape_label(f.shape), f.device, "", "", f"{f.kind} failed: {f.text}", "")
        for f in failures
    ]
    rows.sort(key=lambda row: int(row[0]))
    head = ("run", "kernel", "shape", "device", "us", "to baseline", "verified", "origin")
    return _finish(figure, "Runs", "timeline", [r.time.origin for r in runs], head, rows)


def _wrapped(text: str) -> str:
    """A message as a tool tip: short lines, and nothing in it taken for plotly's markup."""
    return "<br>".join(html.escape(line) for line in textwrap.wrap(text, 70))


def shapes(board: Board) -> View:
    """Times or rates over shapes, beside published figures and the baseline's."""
    import plotly.graph_objects as go

    results = board.over_shapes()
    shown = board.shown
    if shown is None or not results:
        return _finish(go.Figure(), "Over shapes", "shapes", (), ("shape",), ())
    old = board.pinned.shapes if board.pinned is not None and board.pinned.run.name == shown.name else ()
    figure = sweep_figure(SweepResult(shown.name, results, board.published()))
    if old:
        for trace in sweep_figure(SweepResult(shown.name, old, ())).data:
            trace.update(name="baseline", line={"color": GREY, "dash": "dot"}, marker={"color": GREY})
            figure.add_trace(trace)
    figure.layout.annotations = ()
    before = {(shape_label(r.shape), r.device): r.median.value for r in old}
    rows: list[tuple[Any, ...]] = [
        (
            shape_label(r.shape),
            r.device,
            r.median.value,
            r.rate.value if r.rate is not None else "",
            r.bandwidth.value if r.bandwidth is not None else "",
            difference(r.median.value, before.get((shape_label(r.shape), r.device))),
            str(r.origin),
        )
        for r in results
    ]
    origins = [r.origin for r in results]
    known = [r.shape for r in results]
    for p in board.published():
        if any(p.shape.items() <= shape.items() for shape in known):
            us, rate = (p.value, "") if p.unit == "us" else ("", p.value)
            rows.append((shape_label(p.shape), f"{p.implementation} {p.gpu}", us, rate, "", "", "published"))
            origins.append(Origin.PUBLISHED)
    head = ("shape", "device", "us", "TFLOP/s", "TB/s", "to baseline", "origin")
    return _finish(figure, f"{shown.name} over shapes", "shapes", origins, head, rows)


def speed_of_light(now: ProfileResult | None, base: ProfileResult | None) -> View:
    """Achieved part of what the machine could do at most."""
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: list[tuple[Any, ...]] = []
    origins: list[Origin] = []
    if now is not None:
        old = base.metrics if base is not None else {}
        drawn = [m for m in now.metrics.values() if m.share is not None]
        names = [m.metric.name for m in drawn]
        values = [100 * (m.share or 0) for m in drawn]
        before: list[float | None] = [
            100 * share if n in old and (share := old[n].share) is not None else None for n in names
        ]
        text = [f"{v:.1f}%{_delta(v, b)}" for v, b in zip(values, before, strict=True)]
        colours = [COLOURS[m.figure.origin] for m in drawn if m.figure is not None]
        if drawn:
            _bars(
                figure, names, values, before if base else None, colours=colours, text=text, unit="% of peak"
            )
        for name, m in now.metrics.items():
            value = m.figure.value if m.figure is not None else None
            was = old[name].figure if name in old else None
            rows.append(
                (
                    name,
                    m.absent or value,
                    m.metric.unit,
                    m.peak if m.peak is not None else "",
                    difference(value, was.value if was is not None else None),
                    str(m.figure.origin) if m.figure is not None else "",
                    m.metric.text,
                    m.metric.source,
                )
            )
        origins = [m.figure.origin for m in drawn if m.figure is not None]
    figure.update_xaxes(title="% of peak", range=[0, 100])
    head = ("metric", "value", "unit", "peak", "to baseline", "origin", "formula", "source")
    return _finish(figure, "Speed of light", "speed", origins, head, rows)


def _delta(new: float, old: float | None) -> str:
    """Difference in percentage points beside a bar."""
    return "" if old is None or abs(new - old) < 0.05 else f" ({new - old:+.1f})"


def breakdown(now: ProfileResult | None, base: ProfileResult | None) -> View:
    """The modelled time by unit."""
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: list[tuple[Any, ...]] = []
    title = "Where the time goes"
    if now is not None and now.model is not None:
        below, sizes = breakdown_bars(now.timing)
        names, values = below[::-1], sizes[::-1]
        old = dict(zip(*breakdown_bars(base.timing), strict=True)) if base is not None else {}
        text = [f"{v:.3g}" for v in values]
        _bars(
            figure,
            names,
            values,
            [old.get(n) for n in names] if base is not None else None,
            colours=[COLOURS[Origin.MODELLED]] * len(names),
            text=text,
            unit="us",
        )
        rows = [(n, v, difference(v, old.get(n))) for n, v in zip(names, values, strict=True)]
        rows += [
            (
                f"one wave: {what}",
                1e6 * s,
                difference(s, base.model.wave.get(k) if base and base.model else None),
            )
            for k, what in (
                ("issue", "issue, matrix cores"),
                ("memory", "waits for memory"),
                ("lds", "waits for LDS"),
            )
            if (s := now.model.wave.get(k)) is not None
        ]
        title = f"Where the time goes: {now.model.bound_text}"
    figure.update_xaxes(title="busy, us")
    origins = [Origin.MODELLED] if rows else []
    return _finish(figure, title, "breakdown", origins, ("part", "us", "to baseline"), rows)


_COUNTER_OF: Mapping[str, str] = {
    "VALU": "SQ_INSTS_VALU",
    "MFMA": "SQ_INSTS_MFMA",
    "scalar ALU": "SQ_INSTS_SALU",
    "scalar memory": "SQ_INSTS_SMEM",
    "LDS": "SQ_INSTS_LDS",
    "memory loads": "SQ_INSTS_VMEM_RD",
    "memory stores, atomics": "SQ_INSTS_VMEM_WR",
    "branches": "SQ_INSTS_BRANCH",
}


def _instructions(profile: ProfileResult | None) -> dict[str, Figure]:
    if profile is None:
        return {}
    found = {n: profile.counters[c] for n, c in _COUNTER_OF.items() if c in profile.counters}
    if "VALU" in found and "MFMA" in found:
        # rocprof counts MFMA among the VALU's.
        valu, mfma = found["VALU"], found["MFMA"]
        found["VALU"] = Figure(valu.value - mfma.value, valu.unit, valu.origin, valu.source)
    if profile.classes.get("internal"):
        source = profile.device
        found["waits, barriers, nops"] = Figure(
            profile.classes["internal"], "instructions", Origin.COUNTED, source
        )
    return found


def mix(now: ProfileResult | None, base: ProfileResult | None) -> View:
    """Instructions by the unit that executes them."""
    import plotly.graph_objects as go

    figure = go.Figure()
    found, old = _instructions(now), _instructions(base)
    total = sum(f.value for f in found.values()) or 1
    names = list(found)
    if found:
        _bars(
            figure,
            names,
            [f.value for f in found.values()],
            [old[n].value if n in old else None for n in names] if base is not None else None,
            colours=[COLOURS[f.origin] for f in found.values()],
            text=[f"{f.value / total:.1%}" for f in found.values()],
            unit="instructions",
        )
    rows = [
        (n, int(f.value), f"{f.value / total:.2%}", difference(f.value, old[n].value if n in old else None))
        for n, f in found.items()
    ]
    figure.update_xaxes(title="wave instructions")
    head = ("class", "instructions", "share", "to baseline")
    return _finish(figure, "Instruction mix", "mix", [f.origin for f in found.values()], head, rows)


def limits(profile: ProfileResult) -> dict[str, float]:
    """Waves that a SIMD could hold if only one resource counted, and what it holds with all of them."""
    r, arch = profile.resources, profile.machine.arch
    free = {"vgprs": 1, "sgprs": 1, "lds": 0}
    lds_bytes = r.lds + r.dynamic_shared
    each = {
        "vector registers": {**free, "vgprs": r.total_vgprs},
        "scalar registers": {**free, "sgprs": r.sgprs},
        "LDS": {**free, "lds": lds_bytes},
        "work-group size, slots": free,
    }
    found = {k: occupancy(arch, block=r.block, **v).waves_per_simd for k, v in each.items()}
    return {**found, "all together": r.occupancy.waves_per_simd}


def fits(now: ProfileResult | None, base: ProfileResult | None) -> View:
    """Waves that fit a SIMD, and what allows no more."""
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: list[tuple[Any, ...]] = []
    title, origins = "Occupancy", []
    if now is not None:
        found = dict(limits(now))
        old = dict(limits(base)) if base is not None else {}
        origins = [Origin.COUNTED]
        for profile, into in ((now, found), (base, old)):
            achieved = profile.metrics["occupancy achieved"].figure if profile is not None else None
            if achieved is not None:
                into["achieved"] = achieved.value
                origins.append(achieved.origin)
        names = list(found)
        _bars(
            figure,
            names,
            list(found.values()),
            [old.get(n) for n in names] if base is not None else None,
            colours=[COLOURS[Origin.MEASURED if n == "achieved" else Origin.COUNTED] for n in names],
            text=[f"{v:g}" for v in found.values()],
            unit="waves/SIMD",
        )
        r = now.resources
        rows = [(n, v, difference(v, old.get(n))) for n, v in found.items()]
        rows += [
            (k, getattr(r, a), difference(getattr(r, a), getattr(base.resources, a) if base else None))
            for k, a in (
                ("VGPR", "vgprs"),
                ("AGPR", "agprs"),
                ("SGPR", "sgprs"),
                ("scratch bytes", "scratch"),
            )
        ]
        rows.append(("LDS bytes", r.lds + r.dynamic_shared, ""))
        title = f"Occupancy: {r.occupancy.waves_per_simd:g} waves/SIMD, limited by {r.occupancy.limit}"
        figure.update_xaxes(range=[0, r.occupancy.most + 0.2])
    figure.update_xaxes(title="waves/SIMD that fit", rangemode="tozero")
    return _finish(figure, title, "occupancy", origins, ("limit", "value", "to baseline"), rows)


def lds(now: ProfileResult | None, base: ProfileResult | None) -> View:
    """LDS cycles: what the accesses need, and what bank conflicts add."""
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: list[tuple[Any, ...]] = []
    origins: list[Origin] = []
    title = "LDS banks"
    series = [("baseline", base), ("shown", now)]
    values: dict[str, tuple[float, float]] = {}
    for name, profile in series:
        if profile is None:
            continue
        active, conflict = (profile.counters.get(c) for c in ("SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT"))
        if active is None or conflict is None:
            continue
        values[name] = (active.value - conflict.value, conflict.value)
        origins.append(conflict.origin)
    if values:
        for k, (what, colour) in enumerate(
            (("without conflicts", COLOURS[Origin.COUNTED]), ("bank conflicts", "#c0392b"))
        ):
            figure.add_trace(
                go.Bar(
                    name=what,
                    orientation="h",
                    y=list(values),
                    x=[v[k] for v in values.values()],
                    marker_color=colour,
                    text=[f"{v[k]:,.0f}" for v in values.values()],
                    hovertemplate="%{y}: %{x:,} cycles<extra>" + what + "</extra>",
                )
            )
        figure.update_layout(showlegend=True)
        rate = now.metrics["LDS conflict rate"].figure if now is not None else None
        if rate is not None:
            title = f"LDS banks: {rate.value:.1f}% conflict cycles"
    if now is not None:
        for name in (
            "SQ_INSTS_LDS",
            "SQ_LDS_IDX_ACTIVE",
            "SQ_LDS_BANK_CONFLICT",
            "lds_bytes_read",
            "lds_bytes_written",
            "direct_to_lds_bytes",
        ):
            figure_now = now.counters.get(name)
            value = int(figure_now.value) if figure_now is not None else None
            was = base.counters.get(name) if base is not None else None
            rows.append((name, value, difference(value, was.value if was is not None else None)))
    figure.update_xaxes(title="LDS cycles, all compute units", rangemode="tozero")
    view = _finish(figure, title, "lds", origins, ("counter", "value", "to baseline"), rows)
    figure.update_layout(barmode="stack")
    return view


_TRAFFIC: Sequence[tuple[str, Sequence[tuple[str, float]]]] = (
    ("LDS, read", [("lds_bytes_read", 1)]),
    ("LDS, written", [("lds_bytes_written", 1)]),
    ("lanes, read", [("bytes_read", 1)]),
    ("lanes, written", [("bytes_written", 1)]),
    ("L1, 64 bytes an access", [("TCP_TOTAL_CACHE_ACCESSES_sum", 64)]),
    ("L2, read", [("TCC_READ_sum", 128), ("TCP_TCC_READ_REQ_sum", 64)]),
    ("L2, written", [("TCC_WRITE_sum", 64), ("TCP_TCC_WRITE_REQ_sum", 64)]),
    ("L2, atomics", [("TCC_ATOMIC_sum", 64)]),
    ("Infinity Fabric, read", [("FETCH_SIZE", 1024)]),
    ("Infinity Fabric, written", [("WRITE_SIZE", 1024)]),
    ("HBM, read", [("hbm_bytes_read", 1)]),
    ("HBM, written", [("hbm_bytes_written", 1)]),
    ("scratch", [("scratch_bytes", 1)]),
)
"""Levels from the lanes outwards: their counters (the first one collected counts), and bytes of each."""

_ONLY_IF_ANY = ("scratch", "L2, atomics")


def _traffic(profile: ProfileResult | None) -> dict[str, Figure]:
    if profile is None:
        return {}
    found = {}
    for label, names in _TRAFFIC:
        for name, scale in names:
            counter = profile.counters.get(name)
            if counter is not None:
                if counter.value or label not in _ONLY_IF_ANY:
                    found[label] = Figure(counter.value * scale, "bytes", counter.origin, counter.source)
                break
    if profile.argument_bytes and "HBM, read" not in found:
        found["HBM, at least (arguments once)"] = Figure(
            profile.argument_bytes, "bytes", Origin.COUNTED, "arguments"
        )
    return found


def traffic(now: ProfileResult | None, base: ProfileResult | None) -> View:
    """Bytes by memory level, on a logarithmic scale, with the hit rates of the caches between them."""
    import plotly.graph_objects as go

    figure = go.Figure()
    found, old = _traffic(now), _traffic(base)
    names = list(found)
    if found:
        _bars(
            figure,
            names,
            [f.value for f in found.values()],
            [old[n].value if n in old else None for n in names] if base is not None else None,
            colours=[COLOURS[f.origin] for f in found.values()],
            text=[_bytes(f.value) for f in found.values()],
            unit="bytes",
        )
        figure.update_xaxes(type="log")
    rows: list[tuple[Any, ...]] = [
        (n, int(f.value), difference(f.value, old[n].value if n in old else None), str(f.origin))
        for n, f in found.items()
    ]
    figure.update_xaxes(title="bytes")
    head = ("level", "bytes", "to baseline", "origin")
    rates = []
    for name in ("L1 hit rate", "L2 hit rate"):
        rate = now.metrics[name].figure if now is not None else None
        if rate is not None:
            rates.append(f"{name} {rate.value:.0f}%")
            rows.append((f"{name}, %", rate.value, _rate_difference(name, rate, base), str(rate.origin)))
    title = ": ".join(("Memory traffic", ", ".join(rates))) if rates else "Memory traffic"
    return _finish(figure, title, "traffic", [f.origin for f in found.values()], head, rows)


def _rate_difference(name: str, rate: Figure, base: ProfileResult | None) -> str:
    was = base.metrics[name].figure if base is not None else None
    return difference(rate.value, was.value if was is not None else None)


def _bytes(value: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TB"


_LEVELS: Mapping[str, str] = {"HBM": "circle", "L2": "square", "LDS": "diamond"}


def ceilings(machine: Product, kinds: Sequence[str]) -> dict[str, float]:
    """Flat roofs in TFLOP/s: vector units, and the matrix cores for each input type."""
    roofs = {"VALU fp32": machine.vector_flops / 1e12}
    for kind in kinds:
        if (peak := machine.matrix_flops(kind)) is not None:
            roofs[f"MFMA {kind.lower()}"] = peak / 1e12
    return roofs


def roofline(now: ProfileResult | None, base: ProfileResult | None) -> View:
    """FLOP/s over FLOP/byte for HBM, L2 and LDS, under the machine's roofs; the baseline as open marks."""
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: list[tuple[Any, ...]] = []
    origins: list[Origin] = []
    if now is not None:
        machine = now.machine
        used = [
            kind
            for kind in ("F6F4", "F8", "I8", "BF16", "F16", "XF32", "F32", "F64")
            if (c := now.counters.get(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}")) is not None and c.value
        ]
        roofs = ceilings(machine, used or ["BF16"])
        bandwidths = {
            "HBM": machine.hbm_bytes_per_second,
            "L2": machine.l2_bytes_per_second,
            "LDS": machine.lds_bytes_per_second,
        }
        top = max(roofs.values())
        points = [
            (which, level, x.value, y.value)
            for which, profile in (("baseline", base), ("shown", now))
            if profile is not None
            for level in _LEVELS
            if (x := profile.metrics[f"arithmetic intensity, {level}"].figure) is not None
            and (y := profile.metrics["FLOP rate"].figure) is not None
            and x.value > 0
            and y.value > 0
        ]
        # Each axis holds the roofs' corners and the points, with some air.
        left = min([0.1, *(0.3 * p[2] for p in points)])
        right = max([1000.0, *(3 * p[2] for p in points)])
        bottom = min([0.1, *(0.3 * p[3] for p in points)])
        for level, bandwidth in bandwidths.items():
            corner = top * 1e12 / bandwidth
            figure.add_trace(
                go.Scatter(
                    x=[left, corner],
                    y=[left * bandwidth / 1e12, top],
                    mode="lines",
                    name=f"{level} {bandwidth / 1e12:.3g} TB/s",
                    line={
                        "width": 1.5,
                        "color": {"HBM": "#c0392b", "L2": "#b45f06", "LDS": "#2563b0"}[level],
                    },
                    hovertemplate=f"{level}: {bandwidth / 1e12:.3g} TB/s<extra>peak</extra>",
                )
            )
        for name, peak in roofs.items():
            figure.add_trace(
                go.Scatter(
                    x=[peak * 1e12 / bandwidths["LDS"], right],
                    y=[peak, peak],
                    mode="lines+text",
                    text=["", f"{name} {peak:,.0f}"],
                    textposition="top left",
                    line={"width": 1.5, "color": "#808691", "dash": "dash" if "VALU" in name else "solid"},
                    hovertemplate=f"{name}: {peak:,.4g} TFLOP/s<extra>peak</extra>",
                    showlegend=False,
                )
            )
        rate = now.metrics["FLOP rate"].figure
        colour = COLOURS[rate.origin] if rate is not None else GREY
        for which, level, ai, tflops in points:
            figure.add_trace(
                go.Scatter(
                    x=[ai],
                    y=[tflops],
                    mode="markers",
                    name=f"{level}, {which}" if base is not None else level,
                    marker={
                        "symbol": _LEVELS[level] + ("-open" if which == "baseline" else ""),
                        "size": 11,
                        "color": "#808691" if which == "baseline" else colour,
                        "line": {"width": 2},
                    },
                    hovertemplate=f"{level}, {which}: "
                    + "%{x:.4g} FLOP/byte, %{y:.4g} TFLOP/s<extra></extra>",
                )
            )
            roof = min(top, ai * bandwidths[level] / 1e12)
            rows.append((which, level, ai, tflops, roof, f"{tflops / roof:.1%}"))
        figure.update_xaxes(type="log", title="FLOP / byte", range=_log(left, right))
        figure.update_yaxes(type="log", title="TFLOP/s", range=_log(bottom, 2.5 * top))
        origins = [rate.origin] if rate is not None else []
        title = f"Roofline of {machine.name}"
    else:
        title = "Roofline"
    head = ("run", "level", "FLOP/byte", "TFLOP/s", "roof", "of roof")
    return _finish(figure, title, "roofline", origins, head, rows)


def _log(low: float, high: float) -> list[float]:
    from math import log10

    return [log10(low), log10(high)]
