"""Operations that gfx11 has beside gfx12's, in assembly, against NumPy, after AMD's pseudocode of RDNA 3."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.kernel import Module  # noqa: E402

LANES = 32
SOURCE = r"""
#include <hip/hip_runtime.h>
typedef int I2 __attribute__((ext_vector_type(2)));
typedef int I4 __attribute__((ext_vector_type(4)));
#define KERNEL(name) extern "C" __global__ void name(int *x, int *out)
#define WAIT "\n s_waitcnt vmcnt(0) lgkmcnt(0)\n s_waitcnt_vscnt null, 0"
KERNEL(vectors) {
    const int i = threadIdx.x, a = x[i], b = x[32 + i], c = x[64 + i];
    int r[4];
    asm volatile("v_minmax_f32 %0, %1, %2, %3" : "=v"(r[0]) : "v"(a), "v"(b), "v"(c));
    asm volatile("v_maxmin_f32 %0, %1, %2, %3" : "=v"(r[1]) : "v"(a), "v"(b), "v"(c));
    r[2] = r[3] = c;
    asm volatile("v_fmac_dx9_zero_f32 %0, %1, %2" : "+v"(r[2]) : "v"(i % 4 ? a : 0), "v"(b));
    asm volatile("v_dot2acc_f32_f16 %0, %1, %2" : "+v"(r[3]) : "v"(0x3c004000), "v"(0x42003800));
    for (int n = 0; n < 4; n++) out[32 * n + i] = r[n];
    unsigned mask, after;
    asm volatile("s_mov_b32 s8, exec_lo\n v_cmp_t_f32_e64 %0, v0, v0\n s_mov_b32 exec_lo, 0x5555\n"
                 "v_cmpx_t_f32_e64 v0, v0\n s_mov_b32 %1, exec_lo\n v_cmpx_f_f32_e64 v0, v0\n"
                 "s_or_b32 %1, %1, exec_lo\n s_mov_b32 exec_lo, s8" : "=s"(mask), "=s"(after) :: "s8", "vcc");
    out[128 + i] = mask, out[160 + i] = after;
}
KERNEL(atomics) {
    __shared__ int place[4][32];
    const int i = threadIdx.x, data = x[32 + i];
    const int expected = i % 2 ? x[i] : data;
    int *at = out + i;
    for (int n = 0; n < 4; n++) at[32 * n] = place[n][i] = x[i];
    __syncthreads();
    int r[4];
    const I2 both = {data, expected};
    asm volatile("global_atomic_cmpswap_f32 %0, %1, %2, off glc" WAIT
                 : "=v"(r[0]) : "v"(at), "v"(both) : "memory");
    at += 32;
    asm volatile("global_atomic_min_f32 %0, %1, %2, off glc" WAIT
                 : "=v"(r[1]) : "v"(at), "v"(data) : "memory");
    at += 32;
    asm volatile("flat_atomic_max_f32 %0, %1, %2 glc" WAIT : "=v"(r[2]) : "v"(at), "v"(data) : "memory");
    at += 32;
    asm volatile("global_atomic_csub_u32 %0, %1, %2, off glc" WAIT
                 : "=v"(r[3]) : "v"(at), "v"(data) : "memory");
    for (int n = 0; n < 4; n++) out[128 + 32 * n + i] = r[n];
    const unsigned in_lds = (unsigned)(size_t)(__attribute__((address_space(3))) int *)&place[0][i];
    asm volatile("ds_cmpstore_f32 %0, %1, %2" WAIT :: "v"(in_lds), "v"(data), "v"(expected) : "memory");
    out[256 + i] = place[0][i];
}
KERNEL(threads) {
    int r;
    asm volatile("global_load_addtid_b32 %0, %1 offset:8" WAIT : "=v"(r) : "s"(x));
    asm volatile("global_store_addtid_b32 %0, %1" WAIT :: "v"(r), "s"(out) : "memory");
}
KERNEL(halves) {
    const int i = threadIdx.x;
    __shared__ int place[32];
    place[i] = x[i];
    __syncthreads();
    const unsigned in_lds = (unsigned)(size_t)(__attribute__((address_space(3))) int *)&place[i];
    const long long from = (long long)x;
    const I4 words = {(int)from, (int)(from >> 32), 128, 0x31016000};
    int r[4];
    for (int n = 0; n < 4; n++) r[n] = 0x12345678;
    asm volatile("global_load_d16_hi_b16 %0, %1, off" WAIT : "+v"(r[0]) : "v"(x + i));
    asm volatile("ds_load_u8_d16 %0, %1" WAIT : "+v"(r[1]) : "v"(in_lds));
    asm volatile("buffer_load_d16_b16 %0, %1, %2, 0 offen" WAIT : "+v"(r[2]) : "v"(4 * i), "s"(words));
    // Both halves are in flight at once.
    asm volatile("global_load_d16_b16 %0, %1, off\n global_load_d16_hi_b16 %0, %1, off offset:2" WAIT
                 : "+v"(r[3]) : "v"(x + i));
    for (int n = 0; n < 4; n++) out[32 * n + i] = r[n];
}
KERNEL(formats) {
    const int i = threadIdx.x;
    const long long from = (long long)x;
    // BUF_FMT_8_8_UINT in the resource, with x and y selected as components.
    const I4 words = {(int)from, (int)(from >> 32), 128, 0x3000002c | 18 << 12};
    int whole;
    I2 pair, typed;
    asm volatile("buffer_load_format_xy %0, %1, %2, 0 offen" WAIT : "=v"(pair) : "v"(4 * i), "s"(words));
    asm volatile("tbuffer_load_format_xy %0, %1, %2, 0 format:[BUF_FMT_16_16_SINT] offen" WAIT
                 : "=v"(typed) : "v"(4 * i), "s"(words));
    asm volatile("tbuffer_load_format_x %0, %1, %2, 0 format:[BUF_FMT_32_FLOAT] offen" WAIT
                 : "=v"(whole) : "v"(4 * i), "s"(words));
    const int r[5] = {pair.x, pair.y, typed.x, typed.y, whole};
    for (int n = 0; n < 5; n++) out[32 * n + i] = r[n];
}
#ifdef SCALAR_FLOATS
KERNEL(scalars) {
    int r[2];
    const int a = __builtin_amdgcn_readfirstlane(x[0]), b = __builtin_amdgcn_readfirstlane(x[1]);
    asm volatile("s_min_f32 %0, %1, %2" : "=s"(r[0]) : "s"(a), "s"(b));
    asm volatile("s_max_f32 %0, %1, %2" : "=s"(r[1]) : "s"(a), "s"(b));
    out[0] = r[0], out[1] = r[1];
}
#endif
"""


@cache
def module(arch: str = "gfx1100", *define: str) -> Module:
    return wb.compile(SOURCE, arch=arch, define=list(define), name="gfx11.hip")


def run(name: str, x: np.ndarray, count: int, compiled: Module | None = None) -> np.ndarray:
    out = torch.zeros(count, dtype=torch.int32)
    values = torch.from_numpy(np.ascontiguousarray(x).view(np.int32).copy())
    (compiled or module())[name][1, LANES](values, out)
    return out.numpy()


def rows(name: str, x: np.ndarray, count: int) -> np.ndarray:
    return run(name, x, count * LANES).reshape(count, LANES)


def test_vector_operations(random: np.random.Generator) -> None:
    x = random.standard_normal(96).astype(np.float32)
    out = rows("vectors", x, 6)
    a, b, c = x.reshape(3, LANES)
    floats = out.view(np.float32)
    assert np.array_equal(floats[0], np.maximum(np.minimum(a, b), c))
    assert np.array_equal(floats[1], np.minimum(np.maximum(a, b), c))
    fused = (a.astype(float) * b.astype(float) + c.astype(float)).astype(np.float32)
    assert np.array_equal(floats[2], np.where(np.arange(LANES) % 4 == 0, c, fused))
    # (2, 1) and (0.5, 3), the low halves first.
    assert np.array_equal(floats[3], c + np.float32(1) + np.float32(3))
    assert (out[4] == -1).all()
    assert (out[5] == 0x5555).all()


def test_atomics(random: np.random.Generator) -> None:
    old, data = np.abs(random.standard_normal((2, LANES))).astype(np.float32)
    out = rows("atomics", np.concatenate([old, data]), 9)
    swapped = np.where(np.arange(LANES) % 2 == 1, data, old)
    assert np.array_equal(out[0].view(np.float32), swapped)
    assert np.array_equal(out[1].view(np.float32), np.minimum(old, data))
    assert np.array_equal(out[2].view(np.float32), np.maximum(old, data))
    before, less = old.view(np.int32).astype(np.int64), data.view(np.int32).astype(np.int64)
    assert np.array_equal(out[3], np.maximum(before - less, 0))
    assert np.array_equal(out[4:8], np.broadcast_to(old.view(np.int32), (4, LANES)))
    assert np.array_equal(out[8].view(np.float32), swapped)


def test_addresses_by_lane(random: np.random.Generator) -> None:
    x = random.integers(0, 1 << 31, 64).astype(np.int32)
    assert np.array_equal(run("threads", x, LANES), x[2:34])


@pytest.mark.parametrize("late", [False, True])
def test_a_load_of_half_a_register_leaves_the_other(random: np.random.Generator, late: bool) -> None:
    x = random.integers(0, 1 << 31, LANES).astype(np.int32)
    with wb.late_loads() if late else nullcontext():
        out = rows("halves", x, 4).view(np.uint32)
    bits = x.view(np.uint32)
    assert np.array_equal(out[0], bits << np.uint32(16) | 0x5678)
    assert np.array_equal(out[1], 0x12340000 | bits & 0xFF)
    assert np.array_equal(out[2], 0x12340000 | bits & 0xFFFF)
    assert np.array_equal(out[3], bits)


def test_typed_buffers(random: np.random.Generator) -> None:
    x = random.integers(-(1 << 31), 1 << 31, LANES).astype(np.int32)
    out = rows("formats", x, 5)
    raw, shorts = x.view(np.uint8).reshape(LANES, 4), x.view(np.int16).reshape(LANES, 2)
    assert np.array_equal(out[:2], raw[:, :2].T)
    assert np.array_equal(out[2:4], shorts.T)
    assert np.array_equal(out[4], x)


def test_scalar_floats_of_gfx1151() -> None:
    x = np.array([2.5, -1.0], np.float32)
    out = run("scalars", x, 2, module("gfx1151", "SCALAR_FLOATS")).view(np.float32)
    assert out.tolist() == [-1.0, 2.5]
