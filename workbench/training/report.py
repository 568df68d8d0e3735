"""The page that a training run writes."""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go

from workbench.origin import Figure
from workbench.theme import SERIES
from workbench.training.run import Run
from workbench.views.html import report


def curve(losses: list[float], held: dict[int, float]) -> go.Figure:
    """Loss by step, and that of the held-out text."""
    figure = go.Figure()
    figure.add_scatter(y=losses, x=list(range(len(losses))), name="training", line={"color": SERIES[0]})
    figure.add_scatter(
        x=list(held), y=list(held.values()), name="held out", mode="lines+markers", line={"color": SERIES[1]}
    )
    figure.update_layout(title="Loss", xaxis_title="step", yaxis_title="nats a token", height=400)
    return figure


def write(path: Path, training: Run, seconds: float, memory: Figure) -> Path:
    """Writes the page: the curve, a step's time, the replaced modules, and a sample of the model's text."""
    options = training.options
    items: list[object] = [
        f"# {options.model}",
        f"{len(training.losses):,} steps of {training.text.batch} sequences of {training.text.span} tokens, "
        f"seed {options.seed}, on {options.kernels}: loss {training.losses[0]:.3f} to "
        f"{training.losses[-1]:.3f}, held out {training.evaluated[len(training.losses)]:.3f}.",
        f"{seconds:.3f} s a step on {training.device} (wall clock). Peak memory of a step: {memory}.",
        curve(training.losses, training.evaluated),
    ]
    if not training.text.masked:
        items += ["# What it writes", training.go_on()]
    if training.used is not None:
        items += ["# What runs on the kernels", training.used]
    return report(path, *items, title=f"Training {options.model}")
