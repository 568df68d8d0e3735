"""An index past the end of a variable of the code object is found, whatever follows it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

ONE = r"""
#include <hip/hip_runtime.h>
__constant__ float table[16] = {1, 2, 3};
__global__ void k(float *out, int n) { out[threadIdx.x] = table[threadIdx.x + n]; }
"""
SEVERAL = r"""
#include <hip/hip_runtime.h>
namespace first { __constant__ float table[16] = {1, 2, 3}; }
using first::table;
__constant__ float other[16] = {4, 5, 6};
__device__ float sums[16] = {7}, more[16] = {8};
__device__ int count;
struct Pair { int x, y; };
__device__ Pair pairs[4];
__global__ void constant(float *out, int n) {
    out[threadIdx.x] = table[(threadIdx.x & 15) + n] + other[threadIdx.x & 15];
}
__global__ void uniform(float *out, int n) { out[blockIdx.x * 32 + threadIdx.x] = table[blockIdx.x + n]; }
__global__ void stored(float *out, int n) {
    sums[(threadIdx.x & 15) + n] = out[threadIdx.x & 15];
    if (out[0] > 100) out[1] = more[threadIdx.x & 15];
}
__global__ void below(float *out, int n) { out[threadIdx.x] = more[(int)(threadIdx.x & 15) - n]; }
__global__ void added(float *out, int n) { if (threadIdx.x == 0) atomicAdd(&more[15 + n], 1.0f); }
// Right, though compilers make both of one address where the variables lie beside each other.
__global__ void both(float *out, int n) {
    const int i = threadIdx.x & 31;
    out[threadIdx.x] = i < 16 ? table[i] : other[i - 16];
}
__global__ void back(float *out, int n) {
    const int i = (threadIdx.x & 7) + 8;
    out[threadIdx.x] = other[i - 3] + sums[i - 8] + more[i - 7] + table[i];
}
__global__ void fields(float *out, int n) {
    out[threadIdx.x] = pairs[threadIdx.x & 3].y + table[15] + (float)count;
    if (threadIdx.x == 0) { count = 5; pairs[3].x = 2; }
}
__device__ __attribute__((noinline)) float look(const float *at, int i) { return at[i]; }
__global__ void called(float *out, int n) { out[threadIdx.x] = look(n ? table : other, threadIdx.x & 15); }
"""


def run(source: str, name: str, arch: str, n: int, blocks: int = 1) -> Any:
    launcher = wb.compile(source, arch=arch, name="objects.hip")[name][blocks, 32]
    return wb.sanitize(launcher, torch.ones(128), n, device=f"emulated:{arch}")


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_past_the_only_variable(arch: str) -> None:
    result = run(ONE, "k", arch, 16)
    [finding] = result.findings
    assert finding.category == "out of bounds"
    assert "1 byte past the end of the variable 'table' of 64 bytes" in finding.message
    assert (finding.line, finding.lane, finding.count) == (4, 0, 32)
    assert not result.stopped


FOUND = {
    "constant": (1, "reads 1 byte past the end of the variable 'first::table' of 64 bytes"),
    "stored": (1, "writes 1 byte past the end of the variable 'sums' of 64 bytes"),
    "below": (1, "reads 4 bytes before the start of the variable 'more' of 64 bytes"),
}


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", FOUND)
def test_past_a_variable_into_the_next(name: str, arch: str) -> None:
    n, words = FOUND[name]
    result = run(SEVERAL, name, arch, n)
    [finding] = [f for f in result.findings if f.category == "out of bounds"]
    assert words in finding.message
    assert f"void {name}(" in "".join(SEVERAL.splitlines()[finding.line - 2 : finding.line])
    assert run(SEVERAL, name, arch, 0).passed


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_scalar_loads(arch: str) -> None:
    [finding] = run(SEVERAL, "uniform", arch, 14, blocks=4).findings
    assert "past the end of the variable 'first::table'" in finding.message
    assert finding.workgroup == (2, 0, 0)
    assert run(SEVERAL, "uniform", arch, 12, blocks=4).passed


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", ["both", "back", "fields", "called", "added"])
def test_what_is_right_is_not_reported(name: str, arch: str) -> None:
    assert run(SEVERAL, name, arch, 0).passed
