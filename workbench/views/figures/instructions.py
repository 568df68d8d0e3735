"""Instructions by the unit that executes them."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.origin import Figure, Origin
from workbench.profile.results import ProfileResult
from workbench.theme import SERIES
from workbench.views.figures.view import View, bars, difference, finish

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
    counts = {n: profile.counters[c] for n, c in _COUNTER_OF.items() if c in profile.counters}
    if "VALU" in counts and "MFMA" in counts:
        # rocprof counts MFMA among the VALU's.
        valu, mfma = counts["VALU"], counts["MFMA"]
        counts["VALU"] = Figure(valu.value - mfma.value, valu.unit, valu.origin, valu.source)
    if profile.classes.get("internal"):
        source = profile.device
        counts["waits, barriers, nops"] = Figure(
            profile.classes["internal"], "instructions", Origin.COUNTED, source
        )
    return counts


def mix(now: ProfileResult | None, base: ProfileResult | None, hue: str = SERIES[0]) -> View:
    """Instructions by the unit that executes them."""
    import plotly.graph_objects as go

    figure = go.Figure()
    counts, old = _instructions(now), _instructions(base)
    total = sum(f.value for f in counts.values()) or 1
    names = list(counts)
    if counts:
        bars(
            figure,
            names,
            [f.value for f in counts.values()],
            [old[n].value if n in old else None for n in names] if base is not None else None,
            hue=hue,
            origins=[f.origin for f in counts.values()],
            text=[f"{f.value / total:.1%}" for f in counts.values()],
            unit="instructions",
        )
    rows = [
        (n, int(f.value), f"{f.value / total:.2%}", difference(f.value, old[n].value if n in old else None))
        for n, f in counts.items()
    ]
    figure.update_xaxes(title="wave instructions")
    head = ("class", "instructions", "share", "to baseline")
    return finish(figure, "Instruction mix", "mix", [f.origin for f in counts.values()], head, rows)
