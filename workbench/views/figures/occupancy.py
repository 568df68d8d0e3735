"""Waves that fit a SIMD, and the limiting resource."""

from __future__ import annotations

from typing import Any

from workbench.codeobject.occupancy import occupancy
from workbench.origin import Origin
from workbench.profile.results import ProfileResult
from workbench.theme import SERIES
from workbench.views.figures.view import View, bars, difference, finish


def limits(profile: ProfileResult) -> dict[str, float]:
    """Waves per SIMD as each resource alone would limit them, and with all limits together."""
    r, arch = profile.resources, profile.machine.arch
    free = {"vgprs": 1, "sgprs": 1, "lds": 0}
    lds_bytes = r.lds + r.dynamic_shared
    needs = {
        "vector registers": {**free, "vgprs": r.total_vgprs},
        "scalar registers": {**free, "sgprs": r.sgprs},
        "LDS": {**free, "lds": lds_bytes},
        "work-group size, slots": free,
    }
    waves = {k: occupancy(arch, block=r.block, **v).waves_per_simd for k, v in needs.items()}
    return {**waves, "all together": r.occupancy.waves_per_simd}


def fits(now: ProfileResult | None, base: ProfileResult | None, hue: str = SERIES[0]) -> View:
    """Waves that fit a SIMD, and the limiting resource."""
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: list[tuple[Any, ...]] = []
    title, origins = "Occupancy", []
    if now is not None:
        waves = dict(limits(now))
        old = dict(limits(base)) if base is not None else {}
        origins = [Origin.COUNTED]
        for profile, into in ((now, waves), (base, old)):
            achieved = profile.metrics["occupancy achieved"].figure if profile is not None else None
            if achieved is not None:
                into["achieved"] = achieved.value
                origins.append(achieved.origin)
        names = list(waves)
        bars(
            figure,
            names,
            list(waves.values()),
            [old.get(n) for n in names] if base is not None else None,
            hue=hue,
            origins=[origins[-1] if n == "achieved" else Origin.COUNTED for n in names],
            text=[f"{v:g}" for v in waves.values()],
            unit="waves/SIMD",
        )
        r = now.resources
        rows = [(n, v, difference(v, old.get(n))) for n, v in waves.items()]
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
        figure.update_xaxes(range=[0, r.occupancy.most + 0.2])
        title = f"Occupancy: {r.occupancy.waves_per_simd:g} waves/SIMD, {r.occupancy.limited_by}"
    figure.update_xaxes(title="waves/SIMD that fit", rangemode="tozero")
    return finish(figure, title, "occupancy", origins, ("limit", "value", "to baseline"), rows)
