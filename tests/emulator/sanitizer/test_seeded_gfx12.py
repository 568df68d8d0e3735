"""On gfx1201, with waves of 32 lanes: every seeded fault is found on its line, and no twin without it is."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.emulator.sanitizer.seeded_gfx12 import CASES, HEADS, OWN, SHARED, TARGET
from tests.emulator.sanitizer.seeded_modules import SeededModules

SEEDED = SeededModules(TARGET, HEADS, SHARED, OWN)


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
    assert SEEDED.lines(name) <= {f.line for f in findings}, str(result)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", CASES)
def test_the_same_kernel_without_the_fault_is_clean(name: str) -> None:
    result = SEEDED.run(name, fault=False)
    assert result.passed, str(result)
