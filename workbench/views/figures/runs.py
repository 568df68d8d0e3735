"""Times: run after run, and over shapes."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

from workbench.operators import shape_text
from workbench.origin import Origin
from workbench.profile.timing import SweepResult
from workbench.theme import INK, SERIES
from workbench.views.board import Board, Failure, Run
from workbench.views.figures.view import FAILED, View, difference, finish
from workbench.views.markup import figure_text
from workbench.views.timing import sweep_figure

MARKED = 200
"""Number of runs up to which each has a marker; beyond it only wrong runs have one."""


def _one(values: Sequence[str]) -> Any:
    """A single value if all are equal, because plotly validates each one."""
    return values[0] if len(set(values)) == 1 else list(values)


def timeline(runs: Sequence[Run], base: Run | None, failures: Sequence[Failure] = ()) -> View:
    """Times of the runs, one after another; those that an exception ended are marked on the axis."""
    import plotly.graph_objects as go

    figure = go.Figure()
    # A line joins runs of one kernel, shape and device: between others there is nothing to follow.
    for n, name in enumerate(dict.fromkeys(r.name for r in runs)):
        figure.add_trace(_line([r for r in runs if r.name == name], SERIES[n % len(SERIES)], len(runs)))
    for trace in (_wrong(runs), _stopped(failures)):
        if trace is not None:
            figure.add_trace(trace)
    if base is not None:
        figure.add_hline(
            y=base.time.value,
            line={"dash": "dot", "color": INK},
            annotation_text=f"baseline #{base.number}",
        )
    figure.update_yaxes(title="time, us", rangemode="tozero")
    stopped = f", <span style='color:{FAILED}'>✕</span> stopped" if failures else ""
    # At this size it fits a figure of 340 pixels.
    words = f"run; ● verified, ✕ wrong, ○ not verified{stopped}"
    figure.update_xaxes(title={"text": words, "font": {"size": 11}}, tickformat="d")
    if len(runs) + len(failures) <= 12:
        figure.update_xaxes(dtick=1)
    head = ("run", "kernel", "shape", "device", "us", "to baseline", "verified", "origin")
    rows = _timeline_rows(runs, base, failures)
    return finish(figure, "Runs", "timeline", [r.time for r in runs], head, rows)


def _line(runs: Sequence[Run], colour: str, count: int) -> Any:
    """The runs of a kernel, each with a marker unless there are too many in all."""
    import plotly.graph_objects as go

    symbols = {True: "circle", False: "x", None: "circle-open"}
    parts = _by_work(runs) if count > MARKED else [runs]
    runs = [run for part in parts for run in part]
    # Nothing at a place between two of them ends a line.
    ends = [*itertools.accumulate(map(len, parts))][:-1]
    return go.Scatter(
        x=_with_gaps([r.number for r in runs], ends),
        y=_with_gaps([r.time.value for r in runs], ends),
        # A thousand markers are a thousand nodes to draw ten times a second.
        mode="lines+markers" if count <= MARKED else "lines",
        line={"color": colour, "width": 1},
        marker={
            "color": _one([FAILED if r.verified is False else colour for r in runs]),
            "symbol": _one([symbols[r.verified] for r in runs]),
            "size": 8,
        },
        name=figure_text(runs[0].name),
        text=_with_gaps(
            [figure_text(f"{r.label}, {r.timing.device}, {r.time.provenance}") for r in runs], ends
        ),
        hovertemplate="%{text}<br>%{y:.4g} us<extra></extra>",
    )


def _work(run: Run) -> tuple[str, str]:
    """A run's shape and device as text."""
    return shape_text(run.timing.shape), run.timing.device


