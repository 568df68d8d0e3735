"""Thrust's complex numbers of the portable headers, on the targets and the host, against mpmath and NumPy."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.targets import TILE_TARGETS

mpmath = pytest.importorskip("mpmath")

FUNCTIONS = (
    *("exp", "log", "log10", "sqrt", "sinh", "cosh", "tanh", "sin", "cos", "tan"),
    *("asinh", "acosh", "atanh", "asin", "acos", "atan"),
)
"""In the order of SOURCE, before the others."""
SOURCE = """
#include <hip/hip_runtime.h>
#include <thrust/complex.h>
using thrust::complex;
template <typename T>
__host__ __device__ void answer(const complex<T> &z, const complex<T> &w, complex<T> *out, int step) {
#define PUT(...) *out = __VA_ARGS__, out += step;
    PUT(exp(z)) PUT(log(z)) PUT(log10(z)) PUT(sqrt(z)) PUT(sinh(z)) PUT(cosh(z)) PUT(tanh(z))
    PUT(sin(z)) PUT(cos(z)) PUT(tan(z)) PUT(asinh(z)) PUT(acosh(z)) PUT(atanh(z)) PUT(asin(z)) PUT(acos(z))
    PUT(atan(z)) PUT(proj(z)) PUT(conj(z)) PUT(pow(z, w)) PUT(z + w) PUT(z - w) PUT(z * w) PUT(z / w)
    PUT(pow(z, w.real())) PUT(pow(z.real(), w)) PUT(z * w.real()) PUT(z.real() / w) PUT(w.real() - z)
    PUT(complex<T>(abs(z), arg(z))) PUT(complex<T>(norm(z))) PUT(thrust::polar(abs(z), arg(z)))
}
using C64 = complex<float>;
using C128 = complex<double>;
"""
KERNELS = """
template <typename T>
__device__ void answers(const complex<T> *z, const complex<T> *w, complex<T> *out, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) answer(z[i], w[i], out + i, n);
}
__global__ void complex64(const C64 *z, const C64 *w, C64 *out, int n) { answers(z, w, out, n); }
__global__ void complex128(const C128 *z, const C128 *w, C128 *out, int n) { answers(z, w, out, n); }
"""
HOST = """
extern "C" void host64(const C64 *z, const C64 *w, C64 *out, long n) {
    for (int i = 0; i < n; i++) answer(z[i], w[i], out + i, n);
}
extern "C" void host128(const C128 *z, const C128 *w, C128 *out, long n) {
    for (int i = 0; i < n; i++) answer(z[i], w[i], out + i, n);
}
"""
ROWS = 31
TYPES = (np.complex64, np.complex128)
Answers = Callable[[np.ndarray, np.ndarray], np.ndarray]


@pytest.fixture(scope="module", params=[*TILE_TARGETS, "host"])
def answers(request: pytest.FixtureRequest, host_library: Callable[[str], Any]) -> Answers:
    """Every function of SOURCE of pairs of complex numbers, one row each."""
    on_host = request.param == "host"
    source = SOURCE + (HOST if on_host else KERNELS)
    compiled: Any = host_library(source) if on_host else wb.compile(source, arch=request.param)

    def rows(z: np.ndarray, w: np.ndarray) -> np.ndarray:
        out = np.zeros((ROWS, z.size), z.dtype)
        if on_host:
            addresses = [ctypes.c_void_p(array.ctypes.data) for array in (z, w, out)]
            getattr(compiled.functions, f"host{z.itemsize * 8}")(*addresses, ctypes.c_long(z.size))
        else:
            kernel = compiled[z.dtype.name][-(-z.size // 64), 64]
            kernel(*map(torch.from_numpy, (z, w, out)), z.size)
        return out

    return rows


def _pairs(dtype: Any, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of every size, and some near the unit circle and near 1 and -1, where logarithms cancel."""

    def part() -> np.ndarray:
        wide = np.ldexp(rng.uniform(1, 2, count), rng.integers(-40, 40, count)) * rng.choice([-1, 1], count)
        return np.where(rng.random(count) < 0.5, wide, rng.uniform(-3, 3, count))

    z, w = ((part() + 1j * part()).astype(dtype) for _ in range(2))
    few = count // 8
    distance = 1 + rng.uniform(-1, 1, few) * np.ldexp(1.0, rng.integers(-20, 0, few))
    z[:few] = np.exp(1j * rng.uniform(0, 2 * np.pi, few)) * distance
    beside = np.ldexp(rng.uniform(-1, 1, few), rng.integers(-30, 0, few))
    z[few : 2 * few] = rng.choice([-1, 1], few) * (1 + rng.uniform(-1, 1, few) / 1024) + 1j * beside
    return z, w


def _exact(name: str, z: complex) -> Any:
    argument = mpmath.mpc(z)
    if name == "log10":
        return mpmath.log(argument) / mpmath.log(10)
    return getattr(mpmath, name)(argument)


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_are_within_some_ulp_in_each_part(answers: Answers, dtype: Any) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    z, w = _pairs(dtype, np.random.default_rng(seed), 32)
    out = answers(z, w)
    limits = np.finfo(dtype)
    with mpmath.workprec(160):
        for name, row in zip(FUNCTIONS, out, strict=False):
            ulps = 8 if name in ("tan", "tanh") else 4
            for x, result in zip(z, row, strict=True):
                exact = _exact(name, complex(x))
                if abs(exact) > float(limits.max) / 2:
                    continue
                for part, reference in ((result.real, exact.real), (result.imag, exact.imag)):
                    ulp = np.spacing(np.abs(limits.dtype.type(float(reference))))
                    assert abs(mpmath.mpf(float(part)) - reference) <= ulps * float(ulp), (
                        name,
                        x,
                        result,
                        exact,
                    )


