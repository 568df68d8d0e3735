"""A training step: the operators that take its time, beside the previous step."""

from __future__ import annotations

from typing import Any

from workbench.operators.parameters import shape_text
from workbench.origin import Origin
from workbench.profile.training_step import Row, StepProfile
from workbench.theme import SERIES
from workbench.views.figures.view import View, bars, difference, finish, room

OPERATORS = 12
"""Number of longest operators that have a bar."""


def step(now: StepProfile | None, before: StepProfile | None) -> View:
    """Time by operator, and a row for each call of a kind.

    Args:
        before: the previous step on the same device, in grey.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: list[tuple[Any, ...]] = []
    title, text, origins = "Training step", list[str](), list[Origin]()
    if now is not None:
        spent = dict(list(now.by_operator().items())[:OPERATORS])
        old = before.by_operator() if before is not None else {}
        whole, origin = now.total.value, now.total.origin
        text = [f"{us:,.4g}, {us / whole:.0%}" for us in spent.values()]
        origins = [origin] * len(spent)
        was = [old.get(name) for name in spent] if before is not None else None
        bars(
            *(figure, list(spent), list(spent.values()), was),
            hue=SERIES[0],
            origins=origins,
            text=text,
            unit="us",
        )
        kinds = {_kind(r): r.time.value for r in before.rows} if before is not None else {}
        rows = [
            (
                *(r.module, r.phase, r.operator, shape_text(r.shape), r.time.value, 100 * r.share, r.calls),
                *(r.bound, difference(r.time.value, kinds.get(_kind(r)))),
            )
            for r in now.rows
        ]
        change = difference(whole, before.total.value if before is not None else None)
        title = f"Training step: {whole:,.4g} us{f', {change}' if change else ''}"
        longest = max([*spent.values(), *(us for us in was or () if us is not None)])
        figure.update_xaxes(range=[0, longest * room(text)])
    figure.update_xaxes(title="time of all calls, us")
    head = ("module", "pass", "operator", "shape", "us", "%", "calls", "bound by", "to baseline")
    return finish(figure, title, "step", origins, head, rows)


def _kind(row: Row) -> tuple[str, ...]:
    return row.module, row.phase, row.operator, shape_text(row.shape)
