"""Names and argument orders of HipKittens in its kernels, other than functions on tiles."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.runtime import device
from workbench.targets import TILE_TARGETS

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
/* A tile that is no whole number of 16 bytes for each thread, and another one behind it. */
template <int ROWS, int COLS>
__device__ inline void ragged(const bf16 *x, bf16 *out, bf16 *behind) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    auto &s = al.allocate<st_bf<ROWS, COLS, st_16x16_s>>();
    auto &next = al.allocate<st_bf<64, 64, st_16x16_s>>();
    for (int i = static_cast<int>(threadIdx.x); i < 64 * 64; i += THREADS) next.data[i] = behind[i];
    const gl<bf16, -1, -1, -1, -1> from(const_cast<bf16 *>(x), 1, 1, ROWS, COLS);
    constexpr int pieces = (ROWS * COLS * sizeof(bf16) + 16 * THREADS - 1) / (16 * THREADS);
    float4 buffer[pieces];
    load_global_to_register_buffer<2, false, THREADS>(buffer, pieces, from, {0, 0, 0, 0}, s);
    __syncthreads();
    store_register_buffer_to_shared<THREADS>(s, buffer);
    __syncthreads();
    const int first = static_cast<int>(threadIdx.x);
    for (int i = first; i < ROWS * COLS; i += THREADS) out[i] = s[{i / COLS, i % COLS}];
    for (int i = first; i < 64 * 64; i += THREADS) behind[i] = next.data[i];
}
"""
RAGGED = ((16, 48), (48, 80))
"""Tiles of fewer pieces than threads, and of more."""


