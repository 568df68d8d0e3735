"""What gfx1250 has beyond plain kernels, against NumPy: registers, copies, matrix products, bf16."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench import errors  # noqa: E402
from workbench.kernel import Module  # noqa: E402

SOURCE = r"""
#include <hip/hip_runtime.h>
typedef int Dwords4 __attribute__((ext_vector_type(4)));
typedef int Dwords8 __attribute__((ext_vector_type(8)));
typedef __attribute__((address_space(3))) int SharedInt;
typedef __attribute__((address_space(1))) int GlobalInt;

// More registers than 256, so that the compiler switches between them.
extern "C" __global__ __launch_bounds__(32) void registers(const float *x, float *y, int n) {
    float v[300];
#pragma unroll
    for (int k = 0; k < 300; k++) v[k] = x[32 * k + threadIdx.x];
    for (int i = 0; i < n; i++)
#pragma unroll
        for (int k = 0; k < 300; k++) v[k] = v[k] * 0.5f + v[(k + 1) % 300];
#pragma unroll
    for (int k = 0; k < 300; k++) y[32 * k + threadIdx.x] = v[k];
}

extern "C" __global__ void apart(const int *way, int *out) {
    // The assembler is told nothing of what the two ways choose.
    int result = 3;
    if (way[0]) asm volatile("s_set_vgpr_msb 0x41" ::: "memory");
    asm volatile("v_mov_b32 %0, 5" : "=v"(result)::"memory");
    out[0] = result;
}

// As AITER's kernels do, one of two ways enables scalar prefetches; arithmetic is the same after both.
extern "C" __global__ void prefetches(const float *x, float *out) {
    if (x[0] > 0)
        asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 24, 1), 1" ::: "memory");
    out[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x];
}

// A negative index beside a uniform base: the offset in a vector register is signed, and counts elements.
extern "C" __global__ void offsets(const int *x, const int *where, int *out) {
    out[threadIdx.x] = (x + 50)[where[threadIdx.x]];
}

// Memory to LDS and back, each lane its own bytes; the offset applies to both addresses.
extern "C" __global__ void async_copies(const int *x, int *y) {
    __shared__ int tile[1024];
    const int i = threadIdx.x;
    auto *to = (SharedInt *)(__UINTPTR_TYPE__)(tile + 4 * (i ^ 1));
    for (int k = i; k < 1024; k += 32) tile[k] = -1;
    asm volatile("s_wait_dscnt 0");
    asm volatile("global_load_async_to_lds_b128 %0, %1, off\n"
                 "global_load_async_to_lds_b32 %0, %1, off offset:512\n"
                 "global_load_async_to_lds_b64 %0, %1, off offset:1024\n"
                 "global_load_async_to_lds_b8 %0, %1, off offset:1536\n"
                 "s_wait_asynccnt 0"
                 :: "v"((int)(__UINTPTR_TYPE__)to), "v"(x + 4 * i) : "memory");
    auto *from = (SharedInt *)(__UINTPTR_TYPE__)(tile + 4 * i);
    asm volatile("global_store_async_from_lds_b128 %0, %1, off\n"
                 "global_store_async_from_lds_b128 %0, %1, off offset:512\n"
                 "global_store_async_from_lds_b128 %0, %1, off offset:1024\n"
                 "global_store_async_from_lds_b128 %0, %1, off offset:1536\n"
                 "s_wait_asynccnt 0"
                 :: "v"(y + 4 * i), "v"((int)(__UINTPTR_TYPE__)from) : "memory");
}

