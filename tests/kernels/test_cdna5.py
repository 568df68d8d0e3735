"""What only gfx1250 has: copies to shared memory, split barriers, clusters, scheduling, padded tiles.

Copies and parts of tiles are compared with slices of a matrix, products with exact ones of small integers.
"""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.codeobject import printer
from workbench.errors import CompileError
from workbench.kernel import Module

ROWS, COLS = 64, 128
"""Size of the shared tile that the copies fill."""
WAYS = ("load", "load_async", "cluster", "load_tdm", "load_tdm_arrive", "tdm::load_async")

SOURCE = """
#include "kittens.cuh"
using namespace kittens;

// Sizes of padded tiles: 8 elements after every 128, or as the base shape says.
static_assert(st_bf<64, 64>::storage_elements == 64 * 64 + 32 * 8);
static_assert(st_bf<64, 64>::storage_for<st_16x16_s>() == 64 * 64);
static_assert(sizeof(st_fl<16, 32, ducks::st_shape::st_16x32_padded<64, 4>>) == 4 * (512 + 8 * 4));
static_assert(st_bf<32, 64>::lds_offset(127) == 127 && st_bf<32, 64>::lds_offset(128) == 136);
static_assert(st_bf<32, 64>::padded(256) == 272 && st_bf<32, 64>::subtile_flat(256) == 256);
using plain = st<bf16, 32, 64, st_16x32_s>;
static_assert(plain::subtile_flat(32) == 512 && plain::padded(9) == 9);
static_assert(st_fp8e4m3<32, 64>::atom_bytes == 8 && st_bf<32, 64>::atom_bytes == 16);
static_assert(cluster::mask(5) == 5 && cluster::mask(5, true) == 0x10005);
static_assert(ducks::segment_tag::all<segment<4>> && !ducks::segment_tag::all<float>);
static_assert(MAX_SHARED_MEMORY == 5 * 65536 && segment<2>::index == 2 && segment<2>::byte_offset == 131072);

template <typename T>
__device__ inline void copy(const T *x, T *y, int rows, int cols, int way) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    constexpr bool bytes = sizeof(T) == 1;
    using shape = ducks::st_shape::st_16x32_padded<bytes ? 256 : 128, bytes ? 16 : 8>;
    using tile = st<T, ROWS, COLS, shape>;
    sync::barrier_lds &bar = al.allocate_in<segment<0>, sync::barrier_lds>();
    tile &t = al.allocate_in<segment<1>, tile>();
    const gl<T, 1, 1, -1, -1> from(const_cast<T *>(x), nullptr, nullptr, rows, cols);
    const gl<T, 1, 1, -1, -1> to(y, nullptr, nullptr, gridDim.x * ROWS, gridDim.y * COLS);
    if (threadIdx.x == 0) sync::init_barrier(&bar.state, 1);
    sync::sync();
    const coord<> at(0, 0, blockIdx.x, blockIdx.y);
    prefetch_l2<ROWS, COLS, 96>(from, at, cols);
    if (way == 0) load<96>(t, from, at, cols);
    if (way == 1) load_async<96>(t, from, at, cols);
    if (way == 2) load_async<96>(t, from, at, cols, cluster::mask(1));
    if (way == 3 && warpid() == 1) load_tdm(t, from, at, rows, cols, cols);
    if (way == 4 && warpid() == 1) load_tdm_arrive(t, from, at, rows, cols, cols, &bar.state);
    if (way == 5 && warpid() == 1) tdm::load_async(t, from, at, rows, cols, cols);
    if (way == 5 && warpid() == 2) tdm::load_async(t, from, {0, 0, 0, 0}, rows, cols, cols, 0, 0);
    if (way == 4)
        sync::wait_barrier(&bar.state, 1);
    else
        sync::wait_async(), sync::wait_tdm();
    sync::arrive();
    sync::wait();
    store<96>(to, t, at, static_cast<int>(to.cols()));
}
extern "C" __global__ void copy_bf16(const bf16 *x, bf16 *y, int rows, int cols, int way) {
    copy(x, y, rows, cols, way);
}
extern "C" __global__ void copy_float(const float *x, float *y, int rows, int cols, int way) {
    copy(x, y, rows, cols, way);
}
extern "C" __global__ void copy_fp8(const fp8e4m3 *x, fp8e4m3 *y, int rows, int cols, int way) {
    copy(x, y, rows, cols, way);
}

// A part of a shared tile, from its element `row` * `cols` + `col` on.
template <typename T, int cols, typename shape>
__device__ inline void part(const T *x, T *y, int row, int col) {
    __shared__ st<T, 64, cols, shape> t;
    const gl<T, 1, 1, 64, cols> from(const_cast<T *>(x), nullptr, nullptr, nullptr, nullptr);
    load<32>(t, from, {0, 0, 0, 0}, cols);
    sync::sync();
    rt<T, 32, 32, row_l, rt_16x32_s> a;
    load(a, t, row * cols + col);
    store(gl<T, 1, 1, 32, 32>(y, nullptr, nullptr, nullptr, nullptr), a, {0, 0, 0, 0});
}
#define PART(name, T, cols, shape) \\
    extern "C" __global__ void name(const T *x, T *y, int row, int col) { \\
        part<T, cols, shape>(x, y, row, col); \\
    }
PART(part_32, bf16, 32, st_16x32_padded_s)
PART(part_64, bf16, 64, st_16x32_padded_s)
PART(part_256, float, 256, st_16x32_padded_s)
using narrow = ducks::st_shape::st_16x32_padded<64, 8>;
PART(part_128, bf16, 128, narrow)
PART(part_swizzled, bf16, 64, st_16x64_s)

// A whole tile to registers, rows and columns, and back.
extern "C" __global__ void whole(const bf16 *x, bf16 *y) {
    __shared__ st_bf<32, 64> t, u;
    const gl<bf16, 1, 1, 32, 64> from(const_cast<bf16 *>(x), nullptr, nullptr, nullptr, nullptr);
    load<32>(t, from, {0, 0, 0, 0}, 64);
    sync::sync();
    rt_bf<32, 64, col_l, rt_32x16_s> columns;
    load(columns, t);
    store(u, columns);
    sync::fence();
    rt_bf<32, 64> rows;
    load(rows, u);
    store(gl<bf16, 1, 1, 32, 64>(y, nullptr, nullptr, nullptr, nullptr), rows, {0, 0, 0, 0});
}

// Two waves hand numbers over, one way by the work-group's barrier, the other by one in shared memory.
extern "C" __global__ void hand_over(int *out) {
    __shared__ int slot[2];
    __shared__ sync::barrier_lds bar;
    if (threadIdx.x == 0) sync::init_barrier(&bar.state, 2), slot[1] = 7, sync::wait_ds();
    sync::sync();
    int phase = 0;
    for (int turn = 0; turn < 3; turn++) {
        if (threadIdx.x == 0) {
            slot[0] = slot[1] * 10 + turn;
            sync::wait_ds();
        }
        // Two lanes arrive, one of each wave.
        if (laneid() == 0) sync::async_barrier_arrive(&bar.state);
        sync::wait_barrier(&bar.state, phase ^= 1);
        if (threadIdx.x == 32) {
            slot[1] = slot[0] + 1;
            sync::wait_ds();
        }
        sync::arrive();
        sync::wait();
    }
    sync::wait_load(), sync::wait_km(), sync::wait_store<3>();
    if (threadIdx.x == 0) out[0] = slot[1];
}

// Segments begin at multiples of 64 KiB from the first byte; what has been allocated stays where it is.
extern "C" __global__ void places(int *out) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    const int *const at[5] = {&al.allocate<int>(), &al.allocate_in<segment<1>, int[4]>()[0],
                              &al.allocate_in<segment<1>, int>(), &al.allocate_in<segment<4>, int>(),
                              &al.allocate_in<segment<2>, int>()};
    for (int i = 0; i < 5; i++) out[i] = static_cast<int>(at[i] - al.base) * 4;
}

// Two work-groups of a cluster fill their tiles with the same data, and hand a number to each other, twice.
__device__ inline void put(int *to, int value) {
    __hip_atomic_store(to, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline int get(const int *from) {
    return __hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
extern "C" __global__ __cluster_dims__(2, 1, 1) void clusters(const bf16 *x, bf16 *y, int *slots, int *out,
                                                              int by_tdm) {
    __shared__ st_bf<32, 64> t;
    const gl<bf16, 1, 1, -1, 64> from(const_cast<bf16 *>(x), nullptr, nullptr, 32 * gridDim.x / 2, nullptr);
    const gl<bf16, 1, 1, -1, 64> to(y, nullptr, nullptr, 32 * gridDim.x, nullptr);
    const int group = static_cast<int>(blockIdx.x), other = group ^ 1;
    const coord<> at(0, 0, group / 2, 0);
    if (by_tdm) {
        if (warpid() == 0) load_tdm(t, from, at, static_cast<int>(from.rows()), 64, 64, cluster::mask(3));
    } else {
        load_async<64>(t, from, at, 64, cluster::mask(3));
    }
    sync::wait_async(), sync::wait_tdm();
    if (threadIdx.x == 0) put(slots + group, 10 + group);
    cluster::sync();
    store<64>(to, t, {0, 0, group, 0}, 64);
    const int before = get(slots + other);
    cluster::sync();
    if (threadIdx.x == 32) put(slots + group, 100 * before);
    sync::wait_store();
    sync::sync();
    if (warpid() == 0) cluster::arrive();
    cluster::wait();
    if (threadIdx.x == 0) out[group] = get(slots + other);
}

template <typename T, typename pair>
__device__ inline void multiply(const T *a, const T *b, float *c, float *d) {
    rt<T, 16, 32, row_l, rt_16x32_s> x, y;
    load(x, gl<T, 1, 1, 16, 32>(const_cast<T *>(a), nullptr, nullptr, nullptr, nullptr), {0, 0, 0, 0});
    load(y, gl<T, 1, 1, 16, 32>(const_cast<T *>(b), nullptr, nullptr, nullptr, nullptr), {0, 0, 0, 0});
    rt_fl<16, 16, col_l, rt_16x16_s> sum, other;
    const gl<float, 1, 1, 16, 16> to(c, nullptr, nullptr, nullptr, nullptr);
    const gl<float, 1, 1, 16, 16> too(d, nullptr, nullptr, nullptr, nullptr);
    load(sum, to, {0, 0, 0, 0});
    wmma161632(other.tiles[0][0].data, x.tiles[0][0].data, y.tiles[0][0].data, sum.tiles[0][0].data);
    {
        // As in a loop with loads: matrix instructions whose operands were just read.
        sched::expert_scope fast;
        sched::lock_simd();
        sched::set_priority<2>();
        sched::boost_priority<1>();
        sched::compiler_fence();
        mma_ABt(sum, x, y, sum);
        sched::wait_alu();
    }
    store(to, sum, {0, 0, 0, 0});
    store(too, other, {0, 0, 0, 0});
}
extern "C" __global__ void multiply_bf16(const bf16 *a, const bf16 *b, float *c, float *d) {
    multiply<bf16, bf16_2>(a, b, c, d);
}
extern "C" __global__ void multiply_half(const half *a, const half *b, float *c, float *d) {
    multiply<half, half_2>(a, b, c, d);
}
""".replace("ROWS", str(ROWS)).replace("COLS", str(COLS))

