"""bf16, fp16 and fp8 conversions of the headers against PyTorch's and NumPy's: every code, every tie."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

SOURCE = """
#include <hip/hip_fp8.h>
extern "C" void to_fp8(const float *x, unsigned char *y, long n, int saturate, int kind) {
    for (long i = 0; i < n; ++i)
        y[i] = __hip_cvt_float_to_fp8(x[i], (__hip_saturation_t)saturate, (__hip_fp8_interpretation_t)kind);
}
extern "C" void double_to_fp8(const double *x, unsigned char *y, long n, int saturate, int kind) {
    for (long i = 0; i < n; ++i)
        y[i] = __hip_cvt_double_to_fp8(x[i], (__hip_saturation_t)saturate, (__hip_fp8_interpretation_t)kind);
}
extern "C" void of_fp8(const unsigned char *x, float *y, long n, int kind) {
    for (long i = 0; i < n; ++i) y[i] = __hip_cvt_fp8_to_float(x[i], (__hip_fp8_interpretation_t)kind);
}
extern "C" void to_bf16(const float *x, unsigned short *y, long n) {
    for (long i = 0; i < n; ++i) y[i] = __bfloat16_as_ushort(__float2bfloat16(x[i]));
}
extern "C" void double_to_bf16(const double *x, unsigned short *y, long n) {
    for (long i = 0; i < n; ++i) y[i] = __bfloat16_as_ushort(__double2bfloat16(x[i]));
}
extern "C" void to_half(const float *x, unsigned short *y, long n, int mode) {
    for (long i = 0; i < n; ++i)
        y[i] = __half_as_ushort(mode == 0   ? __float2half_rn(x[i])
                                : mode == 1 ? __float2half_rz(x[i])
                                : mode == 2 ? __float2half_ru(x[i])
                                            : __float2half_rd(x[i]));
}
extern "C" void bf16_add(const unsigned short *a, const unsigned short *b, unsigned short *c, long n) {
    for (long i = 0; i < n; ++i)
        c[i] = __bfloat16_as_ushort(__hadd(__ushort_as_bfloat16(a[i]), __ushort_as_bfloat16(b[i])));
}
extern "C" void bf16_mul2(const unsigned *a, const unsigned *b, unsigned *c, long n) {
    for (long i = 0; i < n; ++i)
        c[i] = __builtin_bit_cast(unsigned, __builtin_bit_cast(__hip_bfloat162, a[i]) *
                                                __builtin_bit_cast(__hip_bfloat162, b[i]));
}
static_assert(sizeof(__hip_bfloat162) == 4 && sizeof(__half2) == 4 && sizeof(__hip_fp8x4_e4m3) == 4);
static_assert(std::is_trivially_copyable_v<__hip_bfloat16>);
static_assert(std::is_trivially_default_constructible_v<__half>);
static_assert(sizeof(float3) == 12 && alignof(float3) == 4 && alignof(float4) == 16 && alignof(uchar4) == 4);
static_assert((make_float4(1, 2, 3, 4) * 2 + make_float4(1, 1, 1, 1)).w == 9 && (int2{1, 2} == int2{1, 2}));
static_assert((2 - make_int3(1, 2, 3)).z == -1 && (-make_float2(1, 2)).y == -2);
static_assert((make_uint2(6, 7) & 3u).y == 3);
"""
FORMATS = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]


@pytest.fixture(scope="module")
def functions(host_library: Callable[[str], Any]) -> Any:
    return host_library(SOURCE)


@pytest.fixture
def generator() -> np.random.Generator:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    return np.random.default_rng(seed)


def floats(generator: np.random.Generator, count: int = 20000) -> np.ndarray:
    """Floats of every exponent, and near the ranges of the small formats, with what is special."""
    patterns = generator.integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)
    near = (generator.uniform(-600, 600, count) * 2.0 ** generator.integers(-24, 8, count)).astype(np.float32)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38], np.float32)
    return np.concatenate([patterns, near, special])


def codes(values: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    return torch.from_numpy(values).to(dtype).view(torch.uint8).numpy()


@pytest.mark.parametrize("kind", range(4))
def test_every_fp8_code_means_what_pytorch_says(functions: Any, kind: int) -> None:
    every = np.arange(256, dtype=np.uint8)
    wanted = torch.from_numpy(every).view(FORMATS[kind]).float().numpy()
    got = functions.call("of_fp8", every, result=np.float32, extra=(kind,))
    np.testing.assert_array_equal(got, wanted)
    assert np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(wanted)[~np.isnan(wanted)])


@pytest.mark.parametrize("kind", range(4))
def test_fp8_rounds_to_nearest_even(functions: Any, generator: np.random.Generator, kind: int) -> None:
    every = torch.arange(256, dtype=torch.uint8).view(FORMATS[kind]).float().numpy()
    finite = np.sort(every[np.isfinite(every)])
    ties = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    beside = [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
    values = np.concatenate([finite, ties, *beside, floats(generator)])
    largest = finite.max()

    def compared(saturate: int, wanted: np.ndarray) -> None:
        got = functions.call("to_fp8", values, result=np.uint8, extra=(saturate, kind))
        meaning = torch.from_numpy(wanted.copy()).view(FORMATS[kind]).float().numpy()
        ours = torch.from_numpy(got).view(FORMATS[kind]).float().numpy()
        np.testing.assert_array_equal(ours, meaning)
        real = ~np.isnan(meaning)
        assert np.array_equal(got[real], wanted[real])

    clamped = np.where(np.isnan(values), values, np.clip(values, -largest, largest)).astype(np.float32)
    compared(1, codes(clamped, FORMATS[kind]))
    # Without saturation what rounds past the largest number is infinity or NaN; of the ties above it only
    # e4m3's goes down, to an even code.
    tie = largest + (finite[-1] - finite[-2]) / 2
    over = np.abs(values) > tie if kind == 0 else np.abs(values) >= tie
    beyond = np.where(np.signbit(values), 0x80, 0).astype(np.uint8) | np.uint8([0x7F, 0x7C, 0x80, 0x80][kind])
    compared(0, np.where(over, beyond, codes(clamped, FORMATS[kind])))


def test_a_double_is_rounded_once(functions: Any) -> None:
    # Just above a tie, by less than float can say.
    values = np.array([1.0625 + 1e-12, 1.0625 - 1e-12, 1.0625, -1.0625 - 1e-12])
    got = functions.call("double_to_fp8", values, result=np.uint8, extra=(1, 0))
    meaning = torch.from_numpy(got).view(torch.float8_e4m3fn).float().tolist()
    assert meaning == [1.125, 1.0, 1.0, -1.125]
    tie = 1 + 2.0**-8
    got = functions.call("double_to_bf16", np.array([tie + 1e-12, tie - 1e-12, tie]), result=np.uint16)
    assert got.tolist() == [0x3F81, 0x3F80, 0x3F80]


def test_bf16_as_pytorch(functions: Any, generator: np.random.Generator) -> None:
    values = floats(generator, 100000)
    got = functions.call("to_bf16", values, result=np.uint16)
    wanted = torch.from_numpy(values).bfloat16()
    ours = torch.from_numpy(got.view(np.int16)).view(torch.bfloat16)
    assert torch.equal(ours.isnan(), wanted.isnan())
    assert torch.equal(ours[~ours.isnan()].view(torch.int16), wanted[~wanted.isnan()].view(torch.int16))


def test_bf16_arithmetic_rounds_once(functions: Any, generator: np.random.Generator) -> None:
    a, b = (generator.integers(0, 0x7F00, 50000, dtype=np.uint16) for _ in range(2))
    left, right = (torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) for x in (a, b))
    got = functions.call("bf16_add", a, b, result=np.uint16)
    assert np.array_equal(got.view(np.int16), (left + right).view(torch.int16).numpy())
    got = functions.call("bf16_mul2", a.view(np.uint32), b.view(np.uint32), result=np.uint32)
    assert np.array_equal(got.view(np.int16), (left * right).view(torch.int16).numpy())


def test_half_in_every_rounding(functions: Any, generator: np.random.Generator) -> None:
    values = floats(generator, 50000)
    values = values[np.abs(values) < 65472]
    with np.errstate(all="ignore"):
        nearest = values.astype(np.float16)
    up = np.where(nearest.astype(np.float32) < values, np.nextafter(nearest, np.float16(np.inf)), nearest)
    down = np.where(nearest.astype(np.float32) > values, np.nextafter(nearest, np.float16(-np.inf)), nearest)
    towards_zero = np.where(values < 0, up, down)
    for mode, wanted in enumerate((nearest, towards_zero, up, down)):
        got = functions.call("to_half", values, result=np.uint16, extra=(mode,)).view(np.float16)
        np.testing.assert_array_equal(got, wanted)
