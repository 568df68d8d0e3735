"""Debugging in Python: three faults, found only by `show`, `step` and `provenance`."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.targets import TILE_TARGETS

HEAD = """#include "kittens.cuh"
using namespace kittens;
using halves = gl<bf16, -1, -1, -1, -1>;
using floats = gl<float, -1, -1, -1, -1>;
"""

TRANSPOSED = """__global__ void product(const halves a, const halves b, const floats c) {
    rt_bf<32, 32> left;
    rt_bf<32, 32, col_l> right;
    rt_fl<32, 32, col_l> sums;
    load(left, a, {0, 0, 0, 0});
    load(right, b, {0, 0, 0, 0});
    zero(sums);
    mma_AB(sums, left, right, sums);
    store(c, sums, {0, 0, 0, 0});
}
"""

SWIZZLE = """#include <hip/hip_runtime.h>
__global__ void copied(const halves x, const floats out) {
    extern __shared__ alignment_dummy memory[];
    shared_allocator al(reinterpret_cast<int *>(memory));
    st_bf<32, 32> &kept = al.allocate<st_bf<32, 32>>();
    load(kept, x, {0, 0, 0, 0});
    __syncthreads();
    const bf16 *rows = reinterpret_cast<const bf16 *>(&kept);
    for (int i = threadIdx.x; i < 32 * 32; i += 64) {
        const float read = static_cast<float>(rows[i]);
        show(kept);
        show(read);
        out.raw_ptr[i] = read;
    }
}
"""

HASTY = """#include <hip/hip_runtime.h>
__global__ void hasty(const float *x, float *out) {
    float value;
    asm volatile("global_load_dword %0, %1, off" : "=v"(value) : "v"(x + threadIdx.x));
    out[threadIdx.x] = 2.0f * value;
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_provenance_reveals_a_transposed_operand(arch: str) -> None:
    """The intended product is a times b transposed, whose element (3, 5) comes from row 5 of b."""
    kernel = wb.compile(HEAD + TRANSPOSED, arch=arch, name="product.hip")["product"]
    a, b = (torch.randn(1, 1, 32, 32).bfloat16() for _ in range(2))
    c = torch.zeros(1, 1, 32, 32)
    launch = kernel[1, 64]
    launch(a=a, b=b, c=c)
    meant = a[0, 0].double() @ b[0, 0].double().T
    assert not torch.allclose(c[0, 0].double(), meant, atol=1e-2)
    provenance = wb.provenance(launch, a=a, b=b, c=c, of="c", at=(0, 0, 3, 5))
    rows = {int(n) // 32 for n in provenance.elements["a"]}
    assert rows == {3}
    of_b = {(int(n) // 32, int(n) % 32) for n in provenance.elements["b"]}
    # A column, where a row was meant.
    assert {row for row, _ in of_b} == set(range(32))
    assert 5 in {column for _, column in of_b}
    assert len({column for _, column in of_b}) <= 4


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_provenance_reveals_a_missing_swizzle(arch: str) -> None:
    kernel = wb.compile(HEAD + SWIZZLE, arch=arch, name="copied.hip", show=True)["copied"]
    x, out = torch.randn(1, 1, 32, 32).bfloat16(), torch.zeros(1, 1, 32, 32)
    values = kernel[1, 64, 4096](x, out).shown
    assert values is not None
    # The tile is right; the reading is wrong.
    (tile, *_) = values.of("kept")
    assert torch.equal(tile.values, x[0, 0])
    wrong = (out[0, 0] != x[0, 0].float()).nonzero()
    assert len(wrong)
    row, column = wrong[0].tolist()
    start = tile.place(0, 0).lds
    assert start is not None
    place = tile.place(row, column).lds
    assert place is not None
    assert place - start != 2 * (32 * row + column)
    # It is another element, which came through the LDS.
    plain = wb.compile(HEAD + SWIZZLE, arch=arch, name="copied.hip")["copied"]
    provenance = wb.provenance(plain[1, 64, 4096], x, out, of=out, at=(0, 0, row, column))
    came = {(int(n) // 32, int(n) % 32) for n in provenance.elements["x"]}
    assert came
    assert (row, column) not in came
    # The tile's own places give the intended element every time.
    flat = values["read"].flatten()
    for i in range(32):
        at = (tile.place(row, i).lds or 0) - start
        assert flat[at // 2] == x[0, 0, row, i].float()


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_the_stepper_shows_loads_that_a_missing_wait_leaves_under_way(arch: str) -> None:
    kernel = wb.compile(HASTY, arch=arch, name="hasty.hip")["hasty"]
    x, out = torch.randn(64), torch.zeros(64)
    finding = wb.sanitize(kernel[1, 64], x, out).findings[0]
    assert finding.category == "missing wait"
    s = wb.step(kernel[1, 64], x, out, at=finding)
    vmcnt = s.outstanding[0]
    assert [i.opcode for i in vmcnt.instructions] == ["global_load_dword"]
    loaded = vmcnt.instructions[0].dst[0].index
    assert s.instruction is not None
    assert loaded in {operand.index for operand in s.instruction.src if operand.kind == "v"}
    assert "waiting  vmcnt 1" in repr(s)
    # Back to the load, and its value.
    while s.last[0].opcode != "global_load_dword":
        s.back()
    assert torch.equal(s.v(loaded, torch.float32), x)
