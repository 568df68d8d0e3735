"""bf16, fp16 and fp8 conversions of the headers against PyTorch's and NumPy's: every code, every tie."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

SOURCE = """
#include <hip/hip_fp4.h>
#include <hip/hip_fp6.h>
#include <hip/hip_fp8.h>
#define SMALL(name, type)                                                                              \\
    extern "C" void to_##name(const double *x, unsigned char *y, long n, int round) {                  \\
        const auto kind = __hip_##name::__default_interpret;                                           \\
        for (long i = 0; i < n; ++i) y[i] = __hip_cvt_double_to_##type(x[i], kind, (hipRoundMode)round); \\
    }                                                                                                  \\
    extern "C" void of_##name(const unsigned char *x, float *y, long n) {                              \\
        for (long i = 0; i < n; ++i) y[i] = __builtin_bit_cast(__hip_##name, x[i]);                    \\
    }
SMALL(fp6_e2m3, fp6)
SMALL(fp6_e3m2, fp6)
SMALL(fp4_e2m1, fp4)
extern "C" void four(const float4 *x, float4 *y, long n) {
    for (long i = 0; i < n; i += 3) {
        y[i] = __hip_fp6x4_e2m3(x[i]);
        y[i + 1] = __hip_fp6x4_e3m2(x[i + 1]);
        y[i + 2] = __hip_fp4x4_e2m1(x[i + 2]);
    }
}
extern "C" void to_fp8(const float *x, unsigned char *y, long n, int saturate, int kind) {
    for (long i = 0; i < n; ++i)
        y[i] = __hip_cvt_float_to_fp8(x[i], (__hip_saturation_t)saturate, (__hip_fp8_interpretation_t)kind);
}
extern "C" void double_to_fp8(const double *x, unsigned char *y, long n, int saturate, int kind) {
    for (long i = 0; i < n; ++i)
        y[i] = __hip_cvt_double_to_fp8(x[i], (__hip_saturation_t)saturate, (__hip_fp8_interpretation_t)kind);
}
extern "C" void of_fp8(const unsigned char *x, float *y, long n, int kind) {
    for (long i = 0; i < n; ++i) y[i] = __hip_fp8_to_float(x[i], (__hip_fp8_interpretation_t)kind);
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


def floats(generator: np.random.Generator, count: int = 20000) -> np.ndarray:
    """Floats of every exponent, near the limits of the small formats, and special values."""
    patterns = generator.integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)
    near = (generator.uniform(-600, 600, count) * 2.0 ** generator.integers(-24, 8, count)).astype(np.float32)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38], np.float32)
    return np.concatenate([patterns, near, special])


def codes(values: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    return torch.from_numpy(values).to(dtype).view(torch.uint8).numpy()


@pytest.mark.parametrize("kind", range(4))
def test_every_fp8_code_means_what_pytorch_says(functions: Any, kind: int) -> None:
    every = np.arange(256, dtype=np.uint8)
    expected = torch.from_numpy(every).view(FORMATS[kind]).float().numpy()
    got = functions.call("of_fp8", every, result=np.float32, extra=(kind,))
    np.testing.assert_array_equal(got, expected)
    assert np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(expected)[~np.isnan(expected)])