// One copy of a tile to LDS, or from there, with a descriptor's 20 dwords; LDS before and after.
extern "C" __global__ void tensor(const int *d, int *shared, int stores) {
    extern __shared__ int lds[];
    for (int k = threadIdx.x; k < 1024; k += 32) lds[k] = shared[k];
    __syncthreads();
    Dwords4 first, third, fourth;
    Dwords8 second;
    for (int k = 0; k < 4; k++) first[k] = d[k], third[k] = d[12 + k], fourth[k] = d[16 + k];
    for (int k = 0; k < 8; k++) second[k] = d[4 + k];
    if (stores)
        asm volatile("tensor_store_from_lds %0, %1, %2, %3\n s_wait_tensorcnt 0"
                     :: "s"(first), "s"(second), "s"(third), "s"(fourth) : "memory");
    else
        asm volatile("tensor_load_to_lds %0, %1, %2, %3\n s_wait_tensorcnt 0"
                     :: "s"(first), "s"(second), "s"(third), "s"(fourth) : "memory");
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 32) shared[k] = lds[k];
}

// Waves 1 to 3 wait until wave 0 has told the barrier twice as often as they have.
extern "C" __global__ void barriers(unsigned long long *states) {
    __shared__ unsigned long long cell;
    if (threadIdx.x == 0) cell = 2ull << 32 | 2;  // three arrivals a phase
    __syncthreads();
    const int place = (int)(__UINTPTR_TYPE__)&cell;
    if (threadIdx.x < 2) asm volatile("ds_atomic_async_barrier_arrive_b64 %0" :: "v"(place) : "memory");
    unsigned long long before = 0, two = 2;
    if (threadIdx.x == 0) {
        asm volatile("ds_atomic_barrier_arrive_rtn_b64 %0, %1, %2\n s_wait_dscnt 0"
                     : "=v"(before) : "v"(place), "v"(two) : "memory");
        states[0] = before;
    }
    if (threadIdx.x >= 32) {
        unsigned long long now;
        do {
            __builtin_amdgcn_s_sleep(1);
            asm volatile("ds_load_b64 %0, %1\n s_wait_dscnt 0" : "=v"(now) : "v"(place) : "memory");
        } while (!(now >> 16 & 1));
        states[threadIdx.x / 32] = now;
    }
}

// Tiles of 16 by 16 elements, and by 32 of 4 bits; each lane reads its piece where `where` says.
extern "C" __global__ void transposed(const int *x, const int *where, int *out) {
    __shared__ int tile[128];
    for (int k = threadIdx.x; k < 128; k += 32) tile[k] = x[k];
    __syncthreads();
    const int base = (int)(__UINTPTR_TYPE__)tile;
    for (int width = 0; width < 4; width++) {
        const int place = where[32 * width + threadIdx.x];
        int r[4] = {}, g[4] = {};
        const int *at = (const int *)((const char *)x + place);
        if (width == 0) {
            Dwords4 a, b;
            asm volatile("ds_load_tr16_b128 %0, %2\n global_load_tr16_b128 %1, %3, off\n"
                         "s_wait_loadcnt_dscnt 0"
                         : "=&v"(a), "=&v"(b) : "v"(base + place), "v"(at) : "memory");
            for (int k = 0; k < 4; k++) r[k] = a[k], g[k] = b[k];
        } else if (width == 2) {
            typedef int Dwords3 __attribute__((ext_vector_type(3)));
            Dwords3 a, b;
            asm volatile("ds_load_tr6_b96 %0, %2\n global_load_tr6_b96 %1, %3, off\n"
                         "s_wait_loadcnt_dscnt 0"
                         : "=&v"(a), "=&v"(b) : "v"(base + place), "v"(at) : "memory");
            for (int k = 0; k < 3; k++) r[k] = a[k], g[k] = b[k];
        } else {
            int2 a, b;
            if (width == 1)
                asm volatile("ds_load_tr8_b64 %0, %2\n global_load_tr8_b64 %1, %3, off\n"
                             "s_wait_loadcnt_dscnt 0"
                         : "=&v"(a), "=&v"(b) : "v"(base + place), "v"(at) : "memory");
            else
                asm volatile("ds_load_tr4_b64 %0, %2\n global_load_tr4_b64 %1, %3, off\n"
                             "s_wait_loadcnt_dscnt 0"
                         : "=&v"(a), "=&v"(b) : "v"(base + place), "v"(at) : "memory");
            r[0] = a.x, r[1] = a.y, g[0] = b.x, g[1] = b.y;
        }
        for (int k = 0; k < 4; k++) {
            out[(2 * width * 32 + threadIdx.x) * 4 + k] = r[k];
            out[((2 * width + 1) * 32 + threadIdx.x) * 4 + k] = g[k];
        }
    }
}