DTYPES = {"bf16": torch.bfloat16, "float": torch.float32, "fp8": torch.float8_e4m3fn}


@pytest.fixture(scope="module")
def module() -> Module:
    return wb.compile(SOURCE, arch="gfx1250", name="cdna5.hip", flags=("-O1",))


def numbers(rows: int, cols: int, dtype: torch.dtype) -> torch.Tensor:
    """A matrix of random bits that are finite numbers."""
    generator = torch.Generator().manual_seed(rows * cols)
    if dtype == torch.float8_e4m3fn:
        return torch.randint(0, 0x7F, (rows, cols), dtype=torch.uint8, generator=generator).view(dtype)
    return torch.randn(rows, cols, generator=generator).to(dtype)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DTYPES)
def test_copies_of_tiles(module: Module, name: str, way: str) -> None:
    """Six tiles by each way; the tensor data mover fills what is past the matrix with zeros."""
    whole = numbers(2 * ROWS, 3 * COLS, DTYPES[name])
    x = whole[:-20, :-40].contiguous() if "tdm" in way else whole
    y = torch.full_like(whole.view(torch.uint8), 0x11).view(whole.dtype)
    module[f"copy_{name}"][(2, 3), 96, 1 << 17](x, y, *x.shape, WAYS.index(way))
    expected = torch.zeros_like(whole.view(torch.uint8)).view(whole.dtype)
    expected[: x.shape[0], : x.shape[1]] = x
    assert same(y, expected)


