"""On gfx1201, with waves of 32 lanes: every seeded fault is found on its line, and no twin without it is."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

pytest.importorskip("torch")

import workbench as wb
from tests.emulator.sanitizer.seeded_gfx12 import CASES, HEADS, OWN, SHARED, TARGET
from tests.emulator.sanitizer.test_seeded import far_apart
from workbench.check.sanitizer import SanitizeResult


def compiled(name: str, fault: bool) -> wb.Module:
    """The module with a case, which has all cases with the same beginning."""
    return _compiled(next(iter(OWN if name in OWN else SHARED)), fault)


@cache
def _compiled(name: str, fault: bool) -> wb.Module:
    cases = OWN if name in OWN else SHARED
    first = HEADS[name].count("\n") + 1
    parts = [
        f'namespace {other} {{\n#line {first} "seeded.hip"\n{case.source}\n}}'
        for other, case in cases.items()
    ]
    source = HEADS[name] + "\n".join(parts)
    return wb.compile(source, arch=TARGET, define=["FAULT"] if fault else [], name="seeded.hip")


@pytest.fixture(scope="module")
def modules() -> None:
    """Compiles all modules: tests that need them are drawn together, since each draw compiles them."""
    for cases, fault in itertools.product((SHARED, OWN), (True, False)):
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
    assert lines <= {f.line for f in findings}, str(result)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", CASES)
def test_the_same_kernel_without_the_fault_is_clean(name: str) -> None:
    result = _run(name, fault=False)
    assert result.passed, str(result)
