"""On gfx1250: every seeded fault is found on its line, and no twin without it is; late loads show copies'."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

pytest.importorskip("torch")

import torch

import workbench as wb
from tests.emulator.sanitizer.seeded_gfx1250 import (
    CASES,
    HEADS,
    LINE_OF_ANOTHER_STATEMENT,
    OWN,
    SHARED,
    TARGET,
)
from tests.emulator.sanitizer.test_seeded import far_apart
from workbench.check.sanitizer import SanitizeResult

MODULES = tuple(
    {name: case for name, case in cases.items() if HEADS[name] == head}
    for cases in (SHARED, OWN)
    for head in dict.fromkeys(HEADS[name] for name in cases)
)
"""Cases by module: those that begin alike."""

CHANGED = (
    "copy_read_too_early",
    "second_copy_read_too_early",
    "copy_of_another_wave",
    "tile_read_too_early",
)
"""Faults of copies that loads which come as late as they may show in the results."""


def compiled(name: str, fault: bool) -> wb.Module:
    return _compiled(next(i for i, cases in enumerate(MODULES) if name in cases), fault)


@cache
def _compiled(number: int, fault: bool) -> wb.Module:
    cases = MODULES[number]
    head = HEADS[next(iter(cases))]
    parts = [
        f'namespace {name} {{\n#line {head.count(chr(10)) + 1} "seeded.hip"\n{case.source}\n}}'
        for name, case in cases.items()
    ]
    define = ["FAULT"] if fault else []
    return wb.compile(head + "\n".join(parts), arch=TARGET, define=define, name="seeded.hip")


@pytest.fixture(scope="module")
def modules() -> None:
    """Compiles all modules: tests that need them are drawn together, since each draw compiles them."""
    for cases, fault in itertools.product(MODULES, (True, False)):
        compiled(next(iter(cases)), fault)


def _run(name: str, fault: bool) -> SanitizeResult:
    case = CASES[name]
    values, out = far_apart(case.elements)
    launch = compiled(name, fault)[f"{name}::k"][case.grid, case.block]
    return wb.sanitize(launch, values, out, device=f"emulated:{TARGET}")


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", CASES)
def test_seeded_fault_is_found_on_its_line(name: str) -> None:
    case, result = CASES[name], _run(name, fault=True)
    assert not result.passed
    findings = [f for f in result.findings if f.category == case.category and case.words in f.message]
    lines = {
        n for n, text in enumerate((HEADS[name] + case.source).splitlines(), 1) if text.endswith("// HERE")
    }
    assert findings, str(result)
    assert name in LINE_OF_ANOTHER_STATEMENT or lines <= {f.line for f in findings}, str(result)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", CASES)
def test_the_same_kernel_without_the_fault_is_clean(name: str) -> None:
    result = _run(name, fault=False)
    assert result.passed, str(result)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", OWN)
def test_copies_that_come_late_change_the_results_of_faults_alone(name: str) -> None:
    case = CASES[name]

    def result(fault: bool) -> torch.Tensor:
        values = torch.arange(float(case.elements))
        out = torch.zeros(case.elements)
        compiled(name, fault)[f"{name}::k"][case.grid, case.block](values, out)
        return out

    with wb.late_loads():
        late = result(fault=False)
    assert torch.equal(late, result(fault=False))
    if name in CHANGED:
        with wb.late_loads():
            assert not torch.equal(result(fault=True), late)
