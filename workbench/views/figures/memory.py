"""Memory: LDS cycles with their bank conflicts, and bytes by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, log2
from typing import Any

from workbench.origin import Figure, Origin
from workbench.profile.results import ProfileResult
from workbench.theme import SERIES
from workbench.views.figures.view import FAILED, NOTHING_YET, View, bars, difference, finish, ratio

_LDS_COUNTERS = (
    "SQ_INSTS_LDS",
    "SQ_LDS_IDX_ACTIVE",
    "SQ_LDS_BANK_CONFLICT",
    "lds_bytes_read",
    "lds_bytes_written",
    "direct_to_lds_bytes",
)


def lds(now: ProfileResult | None, base: ProfileResult | None, hue: str = SERIES[0]) -> View:
    """LDS cycles that accesses need, and cycles that bank conflicts add."""
    import plotly.graph_objects as go

    figure = go.Figure()
    cycles = {name: _cycles(profile) for name, profile in (("baseline", base), ("shown", now))}
    pairs = {name: pair for name, pair in cycles.items() if pair is not None}
    # A launch that never accesses LDS has nothing to draw.
    if any(clean.value or more.value for clean, more in pairs.values()):
        figure.add_trace(
            _stack("without conflicts", hue, {n: clean.value for n, (clean, _) in pairs.items()})
        )
        figure.add_trace(_stack("bank conflicts", FAILED, {n: more.value for n, (_, more) in pairs.items()}))
        figure.update_layout(showlegend=True)
    rate = now.metrics["LDS conflict rate"].figure if pairs and now is not None else None
    title = f"LDS banks: {ratio(rate.value)} conflict cycles" if rate is not None else "LDS banks"
    figure.update_xaxes(title="LDS cycles, all compute units", rangemode="tozero")
    origins = [more.origin for _, more in pairs.values()]
    head = ("counter", "value", "to baseline")
    nothing = "no access of LDS" if pairs else NOTHING_YET
    rows = _lds_rows(now, base)
    return finish(figure, title, "lds", origins, head, rows, {"barmode": "stack"}, nothing=nothing)


def _cycles(profile: ProfileResult | None) -> tuple[Figure, Figure] | None:
    """Cycles without and of conflicts; None if they were not collected."""
    names = ("SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT")
    active, conflict = (profile.counters.get(c) if profile is not None else None for c in names)
    if active is None or conflict is None:
        return None
    return replace(active, value=active.value - conflict.value), conflict


def _stack(name: str, colour: str, values: Mapping[str, float]) -> Any:
    import plotly.graph_objects as go

    return go.Bar(
        name=name,
        orientation="h",
        y=list(values),
        x=list(values.values()),
        marker_color=colour,
        width=0.5,
        text=[f"{value:,.0f}" for value in values.values()],
        hovertemplate="%{y}: %{x:,} cycles<extra>" + name + "</extra>",
    )


def _lds_rows(now: ProfileResult | None, base: ProfileResult | None) -> list[tuple[Any, ...]]:
    if now is None:
        return []
    rows = []
    for name in _LDS_COUNTERS:
        counter = now.counters.get(name)
        value = int(counter.value) if counter is not None else None
        was = base.counters.get(name) if base is not None else None
        rows.append((name, value, difference(value, was.value if was is not None else None)))
    return rows


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


def traffic_by_level(profile: ProfileResult | None) -> dict[str, Figure]:
    """Bytes by level, as far as they are known."""
    if profile is None:
        return {}
    levels = {}
    for label, names in _TRAFFIC:
        for name, scale in names:
            counter = profile.counters.get(name)
            if counter is not None:
                if counter.value or label not in _ONLY_IF_ANY:
                    levels[label] = Figure(counter.value * scale, "bytes", counter.origin, counter.source)
                break
    if profile.argument_bytes and "HBM, read" not in levels:
        levels["HBM, at least (arguments once)"] = Figure(
            profile.argument_bytes, "bytes", Origin.COUNTED, "arguments"
        )
    return levels


def traffic(now: ProfileResult | None, base: ProfileResult | None, hue: str = SERIES[0]) -> View:
    """Bytes by memory level, with the hit rates of the caches between them."""
    import plotly.graph_objects as go

    figure = go.Figure()
    levels, old = traffic_by_level(now), traffic_by_level(base)
    names = list(levels)
    if levels:
        bars(
            figure,
            names,
            [f.value for f in levels.values()],
            [old[n].value if n in old else None for n in names] if base is not None else None,
            hue=hue,
            origins=[f.origin for f in levels.values()],
            text=[shown_bytes(f.value) for f in levels.values()],
            unit="bytes",
        )
        top = max(f.value for f in (*levels.values(), *old.values()))
        figure.update_xaxes(**byte_ticks(top))
    rows: list[tuple[Any, ...]] = [
        (n, int(f.value), difference(f.value, old[n].value if n in old else None), str(f.origin))
        for n, f in levels.items()
    ]
    figure.update_xaxes(title="bytes moved")
    head = ("level", "bytes", "to baseline", "origin")
    rates = []
    for name in ("L1 hit rate", "L2 hit rate"):
        rate = now.metrics[name].figure if now is not None else None
        if rate is not None:
            rates.append(f"{name} {rate.value:.0f}%")
            rows.append((f"{name}, %", rate.value, _rate_difference(name, rate, base), str(rate.origin)))
    title = ": ".join(("Memory traffic", ", ".join(rates))) if rates else "Memory traffic"
    return finish(figure, title, "traffic", [f.origin for f in levels.values()], head, rows)


def _rate_difference(name: str, rate: Figure, base: ProfileResult | None) -> str:
    was = base.metrics[name].figure if base is not None else None
    return difference(rate.value, was.value if was is not None else None)


def byte_ticks(top: float) -> dict[str, Any]:
    """Ticks of an axis of bytes: whole units of 1024, not of 1000, about five of them."""
    step = 2.0 ** ceil(log2(max(top, 5) / 5))
    places = [n * step for n in range(int(top / step) + 1)]
    return {"tickvals": places, "ticktext": [shown_bytes(place) for place in places]}


def shown_bytes(value: float) -> str:
    """Bytes in their unit, such as "1.5 MB"."""
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TB"
