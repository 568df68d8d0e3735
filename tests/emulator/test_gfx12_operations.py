"""Operations of gfx1201 that C++ seldom needs, in assembly, against NumPy and what the ISA guides say.

Kernels are one wave of 32 lanes; each lane has a place in `x` and in `out`.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench.kernel import Module

torch = pytest.importorskip("torch")

LANES = 32

SOURCE = r"""
#include <hip/hip_runtime.h>
typedef int I2 __attribute__((ext_vector_type(2)));
typedef int I4 __attribute__((ext_vector_type(4)));
#define KERNEL(name) extern "C" __global__ void name(const int *x, int *out)
#define UNIFORM(n) __builtin_amdgcn_readfirstlane(x[n])

// Wave 0 spins between the halves of its barrier until wave 1, which has passed it, says so.
KERNEL(spin) {
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    __builtin_amdgcn_s_barrier_signal(-1);
    if (threadIdx.x < 32) {
        while (flag == 0) __builtin_amdgcn_s_sleep(1);
        __builtin_amdgcn_s_barrier_wait(-1);
    } else {
        __builtin_amdgcn_s_barrier_wait(-1);
        flag = 1;
    }
    __syncthreads();
    out[threadIdx.x] = flag + 1;
}
KERNEL(first) {
    int is_first, state;
    asm volatile("s_barrier_signal_isfirst -1\n s_cselect_b32 %0, 1, 0\n s_get_barrier_state %1, -1\n"
                 "s_barrier_wait -1" : "=s"(is_first), "=s"(state) :: "scc", "memory");
    out[threadIdx.x] = is_first;
    out[256 + threadIdx.x] = state;
}
#define HALF(row, text) { int r; \
    asm volatile("s_mov_b32 %0, -1\n " text : "=&s"(r) : "s"(a), "s"(b) : "scc"); out[row] = r; }
KERNEL(halves) {
    const int a = UNIFORM(0), b = UNIFORM(1);
    HALF(0, "s_add_f16 %0, %1, %2") HALF(1, "s_sub_f16 %0, %1, %2") HALF(2, "s_mul_f16 %0, %1, %2")
    HALF(3, "s_min_num_f16 %0, %1, %2") HALF(4, "s_max_num_f16 %0, %1, %2")
    HALF(5, "s_minimum_f16 %0, %1, %2")
    HALF(6, "s_maximum_f16 %0, %1, %2") HALF(7, "s_ceil_f16 %0, %1") HALF(8, "s_floor_f16 %0, %1")
    HALF(9, "s_trunc_f16 %0, %1") HALF(10, "s_rndne_f16 %0, %1") HALF(11, "s_cvt_f32_f16 %0, %1")
    HALF(12, "s_cmp_lt_f16 %1, %2\n s_cselect_b32 %0, 5, 6")
    HALF(13, "s_mov_b32 %0, %1\n s_fmac_f16 %0, %1, %2")
    HALF(14, "s_add_f16 %0, %1, 0.5")
}
KERNEL(singles) {
    const int a = UNIFORM(0), b = UNIFORM(1);
    HALF(0, "s_cvt_f16_f32 %0, %1") HALF(1, "s_cvt_pk_rtz_f16_f32 %0, %1, %2")
    HALF(2, "s_cvt_hi_f32_f16 %0, %1")
}
#define FLUSHED(row, mode, text) { int r; \
    asm volatile("s_denorm_mode " #mode "\n " text "\n s_denorm_mode 15" \
    : "=&s"(r) : "s"(a), "s"(b) : "scc"); out[row] = r; }
