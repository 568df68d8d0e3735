"""Wide accesses of shared memory at odd places: those that a compiler merges from smaller ones are right."""

from __future__ import annotations

from functools import cache

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.check.sanitizer import SanitizeResult  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

SOURCE = """#include <hip/hip_runtime.h>
__global__ void halves(const short *in, int *out) {
    __shared__ short s[64 * 5];
    for (int i = threadIdx.x; i < 64 * 5; i += 64) s[i] = in[i];
    __syncthreads();
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 5; i++) sum += s[threadIdx.x * 5 + i];
    out[threadIdx.x] = sum;
}
__device__ int sum(const int4 *four) {
    return four->x + four->y + four->z + four->w; // LINE 12
}
__global__ void dwords(const int *in, int *out) {
    __shared__ int s[64 * 5];
    for (int i = threadIdx.x; i < 64 * 5; i += 64) s[i] = in[i];
    __syncthreads();
    out[threadIdx.x] = sum((const int4 *)&s[threadIdx.x * 5]);
}
"""


@cache
def compiled(arch: str) -> wb.Module:
    return wb.compile(SOURCE, arch=arch, name="alignment.hip")


def run(arch: str, kernel: str, values: torch.Tensor) -> tuple[SanitizeResult, torch.Tensor]:
    out = torch.zeros(64, dtype=torch.int32)
    return wb.sanitize(compiled(arch)[kernel][1, 64], values, out, device=f"emulated:{arch}"), out


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_halves_that_the_compiler_merges(arch: str) -> None:
    merged = [x for x in compiled(arch)["halves"].instructions if x.mnemonic == "ds_read_b64"]
    assert merged, "the compiler merges nothing, so the test shows nothing"
    values = torch.arange(64 * 5, dtype=torch.int16)
    result, out = run(arch, "halves", values)
    assert result.passed, str(result)
    assert torch.equal(out, values.reshape(64, 5).sum(1).int())


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_pointer_to_wider_elements(arch: str) -> None:
    result, _ = run(arch, "dwords", torch.arange(64 * 5, dtype=torch.int32))
    [finding] = result.findings
    assert (finding.category, finding.line, finding.lane) == ("misaligned", 12, 1)
    assert "needs a multiple of 16" in finding.message