def _by_work(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of the same work, each work's in their order; first those of a work done once, as of a sweep."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault(_work(run), []).append(run)
    once = [same[0] for same in groups.values() if len(same) == 1]
    return [part for part in (once, *(same for same in groups.values() if len(same) > 1)) if part]


def _with_gaps(values: Sequence[Any], ends: Sequence[int]) -> list[Any]:
    """Values with None before each of these places."""
    starts = [0, *ends]
    spaced: list[Any] = []
    for start, end in zip(starts, [*ends, len(values)], strict=True):
        spaced += [None] * bool(spaced) + list(values[start:end])
    return spaced


def _wrong(runs: Sequence[Run]) -> Any:
    """Markers of the wrong runs, where the others have none."""
    import plotly.graph_objects as go

    wrong = [r for r in runs if r.verified is False] if len(runs) > MARKED else []
    if not wrong:
        return None
    return go.Scatter(
        x=[r.number for r in wrong],
        y=[r.time.value for r in wrong],
        mode="markers",
        marker={"color": FAILED, "symbol": "x", "size": 8},
        hoverinfo="skip",
        showlegend=False,
    )


def _stopped(failures: Sequence[Failure]) -> Any:
    """Markers on the axis for runs that an exception ended."""
    import plotly.graph_objects as go

    if not failures:
        return None
    return go.Scatter(
        x=[f.number for f in failures],
        y=[0] * len(failures),
        mode="markers",
        marker={"color": FAILED, "symbol": "x", "size": 9},
        text=[_wrapped(f"{f.name}, {f.kind}: {f.text}") for f in failures],
        hovertemplate="%{text}<extra>failed</extra>",
        cliponaxis=False,
        showlegend=False,
    )


def _timeline_rows(
    runs: Sequence[Run], base: Run | None, failures: Sequence[Failure]
) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = [
        (
            r.number,
            r.name,
            shape_text(r.timing.shape),
            r.timing.device,
            r.time.value,
            difference(r.time.value, base.time.value if base is not None else None),
            {True: "passed", False: "failed", None: ""}[r.verified],
            r.time.provenance,
        )
        for r in runs
    ]
    rows += [
        (f.number, f.name, shape_text(f.shape), f.device, "", "", f"{f.kind} failed: {f.text}", "")
        for f in failures
    ]
    return sorted(rows, key=lambda row: int(row[0]))


def _wrapped(text: str) -> str:
    """A message wrapped to short lines for a tool tip."""
    return "<br>".join(map(figure_text, textwrap.wrap(text, 70)))


def shapes(board: Board) -> View:
    """Times or rates over shapes, beside published figures and the baseline's."""
    import plotly.graph_objects as go

    results = board.over_shapes()
    run = board.shown
    if run is None or not results:
        return finish(go.Figure(), "Over shapes", "shapes", (), ("shape",), ())
    old = board.pinned.shapes if board.pinned is not None and board.pinned.run.name == run.name else ()
    swept = SweepResult(run.name, results, board.published())
    figure = sweep_figure(swept, baseline=old, hue=board.hue(run.name))
    figure.layout.annotations = ()
    before = {(shape_text(r.shape), r.device): r.median.value for r in old}
    rows: list[tuple[Any, ...]] = [
        (
            shape_text(r.shape),
            r.device,
            r.median.value,
            r.rate.value if r.rate is not None else "",
            r.bandwidth.value if r.bandwidth is not None else "",
            difference(r.median.value, before.get((shape_text(r.shape), r.device))),
            str(r.origin),
        )
        for r in results
    ]
    origins = [r.origin for r in results]
    timed_shapes = [r.shape for r in results]
    for p in board.published():
        if any(p.shape.items() <= shape.items() for shape in timed_shapes):
            us, rate = (p.value, "") if p.unit == "us" else ("", p.value)
            rows.append((shape_text(p.shape), f"{p.implementation} {p.gpu}", us, rate, "", "", "published"))
            origins.append(Origin.PUBLISHED)
    head = ("shape", "device", "us", "TFLOP/s", "TB/s", "to baseline", "origin")
    return finish(figure, f"{run.name} over shapes", "shapes", origins, head, rows)
