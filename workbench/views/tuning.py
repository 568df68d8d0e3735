"""Tuning: what was chosen for each problem, and candidates over their settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

from markupsafe import Markup

from workbench.bench.tuning import Trial, TuneResult
from workbench.display import plots, shows
from workbench.operators import Shape, kernels
from workbench.theme import GREY, INK, SERIES
from workbench.views.badge import badge, style
from workbench.views.markup import block, figure_text
from workbench.views.table import Table
from workbench.views.timing import ShapeAxis

HEAD = ("problem", "chosen", "us", "untuned", "us", "faster by", "tried", "")


@shows(TuneResult)
def tune_html(result: TuneResult) -> Markup:
    """The choice for each problem, beside what would be taken untuned."""
    axis = ShapeAxis(result.shapes)
    rows = []
    for shape in result.shapes:
        best, before, tried = result.best(shape), result.untuned(shape), result.of(shape)
        if best is None:
            rows.append((axis.position(shape), "nothing ran", "", "", "", "", len(tried), ""))
            continue
        old = (before.candidate.name, before.result.us) if before is not None else ("", "")
        gain = f"{1 - best.result.us / before.result.us:.1%}" if before is not None else ""
        choice = (best.candidate.name, best.result.us)
        rows.append((axis.position(shape), *choice, *old, gain, len(tried), badge(best.result.figure)))
    return block(Table(HEAD, rows, caption=f"tuning of {result.operator} on {result.device.name}"))


@plots(TuneResult)
def tune_figure(result: TuneResult, shape: Shape | None = None) -> Any:
    """Parallel coordinates of a problem's candidates, the first one's where none is given. A plotly Figure.

    A line is a candidate: its variant, its settings, and its time, the fastest at the top.
    """
    problem = shape if shape is not None else result.shapes[0]
    trials = result.of(problem)
    axes = _axes(trials)
    import plotly.graph_objects as go

    figure = go.Figure()
    best, before = result.best(problem), result.untuned(problem)
    plain = [trial for trial in reversed(trials) if trial not in (best, before)]
    marked = [(before, "untuned", SERIES[1], 3)] if before is not best else []
    marked += [(best, "chosen", SERIES[2], 4)]
    named: list[tuple[Trial | None, str, str, int]] = [(t, "candidates", GREY, 1) for t in plain]
    seen: set[str] = set()
    for trial, role, colour, width in [*named, *marked]:
        if trial is None:
            continue
        name = figure_text(trial.candidate.name)
        label = role if role == "candidates" else f"{role}: {name}, {trial.result.us:.4g} us"
        figure.add_trace(
            go.Scatter(
                x=list(map(figure_text, axes)),
                y=[places[_value(trial, axis)] for axis, places in axes.items()],
                mode="lines",
                name=label,
                showlegend=label not in seen,
                legendgroup=role,
                line={"color": colour, "width": width},
                hovertemplate=f"{name}<br>{trial.result.us:.4g} us<extra></extra>",
            )
        )
        seen.add(label)
    _scales(figure, axes)
    title = f"{result.operator}, {_problem(result, problem)}: {len(trials)} candidates"
    return style(figure, [trial.result.figure for trial in trials[:1]], title)


def _problem(result: TuneResult, shape: Shape) -> str:
    """The parameters that distinguish the problem from the others, or from the operator's defaults."""
    if len(result.shapes) > 1 or result.operator not in kernels:
        return str(ShapeAxis(result.shapes).position(shape))
    usual = kernels[result.operator].parameters
    return ", ".join(f"{k}={v}" for k, v in shape.items() if k not in usual or v != usual[k].first)


def _value(trial: Trial, axis: str) -> Any:
    if axis == "us":
        return trial.result.us
    return trial.candidate.variant if axis == "variant" else trial.candidate.settings.get(axis, "auto")


def _axes(trials: Sequence[Trial]) -> dict[str, Mapping[Any, float]]:
    """For each axis where its values stand, from 0 to 1; times with the shortest at the top."""
    names = ["variant", *dict.fromkeys(name for trial in trials for name in trial.candidate.settings)]
    axes: dict[str, Mapping[Any, float]] = {}
    for name in names:
        values = sorted({_value(trial, name) for trial in trials}, key=lambda v: (isinstance(v, str), v))
        if len(values) > 1:
            axes[name] = {value: n / (len(values) - 1) for n, value in enumerate(values)}
    # If every candidate failed, there is no time.
    if times := [trial.result.us for trial in trials]:
        low, high = log10(min(times)), log10(max(times))
        axes["us"] = {us: 1 - (log10(us) - low) / ((high - low) or 1) for us in times}
    return axes


def _scales(figure: Any, axes: Mapping[str, Mapping[Any, float]]) -> None:
    """The values beside each axis."""
    import plotly.graph_objects as go

    for name, places in axes.items():
        ticks = dict(places)
        if name == "us":
            ends = sorted(places)
            ticks = {f"{us:.4g}": places[us] for us in (ends[0], ends[-1])}
        figure.add_trace(
            go.Scatter(
                x=[figure_text(name)] * len(ticks),
                y=list(ticks.values()),
                mode="lines+markers+text",
                text=list(map(figure_text, ticks)),
                textposition="top right",
                textfont={"size": 10},
                line={"color": INK, "width": 1},
                marker={"size": 3, "color": INK},
                showlegend=False,
                hoverinfo="skip",
            )
        )
    figure.update_yaxes(visible=False, range=[-0.08, 1.08])
    figure.update_xaxes(
        type="category", categoryorder="array", categoryarray=list(map(figure_text, axes)), title=""
    )
