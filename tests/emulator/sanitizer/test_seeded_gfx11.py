"""On gfx1100, with waves of 32 lanes: every seeded fault is found on its line, and no twin without it is."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("torch")

import workbench as wb
from tests.emulator.sanitizer.seeded_gfx11 import CASES, HEAD, TARGET
from tests.emulator.sanitizer.test_seeded import far_apart
from workbench.check.sanitizer import SanitizeResult


@cache
def _compiled(fault: bool) -> wb.Module:
    first = HEAD.count("\n") + 1
    parts = [
        f'namespace {name} {{\n#line {first} "seeded.hip"\n{case.source}\n}}' for name, case in CASES.items()
    ]
    source = HEAD + "\n".join(parts)
    return wb.compile(source, arch=TARGET, define=["FAULT"] if fault else [], name="seeded.hip")


@pytest.fixture(scope="module")
def modules() -> None:
    """Compiles both modules: tests that need them are drawn together, since each draw compiles them."""
    for fault in (True, False):
        _compiled(fault)


def _run(name: str, fault: bool) -> SanitizeResult:
    case = CASES[name]
    values, out = far_apart(case.elements)
    launch = _compiled(fault)[f"{name}::k"][case.grid, case.block]
    return wb.sanitize(launch, values, out, device=f"emulated:{TARGET}")


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", CASES)
def test_seeded_fault_is_found_on_its_line(name: str) -> None:
    case, result = CASES[name], _run(name, fault=True)
    assert not result.passed
    findings = [f for f in result.findings if f.category == case.category and case.words in f.message]
    lines = {n for n, text in enumerate((HEAD + case.source).splitlines(), 1) if text.endswith("// HERE")}
    assert findings, str(result)
    assert lines <= {f.line for f in findings}, str(result)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", CASES)
def test_the_same_kernel_without_the_fault_is_clean(name: str) -> None:
    result = _run(name, fault=False)
    assert result.passed, str(result)
