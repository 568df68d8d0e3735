"""Every seeded fault is found on its line; the same kernel without the fault is not reported."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from tests.emulator.sanitize import tables  # noqa: E402
from tests.emulator.sanitize.seeded import CASES, HEAD, Seeded  # noqa: E402
from workbench.sanitize import SanitizeResult  # noqa: E402


def run(case: Seeded, arch: str, fault: bool) -> tuple[SanitizeResult, int]:
    """The result, and the line that is at fault."""
    source = HEAD + case.source
    line = next(n for n, text in enumerate(source.splitlines(), 1) if text.endswith("// HERE"))
    module = wb.compile(source, arch=arch, define=["FAULT"] if fault else [], name="seeded.hip")
    given = torch.arange(case.elements, dtype=torch.float32)
    out = torch.zeros(case.elements)
    return wb.sanitize(module["k"][case.grid, case.block], given, out, device=f"emulated:{arch}"), line


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", CASES)
def test_seeded_fault_is_found_on_its_line(name: str, arch: str) -> None:
    case = CASES[name]
    result, line = run(case, arch, fault=True)
    assert not result.passed
    found = [f for f in result.findings if f.category == case.category and case.words in f.message]
    assert found, str(result)
    assert line in {f.line for f in found}, str(result)
    assert all(f.wave is not None for f in found)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_kernel_without_the_fault_is_clean(name: str, arch: str) -> None:
    result, _ = run(CASES[name], arch, fault=False)
    assert result.passed, str(result)


def test_the_documentation_has_the_tables() -> None:
    text = tables.DOCUMENT.read_text()
    assert tables.generated(text) == text, "run python -m tests.emulator.sanitize.tables"


CLOCKS = """
#include <hip/hip_runtime.h>
__global__ void k(const float *in, float *out) {
    unsigned long long start = clock64(), wall = wall_clock64(), scalar;
    asm volatile("s_memtime %0\\n\\ts_waitcnt lgkmcnt(0)" : "=s"(scalar));
    out[threadIdx.x] = in[threadIdx.x] + (clock64() >= start) + (wall > 0) + (scalar > 0);
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_scalar_memory_without_an_address_is_followed(arch: str) -> None:
    module = wb.compile(CLOCKS, arch=arch, name="clocks.hip")
    out = torch.zeros(64)
    assert wb.sanitize(module["k"][1, 64], torch.zeros(64), out, device=f"emulated:{arch}").passed
    assert (out == 3).all()