#define PACKED(number, text, ...)                    \
    asm volatile(text : "=v"(result) : __VA_ARGS__); \
    out[32 * number + threadIdx.x] = result;
extern "C" __global__ void brain_floats(const int *x, const int *y, const int *z, int *out) {
    const int a = x[threadIdx.x], b = y[threadIdx.x], c = z[threadIdx.x];
    int result;
    PACKED(0, "v_pk_add_bf16 %0, %1, %2", "v"(a), "v"(b))
    PACKED(1, "v_pk_mul_bf16 %0, %1, %2", "v"(a), "v"(b))
    PACKED(2, "v_pk_fma_bf16 %0, %1, %2, %3", "v"(a), "v"(b), "v"(c))
    PACKED(3, "v_pk_min_num_bf16 %0, %1, %2", "v"(a), "v"(b))
    PACKED(4, "v_pk_max_num_bf16 %0, %1, %2", "v"(a), "v"(b))
    float wide = __builtin_bit_cast(float, a << 16), tangent;
    asm volatile("v_tanh_f32 %0, %1" : "=v"(tangent) : "v"(wide));
    out[5 * 32 + threadIdx.x] = __builtin_bit_cast(int, tangent);
}

extern "C" __global__ void wide(const long long *x, const long long *y, long long *out) {
    const long long a = x[threadIdx.x], b = y[threadIdx.x];
    long long r;
#define WIDE(number, text, ...)                 \
    asm volatile(text : "=v"(r) : __VA_ARGS__); \
    out[32 * number + threadIdx.x] = r;
    WIDE(0, "v_add_nc_u64 %0, %1, %2", "v"(a), "v"(b))
    WIDE(1, "v_sub_nc_u64 %0, %1, %2", "v"(a), "v"(b))
    WIDE(2, "v_mul_u64 %0, %1, %2", "v"(a), "v"(b))
    WIDE(3, "v_min_i64 %0, %1, %2", "v"(a), "v"(b))
    WIDE(4, "v_max_u64 %0, %1, %2", "v"(a), "v"(b))
    WIDE(5, "v_mad_nc_i64_i32 %0, %1, %2, %3", "v"((int)a), "v"((int)b), "v"(b))
    WIDE(6, "v_mad_nc_u64_u32 %0, %1, %2, %3", "v"((int)a), "v"((int)b), "v"(a))
    int n;
    asm volatile("v_add_max_i32 %0, %1, %2, %3" : "=v"(n) : "v"((int)a), "v"((int)b), "v"((int)(a >> 32)));
    out[32 * 7 + threadIdx.x] = n;
}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return wb.compile(SOURCE, arch="gfx1250")


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1250)


def _ints(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).view(torch.int32)


def test_more_registers_than_instructions_name(module: Module, random: np.random.Generator) -> None:
    x = random.integers(-9, 10, (300, 32)).astype(np.float32)
    out = torch.zeros(300, 32)
    kernel = module["registers"]
    assert kernel.info.descriptor.vgpr_count > 256
    kernel[1, 32](torch.from_numpy(x), out, 2)
    for _, k in itertools.product(range(2), range(300)):
        x[k] = x[k] * np.float32(0.5) + x[(k + 1) % 300]
    assert np.array_equal(out.numpy(), x)


