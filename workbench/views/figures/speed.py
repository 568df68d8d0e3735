"""Achieved share of the machine's peaks, and the modelled time by unit."""

from __future__ import annotations

from typing import Any

from workbench.origin import Origin
from workbench.profile.results import ProfileResult
from workbench.theme import SERIES
from workbench.views.figures.view import View, bars, difference, finish, room
from workbench.views.timing import breakdown_bars


def speed_of_light(now: ProfileResult | None, base: ProfileResult | None, hue: str = SERIES[0]) -> View:
    """Achieved share of the machine's peak for each unit and memory level."""
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: list[tuple[Any, ...]] = []
    origins: list[Origin] = []
    text: list[str] = []
    if now is not None:
        old = base.metrics if base is not None else {}
        drawn = [m for m in now.metrics.values() if m.share is not None]
        names = [m.metric.name for m in drawn]
        values = [100 * (m.share or 0) for m in drawn]
        before: list[float | None] = [
            100 * share if n in old and (share := old[n].share) is not None else None for n in names
        ]
        text = [f"{v:.1f}%{_delta(v, b)}" for v, b in zip(values, before, strict=True)]
        origins = [m.figure.origin for m in drawn if m.figure is not None]
        if drawn:
            look: dict[str, Any] = {"hue": hue, "origins": origins, "text": text, "unit": "% of peak"}
            bars(figure, names, values, before if base else None, **look)
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
    figure.update_xaxes(title="% of peak", range=[0, 100 * room(text)], tickvals=[0, 20, 40, 60, 80, 100])
    head = ("metric", "value", "unit", "peak", "to baseline", "origin", "formula", "source")
    return finish(figure, "Speed of light", "speed", origins, head, rows)


def _delta(new: float, old: float | None) -> str:
    """Difference in percentage points beside a bar."""
    return "" if old is None or abs(new - old) < 0.05 else f" ({new - old:+.1f})"


def breakdown(now: ProfileResult | None, base: ProfileResult | None, hue: str = SERIES[0]) -> View:
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
        bars(
            figure,
            names,
            values,
            [old.get(n) for n in names] if base is not None else None,
            hue=hue,
            origins=[Origin.MODELLED] * len(names),
            text=text,
            unit="us",
        )
        rows = [(n, v, difference(v, old.get(n))) for n, v in zip(names, values, strict=True)]
        rows += [
            (
                f"one wave: {label}",
                1e6 * s,
                difference(s, base.model.wave.get(k) if base and base.model else None),
            )
            for k, label in (
                ("issue", "issue, matrix cores"),
                ("memory", "waits for memory"),
                ("lds", "waits for LDS"),
            )
            if (s := now.model.wave.get(k)) is not None
        ]
        title = f"Where the time goes: {now.model.bound_text}"
    figure.update_xaxes(title="busy, us")
    origins = [now.model.time] if now is not None and now.model is not None else []
    return finish(figure, title, "breakdown", origins, ("part", "us", "to baseline"), rows)
