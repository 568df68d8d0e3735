"""Advice names a kernel's fault first, forecasts the repair's gain, and is silent about good kernels."""

from __future__ import annotations

import re
from functools import cache

import pytest

import workbench as wb
from tests.profile.faults import FAULTS, GOOD, Fault, Good, Launch

NAMED = 38
"""Faults that the first finding has to name."""

FORECAST, NEAR = 36, 0.25
"""Faults whose forecast has to be this close to the repair's modelled gain."""


def _name(text: str, kind: str) -> str:
    return re.sub(r"\W", "_", f"{kind}_{text}")


@cache
def module() -> wb.Module:
    """One module of all kernels, so that the compiler starts once."""
    kernels = [(_name(case.name, "faulty"), case.faulty) for case in FAULTS]
    kernels += [(_name(case.name, "repaired"), case.repaired) for case in FAULTS]
    kernels += [(_name(case.name, "good"), case.source) for case in GOOD]
    renamed = [text.replace(" kernel(", f" {name}(") for name, text in kernels]
    return wb.compile("\n".join(["#include <hip/hip_runtime.h>", *renamed]), arch="gfx950")


@cache
def profiled(kind: str, name: str, launch: Launch) -> wb.ProfileResult:
    kernel = module()[_name(name, kind)]
    result = wb.profile(kernel[launch.groups, launch.threads], *launch.arguments())
    assert isinstance(result, wb.ProfileResult)
    return result


@cache
def first_finding(fault: Fault) -> tuple[str, float, float]:
    """The first finding's rule, its forecast, and the repair's gain, both modelled."""
    faulty = profiled("faulty", fault.name, fault.launch)
    repaired = profiled("repaired", fault.name, fault.relaunch or fault.launch)
    assert faulty.model is not None
    assert repaired.model is not None
    advice = faulty.advice
    rule, forecast = (advice[0].rule, advice[0].gain.value) if advice else ("", 0.0)
    return rule, forecast, faulty.model.seconds / repaired.model.seconds


def test_there_are_forty_faults_and_ten_good_kernels() -> None:
    assert len(FAULTS) == len({fault.name for fault in FAULTS}) == 40
    assert len(GOOD) == len({good.name for good in GOOD}) == 10


def test_the_first_finding_names_the_fault() -> None:
    missed = {
        fault.name: first_finding(fault)[0] for fault in FAULTS if first_finding(fault)[0] != fault.rule
    }
    assert len(FAULTS) - len(missed) >= NAMED, missed


def test_the_forecast_is_what_the_repair_gains() -> None:
    off = {}
    for fault in FAULTS:
        rule, forecast, gain = first_finding(fault)
        if rule != fault.rule or abs(forecast / gain - 1) > NEAR:
            off[fault.name] = (rule, round(forecast, 2), round(gain, 2))
    assert len(FAULTS) - len(off) >= FORECAST, off


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.name)
def test_good_kernels_are_left_alone(good: Good) -> None:
    advice = profiled("good", good.name, good.launch).advice
    assert not advice
    # The transpose has conflicts, and memory hides them.
    hidden = ["conflicts"] if good.name == "a padded transpose" else []
    assert [fault.finding.rule for fault in advice.hidden] == hidden
