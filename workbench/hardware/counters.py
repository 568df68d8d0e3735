"""Counters of rocprofv3 compared with the emulated device's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.hardware.operators import smallest, spread
from workbench.hardware.section import Answer, Case, Compared, Plan, Section
from workbench.profile import profile

if TYPE_CHECKING:
    from workbench.runtime import Device

_LAUNCHES, _QUICK = 30, 6


def _cases(plan: Plan) -> list[Case]:
    return smallest(spread(plan, _QUICK if plan.quick else _LAUNCHES), plan.arch)


def _measure(case: Case, device: Device, folder: Path) -> Answer:
    report = profile(case.about["operator"], shape=case.about["shape"], device=device)
    return {
        "counters": {name: counter.value for name, counter in report.counters.items()},
        "origins": {name: str(counter.origin) for name, counter in report.counters.items()},
    }


def _compare(subject: Answer, reference: Answer, subject_folder: Path, reference_folder: Path) -> Compared:
    """Counted figures must be equal; modelled ones are only reported."""
    counted = [name for name, origin in reference["origins"].items() if origin == "counted"]
    both = [name for name in counted if name in subject["counters"]]
    off = {
        name: (subject["counters"][name], reference["counters"][name])
        for name in both
        if subject["counters"][name] != reference["counters"][name]
    }
    if not both:
        return None, "no counters in common"
    if not off:
        return True, f"all {len(both)} counters that are counted are equal"
    text = "; ".join(f"{name} {a:,.0f}, emulated {b:,.0f}" for name, (a, b) in off.items())
    return False, f"{len(off)} of {len(both)} differ: {text}"


SECTION = Section(
    "counters",
    "Counters of rocprofv3 compared with the emulated device's",
    0.15,
    _cases,
    _measure,
    _compare,
)