@pytest.mark.parametrize("kind", range(4))
def test_fp8_rounds_to_nearest_even(functions: Any, generator: np.random.Generator, kind: int) -> None:
    every = torch.arange(256, dtype=torch.uint8).view(FORMATS[kind]).float().numpy()
    finite = np.sort(every[np.isfinite(every)])
    ties = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    beside = [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
    values = np.concatenate([finite, ties, *beside, floats(generator)])
    largest = finite.max()

    def compared(saturate: int, expected: np.ndarray) -> None:
        got = functions.call("to_fp8", values, result=np.uint8, extra=(saturate, kind))
        meaning = torch.from_numpy(expected.copy()).view(FORMATS[kind]).float().numpy()
        ours = torch.from_numpy(got).view(FORMATS[kind]).float().numpy()
        np.testing.assert_array_equal(ours, meaning)
        real = ~np.isnan(meaning)
        assert np.array_equal(got[real], expected[real])

    # Infinity does not count as too large: it stays infinite, or becomes NaN if the format has no infinity.
    # For ROCm's arithmetic, a number is too large if it exceeds the largest number before rounding
    # (amd_hip_fp8.h, cast_to_f8).
    infinite = np.where(np.signbit(values), 0x80, 0).astype(np.uint8) | np.uint8(
        [0x7F, 0x7C, 0x80, 0x80][kind]
    )
    nearest = codes(np.clip(values, -largest, largest).astype(np.float32), FORMATS[kind])
    compared(1, np.where(np.isinf(values), infinite, nearest))
    compared(0, np.where(np.abs(values) > largest, infinite, nearest))


SMALL = {"fp6_e2m3": (2, 3), "fp6_e3m2": (3, 2), "fp4_e2m1": (2, 1)}


def small_numbers(exponent: int, mantissa: int) -> np.ndarray:
    """Numbers of the codes without a sign, from the definition of the OCP formats."""
    field, fraction = np.divmod(np.arange(1 << exponent + mantissa), 1 << mantissa)
    least = 2 - (1 << exponent - 1)
    normal = (1 + fraction / (1 << mantissa)) * 2.0 ** (field - 1 + least)
    return np.where(field == 0, fraction / (1 << mantissa) * 2.0**least, normal)


@pytest.mark.parametrize("name", SMALL)
def test_formats_of_4_and_6_bits(functions: Any, generator: np.random.Generator, name: str) -> None:
    numbers = small_numbers(*SMALL[name])
    sign = len(numbers)
    got = functions.call(f"of_{name}", np.arange(2 * sign, dtype=np.uint8), result=np.float32)
    np.testing.assert_array_equal(got, np.concatenate([numbers, -numbers]))
    ties = (numbers[1:] + numbers[:-1]) / 2
    edges = np.concatenate(
        [ties, numbers, np.nextafter(ties, np.inf), np.nextafter(ties, 0), [1e-310, 1e308]]
    )
    values = np.concatenate([edges, generator.uniform(0, numbers[-1] * 1.1, 5000), [np.inf]])
    values = np.concatenate([values, -values])
    magnitude = np.minimum(np.abs(values), numbers[-1])
    below = np.searchsorted(numbers, magnitude, side="right") - 1
    above = np.searchsorted(numbers, magnitude, side="left")
    down, up = magnitude - numbers[below], numbers[above] - magnitude
    nearest = np.where(down < up, below, np.where(up < down, above, below + (below & 1) * (above - below)))
    positive = ~np.signbit(values)
    expected = [nearest, below, np.where(positive, above, below), np.where(positive, below, above)]
    for mode, code in enumerate(expected):
        got = functions.call(f"to_{name}", values, result=np.uint8, extra=(mode,))
        np.testing.assert_array_equal(got, np.where(positive, code, code | sign))


def test_four_numbers_of_4_and_6_bits(functions: Any) -> None:
    values = np.array([[0.125, -7.5, 2.25, 0], [0.0625, -28, 3.5, 1], [0.5, -6, 1.5, 3]], np.float32)
    out = np.empty_like(values)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (values, out))
    functions.functions.four(*pointers, ctypes.c_long(3))
    np.testing.assert_array_equal(out, values)


def test_a_double_is_rounded_once(functions: Any) -> None:
    # Just above a tie, by less than float can represent.
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
    expected = torch.from_numpy(values).bfloat16()
    ours = torch.from_numpy(got.view(np.int16)).view(torch.bfloat16)
    assert torch.equal(ours.isnan(), expected.isnan())
    assert torch.equal(ours[~ours.isnan()].view(torch.int16), expected[~expected.isnan()].view(torch.int16))


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
    for mode, expected in enumerate((nearest, towards_zero, up, down)):
        got = functions.call("to_half", values, result=np.uint16, extra=(mode,)).view(np.float16)
        np.testing.assert_array_equal(got, expected)