@pytest.mark.parametrize(
    ("name", "cols", "dtype"),
    [
        ("part_32", 32, torch.bfloat16),
        ("part_64", 64, torch.bfloat16),
        ("part_128", 128, torch.bfloat16),
        ("part_256", 256, torch.float32),
        ("part_swizzled", 64, torch.bfloat16),
    ],
)
def test_parts_of_shared_tiles(module: Module, name: str, cols: int, dtype: torch.dtype) -> None:
    x = numbers(64, cols, dtype)
    for row in (0, 16, 32):
        for col in sorted({0, (cols - 32) // 64 * 32, cols - 32}):
            y = torch.empty(32, 32, dtype=dtype)
            module[name][1, 32](x, y, row, col)
            assert same(y, x[row : row + 32, col : col + 32]), (row, col)


def test_whole_padded_tiles(module: Module) -> None:
    x = numbers(32, 64, torch.bfloat16)
    y = torch.empty_like(x)
    module["whole"][1, 32](x, y)
    assert same(x, y)


def test_barriers(module: Module) -> None:
    """Each turn of three appends its number and adds one: 7, 71, 712, 7123, of which the last digit grows."""
    out = torch.zeros(1, dtype=torch.int32)
    module["hand_over"][1, 64](out)
    expected = 7
    for turn in range(3):
        expected = expected * 10 + turn + 1
    assert out.item() == expected


@pytest.mark.parametrize("by_tdm", [0, 1])
def test_clusters(module: Module, by_tdm: int) -> None:
    x = numbers(64, 64, torch.bfloat16)
    y = torch.zeros(128, 64, dtype=x.dtype)
    slots, out = torch.zeros(4, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    module["clusters"][4, 64](x, y, slots, out, by_tdm)
    assert same(y, torch.cat([x[:32], x[:32], x[32:], x[32:]]))
    assert out.tolist() == [100 * (10 + group) for group in range(4)]


def test_segments(module: Module) -> None:
    out = torch.zeros(5, dtype=torch.int32)
    module["places"][1, 1, 5 << 16](out)
    assert out.tolist() == [0, 1 << 16, (1 << 16) + 16, 4 << 16, (4 << 16) + 16]


@pytest.mark.parametrize("name", ["bf16", "half"])
def test_matrix_instruction(module: Module, name: str) -> None:
    """Products of small integers are exact."""
    dtype = torch.bfloat16 if name == "bf16" else torch.float16
    generator = torch.Generator().manual_seed(5)
    a, b = (torch.randint(-8, 9, (16, 32), generator=generator).to(dtype) for _ in range(2))
    c = torch.randint(-8, 9, (16, 16), generator=generator).float()
    expected = a.double() @ b.double().T + c
    d = torch.zeros_like(c)
    module[f"multiply_{name}"][1, 32](a, b, c, d)
    assert torch.equal(c.double(), expected)
    assert torch.equal(d.double(), expected)


def test_instructions(module: Module) -> None:
    """The scheduling functions are the instructions that HipKittens' are, with the same operands."""
    code = {printer.text(instruction) for instruction in module["multiply_bf16"].instructions}
    assert {
        "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2",
        "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 0",
        "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 4, 1), 1",
        "s_setprio 2",
        "s_setprio_inc_wg 1",
        "s_wait_alu depctr_va_vdst(0)",
    } <= code


def test_tiles_that_copies_cannot_fill() -> None:
    source = """#include "kittens.cuh"
    using namespace kittens;
    __global__ void none(gl<bf16, 1, 1, -1, -1> x) {
        __shared__ st<bf16, 32, 64, st_16x32_s> swizzled;
        __shared__ st_bf<32, 64> padded;
        load_tdm(swizzled, x, {0, 0, 0, 0}, 32, 64, 64);
        group<1>::load(padded, x, {0, 0, 0, 0});
        sync::wait_ds<64>();
    }"""
    with pytest.raises(CompileError) as caught:
        wb.compile(source, arch="gfx1250", name="none.hip")
    text = str(caught.value)
    assert "use a tile with the base shape st_16x32_padded" in text
    assert "a padded tile is filled by kittens::load_async, load_tdm" in text
    assert "the counter has six bits" in text


RANGES = """
#include "kittens.cuh"
using namespace kittens;
extern "C" __global__ void beyond(const unsigned *x, unsigned *y, unsigned bytes) {
    const detail::buffer from(x, bytes);
    y[2 * threadIdx.x] = from.load<unsigned>(4 * threadIdx.x);
    y[2 * threadIdx.x + 1] = from.load<unsigned>(detail::OUT_OF_RANGE);
}
"""


@pytest.mark.parametrize("size", [128, 0xFFFFFF00])
def test_ranges_of_more_than_two_gigabytes_end(size: int) -> None:
    """A window's range has 32 bits, and the field of the resource 45."""
    x, y = torch.arange(1, 33, dtype=torch.int32), torch.full((64,), 7, dtype=torch.int32)
    wb.compile(RANGES, arch="gfx1250")["beyond"][1, 32](x, y, size)
    assert torch.equal(y[0::2], x)
    assert not y[1::2].any()
