"""Names and argument orders of HipKittens that its kernels use besides the functions of tiles."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.runtime import device

ARCHS = ("gfx950", "gfx942")
SHAPES = {
    "bf16": ("st_16x16_s", "st_16x16_swizzled_s", "st_32x32_s", "st_16x32_s", "st_8x32_s"),
    "float": ("st_16x16_s", "st_32x32_s"),
    "fp8e4m3": ("st_16x16_s", "st_16x128_s"),
}

BUFFER = r"""
#include "kittens.cuh"
using namespace kittens;
constexpr int THREADS = 256;
using G = group<THREADS / WARP_THREADS>;
template <typename T, int axis, typename shape, bool members>
__device__ inline void through_registers(const T *x, T *out, int rows) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    using tile = st<T, 32, 128, shape>;
    tile &s = al.allocate<tile>();
    using memory = gl<T, -1, -1, -1, -1>;
    const size_t n = static_cast<size_t>(rows);
    const memory from(const_cast<T *>(x), 1, axis == 1 ? n : 1, axis == 1 ? 1 : n, 128);
    constexpr int pieces = (32 * 128 * sizeof(T) + 16 * THREADS - 1) / (16 * THREADS);
    float4 buffer[pieces];
    for (int t = 0; t < 2; t++) {
        const int down = axis == 1 ? 0 : t, deep = axis == 1 ? t : 0;
        if constexpr (members)
            G::load_global_to_register_buffer<axis, false>(buffer, pieces, from, {0, deep, down, 0}, s);
        else
            load_global_to_register_buffer<axis, false, THREADS>(buffer, pieces, from, {0, deep, down, 0}, s);
        __syncthreads();
        if constexpr (members)
            G::store_register_buffer_to_shared(s, buffer, pieces);
        else
            store_register_buffer_to_shared<THREADS>(s, buffer);
        __syncthreads();
        for (int i = static_cast<int>(threadIdx.x); i < 32 * 128; i += THREADS)
            out[t * 32 * 128 + i] = s[{i / 128, i % 128}];
    }
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_shared_tiles_by_way_of_registers(arch: str) -> None:
    """Every element arrives, whatever the swizzle; rows past the end are zero; both forms and two axes."""
    source, cases = BUFFER, []
    for number, (kind, shape) in enumerate(
        (kind, shape) for kind, shapes in SHAPES.items() for shape in shapes
    ):
        axis, members = 1 + number % 2, str(number % 3 == 0).lower()
        name = f"k{number}"
        source += (
            f"__global__ __launch_bounds__(THREADS) void {name}(const {kind} *x, {kind} *out, int rows) "
            f"{{ through_registers<{kind}, {axis}, {shape}, {members}>(x, out, rows); }}\n"
        )
        cases.append((name, kind))
    module = wb.compile(source, arch=arch, name="through_registers.hip", flags=("-Wall", "-Wextra"))
    assert not module.result.diagnostics
    rows = 50
    fp8 = torch.float8_e4m3fn if arch == "gfx950" else torch.float8_e4m3fnuz
    for name, kind in cases:
        dtype = {"bf16": torch.bfloat16, "float": torch.float32, "fp8e4m3": fp8}[kind]
        x = torch.arange(rows * 128).remainder(101).reshape(rows, 128).float().to(dtype)
        out = torch.full((64, 128), 7.0).to(dtype)
        launch = wb.Launch((1,), 256, 32 * 128 * 4)
        module[name].launch(launch, (x, out, rows), {}, device=device(f"emulated:{arch}"))
        assert torch.equal(out[:rows].float(), x.float()), (name, kind)
        assert not out[rows:].float().any(), (name, kind)