def test_registers_that_depend_on_the_way_are_refused(module: Module) -> None:
    with pytest.raises(errors.UnsupportedInstruction, match=r"s_set_vgpr_msb before it depends on the way"):
        module["apart"][1, 1](torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32))


def test_scalar_prefetches_may_be_enabled_on_some_ways(module: Module) -> None:
    for sign in (1, -1):
        x, out = sign * torch.arange(1.0, 33.0), torch.zeros(32)
        module["prefetches"][1, 32](x, out)
        assert torch.equal(out, 2 * x)


def test_signed_offsets(module: Module, random: np.random.Generator) -> None:
    x = torch.from_numpy(random.integers(-99, 99, 100).astype(np.int32))
    where = torch.from_numpy(random.integers(-50, 50, 32).astype(np.int32))
    out = torch.zeros(32, dtype=torch.int32)
    module["offsets"][1, 32](x, where, out)
    assert torch.equal(out, x[50 + where.long()])


def test_copies_are_clean_and_may_come_late(module: Module, random: np.random.Generator) -> None:
    x, out, late = (
        torch.from_numpy(random.integers(1, 99, 1024).astype(np.int32)),
        *(torch.zeros(512, dtype=torch.int32) for _ in range(2)),
    )
    result = wb.sanitize(module["async_copies"][1, 32], x, out)
    assert result.passed, str(result)
    with wb.late_loads():
        module["async_copies"][1, 32](x, late)
    assert torch.equal(out, late)


def test_asynchronous_copies(module: Module, random: np.random.Generator) -> None:
    x = random.integers(1, 255, 4096).astype(np.uint8)
    out = torch.zeros(512, dtype=torch.int32)
    module["async_copies"][1, 32](_ints(x), out)
    expected = np.full((4, 32, 16), 255, np.uint8)
    source = x[:2048].reshape(4, 32, 16)
    for part, size in enumerate((16, 4, 8, 1)):
        expected[part, np.arange(32) ^ 1, :size] = source[part, :, :size]
    assert np.array_equal(out.numpy().view(np.uint8).reshape(expected.shape), expected)


