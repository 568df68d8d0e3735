"""Register tiles and vectors of integers: memory, arithmetic, reductions, conversions, multiplication."""

from __future__ import annotations

import torch

import workbench as wb
from workbench.kernel import Module
from workbench.runtime import device

SOURCE = """
#include "kittens.cuh"
using namespace kittens;
using matrix = gl<int, 1, 1, -1, 40>;
using whole = rt<int, 32, 64, row_l, rt_16x32_s>;

/* Sums beyond what float holds, of rows that the tile does not divide. */
using vector = gl<int, 1, 1, 1, -1>;
__global__ void arithmetic(matrix x, matrix out, vector rows, vector cols, int *total) {
    whole a, b;
    whole::col_vec of_rows;
    whole::row_vec of_cols;
    load_bounded(a, x, {0, 0, 0, 0});
    row_sum(of_rows, a); store(rows, of_rows, {0, 0, 0, 0});
    col_max(of_cols, a); store(cols, of_cols, {0, 0, 0, 0});
    int value; sum(value, of_rows);
    if (laneid() == 0) *total = value;
    fill(b, [](int row, int col) { return row * 100 + col; });
    add(a, a, b); mul(a, a, 3);
    map(a, a, b, [](int v, int w) { return v ^ w; });
    store_bounded(out, a, {0, 0, 0, 0});
}
__global__ void convert(gl<float, 1, 1, 16, 64> x, gl<int, 1, 1, 16, 64> words, gl<int8, 1, 1, 16, 64> bytes,
                        gl<float, 1, 1, 16, 64> back) {
    rt_fl<16, 64, row_l, rt_16x64_s> r;
    load(r, x, {0, 0, 0, 0});
    rt_int<16, 64, row_l, rt_16x64_s> w;
    copy(w, r); store(words, w, {0, 0, 0, 0});
    rt<int8, 16, 64, row_l, rt_16x64_s> b;
    copy(b, r); store(bytes, b, {0, 0, 0, 0});
    copy(r, b); store(back, r, {0, 0, 0, 0});
}
template <int side, int k, typename shape, typename layout>
__device__ void multiply(const int8 *x, const int8 *y, int *out) {
    rt_int8<2 * side, k, row_l, shape> a;
    rt<int8, side, k, row_l, shape> b;
    rt<int, 2 * side, side, layout, ducks::rt_shape::rt_shape<side, side, 4>> c;
    const gl<int8, 1, 1, 2 * side, k> left(const_cast<int8 *>(x), nullptr, nullptr, nullptr, nullptr);
    const gl<int8, 1, 1, side, k> right(const_cast<int8 *>(y), nullptr, nullptr, nullptr, nullptr);
    load(a, left, {0, 0, 0, 0});
    load(b, right, {0, 0, 0, 0});
    fill(c, [](int row, int col) { return row - col; });
    mma_ABt(c, a, b, c);
    store(gl<int, 1, 1, 2 * side, side>(out, nullptr, nullptr, nullptr, nullptr), c, {0, 0, 0, 0});
}
__global__ void multiply_16(const int8 *x, const int8 *y, int *out) {
    multiply<16, 128, rt_16x128_s, col_l>(x, y, out);
}
__global__ void multiply_32(const int8 *x, const int8 *y, int *out) {
    multiply<32, 64, rt_32x64_s, row_l>(x, y, out);
}
__global__ void multiply_8_bytes(const int8 *x, const int8 *y, int *out) {
    multiply<16, 64, rt_16x32_s, col_l>(x, y, out);
}
"""


def launch(module: Module, name: str, arch: str, **tensors: torch.Tensor) -> None:
    module[name].launch(wb.Launch(1, 64), (), tensors, device=device(f"emulated:{arch}"))


def test_arithmetic_and_reductions(arch: str) -> None:
    x = torch.randint(-(1 << 25), 1 << 25, (20, 40), generator=torch.Generator().manual_seed(1)).int()
    out, total = torch.zeros_like(x), torch.zeros(1, dtype=torch.int32)
    rows, cols = torch.zeros(32, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    launch(wb.compile(SOURCE, arch=arch), "arithmetic", arch, x=x, out=out, rows=rows, cols=cols, total=total)
    place = torch.arange(20, dtype=torch.int32)[:, None] * 100 + torch.arange(40, dtype=torch.int32)
    assert torch.equal(out, ((x + place) * 3) ^ place)
    assert torch.equal(rows[:20], x.sum(1).int())
    assert torch.equal(rows[20:], torch.zeros(12, dtype=torch.int32))
    # Rows past the end are zero.
    assert torch.equal(cols[:40], x.amax(0).clamp(min=0))
    assert total.item() == x.sum().int().item()


def test_conversions_round_and_saturate(arch: str) -> None:
    x = torch.randn(16, 64, generator=torch.Generator().manual_seed(1)) * 100
    x[0, :8] = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 1e20, -1e20, float("inf")])
    words, data = torch.zeros(16, 64, dtype=torch.int32), torch.zeros(16, 64, dtype=torch.int8)
    back = torch.zeros_like(x)
    launch(wb.compile(SOURCE, arch=arch), "convert", arch, x=x, words=words, bytes=data, back=back)
    largest = torch.finfo(torch.float32).eps
    assert torch.equal(words, x.round().clamp(-(2.0**31), 2.0**31 * (1 - largest / 2)).to(torch.int32))
    assert torch.equal(data, x.round().clamp(-128, 127).to(torch.int8))
    assert torch.equal(back, data.float())


def test_matrix_multiplication(arch: str) -> None:
    """With the largest numbers, whose sums float would round."""
    module = wb.compile(SOURCE, arch=arch)
    for name, side, k in (("multiply_16", 16, 128), ("multiply_32", 32, 64), ("multiply_8_bytes", 16, 64)):
        generator = torch.Generator().manual_seed(side + k)
        x = torch.randint(-128, 128, (2 * side, k), generator=generator).to(torch.int8)
        y = torch.randint(-128, 128, (side, k), generator=generator).to(torch.int8)
        out = torch.zeros(2 * side, side, dtype=torch.int32)
        launch(module, name, arch, x=x, y=y, out=out)
        start = torch.arange(2 * side)[:, None] - torch.arange(side)
        assert torch.equal(out.long(), x.long() @ y.long().T + start)