NAMES = r"""
#include "kittens.cuh"
using namespace kittens;
using G = group<4>;
using shape = st_32x32_s;
using tile = st_bf<64, 64, shape>;
static_assert(shape::template bytes_per_thread<bf16>() == tile::underlying_subtile_bytes_per_thread);
static_assert(shape::template bytes_per_thread<bf16>() == MAX_DIRECT_LOAD_BYTES);
static_assert(st_16x16_swizzled_s::bytes_per_thread<bf16>() == 4);

__global__ __launch_bounds__(256) void names(const bf16 *x, bf16 *by_tile, bf16 *prefilled, float *vectors) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    tile &s = al.allocate<tile>();
    const gl<bf16, -1, -1, -1, -1> from(const_cast<bf16 *>(x), 1, 128, 2, 64);
    constexpr int loads = 64 * 64 * 2 / (shape::template bytes_per_thread<bf16>() * 256);
    uint32_t offsets[loads];
    // The rows lie along the depth; of two heads it is the second.
    G::load<1, false>(s, from, {0, 1, 1, 0});
    wait_and_barrier();
    for (int i = threadIdx.x; i < 64 * 64; i += 256) by_tile[i] = s[{i / 64, i % 64}];
    __syncthreads();
    G::prefill_swizzled_offsets<1, false>(s, from, offsets);
    const bf16 *base = (bf16 *)&from[{0, 0, 1, 0}];
    const int row_bytes = from.template stride<1>() * sizeof(bf16);
    const i32x4 resource = make_srsrc(base, 128 * row_bytes, row_bytes);
    G::load<1, false>(s, from, {0, 1, 1, 0}, offsets, resource, base, G::lds_base(s));
    wait_and_barrier();
    for (int i = threadIdx.x; i < 64 * 64; i += 256) prefilled[i] = s[{i / 64, i % 64}];

    rt_fl<16, 16> square;
    ones(square);
    rv_naive<float, 128> line;
    ones(line);
    line[int2{1, 0}] = 3.0f;
    static_assert(ducks::rv::naive_layout<decltype(line)> && decltype(line)::length == 128);
    float total = 0;
    sum(total, line);
    if (threadIdx.x == 0) vectors[0] = total, vectors[1] = square.tiles[0][0].data[0].y;
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_argument_orders_and_further_names(arch: str) -> None:
    module = wb.compile(NAMES, arch=arch, name="names.hip")
    x = torch.arange(128 * 2 * 64).remainder(255).reshape(128, 2, 64).bfloat16()
    by_tile, prefilled, vectors = (
        torch.zeros(64, 64).bfloat16(),
        torch.zeros(64, 64).bfloat16(),
        torch.zeros(2),
    )
    launch = wb.Launch((1,), 256, 64 * 64 * 2)
    module["names"].launch(launch, (x, by_tile, prefilled, vectors), {}, device=device(f"emulated:{arch}"))
    assert torch.equal(by_tile, x[64:, 1])
    assert torch.equal(prefilled, x[64:, 1])
    assert vectors.tolist() == [256, 1]


BASE = r"""
#include "kittens.cuh"
using namespace kittens;
__global__ __launch_bounds__(64) void base(gl<bf16, 1, 1, 16, 16> x, gl<float, 1, 1, 16, 16> abt,
                                           gl<float, 1, 1, 16, 16> atb) {
    rt_bf<16, 16> rows;
    rt_bf<16, 16, col_l> cols;
    rt_fl<16, 16, col_l> sum;
    load(rows, x, {0, 0, 0, 0});
    load(cols, x, {0, 0, 0, 0});
    one(sum);
    mma_ABt_base(sum.tiles[0][0], rows.tiles[0][0], rows.tiles[0][0], sum.tiles[0][0]);
    store(abt, sum, {0, 0, 0, 0});
    one(sum);
    mma_AtB_base(sum.tiles[0][0], cols.tiles[0][0], cols.tiles[0][0], sum.tiles[0][0]);
    store(atb, sum, {0, 0, 0, 0});
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_products_of_single_base_tiles(arch: str) -> None:
    x = torch.arange(256).remainder(13).sub(6).reshape(16, 16).bfloat16()
    abt, atb = torch.zeros(2, 16, 16).unbind()
    module = wb.compile(BASE, arch=arch, name="base.hip")
    launch = wb.Launch((1,), 64, 0)
    module["base"].launch(launch, (x, abt, atb), {}, device=device(f"emulated:{arch}"))
    assert torch.equal(abt, x.float() @ x.float().T + 1)
    assert torch.equal(atb, x.float().T @ x.float() + 1)