@pytest.mark.parametrize("arch", TILE_TARGETS)
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
    for tall, wide in RAGGED:
        source += (
            f"__global__ __launch_bounds__(THREADS) void ragged_{tall}(const bf16 *x, bf16 *out, "
            f"bf16 *behind) {{ ragged<{tall}, {wide}>(x, out, behind); }}\n"
        )
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
    for tile in RAGGED:
        x = torch.arange(tile[0] * tile[1]).remainder(101).reshape(tile).bfloat16()
        out, behind = torch.zeros_like(x), torch.full((64, 64), 5.0).bfloat16()
        launch = wb.Launch((1,), 256, 2 * (x.numel() + behind.numel()))
        module[f"ragged_{tile[0]}"].launch(launch, (x, out, behind), {}, device=device(f"emulated:{arch}"))
        assert torch.equal(out, x), tile
        assert (behind == 5).all(), f"{tile}: written past the end of the tile"


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
    line[int2{0, 1}] = 3.0f;
    static_assert(ducks::rv::naive_layout<decltype(line)> && decltype(line)::length == 128);
    float total = 0;
    sum(total, line);
    if (threadIdx.x == 0) vectors[0] = total, vectors[1] = square.tiles[0][0].data[0].y;
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
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
template <typename A, typename B, typename Product>
__device__ inline void product(const gl<bf16, 1, 1, 16, 16> &x, const gl<bf16, 1, 1, 16, 16> &y,
                               const gl<float, 4, 1, 16, 16> &out, int form, Product one_product) {
    A a;
    B b;
    rt_fl<16, 16, col_l> sum;
    load(a, x, {0, 0, 0, 0});
    load(b, y, {0, 0, 0, 0});
    one(sum);
    one_product(sum.tiles[0][0], a.tiles[0][0], b.tiles[0][0]);
    store(out, sum, {form, 0, 0, 0});
}
__global__ __launch_bounds__(64) void base(gl<bf16, 1, 1, 16, 16> x, gl<bf16, 1, 1, 16, 16> y,
                                           gl<float, 4, 1, 16, 16> out) {
    using rows = rt_bf<16, 16>;
    using cols = rt_bf<16, 16, col_l>;
    product<rows, cols>(x, y, out, 0, [](auto &d, auto &a, auto &b) { mma_AB_base(d, a, b, d); });
    product<rows, rows>(x, y, out, 1, [](auto &d, auto &a, auto &b) { mma_ABt_base(d, a, b, d); });
    product<cols, cols>(x, y, out, 2, [](auto &d, auto &a, auto &b) { mma_AtB_base(d, a, b, d); });
    product<cols, rows>(x, y, out, 3, [](auto &d, auto &a, auto &b) { mma_AtBt_base(d, a, b, d); });
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_products_of_single_base_tiles(arch: str) -> None:
    x = torch.arange(256).remainder(13).sub(6).reshape(16, 16).bfloat16()
    y = torch.arange(256).remainder(11).sub(4).reshape(16, 16).bfloat16()
    out = torch.zeros(4, 1, 16, 16)
    module = wb.compile(BASE, arch=arch, name="base.hip")
    module["base"].launch(wb.Launch((1,), 64, 0), (x, y, out), {}, device=device(f"emulated:{arch}"))
    a, b = x.float(), y.float()
    for got, expected in zip(out[:, 0], (a @ b, a @ b.T, a.T @ b, a.T @ b.T), strict=True):
        assert torch.equal(got, expected + 1)


BY_HAND = r"""
#include "kittens.cuh"
using namespace kittens;
using tile = st_fp8e4m3<32, 128, st_16x128_s>;
using operand = rt_fp8e4m3<32, 128>;
static_assert(operand::base_tile_num_strides == 2);
static_assert(tile::underlying_subtile_row_bytes == 128);

/* A kernel's own loads: each lane finds out what belongs where its bytes go. */
template <int i>
__device__ inline void load_part(tile &s, const gl<fp8e4m3, 1, 1, 32, 128> &x, const i32x4 &resource) {
    constexpr int bytes = tile::underlying_subtile_bytes_per_thread;
    const int to = i * 64 * bytes + laneid() * bytes;
    const int subtile = to / tile::underlying_subtile_bytes, inside = to % tile::underlying_subtile_bytes;
    const uint32_t from = s.swizzle({inside / tile::underlying_subtile_row_bytes,
                                     inside % tile::underlying_subtile_row_bytes});
    const auto lds = (as3_uint32_ptr)(reinterpret_cast<uintptr_t>(&s.data[0]) + i * 64 * bytes);
    const uint32_t offset = subtile * 16 * static_cast<uint32_t>(x.stride<2>()) + from;
    constexpr int policy = static_cast<int>(coherency::cache_all);
    llvm_amdgcn_raw_buffer_load_lds(resource, lds, bytes, static_cast<int>(offset), 0, 0, policy);
}
template <int i = 0>
__device__ inline void load_all(tile &s, const gl<fp8e4m3, 1, 1, 32, 128> &x, const i32x4 &resource) {
    load_part<i>(s, x, resource);
    constexpr int done = (i + 1) * 64 * tile::underlying_subtile_bytes_per_thread;
    if constexpr (done < sizeof(tile)) load_all<i + 1>(s, x, resource);
}

__global__ __launch_bounds__(64) void by_hand(const gl<fp8e4m3, 1, 1, 32, 128> x,
                                              const gl<fp8e4m3, 1, 1, 32, 128> library,
                                              const gl<fp8e4m3, 1, 1, 32, 128> hand) {
    __shared__ tile s;
    load_all(s, x, make_srsrc(x.raw_ptr, 32 * 128));
    wait_and_barrier();
    operand a;
    load(a, s);
    store(library, a, {0, 0, 0, 0});
    // Its own reads: 16 bytes of a row, and the flipped bits by the rule that the documentation states.
    const auto *bytes = reinterpret_cast<const unsigned char *>(&s.data[0]);
    auto *out = reinterpret_cast<unsigned char *>(hand.raw_ptr);
    for (int i = laneid(); i < 32 * 128; i += 64) {
        const int inside = i % 2048;
        out[i] = bytes[i - inside + (inside ^ (inside >> 8 << 4))];
    }
}
"""


def test_fp8_tiles_filled_and_read_by_hand() -> None:
    """As in the public fp8 GEMM on CDNA4: names, and the position of each element in st_16x128_s."""
    module = wb.compile(BY_HAND, arch="gfx950", name="by_hand.hip", flags=("-Wall", "-Wextra"))
    assert not module.result.diagnostics
    x = torch.arange(32 * 128).remainder(127).to(torch.uint8).view(torch.float8_e4m3fn).reshape(32, 128)
    library, hand = (torch.zeros(32, 128).to(x.dtype) for _ in range(2))
    module["by_hand"].launch(wb.Launch((1,), 64, 0), (x, library, hand), {}, device=device("emulated:gfx950"))
    assert torch.equal(library.view(torch.uint8), x.view(torch.uint8))
    assert torch.equal(hand.view(torch.uint8), x.view(torch.uint8))


ASYNC = r"""
#include "kittens.cuh"
using namespace kittens;
__global__ __launch_bounds__(128) void copies(gl<bf16, 1, 1, -1, 64> x, gl<bf16, 1, 1, 96, 64> out) {
    __shared__ st_bf<64, 64, st_16x32_s> whole;
    __shared__ st_bf<32, 64, st_16x32_s> part;
    __shared__ sv_bf<64> line;
    group<2>::load_async(whole, x, {0, 0, 0, 0});
    if (warpid() == 1) {
        load_async(part, x, {0, 0, 2, 0});
        load_async(line, x, {0, 0, 3, 0});
    }
    load_async_wait();
    barrier();
    group<2>::store(out, whole, {0, 0, 0, 0});
    if (warpid() == 1) {
        store(out, part, {0, 0, 2, 0});
        store(out, line, {0, 0, 95, 0});
    }
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_asynchronous_loads_by_that_name(arch: str) -> None:
    module = wb.compile(ASYNC, arch=arch, name="async.hip", flags=("-Wall", "-Wextra"))
    assert not module.result.diagnostics
    x = torch.randn(96, 64, generator=torch.Generator().manual_seed(1)).bfloat16()
    out = torch.zeros(96, 64).bfloat16()
    module["copies"].launch(wb.Launch((1,), 128, 0), (x, out), {}, device=device(f"emulated:{arch}"))
    assert torch.equal(out[:95], x[:95])
    assert torch.equal(out[95], x[3])


RETURNS = r"""
#include "kittens.cuh"
using namespace kittens;
using matrix = gl<bf16, 1, 1, -1, 64>;
template <bool async> __device__ void body(const matrix &x, const matrix &out) {
    using G = group<2>;
    __shared__ st_bf<64, 64, st_16x32_s> by_two, bounded, prepared, by_one[2];
    __shared__ sv_bf<64> line[2];
    uint32_t offsets[G::loads_per_tile<st_bf<64, 64, st_16x32_s>>];
    G::prefill_swizzled_offsets(prepared, x, offsets);
    const int wave = warpid();
    if constexpr (async) {
        G::load_async(by_two, x, {0, 0, 0, 0});
        G::load_bounded_async(bounded, x, {0, 0, 0, 0});
        G::load_async(prepared, x, {0, 0, 0, 0}, offsets);
        load_async(by_one[wave], x, {0, 0, 0, 0});
        load_async(line[wave], x, {0, 0, 3, 0});
    } else {
        G::load(by_two, x, {0, 0, 0, 0});
        G::load_bounded(bounded, x, {0, 0, 0, 0});
        G::load(prepared, x, {0, 0, 0, 0}, offsets);
        load(by_one[wave], x, {0, 0, 0, 0});
        load(line[wave], x, {0, 0, 3, 0});
    }
    __builtin_amdgcn_s_barrier();
    G::store(out, by_two, {0, 0, 0, 0});
    G::store(out, bounded, {0, 0, 1, 0});
    G::store(out, prepared, {0, 0, 2, 0});
    store(out, by_one[1 - wave], {0, 0, 3 + wave, 0});
    store(out, line[1 - wave], {0, 0, 5 * 64 + wave, 0});
}
__global__ __launch_bounds__(128) void waits(matrix x, matrix out) { body<false>(x, out); }
__global__ __launch_bounds__(128) void starts(matrix x, matrix out) { body<true>(x, out); }
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_when_loads_to_shared_memory_return(arch: str) -> None:
    """HipKittens' `load` returns with the data on CDNA3, and as soon as it has started on CDNA4."""
    module = wb.compile(RETURNS, arch=arch, name="returns.hip", flags=("-Wall", "-Wextra"))
    assert not module.result.diagnostics
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(1)).bfloat16()
    for name, waits in (("waits", arch == "gfx942"), ("starts", False)):
        out = torch.zeros(5 * 64 + 2, 64).bfloat16()
        kernel = module[name][(1,), (128,)]
        result = wb.sanitize(kernel, x, out, device=f"emulated:{arch}")
        assert result.passed == waits, f"{name}: {result}"
        assert torch.equal(out, torch.cat([*[x] * 5, x[3:4], x[3:4]]))