KERNEL(flushing) {
    const int a = UNIFORM(0), b = UNIFORM(1);
    FLUSHED(0, 15, "s_mul_f32 %0, %1, 0.5") FLUSHED(1, 13, "s_mul_f32 %0, %1, 0.5")
    FLUSHED(2, 15, "s_add_f32 %0, %2, %2") FLUSHED(3, 14, "s_add_f32 %0, %2, %2")
    FLUSHED(4, 12, "s_cmp_lg_f32 %2, 0\n s_cselect_b32 %0, 5, 6")
    FLUSHED(5, 12, "s_cvt_f32_u32 %0, 7") FLUSHED(6, 12, "s_cvt_f16_f32 %0, 0x33800000")
    FLUSHED(7, 3, "s_cvt_f16_f32 %0, 0x33800000")
}
// Two loads fill the halves of a register; the second one comes before the first one is waited for.
#define PAIR(row, first, second, wait) { int r = -1; \
    asm volatile("s_wait_loadcnt_dscnt 0\n " first "\n " second "\n " wait \
                 : "+v"(r) : "v"(at), "v"(lds), "v"(0), "s"(x), "s"(resource) : "memory"); \
    out[32 * row + i] = r; }
KERNEL(pairs) {
    __shared__ int place[32];
    const int i = threadIdx.x;
    const int *at = x + i;
    place[i] = x[i];
    const unsigned lds = (unsigned)(size_t)(__attribute__((address_space(3))) int *)&place[i];
    const I4 resource = {(int)(size_t)x, (int)((size_t)x >> 32), 4096, 0x31027000};
    PAIR(0, "global_load_d16_b16 %0, %1, off offset:2", "global_load_d16_hi_b16 %0, %1, off",
         "s_wait_loadcnt 0")
    PAIR(1, "global_load_d16_hi_b16 %0, %1, off", "global_load_d16_b16 %0, %1, off offset:2",
         "s_wait_loadcnt 0")
    PAIR(2, "ds_load_u16_d16 %0, %2 offset:2", "ds_load_u16_d16_hi %0, %2", "s_wait_dscnt 0")
    PAIR(3, "ds_load_u8_d16_hi %0, %2", "ds_load_i8_d16 %0, %2 offset:3", "s_wait_dscnt 0")
    PAIR(4, "buffer_load_d16_b16 %0, %3, %5, null offen offset:2",
         "buffer_load_d16_hi_b16 %0, %3, %5, null offen", "s_wait_loadcnt 0")
    PAIR(5, "flat_load_d16_u8 %0, %1 offset:3", "flat_load_d16_hi_i8 %0, %1", "s_wait_loadcnt_dscnt 0")
    // A lane that is off keeps all.
    int r = 7;
    if (i & 1) asm volatile("ds_load_u16_d16_hi %0, %1\n s_wait_dscnt 0" : "+v"(r) : "v"(lds) : "memory");
    out[192 + i] = r;
}
KERNEL(saturates) {
    int r;
    asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 23, 1), 1\n v_cvt_pk_fp8_f32 %0, %1, %1\n"
                 "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 23, 1), 0" : "=v"(r) : "v"(UNIFORM(0)));
    out[0] = r & 0xffff;
    asm volatile("v_cvt_pk_fp8_f32 %0, %1, %1" : "=v"(r) : "v"(UNIFORM(0)));
    out[1] = r & 0xffff;
}
#define FUNCTION(row, name, bits) { int r, v; \
    asm volatile("s_mov_b32 s20, exec_lo\n s_mov_b32 exec_lo, 0\n v_s_" name " %0, %1\n" \
                 "s_mov_b32 exec_lo, s20" : "=&s"(r) : "s"(a) : "s20"); \
    asm volatile("v_" name "_e32 %0, %1" : "=v"(v) : "v"(a)); out[2 * row] = r; out[2 * row + 1] = v & bits; }
