"""FLOP/s over FLOP/byte, under the machine's roofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from workbench.profile.results import ProfileResult
from workbench.targets import Product
from workbench.theme import INK, SERIES
from workbench.views.figures.view import View, finish


@dataclass(frozen=True)
class _Look:
    symbol: str
    dash: str


_LEVELS: Mapping[str, _Look] = {
    "HBM": _Look("circle", "solid"),
    "L2": _Look("square", "dashdot"),
    "LDS": _Look("diamond", "dot"),
}


def ceilings(machine: Product, kinds: Sequence[str]) -> dict[str, float]:
    """Flat roofs in TFLOP/s: vector units, and the matrix cores for each input type."""
    roofs = {"VALU fp32": machine.vector_flops / 1e12}
    for kind in kinds:
        if (peak := machine.matrix_flops(kind)) is not None:
            roofs[f"MFMA {kind.lower()}"] = peak / 1e12
    return roofs


@dataclass(frozen=True)
class _Point:
    """A run under the roof of one memory level: intensity in FLOP/byte, rate in TFLOP/s."""

    which: str
    level: str
    intensity: float
    rate: float


def roofline(now: ProfileResult | None, base: ProfileResult | None, hue: str = SERIES[0]) -> View:
    """FLOP/s over FLOP/byte for HBM, L2 and LDS, under the machine's roofs; the baseline as open marks."""
    import plotly.graph_objects as go

    figure = go.Figure()
    head = ("run", "level", "FLOP/byte", "TFLOP/s", "roof", "of roof")
    if now is None:
        return finish(figure, "Roofline", "roofline", (), head, ())
    rate = now.metrics["FLOP rate"].figure
    points = [*_points("baseline", base), *_points("shown", now)]
    if not points:
        nothing = "no floating-point operations to place" if rate is not None else "FLOP were not collected"
        return finish(figure, "Roofline", "roofline", (), head, (), nothing=nothing)
    machine = now.machine
    roofs = ceilings(machine, _matrix_types(now) or ["BF16"])
    bandwidths = {
        "HBM": machine.hbm_bytes_per_second,
        "L2": machine.l2_bytes_per_second,
        "LDS": machine.lds_bytes_per_second,
    }
    top = max(roofs.values())
    # Each axis holds the roofs' corners and the points, with some air.
    left = min([0.1, *(0.3 * p.intensity for p in points)])
    right = max([1000.0, *(3 * p.intensity for p in points)])
    bottom = min([0.1, *(0.3 * p.rate for p in points)])
    for level, bandwidth in bandwidths.items():
        figure.add_trace(_slope(level, bandwidth, left, top))
    for name, peak in roofs.items():
        figure.add_trace(_ceiling(name, peak, peak * 1e12 / bandwidths["LDS"], right))
    rows = []
    for p in points:
        figure.add_trace(_mark(p, hue, named=base is not None))
        roof = min(top, p.intensity * bandwidths[p.level] / 1e12)
        rows.append((p.which, p.level, p.intensity, p.rate, roof, f"{p.rate / roof:.1%}"))
    figure.update_xaxes(type="log", dtick=1, title="FLOP / byte", range=[log10(left), log10(right)])
    figure.update_yaxes(type="log", dtick=1, title="TFLOP/s", range=[log10(bottom), log10(2.5 * top)])
    origins = [rate] if rate is not None else []
    return finish(figure, f"Roofline of {machine.name}", "roofline", origins, head, rows)


def _matrix_types(profile: ProfileResult) -> list[str]:
    """Input types of the matrix instructions that ran."""
    return [
        kind
        for kind in ("F6F4", "F8", "I8", "BF16", "F16", "XF32", "F32", "F64")
        if (c := profile.counters.get(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}")) is not None and c.value
    ]


def _points(which: str, profile: ProfileResult | None) -> list[_Point]:
    if profile is None or (rate := profile.metrics["FLOP rate"].figure) is None or rate.value <= 0:
        return []
    intensities = {level: profile.metrics[f"arithmetic intensity, {level}"].figure for level in _LEVELS}
    return [
        _Point(which, level, intensity.value, rate.value)
        for level, intensity in intensities.items()
        if intensity is not None and intensity.value > 0
    ]


def _slope(level: str, bandwidth: float, left: float, top: float) -> Any:
    """The roof that a memory level's bandwidth makes, up to the highest ceiling."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=[left, top * 1e12 / bandwidth],
        y=[left * bandwidth / 1e12, top],
        mode="lines",
        name=f"{level} {bandwidth / 1e12:.3g} TB/s",
        line={"width": 1.5, "color": INK, "dash": _LEVELS[level].dash},
        hovertemplate=f"{level}: {bandwidth / 1e12:.3g} TB/s<extra>peak</extra>",
    )


def _ceiling(name: str, peak: float, left: float, right: float) -> Any:
    """The flat roof of a unit's arithmetic."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=[left, right],
        y=[peak, peak],
        mode="lines+text",
        text=["", f"{name} {peak:,.0f}"],
        textposition="top left",
        line={"width": 1.5, "color": INK, "dash": "dash" if "VALU" in name else "solid"},
        hovertemplate=f"{name}: {peak:,.4g} TFLOP/s<extra>peak</extra>",
        showlegend=False,
    )


def _mark(p: _Point, colour: str, *, named: bool) -> Any:
    """A point; where there are two runs, `named` after its own."""
    import plotly.graph_objects as go

    is_base = p.which == "baseline"
    return go.Scatter(
        x=[p.intensity],
        y=[p.rate],
        mode="markers",
        name=f"{p.level}, {p.which}" if named else p.level,
        marker={
            "symbol": _LEVELS[p.level].symbol + ("-open" if is_base else ""),
            "size": 11,
            "color": INK if is_base else colour,
            "line": {"width": 2},
        },
        hovertemplate=f"{p.level}, {p.which}: " + "%{x:.4g} FLOP/byte, %{y:.4g} TFLOP/s<extra></extra>",
    )
