"""A profile: tables of counters and metrics; a figure of instructions by class and time by unit."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from workbench.display import plots, shows
from workbench.origin import Origin
from workbench.profile.counters import COUNTERS, grouped
from workbench.profile.metrics import Measurement
from workbench.profile.results import ProfileResult, StepsProfile
from workbench.profile.rocprof import RocprofResult
from workbench.theme import INK, SERIES
from workbench.views.advice import advice_list
from workbench.views.badge import badge, marker, style
from workbench.views.markup import block, bold, code, details, tag
from workbench.views.table import Cell, Table, number
from workbench.views.timing import breakdown_bars, time_html
from workbench.views.verdict import last_verification, verdict

SHOWN = (
    "SQ_INSTS_VALU",
    "SQ_INSTS_MFMA",
    "SQ_INSTS_SALU",
    "SQ_INSTS_SMEM",
    "SQ_INSTS_LDS",
    "SQ_INSTS_VMEM_RD",
    "SQ_INSTS_VMEM_WR",
    "SQ_INSTS_BRANCH",
    "SQ_LDS_BANK_CONFLICT",
    "SQC_LDS_BANK_CONFLICT",
)
"""Counters drawn as bars; the table of the profile has all."""


@shows(StepsProfile)
def steps_html(result: StepsProfile) -> Markup:
    """The time of each launch and of all, then the profile of each."""
    head = [time_html(result.timing)] if result.has_time else []
    return block(*head, *map(profile_html, result))


@shows(ProfileResult)
def profile_html(result: ProfileResult) -> Markup:
    """Verdict and advice; counters, the metrics derived from them, and on a GPU rocprofv3's files."""
    title = tag("div", bold(f"profile: {result.name} on {result.device}"))
    measurements = [m for m in result.metrics.values() if result.has_time or m.figure is not None]
    metrics = Table(
        ("metric", "value", "of peak", "unit", ""),
        map(_metric, measurements),
        tips=[f"{m.metric.doc} {m.metric.text}. Source: {m.metric.source}" for m in measurements],
    )
    head = [verdict(result, last_verification(result))]
    if result.complete.again is not None:
        head.append(advice_list(result.advice, brief=True))
    parts = [title, *head, _counters(result), details("derived metrics", metrics, opened=True)]
    if result.rocprof is not None:
        parts.append(_files(result.rocprof))
    return block(*parts)


def _counters(result: ProfileResult) -> Markup:
    """The counters in groups, each with what it counts."""
    docs = {c.name: c.doc for c in COUNTERS}
    counters = dict(result.shown)
    groups: list[Markup] = []
    for group, names in grouped(counters).items():
        rows = [
            (n, number(counters[n].value, ",.0f"), counters[n].unit, badge(counters[n], brief=True))
            for n in names
        ]
        tips = [docs.get(name, f"{name}, as rocprofv3 has it") for name in names]
        table = Table(("counter", "value", "unit", ""), rows, tips=tips)
        groups.append(details(f"{group}: {len(names)}", table, opened=not groups))
    return tag("div", *groups, kind="wb-counters")


def _metric(m: Measurement) -> tuple[Cell | str, ...]:
    if m.figure is None:
        return m.metric.name, Cell(m.absent, "wb-dim"), "", m.metric.unit, ""
    of = f"{m.share:.1%} of {m.peak:,.4g}" if m.share is not None else ""
    return m.metric.name, number(m.figure.value, ",.4g"), of, m.metric.unit, badge(m.figure, brief=True)


def _files(rocprof: RocprofResult) -> Markup:
    link = Markup('<li><a href="{}">{}</a> {}</li>')
    links = (link.format(p.folder.as_uri(), p.folder.name, code(p.shown)) for p in rocprof.passes)
    return details("rocprofv3: commands and files", tag("ul", *links))


@plots(ProfileResult)
def counters_figure(result: ProfileResult) -> Any:
    """Counters above the modelled time by unit. A plotly Figure.

    One below the other: beside each other they have no room in a notebook that shares the page.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    origin = Origin.MEASURED if result.rocprof is not None else Origin.COUNTED
    rows = 2 if result.has_time else 1
    figure = make_subplots(
        cols=1,
        rows=rows,
        vertical_spacing=0.16,
        row_heights=(len(SHOWN), 10)[:rows],
    )
    names = [name for name in reversed(SHOWN) if name in result.counters]
    values = [result.counters[name].value for name in names]
    figure.add_trace(
        go.Bar(
            x=values,
            y=names,
            orientation="h",
            marker=marker(SERIES[0], [origin]),
            text=[f"{v:,.0f}" for v in values],
            textposition="outside",
            textfont={"color": INK},
            cliponaxis=False,
            hovertemplate="%{y}: %{x:,}<extra></extra>",
            showlegend=False,
        ),
        row=1,
        col=1,
    )
    if result.has_time:
        units, busy = breakdown_bars(result.timing)
        figure.add_trace(
            go.Bar(
                x=busy,
                y=units,
                orientation="h",
                marker=marker(SERIES[0], [Origin.MODELLED]),
                text=[f"{v:.3g}" for v in busy],
                textposition="outside",
                textfont={"color": INK},
                cliponaxis=False,
                hovertemplate="%{y}: %{x:.4g} us<extra>modelled</extra>",
                showlegend=False,
            ),
            row=2,
            col=1,
        )
        figure.update_xaxes(title="busy, us (modelled)", row=2, col=1)
    figure.update_xaxes(title=f"wave instructions, conflict cycles ({origin})", row=1, col=1)
    figure.update_xaxes(range=[0, 1.2 * max(values, default=1) or 1], row=1, col=1)
    figure.update_xaxes(title_standoff=4)
    figure.update_yaxes(automargin=True)
    title = f"{result.name} on {result.device}"
    figure = style(figure, [origin, result.time] if result.model is not None else [origin], title)
    figure.update_layout(height=520 if result.has_time else 320, margin={"l": 10, "b": 44})
    return figure