class Descriptor:
    """A tensor descriptor by its fields, as AMD's CDNA5 ISA guide numbers their bits."""

    def __init__(self) -> None:
        self.words = np.zeros(20, np.uint32)
        self.set(0, 0, 2, 1)
        self.set(0, 126, 2, 2)

    def set(self, group: int, first: int, width: int, value: int) -> None:
        start = 32 * (0, 4, 12, 16)[group]
        for bit in range(width):
            place = start + first + bit
            self.words[place // 32] |= np.uint32((value >> bit & 1) << place % 32)

    def tile(self, memory: int, lds: int, size: int, tile: tuple[int, ...], tensor: tuple[int, ...]) -> None:
        self.set(0, 32, 32, lds)
        self.set(0, 64, 57, memory)
        self.set(1, 16, 2, size.bit_length() - 1)
        places = (
            ((1, 48), (1, 112)),
            ((1, 80), (1, 128)),
            ((2, 0), (1, 144)),
            ((2, 32), (2, 112)),
            ((3, 48), (3, 80)),
        )
        for (whole, part), extent, count in zip(places, tensor, tile, strict=False):
            self.set(*whole, 32, extent)
            self.set(*part, 16, count)

    def strides(self, *strides: int) -> None:
        for (group, first), stride in zip(((1, 160), (1, 208), (2, 64), (3, 0)), strides, strict=False):
            self.set(group, first, 48, stride)


def _copy(
    module: Module, descriptor: Descriptor, memory: torch.Tensor, shared: np.ndarray, stores: bool = False
) -> np.ndarray:
    """LDS after a copy to or from `memory`."""
    lds = torch.zeros(1024, dtype=torch.int32)
    lds.view(torch.uint8)[: shared.size] = torch.from_numpy(shared)
    with wb.lend(memory):
        module["tensor"][1, 32, 4096](_ints(descriptor.words), lds, int(stores))
    return lds.numpy().view(np.uint8)


NOTHING = np.full(4096, 0xEE, np.uint8)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_tile_of_five_dimensions(module: Module, random: np.random.Generator, size: int) -> None:
    shape, tile, inside = (3, 2, 3, 5, 12), (2, 2, 2, 3, 8), (2, 1, 2, 3, 6)
    x = torch.from_numpy(random.integers(0, 256, (*shape, size)).astype(np.uint8))
    d = Descriptor()
    start = (((0 * 2 + 0) * 3 + 1) * 5 + 1) * 12 + 3
    d.tile(x.data_ptr() + start * size, 64, size, tile[::-1], inside[::-1])
    d.strides(12, 60, 180, 360)
    expected = np.zeros((*tile, size), np.uint8)
    part = x.numpy()[0:2, 0:1, 1:3, 1:4, 3:9]
    expected[:2, :1, :2, :3, :6] = part
    actual = _copy(module, d, x, NOTHING)
    assert np.array_equal(actual[64 : 64 + expected.size], expected.reshape(-1))
    assert set(actual[:64]) == set(actual[64 + expected.size :]) == {0xEE}


def test_gaps_in_lds(module: Module, random: np.random.Generator) -> None:
    x = torch.from_numpy(random.integers(-999, 999, (20, 40)).astype(np.int16))
    d = Descriptor()
    d.tile(x.data_ptr(), 0, 2, (32, 16), (40, 20))
    d.strides(40)
    d.set(1, 20, 1, 1)
    d.set(1, 22, 3, 3)  # after 16 dwords, which is a row
    d.set(1, 25, 7, 2)  # three dwords
    rows = _copy(module, d, x, NOTHING)[: 16 * 76].reshape(16, 76)
    assert np.array_equal(rows[:, :64].copy().view(np.int16), x[:16, :32].numpy())
    assert set(rows[:, 64:].reshape(-1)) == {0xEE}


def test_a_stored_tile_stops_at_the_edges(module: Module, random: np.random.Generator) -> None:
    out = torch.full((6, 10), 7, dtype=torch.int32)
    shared = random.integers(0, 100, 1024).astype(np.int32)
    d = Descriptor()
    d.tile(out[1:, 2:].data_ptr(), 16, 4, (6, 4), (5, 3))
    d.strides(10)
    _copy(module, d, out, shared.view(np.uint8), stores=True)
    expected = np.full((6, 10), 7)
    expected[1:4, 2:7] = shared[4:28].reshape(4, 6)[:3, :5]
    assert np.array_equal(out.numpy(), expected)


@pytest.mark.parametrize("width", [16, 32])
def test_rows_of_a_list(module: Module, random: np.random.Generator, width: int) -> None:
    x = torch.from_numpy(random.integers(-999, 999, (50, 8)).astype(np.int32))
    rows = [3, 3, 9, 20, 41, 60]
    d = Descriptor()
    d.tile(x.data_ptr(), 0, 4, (6, len(rows)), (8, 50))
    d.strides(8)
    d.set(0, 30, 1, int(width == 32))
    d.set(0, 31, 1, 1)
    for number, row in enumerate(rows):
        d.set(2, number * width, width, row) if number * width < 128 else d.set(
            3, number * width - 128, width, row
        )
    expected = np.zeros((len(rows), 6), np.int32)
    expected[:5] = x.numpy()[rows[:5], :6]
    assert np.array_equal(
        _copy(module, d, x, NOTHING)[: expected.nbytes].view(np.int32), expected.reshape(-1)
    )


def test_a_repeated_copy_and_its_barrier(module: Module, random: np.random.Generator) -> None:
    x = torch.from_numpy(random.integers(-999, 999, (9, 16)).astype(np.int32))
    shared = NOTHING.copy()
    shared[2048:2056] = np.array([1 << 32 | 0], np.uint64).view(np.uint8)  # one arrival, then two a phase
    d = Descriptor()
    d.tile(x.data_ptr(), 0, 4, (4, 2), (16, 9))
    d.strides(16)
    d.set(1, 19, 1, 1)
    d.set(2, 32, 32, 10)  # elements from copy to copy in LDS
    d.set(2, 64, 48, 36)  # and in memory
    d.set(2, 112, 8, 2)  # three times
    d.set(1, 18, 1, 1)
    d.set(1, 32, 16, 2048 >> 3)
    actual = _copy(module, d, x, shared)
    for time in range(3):
        part = np.stack([x.numpy().reshape(-1)[36 * time + 16 * row :][:4] for row in range(2)])
        assert np.array_equal(actual[40 * time :][:32].view(np.int32), part.reshape(-1))
    assert actual[2048:2056].view(np.uint64)[0] == 1 << 32 | 0xFFFF << 16 | 1


def test_descriptors_that_no_hardware_takes(module: Module) -> None:
    x = torch.zeros(64, dtype=torch.int32)
    for group, first, message in (
        (0, 126, "whose type"),
        (0, 5, "belong to the hardware"),
        (1, 3, "its cluster does not have"),
    ):
        d = Descriptor()
        d.tile(x.data_ptr(), 0, 4, (4, 4), (4, 4))
        d.set(group, first, 1, 1)
        with pytest.raises(errors.TrapFault, match=message):
            _copy(module, d, x, NOTHING)
    d = Descriptor()
    d.tile(x.data_ptr(), 0, 4, (4, 4), (4, 4))
    d.strides(32)
    with pytest.raises(errors.AddressFault, match="read 16 bytes"):
        _copy(module, d, x, NOTHING)
    d.words[0] = 0
    assert set(_copy(module, d, x, NOTHING)) == {0xEE}


def test_barriers_in_lds(module: Module) -> None:
    states = torch.zeros(4, dtype=torch.int64)
    module["barriers"][1, 128](states)
    begun, flipped = 2 << 32 | 0, 2 << 32 | 0xFFFF << 16 | 1
    assert states.tolist() == [begun, flipped, flipped, flipped]


def test_loads_that_transpose(module: Module, random: np.random.Generator) -> None:
    """A tile whose rows are read in pieces: each lane gets a column, or of 16 bits half of one."""
    x = random.integers(0, 256, 512).astype(np.uint8)
    lane = np.arange(32)
    # Which row a lane reads, and which byte of it, for a tile with rows of 16 elements (of 4 bits 32).
    pieces = {
        16: (lane % 8 + lane // 16 * 8, lane // 8 % 2 * 16, 32),
        8: (lane // 8 % 2 * 4 + lane % 4 + lane // 16 * 8, lane // 4 % 2 * 8, 16),
        6: (lane // 8 * 4 + lane % 4, lane // 4 % 2 * 12, 24),
        4: (lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8, 16),
    }
    where = np.concatenate([row * pitch + byte for row, byte, pitch in pieces.values()]).astype(np.int32)
    out = torch.zeros(8 * 32 * 4, dtype=torch.int32)
    module["transposed"][1, 32](_ints(x), torch.from_numpy(where), out)
    results = out.numpy().view(np.uint8).reshape(4, 2, 32, 16)
    for number, (width, (_, _, pitch)) in enumerate(pieces.items()):
        bits = np.unpackbits(x[: 16 * pitch], bitorder="little").reshape(16, -1, width)
        for source, of_lane in itertools.product(range(2), range(32)):
            actual = np.unpackbits(results[number, source, of_lane], bitorder="little")
            if width in (16, 8):
                column, rows = of_lane % 16, range(of_lane // 16 * 8, of_lane // 16 * 8 + 8)
            else:
                column, rows = of_lane, range(16)
            expected = np.concatenate([bits[row, column] for row in rows])
            assert np.array_equal(actual[: expected.size], expected), (width, source, of_lane)
            assert not actual[expected.size :].any()


def _brain(value: Fraction) -> float:
    """The bf16 nearest to a number, which has a normal one; halves go to even."""
    if value == 0:
        return 0.0
    exponent = int(np.floor(np.log2(float(abs(value))))) - 7
    return float(Fraction(round(value / Fraction(2) ** exponent)) * Fraction(2) ** exponent)


def test_packed_bf16(module: Module, random: np.random.Generator) -> None:
    values = [
        (random.standard_normal(64) * 2.0 ** random.integers(-12, 12, 64)).astype(np.float32)
        for _ in range(3)
    ]
    a, b, c = ((value.view(np.uint32) & 0xFFFF0000).view(np.float32) for value in values)
    halves = [(value.view(np.uint32) >> 16).astype(np.uint16) for value in (a, b, c)]
    out = torch.zeros(6 * 32, dtype=torch.int32)
    module["brain_floats"][1, 32](*map(_ints, halves), out)
    results = (out.numpy()[: 5 * 32].view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(5, 64)
    for i, (x, y, z) in enumerate(zip(a, b, c, strict=True)):
        exact = [Fraction(float(v)) for v in (x, y, z)]
        expected = [
            _brain(exact[0] + exact[1]),
            _brain(exact[0] * exact[1]),
            _brain(exact[0] * exact[1] + exact[2]),
            min(x, y),
            max(x, y),
        ]
        assert results[:, i].tolist() == [float(value) for value in expected], i
    tangents = out.numpy()[5 * 32 :].view(np.float32)
    assert np.allclose(tangents, np.tanh(a[::2].astype(np.float64)), rtol=1.2e-7, atol=0)


def test_integers_of_64_bits(module: Module, random: np.random.Generator) -> None:
    x, y = random.integers(-(1 << 63), (1 << 63) - 1, (2, 32))
    out = torch.zeros(8 * 32, dtype=torch.int64)
    module["wide"][1, 32](torch.from_numpy(x), torch.from_numpy(y), out)

    def low(value: int) -> int:
        return (value + (1 << 31)) % (1 << 32) - (1 << 31)

    rows = out.numpy().reshape(8, 32)
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        unsigned = (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF)
        larger = max(a % (1 << 64), b % (1 << 64))
        expected = (a + b, a - b, a * b, min(a, b), larger, low(a) * low(b) + b, unsigned + a)
        assert [int(v) % (1 << 64) for v in rows[:7, i]] == [v % (1 << 64) for v in expected]
        assert rows[7, i] == max(low(low(a) + low(b)), a >> 32)


WMMA = (
    "f32_16x16x4_f32",
    *(
        "f32_16x16x32_f16",
        "f32_16x16x32_bf16",
        "f16_16x16x32_f16",
        "bf16_16x16x32_bf16",
        "bf16f32_16x16x32_bf16",
    ),
    "i32_16x16x64_iu8",
    *(
        f"{result}_16x16x{k}_{a}_{b}"
        for result in ("f32", "f16")
        for k in (64, 128)
        for a, b in (("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8"))
    ),
)
BITS = {"f32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8}
DTYPES = {
    **{
        "f32": torch.float32,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "iu8": torch.int8,
        "i32": torch.int32,
    },
    **{"fp8": torch.float8_e4m3fn, "bf8": torch.float8_e5m2},
}


class Shape:
    """Types and sizes of a matrix instruction, by its name."""

    def __init__(self, name: str) -> None:
        d, size, a, *b = name.split("_")
        self.name, self.k = name, int(size.split("x")[2])
        self.d, self.c = ("bf16", "f32") if d == "bf16f32" else (d, d)
        self.a, self.b = a, b[0] if b else a
        self.rows_a, self.rows_b = (self.k * BITS[kind] // 64 for kind in (self.a, self.b))
        self.rows_c, self.rows_d = (4 if kind in ("f16", "bf16") else 8 for kind in (self.c, self.d))

    def kernel(self) -> str:
        """C++ that runs the instruction once; a lane's registers follow each other in memory."""
        signs = " neg_lo:[1,1,0]" if self.a == "iu8" else ""
        return f"""
extern "C" __global__ void wmma_{self.name}(const int *a, const int *b, const int *c, int *d) {{
    typedef int A __attribute__((ext_vector_type({self.rows_a})));
    typedef int C __attribute__((ext_vector_type({self.rows_c})));
    typedef int D __attribute__((ext_vector_type({self.rows_d})));
    A x, y; C z; D w;
    for (int k = 0; k < {self.rows_a}; k++) x[k] = a[threadIdx.x * {self.rows_a} + k];
    for (int k = 0; k < {self.rows_a}; k++) y[k] = b[threadIdx.x * {self.rows_a} + k];
    for (int k = 0; k < {self.rows_c}; k++) z[k] = c[threadIdx.x * {self.rows_c} + k];
    asm volatile("v_wmma_{self.name} %0, %1, %2, %3{signs}" : "=&v"(w) : "v"(x), "v"(y), "v"(z));
    for (int k = 0; k < {self.rows_d}; k++) d[threadIdx.x * {self.rows_d} + k] = w[k];
}}
"""


def _by_lane(rows: torch.Tensor, run: int) -> torch.Tensor:
    """Rows of K as lanes have them: `run` elements for lanes 0 to 15, as many for the others, and so on."""
    k = rows.shape[1]
    return rows.reshape(16, k // (2 * run), 2, run).permute(2, 0, 1, 3).contiguous()


@pytest.fixture(scope="module")
def matrices() -> Module:
    kernels = "".join(Shape(name).kernel() for name in WMMA)
    return wb.compile("#include <hip/hip_runtime.h>\n" + kernels, arch="gfx1250")


@pytest.mark.parametrize("name", WMMA)
def test_wmma(matrices: Module, random: np.random.Generator, name: str) -> None:
    """Products of small integers, which every type has and every sum is exact in."""
    s = Shape(name)
    most = 2 if s.d in ("f16", "bf16") else 7
    a, b = (torch.from_numpy(random.integers(-most, most + 1, (16, s.k))) for _ in range(2))
    if s.d == "bf16":  # sums of at most 8 bits
        b[:, 8:] = 0
    c = torch.from_numpy(random.integers(-9, 10, (16, 16)))
    runs = {32: 2, 16: 8, 8: 16}
    factors = [
        _by_lane(values.to(DTYPES[kind]), runs[BITS[kind]]).view(torch.int32)
        for values, kind in ((a, s.a), (b, s.b))
    ]
    # Lane 16 g + n has column n of C and D, rows 8 g to 8 g + 7.
    sums = c.T.reshape(16, 2, 8).permute(1, 0, 2).contiguous().to(DTYPES[s.c]).view(torch.int32)
    out = torch.zeros(32 * s.rows_d, dtype=torch.int32)
    matrices[f"wmma_{name}"][1, 32](*factors, sums, out)
    actual = out.view(DTYPES[s.d]).reshape(2, 16, 8).permute(1, 0, 2).reshape(16, 16).T
    assert torch.equal(actual.to(torch.int64), a @ b.T + c)


def test_the_stepper_has_what_copies_change(module: Module, random: np.random.Generator) -> None:
    x = torch.from_numpy(random.integers(1, 99, 1024).astype(np.int32))
    stepper = wb.step(module["async_copies"][1, 32], x, torch.zeros(512, dtype=torch.int32))
    stepper.goto(stepper.length)
    tile = stepper.lds.view(torch.int32)[:128].reshape(32, 4)
    assert torch.equal(tile[torch.arange(32) ^ 1], x[:128].reshape(32, 4))
