"""One kernel that names no number of lanes, on every target of the tile library."""

from __future__ import annotations

import os

import pytest
import torch

import workbench as wb
from workbench import targets
from workbench.runtime import device

SOURCE = """#include "kittens.cuh"
using namespace kittens;
using G = group<2>;
// Each wave: 16 rows of softmax(a bᵀ) c, with a from memory, b and c by way of shared memory.
__global__ __launch_bounds__(G::GROUP_THREADS) void products(
    const bf16 *a_ptr, const bf16 *b_ptr, const bf16 *c_ptr, float *out_ptr) {
    using matrix = gl<bf16, 1, 1, -1, -1>;
    const auto of = [](const bf16 *x, size_t rows, size_t cols) {
        return matrix(const_cast<bf16 *>(x), nullptr, nullptr, rows, cols);
    };
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    using tile = st_bf<32, 64, st_32x32_s>;
    tile &bs = al.allocate<tile>(), &cs = al.allocate<tile>();
    G::load(bs, of(b_ptr, 32, 64), {0, 0, 0, 0});
    G::load(cs, of(c_ptr, 32, 64), {0, 0, 0, 0});
    wait_and_barrier();
    rt_bf<16, 64, row_l, rt_16x32_s> a;
    rt_bf<32, 64, row_l, rt_16x32_s> b;
    rt_bf<32, 64, col_l, rt_32x16_s> c;
    load(a, of(a_ptr, 32, 64), {0, 0, warpid(), 0});
    load(b, bs);
    load(c, cs);
    rt_fl<16, 32> s;
    zero(s);
    mma_ABt(s, a, b, s);
    decltype(s)::col_vec largest, total;
    row_max(largest, s);
    sub_row(s, s, largest);
    exp(s, s);
    row_sum(total, s);
    div_row(s, s, total);
    // By way of memory from the layout of results to that of operands, whatever they are.
    rt_bf<16, 32> rounded;
    copy(rounded, s);
    using part = st_bf<16, 32, st_16x32_s>;
    part(&ps)[2] = al.allocate<part, 2>();
    store(ps[warpid()], rounded);
    wait_and_barrier();
    rt_bf<16, 32, row_l, rt_16x32_s> p;
    load(p, ps[warpid()]);
    rt_fl<16, 64> out;
    zero(out);
    mma_AB(out, p, c, out);
    store(gl<float, 1, 1, -1, -1>(out_ptr, nullptr, nullptr, 32, 64), out, {0, 0, warpid(), 0});
}
"""


@pytest.mark.parametrize("arch", targets.LIBRARY_TARGETS)
def test_the_same_source_is_right_in_waves_of_32_and_64_lanes(arch: str) -> None:
    generator = torch.Generator().manual_seed(int(os.environ["HIPKITTENS_TEST_SEED"]))
    a, b, c = ((torch.randn(32, 64, generator=generator) / 4).bfloat16() for _ in range(3))
    kernel = wb.compile(SOURCE, arch=arch, name="one_source.hip", flags=("-g0",))["products"]
    results = []
    for _ in range(2):
        out = torch.full((32, 64), float("nan"))
        launch = wb.Launch(1, 2 * targets.wave_size(arch), 2 * 32 * 64 * 2 + 2 * 16 * 32 * 2)
        kernel.launch(launch, [a, b, c, out], {}, device=device(f"emulated:{arch}"))
        results.append(out)
    assert torch.equal(*results)
    weights = torch.softmax(a.double() @ b.double().T, dim=1).bfloat16().double()
    # Half a unit of bf16 in the weights, which add up to one, times numbers of up to about one.
    assert (results[0].double() - weights @ c.double()).abs().max() < 2.0**-8