KERNEL(functions) {
    const int a = UNIFORM(0);
    FUNCTION(0, "exp_f32", -1) FUNCTION(1, "log_f32", -1) FUNCTION(2, "rcp_f32", -1)
    FUNCTION(3, "rsq_f32", -1) FUNCTION(4, "sqrt_f32", -1)
}
KERNEL(lanes) {
    const int i = threadIdx.x, mine = x[i];
    int r[8];
    for (int n = 0; n < 8; n++) r[n] = -1;
    asm volatile("v_permlane16_b32 %0, %1, %2, %3"
                 : "+v"(r[0]) : "v"(mine), "s"(UNIFORM(64)), "s"(UNIFORM(65)));
    asm volatile("v_permlanex16_b32 %0, %1, %2, 0" : "+v"(r[1]) : "v"(mine), "s"(UNIFORM(64)));
    asm volatile("v_permlane16_var_b32 %0, %1, %2" : "+v"(r[2]) : "v"(mine), "v"(x[32 + i]));
    asm volatile("v_permlanex16_var_b32 %0, %1, %2" : "+v"(r[3]) : "v"(mine), "v"(x[32 + i]));
    if (i & 1) {
        asm volatile("v_permlane16_b32 %0, %1, %2, %3" : "+v"(r[4]) : "v"(mine), "s"(0), "s"(0));
        asm volatile("v_permlane16_b32 %0, %1, %2, %3 op_sel:[1,0]" : "+v"(r[5]) : "v"(mine), "s"(0), "s"(0));
        asm volatile("v_permlane16_b32 %0, %1, %2, %3 op_sel:[0,1]" : "+v"(r[6]) : "v"(mine), "s"(0), "s"(0));
        asm volatile("ds_bpermute_fi_b32 %0, %1, %2\n s_wait_dscnt 0" : "=v"(r[7]) : "v"(0), "v"(mine));
    }
    for (int n = 0; n < 8; n++) out[32 * n + i] = r[n];
}
KERNEL(atomics) {
    __shared__ int place[4][32];
    const int i = threadIdx.x, old = x[i], data = x[32 + i];
    int r[4];
    for (int n = 0; n < 4; n++) out[32 * n + i] = old, place[n][i] = old;
    int *at = out + i;
    asm volatile("global_atomic_cond_sub_u32 %0, %1, %2, off th:TH_ATOMIC_RETURN\n s_wait_loadcnt 0"
                 : "=v"(r[0]) : "v"(at), "v"(data) : "memory");
    at += 32;
    asm volatile("global_atomic_sub_clamp_u32 %0, %1, %2, off th:TH_ATOMIC_RETURN scope:SCOPE_SYS\n"
                 "s_wait_loadcnt 0" : "=v"(r[1]) : "v"(at), "v"(data) : "memory");
    at += 32;
    asm volatile("global_atomic_min_num_f32 %0, %1, %2, off th:TH_ATOMIC_RETURN scope:SCOPE_DEV\n"
                 "s_wait_loadcnt 0" : "=v"(r[2]) : "v"(at), "v"(data) : "memory");
    at += 32;
    asm volatile("flat_atomic_max_num_f32 %0, %1, %2 th:TH_ATOMIC_RETURN\n s_wait_loadcnt_dscnt 0"
                 : "=v"(r[3]) : "v"(at), "v"(data) : "memory");
    for (int n = 0; n < 4; n++) out[128 + 32 * n + i] = r[n];
    const unsigned in_lds = (unsigned)(size_t)(__attribute__((address_space(3))) int *)&place[0][i];
    asm volatile("ds_cond_sub_u32 %0, %1\n ds_sub_clamp_u32 %0, %1 offset:128\n"
                 "ds_min_num_f32 %0, %1 offset:256\n ds_max_num_f32 %0, %1 offset:384\n s_wait_dscnt 0"
                 :: "v"(in_lds), "v"(data) : "memory");
    for (int n = 0; n < 4; n++) out[256 + 32 * n + i] = place[n][i];
}
KERNEL(dots) {
    const int i = threadIdx.x, a = x[i], b = x[32 + i], c = x[64 + i];
    int r[6];
    asm volatile("v_dot4_i32_iu8 %0, %1, %2, %3 neg_lo:[1,0,0]" : "=v"(r[0]) : "v"(a), "v"(b), "v"(c));
    asm volatile("v_dot8_i32_iu4 %0, %1, %2, %3 neg_lo:[0,1,0]" : "=v"(r[1]) : "v"(a), "v"(b), "v"(c));
    asm volatile("v_dot4_i32_iu8 %0, %1, %2, %3 clamp" : "=v"(r[2]) : "v"(a), "v"(b), "v"(0x7fffff00));
    asm volatile("v_dot4_f32_fp8_bf8 %0, %1, %2, %3 neg_lo:[0,0,1]" : "=v"(r[3]) : "v"(a & 0x77777777),
                 "v"(b & 0x57575757), "v"(1.0f));
    asm volatile("v_cvt_pk_i16_f32 %0, %1, %2" : "=v"(r[4]) : "v"((float)(a >> 8)), "v"(c * 0.5f));
    asm volatile("v_cvt_pk_u16_f32 %0, %1, %2" : "=v"(r[5]) : "v"((float)(a >> 8)), "v"(c * 0.5f));
    for (int n = 0; n < 6; n++) out[32 * n + i] = r[n];
}
KERNEL(bytes) {
    const int i = threadIdx.x, a = x[i];
    float r[4];
    asm volatile("v_cvt_f32_fp8_e32 %0, %1" : "=v"(r[0]) : "v"(a));
    asm volatile("v_cvt_f32_fp8_e64 %0, %1 byte_sel:1" : "=v"(r[1]) : "v"(a));
    asm volatile("v_cvt_f32_bf8_e64 %0, %1 byte_sel:2" : "=v"(r[2]) : "v"(a));
    asm volatile("v_cvt_f32_fp8_e64 %0, %1 byte_sel:3" : "=v"(r[3]) : "v"(a));
    float2 pair;
    asm volatile("v_cvt_pk_f32_fp8_e64 %0, %1 op_sel:[1,0]" : "=v"(pair) : "v"(a));
    for (int n = 0; n < 4; n++) out[32 * n + i] = __float_as_int(r[n]);
    out[128 + i] = __float_as_int(pair.x), out[160 + i] = __float_as_int(pair.y);
}
KERNEL(transposing) {
    const int i = threadIdx.x;
    I4 wide;
    I2 narrow;
    asm volatile("global_load_tr_b128 %0, %1, off\n s_wait_loadcnt 0" : "=v"(wide) : "v"(x + 4 * i));
    const int row = i / 8 * 4 + i % 4, column = i & 4 ? 8 : 0;
    asm volatile("global_load_tr_b64 %0, %1, off\n s_wait_loadcnt 0"
                 : "=v"(narrow) : "v"((const char *)x + 16 * row + column));
    for (int n = 0; n < 4; n++) out[4 * i + n] = wide[n];
    for (int n = 0; n < 2; n++) out[128 + 2 * i + n] = narrow[n];
}
KERNEL(relative) {
    const int i = threadIdx.x;
    int r[3];
    asm volatile("v_mov_b32 v20, 20\n v_mov_b32 v21, 21\n v_mov_b32 v22, 22\n v_mov_b32 v23, %3\n"
                 "s_mov_b32 m0, 2\n v_movrels_b32 %0, v20\n s_mov_b32 m0, 1\n v_movreld_b32 v20, v23\n"
                 "v_mov_b32 %1, v21\n s_mov_b32 m0, 0x20003\n v_swaprel_b32 v20, v20\n v_mov_b32 %2, v22"
                 : "=&v"(r[0]), "=&v"(r[1]), "=&v"(r[2]) : "v"(x[i]) : "v20", "v21", "v22", "v23");
    for (int n = 0; n < 3; n++) out[32 * n + i] = r[n];
    unsigned a = x[i], b = x[32 + i];
    // v_swap_b16 v24.l, v25.h, which the assembler knows with another feature.
    asm volatile("v_mov_b32 v24, %0\n v_mov_b32 v25, %1\n .long 0x7e30cd99\n"
                 "v_mov_b32 %0, v24\n v_mov_b32 %1, v25"
                 : "+v"(a), "+v"(b) :: "v24", "v25");
    out[96 + i] = a, out[128 + i] = b;
}
KERNEL(clocks) {
    const long long cycles = clock64(), time = wall_clock64();
    asm volatile("s_sleep_var %0" :: "s"(UNIFORM(0)));
    out[0] = (int)(clock64() - cycles), out[1] = wall_clock64() >= time;
}
KERNEL(parts) {
    const int i = threadIdx.x;
    const long long from = (long long)x, to = (long long)(out + 160);
    const I4 words = {(int)from, (int)(from >> 32), 64, 0x31016000};
    int r[5];
    asm volatile("s_buffer_load_i8 %0, %5, 0x3\n s_buffer_load_u16 %1, %5, 0x6\n"
                 "s_buffer_load_u8 %2, %5, 0x80\n"
                 "s_load_i16 %3, %6, 0x2\n s_load_u8 %4, %6, 0x7\n s_wait_kmcnt 0"
                 : "=&s"(r[0]), "=&s"(r[1]), "=&s"(r[2]), "=&s"(r[3]), "=&s"(r[4]) : "s"(words), "s"(x));
    if (i == 0) for (int n = 0; n < 5; n++) out[n] = r[n];
    int v[4];
    asm volatile("buffer_load_b32 %0, %4, %5, null offen\n buffer_load_u8 %1, %4, %5, null offen offset:1\n"
                 "buffer_load_b32 %2, off, %5, null offset:8\n buffer_load_d16_b16 %3, %4, %5, null offen\n"
                 "s_wait_loadcnt 0"
                 : "=&v"(v[0]), "=&v"(v[1]), "=&v"(v[2]), "=&v"(v[3]) : "v"(4 * i), "s"(words));
    for (int n = 0; n < 3; n++) out[32 + 32 * n + i] = v[n];
    out[128 + i] = v[3] & 0xffff;
    const I4 out_words = {(int)to, (int)(to >> 32) | 8 << 16, 16, 0x01016000};
    asm volatile("buffer_store_b64 %0, %1, %2, null idxen\n s_wait_storecnt 0\n"
                 "buffer_atomic_add_u32 %3, %1, %2, null idxen offset:4\n s_wait_storecnt 0"
                 :: "v"(I2{i, -i}), "v"(i), "s"(out_words), "v"(100) : "memory");
}
KERNEL(denormals) {
    float kept, flushed;
    const float tiny = __int_as_float(x[threadIdx.x]);
    asm volatile("v_add_f32 %0, %2, %2\n s_denorm_mode 0\n v_add_f32 %1, %2, %2\n s_denorm_mode 15"
                 : "=&v"(kept), "=&v"(flushed) : "v"(tiny));
    out[threadIdx.x] = __float_as_int(kept), out[32 + threadIdx.x] = __float_as_int(flushed);
}
"""


@cache
def module() -> Module:
    return wb.compile(SOURCE, arch="gfx1201")


def run(name: str, x: np.ndarray, count: int, block: int = LANES) -> np.ndarray:
    out = torch.zeros(count, dtype=torch.int32)
    module()[name][1, block](torch.from_numpy(np.ascontiguousarray(x).view(np.int32)), out)
    return out.numpy()


def integers(random: np.random.Generator, count: int) -> np.ndarray:
    return random.integers(-(1 << 31), 1 << 31, count).astype(np.int32)


def test_a_wave_may_wait_for_another_between_the_halves_of_a_barrier() -> None:
    assert run("spin", np.zeros(1, np.int32), 64, 64).tolist() == [2] * 64


def test_the_first_signal_of_a_barrier() -> None:
    out = run("first", np.zeros(1, np.int32), 512, 128)
    waves = out[:256].reshape(-1, LANES)[:4]
    assert waves.sum() == LANES
    assert (waves == waves[:, :1]).all()
    signals, members = out[256 : 256 + 128 : LANES] >> 16 & 127, out[256 : 256 + 128 : LANES] >> 4 & 127
    assert sorted(signals) == [1, 2, 3, 4]
    assert (members == 4).all()


def test_scalar_halves(random: np.random.Generator) -> None:
    a, b = (random.standard_normal(2) * 100).astype(np.float16)
    bits = np.array([a, b], np.float16).view(np.uint16).astype(np.int32) | 0x7C000000
    out = run("halves", bits, 16)
    fused = np.float16(float(a) * float(b) + float(a))
    expected = [
        *(a + b, a - b, a * b, min(a, b), max(a, b), min(a, b), max(a, b)),
        *(np.ceil(a), np.floor(a), np.trunc(a), np.rint(a)),
    ]
    assert out[:11].tolist() == [int(np.float16(value).view(np.uint16)) for value in expected]
    assert out[11] == np.float32(a).view(np.int32)
    assert out[12] == (5 if a < b else 6)
    assert out[13] & 0xFFFF == int(fused.view(np.uint16))
    assert out[14] == int(np.float16(a + np.float16(0.5)).view(np.uint16))


def test_scalar_conversions() -> None:
    a, b = np.float32(1.0006104), np.float32(-70000.0)
    out = run("singles", np.array([a, b]), 3)
    assert out[0] == int(np.float16(a).view(np.uint16)) == 0x3C01
    # Towards zero: 1 and the largest half.
    assert out[1:2].view(np.uint16).tolist() == [0x3C00, 0xFBFF]
    assert out[2] == np.float32(a.reshape(1).view(np.float16)[1]).view(np.int32)


def test_scalar_floats_flush_as_mode_says() -> None:
    # The smallest normal number times 1.5, and half of that.
    normal, denormal = 0x00C00000, 0x00600000
    out = run("flushing", np.array([normal, denormal], np.int32), 8)
    seven = int(np.float32(7).view(np.int32))
    assert out.tolist() == [denormal, 0, normal, 0, 6, seven, 1, 0]


@pytest.mark.parametrize("late", [False, True])
def test_loads_of_half_a_register_keep_the_other_half(random: np.random.Generator, late: bool) -> None:
    x = integers(random, LANES)
    with wb.late_loads() if late else nullcontext():
        out = run("pairs", x, 7 * LANES).reshape(7, LANES)
    u = x.view(np.uint32)
    low, high, byte = u & 0xFFFF, u >> 16, u & 0xFF
    signed = (x >> 24).view(np.uint32) & 0xFFFF
    swapped = low << 16 | high
    narrow = (byte.view(np.int32) << 24 >> 24).view(np.uint32) << 16
    odd = np.arange(LANES) % 2 == 1
    expected = (
        *(swapped, swapped, swapped, byte << 16 | signed),
        np.broadcast_to(swapped[0], LANES),
        narrow | u >> 24,
        np.where(odd, low << 16 | 7, 7),
    )
    for row, values in enumerate(expected):
        assert np.array_equal(out[row].view(np.uint32), values), row


def test_fp16_ovfl_makes_conversions_to_fp8_saturate() -> None:
    # The largest number of e4m3, and NaN.
    assert run("saturates", np.array([1e6], np.float32), 2).tolist() == [0x7E7E, 0x7F7F]


def test_functions_of_scalars_ignore_exec() -> None:
    out = run("functions", np.array([2.7], np.float32), 10)
    assert np.array_equal(out[::2], out[1::2])
    assert abs(out[4:5].view(np.float32)[0] - 1 / 2.7) < 1e-6


def test_lanes(random: np.random.Generator) -> None:
    x = integers(random, 66)
    out = run("lanes", x, 8 * LANES).reshape(8, LANES)
    mine, item = x[:LANES], np.arange(LANES)
    nibbles = (x[64:66].view(np.uint32)[:, None] >> np.arange(0, 32, 4).astype(np.uint32) & 15).reshape(-1)
    select = nibbles[item % 16].astype(int)
    half = np.where(item % 16 < 8, select, 0)
    own = (x[32:64] & 15).astype(int)
    odd = item % 2 == 1
    for row, expected in enumerate(
        (
            mine[item // 16 * 16 + select],
            mine[(item // 16 * 16 ^ 16) + half],
            mine[item // 16 * 16 + own],
            mine[(item // 16 * 16 ^ 16) + own],
            np.full(LANES, -1),
            np.where(odd, mine[item // 16 * 16], -1),
            np.where(odd, 0, -1),
            np.where(odd, mine[0], -1),
        )
    ):
        assert np.array_equal(out[row], expected), row


def test_atomics(random: np.random.Generator) -> None:
    x = random.standard_normal(64).astype(np.float32)
    x[3], x[40] = np.nan, np.nan
    out = run("atomics", x, 12 * LANES).reshape(12, LANES)
    old, data = x[:LANES], x[LANES:]
    bits, other = old.view(np.uint32).astype(np.int64), data.view(np.uint32).astype(np.int64)
    least, most = np.fmin(old, data), np.fmax(old, data)
    integer = [np.where(bits >= other, bits - other, bits), np.maximum(bits - other, 0)]
    for first in (0, 8):
        for row, expected in enumerate(integer):
            assert np.array_equal(out[first + row].view(np.uint32), expected)
        assert np.array_equal(out[first + 2].view(np.float32), least)
        assert np.array_equal(out[first + 3].view(np.float32), most)
    assert np.array_equal(out[4:8], np.broadcast_to(old.view(np.int32), (4, LANES)))


def test_dot_products(random: np.random.Generator) -> None:
    x = integers(random, 96)
    out = run("dots", x, 6 * LANES).reshape(6, LANES)
    a, b, c = (x[n : n + LANES] for n in (0, 32, 64))

    def parts(values: np.ndarray, bits: int, signed: bool) -> np.ndarray:
        raw = values.view(np.uint32)[:, None] >> np.arange(0, 32, bits).astype(np.uint32) & (1 << bits) - 1
        raw = raw.astype(np.int64)
        return np.where(raw >> (bits - 1) & signed, raw - (1 << bits), raw)

    def wrapped(values: np.ndarray) -> np.ndarray:
        return (values & 0xFFFFFFFF).astype(np.uint32).view(np.int32)

    assert np.array_equal(out[0], wrapped((parts(a, 8, True) * parts(b, 8, False)).sum(1) + c))
    assert np.array_equal(out[1], wrapped((parts(a, 4, False) * parts(b, 4, True)).sum(1) + c))
    sums = (parts(a, 8, False) * parts(b, 8, False)).sum(1) + 0x7FFFFF00
    assert np.array_equal(out[2], np.minimum(sums, 0x7FFFFFFF))
    left = (
        torch.from_numpy((a & 0x77777777).view(np.uint8).copy())
        .view(torch.float8_e4m3fn)
        .double()
        .reshape(-1, 4)
    )
    right = (
        torch.from_numpy((b & 0x57575757).view(np.uint8).copy())
        .view(torch.float8_e5m2)
        .double()
        .reshape(-1, 4)
    )
    exact = (left * right).sum(1).numpy() - 1
    bound = (left * right).abs().sum(1).numpy() + 1
    assert (np.abs(out[3].view(np.float32) - exact) <= bound * 2.0**-22).all()
    numbers = np.stack([(a >> 8).astype(np.float32), c.astype(np.float32) * np.float32(0.5)])
    for row, (low, high, kind) in ((4, (-32768, 32767, np.int16)), (5, (0, 65535, np.uint16))):
        pairs = np.clip(np.trunc(numbers.astype(float)), low, high).astype(kind)
        assert np.array_equal(out[row].view(kind).reshape(LANES, 2), pairs.T)


def test_conversions_of_bytes(random: np.random.Generator) -> None:
    x = integers(random, LANES)
    out = run("bytes", x, 6 * LANES).reshape(6, LANES).view(np.float32)
    raw = torch.from_numpy(x.view(np.uint8).reshape(LANES, 4).copy())
    fp8, bf8 = (raw.view(kind).float().numpy() for kind in (torch.float8_e4m3fn, torch.float8_e5m2))
    for row, expected in enumerate((fp8[:, 0], fp8[:, 1], bf8[:, 2], fp8[:, 3], fp8[:, 2], fp8[:, 3])):
        assert np.array_equal(out[row], expected, equal_nan=True), row


def test_transposing_loads(random: np.random.Generator) -> None:
    x = integers(random, 128)
    out = run("transposing", x, 192)
    runs = x.view(np.uint16).reshape(LANES, 8)
    wide = out[:128].view(np.uint16).reshape(LANES, 8)
    for lane, element in np.ndindex(LANES, 8):
        assert wide[lane, element] == runs[8 * (lane // 8) + element, lane % 8]
    # Bytes of a matrix with rows of 16: a lane gets half a column, as WMMA's factors need.
    matrix = x.view(np.uint8)[:256].reshape(16, 16)
    narrow = out[128:].view(np.uint8).reshape(LANES, 8)
    for lane, element in np.ndindex(LANES, 8):
        assert narrow[lane, element] == matrix[8 * (lane // 16) + element, lane % 16]


def test_registers_chosen_at_run_time(random: np.random.Generator) -> None:
    x = integers(random, 64)
    out = run("relative", x, 5 * LANES).reshape(5, LANES)
    assert (out[0] == 22).all()
    assert np.array_equal(out[1], x[:32])
    # v20 + 3 and v20 + 2 change places.
    assert np.array_equal(out[2], x[:32])
    a, b = x[:32].view(np.uint32), x[32:].view(np.uint32)
    assert np.array_equal(out[3].view(np.uint32), a & 0xFFFF0000 | b >> 16)
    assert np.array_equal(out[4].view(np.uint32), b & 0xFFFF | a << np.uint32(16))


def test_clocks() -> None:
    out = run("clocks", np.array([100], np.int32), 2)
    assert out[0] >= 6400
    assert out[1] == 1


def test_buffers_and_small_scalar_loads(random: np.random.Generator) -> None:
    x = integers(random, 64)
    out = run("parts", x, 192)
    raw = x.view(np.uint8)
    assert out[:5].tolist() == [
        int(raw.view(np.int8)[3]),
        int(x.view(np.uint16)[3]),
        0,
        int(x.view(np.int16)[1]),
        int(raw[7]),
    ]
    item = np.arange(LANES)
    # The resource ends after 16 dwords; beyond it loads give 0.
    inside = item < 16
    assert np.array_equal(out[32:64], np.where(inside, x[:32], 0))
    assert np.array_equal(out[64:96], np.where(inside, raw[4 * item + 1], 0))
    assert (out[96:128] == x[2]).all()
    assert np.array_equal(out[128:160], np.where(inside, x[:32] & 0xFFFF, 0))
    # 16 records of 8 bytes; lanes with a number beyond them store nothing.
    stored = out[160:192].reshape(-1, 2)
    assert np.array_equal(stored, np.stack([item[:16], 100 - item[:16]], axis=1))


def test_denormal_modes() -> None:
    out = run("denormals", np.full(LANES, 5, np.int32), 2 * LANES)
    assert (out[:LANES] == 10).all()
    assert (out[LANES:] == 0).all()
