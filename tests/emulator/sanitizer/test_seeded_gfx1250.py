"""On gfx1250: every seeded fault is found on its line, and no twin without it is; late loads show copies'."""

from __future__ import annotations

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
from tests.emulator.sanitizer.seeded_modules import SeededModules

SEEDED = SeededModules(TARGET, HEADS, SHARED, OWN)

CHANGED = (
    "copy_read_too_early",
    "second_copy_read_too_early",
    "copy_of_another_wave",
    "tile_read_too_early",
)
"""Faults of copies that loads which come as late as they may show in the results."""


@pytest.fixture(scope="module")
def modules() -> None:
    """Compiles all modules: tests that need them are drawn together, since each draw compiles them."""
    SEEDED.compile_all()


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", CASES)
def test_seeded_fault_is_found_on_its_line(name: str) -> None:
    result = SEEDED.run(name, fault=True)
    assert not result.passed
    findings = SEEDED.matching(name, result)
    assert findings, str(result)
    assert name in LINE_OF_ANOTHER_STATEMENT or SEEDED.lines(name) <= {f.line for f in findings}, str(result)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", CASES)
def test_the_same_kernel_without_the_fault_is_clean(name: str) -> None:
    result = SEEDED.run(name, fault=False)
    assert result.passed, str(result)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", OWN)
def test_copies_that_come_late_change_the_results_of_faults_alone(name: str) -> None:
    case = CASES[name]

    def result(fault: bool) -> torch.Tensor:
        values = torch.arange(float(case.elements))
        out = torch.zeros(case.elements)
        SEEDED.compiled(name, fault)[f"{name}::k"][case.grid, case.block](values, out)
        return out

    with wb.late_loads():
        late = result(fault=False)
    assert torch.equal(late, result(fault=False))
    if name in CHANGED:
        with wb.late_loads():
            assert not torch.equal(result(fault=True), late)


@pytest.mark.usefixtures("modules")
def test_a_race_in_a_cluster_names_its_barrier() -> None:
    assert "in a cluster its barrier" in str(SEEDED.run("without_a_cluster_barrier", fault=True))
    assert "in a cluster" not in str(SEEDED.run("flag_without_a_write_back", fault=True))