@pytest.mark.parametrize("dtype", TYPES)
def test_arithmetic_is_within_some_ulp_of_the_length(answers: Answers, dtype: Any) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    z, w = _pairs(dtype, np.random.default_rng(seed), 256)
    w[np.abs(w) > 2**20] = 1.5 - 2j
    out = answers(z, w).astype(np.clongdouble)
    a, b = z.astype(np.clongdouble), w.astype(np.clongdouble)
    epsilon, names = float(np.finfo(dtype).eps), iter(out[19:])
    exact: Any
    for exact in (a + b, a - b, a * b, a / b):
        assert (np.abs(next(names) - exact) <= 4 * epsilon * np.abs(exact)).all()
    # log(z) * w is rounded before its exponential, which amplifies the error in the result.
    powers = ((out[18], a, b), (next(names), a, b.real + 0j), (next(names), a.real + 0j, b))
    smallest, largest = (float(x) for x in (np.finfo(dtype).tiny, np.finfo(dtype).max))
    with np.errstate(all="ignore"):
        for row, base, exponent in powers:
            product = np.log(base) * exponent
            exact = np.exp(product)
            fits = (np.abs(exact) > smallest) & (np.abs(exact) < largest / 2) & (np.abs(product) < 1e4)
            bound = 4 * epsilon * (1 + np.abs(np.log(base)) * np.abs(exponent)) * np.abs(exact)
            assert fits.sum() > 20
            assert (np.abs(row - exact) <= bound)[fits].all()
    for exact in (a * b.real, a.real / b, b.real - a, np.abs(a) + 1j * np.angle(a), a.real**2 + a.imag**2, a):
        assert (np.abs(next(names) - exact) <= 4 * epsilon * np.abs(exact)).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_special_values_are_those_of_annex_g(answers: Answers, dtype: Any) -> None:
    largest, smallest = (float(x) for x in (np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal))
    parts = [0, 1, 0.5, 3, 30, 100, 720, np.inf, largest / 2, largest, smallest, 1e5 * smallest]
    part = np.array([sign * x for x in parts for sign in (1, -1)] + [np.nan])
    z = np.empty((part.size, part.size), dtype)
    z.real, z.imag = part[:, None], part
    z = z.ravel()
    with np.errstate(all="ignore"):
        for name, row in zip(FUNCTIONS, answers(z, z), strict=False):
            expected = getattr(np, name if hasattr(np, name) else name.replace("a", "arc", 1))(z)
            pairs = ((row.real, expected.real, expected.imag), (row.imag, expected.imag, expected.real))
            for part_of_row, right, other in pairs:
                # With NaN the sign of a zero or an infinity may be any.
                free = np.isnan(right) | np.isnan(other)
                same_sign = free | (np.signbit(part_of_row) == np.signbit(right))
                error = np.abs(np.abs(part_of_row) - np.abs(right))
                near = error <= 1e-5 * np.abs(right) + 4 * smallest
                same = np.where(np.isfinite(right), near, np.abs(part_of_row) == np.abs(right))
                wrong = ~((same | (np.isnan(part_of_row) & np.isnan(right))) & same_sign)
                assert not wrong.any(), (name, z[wrong][:4], row[wrong][:4], expected[wrong][:4])
    projected = answers(z, z)[16]
    infinite = np.isinf(z.real) | np.isinf(z.imag)
    assert np.isposinf(projected.real[infinite]).all()
    assert (projected.imag[infinite] == 0).all()
    np.testing.assert_array_equal(projected[~infinite], z[~infinite])


def test_types_mix_compare_and_convert() -> None:
    source = """
    #include <hip/hip_runtime.h>
    #include <thrust/complex.h>
    using F = thrust::complex<float>;
    using D = thrust::complex<double>;
    static_assert(sizeof(F) == 8 && alignof(F) == 8 && alignof(D) == 16);
    static_assert(std::is_trivially_copyable<F>::value && std::is_trivially_default_constructible<F>::value);
    static_assert(std::is_same<decltype(F() * D()), D>::value && std::is_same<decltype(F() + 1.0), D>::value);
    static_assert(std::is_same<D::value_type, double>::value);
    __global__ void k(bool *out) {
        F z(1, 2);
        D w = z;
        w += z, w *= 2, w -= F(1), w /= D(1), z = 3;
        std::complex<double> standard = w;
        volatile F kept;
        kept.real(4);
        kept.imag(5);
        z.imag(7);
        out[0] = w == D(3, 8) && w == standard && D(standard) == w && standard == w;
        out[1] = z == F(3, 7) && z != 3 && F(3) == 3 && 3 == F(3) && z != F(3, 6);
        out[2] = kept.real() == 4 && kept.imag() == 5;
        out[3] = +z == -(-z);
    }
    """
    out = torch.zeros(4, dtype=torch.bool)
    wb.compile(source)["k"][1, 1](out)
    assert out.all(), out
