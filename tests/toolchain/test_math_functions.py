"""The headers' math functions against exact values from mpmath: the errors that their comments state.

They are compiled for this computer; the device runs the same text.
"""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp

COUNT = 100
ONE_ARGUMENT = (
    *("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("cbrt", "erf", "erfc", "lgamma", "tgamma"),
)
FLOATS = ("sinf", "cosf", "tanf", "expm1f", "tanhf", "erff")
SOURCE = (
    "#include <hip/hip_runtime.h>\n"
    + "".join(
        f'extern "C" void {name}_(const double *x, double *y, long n) '
        f"{{ for (long i = 0; i < n; ++i) y[i] = __hip_math::{name}(x[i]); }}\n"
        for name in ONE_ARGUMENT
    )
    + "".join(
        f'extern "C" void {name}_(const float *x, float *y, long n) '
        f"{{ for (long i = 0; i < n; ++i) y[i] = __hip_math::{name}(x[i]); }}\n"
        for name in FLOATS
    )
    + "".join(
        f'extern "C" void {name}_(const {T} *x, const {T} *y, {T} *z, long n) '
        f"{{ for (long i = 0; i < n; ++i) z[i] = __hip_math::{name}(x[i], y[i]); }}\n"
        for T, name in [
            ("double", "atan2"),
            ("double", "pow"),
            ("double", "hypot"),
            ("double", "fmod"),
            ("float", "powf"),
            ("float", "hypotf"),
        ]
    )
    + """
extern "C" void remquo_(const double *x, const double *y, double *r, long n, int *quotients) {
    for (long i = 0; i < n; ++i) r[i] = __hip_math::remquo(x[i], y[i], &quotients[i]);
}
extern "C" void sinpi_(const double *x, double *y, long n) {
    for (long i = 0; i < n; ++i) { double other; __hip_math::sincospi(x[i], &y[i], &other); }
}
extern "C" void cospi_(const double *x, double *y, long n) {
    for (long i = 0; i < n; ++i) { double other; __hip_math::sincospi(x[i], &other, &y[i]); }
}
"""
)


@pytest.fixture(scope="module")
def functions(host_library: Callable[[str], Any]) -> Any:
    return host_library(SOURCE)


@pytest.fixture
def generator() -> np.random.Generator:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    mp.prec = 160
    return np.random.default_rng(seed)


def linear(low: float, high: float) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda generator: generator.uniform(low, high, COUNT)


def logarithmic(low: float, high: float, signs: bool = True) -> Callable[[np.random.Generator], np.ndarray]:
    def draw(generator: np.random.Generator) -> np.ndarray:
        magnitude = np.exp(generator.uniform(math.log(low), math.log(high), COUNT))
        return magnitude * generator.choice([-1, 1], COUNT) if signs else magnitude

    return draw


def worst(got: np.ndarray, exact: list[Any]) -> float:
    """The largest error in units of the last place of the exact value."""
    precision, least = (53, -1074) if got.dtype == np.float64 else (24, -149)
    highest = mpmath.mpf(2) ** (1024 if precision == 53 else 128)
    result = 0.0
    for value, expected in zip(got.tolist(), exact, strict=True):
        if mpmath.isinf(expected) or abs(expected) >= highest:
            assert math.isinf(value)
            assert (value > 0) == (expected > 0)
        elif expected == 0:
            assert value == 0
        else:
            unit = max(mpmath.mag(expected) - precision, least)
            result = max(result, float(abs(mpmath.mpf(value) - expected) / mpmath.mpf(2) ** unit))
    return result


EXACT: dict[str, Callable[[Any], Any]] = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "exp10": lambda x: mpmath.mpf(10) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "lgamma": mpmath.loggamma,
    "tgamma": mpmath.gamma,
}
NEAR_MULTIPLES = lambda generator: np.pi / 2 * generator.integers(1, 10**6, COUNT)  # noqa: E731
CASES: dict[str, tuple[float, list[Callable[[np.random.Generator], np.ndarray]]]] = {
    "exp": (1, [linear(-745, 710), logarithmic(1e-300, 1)]),
    "exp2": (1, [linear(-1075, 1024), linear(-1, 1)]),
    "exp10": (1, [linear(-323, 308.2), linear(-1, 1)]),
    "expm1": (2, [linear(-40, 709), logarithmic(1e-300, 1), linear(-0.5, 0.5)]),
    "log": (1, [logarithmic(1e-320, 1e308, False), linear(0.5, 2)]),
    "log2": (1, [logarithmic(1e-320, 1e308, False), linear(0.5, 2)]),
    "log10": (1, [logarithmic(1e-320, 1e308, False), linear(0.5, 2)]),
    "log1p": (1, [logarithmic(1e-300, 1e300, False), linear(-0.999, 1), logarithmic(1e-18, 0.5)]),
    "sin": (1, [linear(-10, 10), logarithmic(1e-300, 1e9), logarithmic(1e9, 1e308), NEAR_MULTIPLES]),
    "cos": (1, [linear(-10, 10), logarithmic(1e-3, 1e9), logarithmic(1e9, 1e308), NEAR_MULTIPLES]),
    "tan": (2, [linear(-10, 10), logarithmic(1e-3, 1e9), logarithmic(1e9, 1e308)]),
    "atan": (1, [linear(-3, 3), logarithmic(1e-320, 1e308)]),
    "asin": (2, [linear(-1, 1), logarithmic(1e-320, 1)]),
    "acos": (2, [linear(-1, 1)]),
    "sinh": (3, [linear(-3, 3), linear(-710, 710), logarithmic(1e-300, 1)]),
    "cosh": (3, [linear(-3, 3), linear(-710, 710)]),
    "tanh": (3, [linear(-3, 3), logarithmic(1e-300, 30)]),
    "asinh": (3, [linear(-3, 3), logarithmic(1e-300, 1e300)]),
    "acosh": (3, [linear(1, 3), logarithmic(1, 1e300, False)]),
    "atanh": (3, [linear(-1, 1), logarithmic(1e-300, 0.9)]),
    "cbrt": (1, [linear(-10, 10), logarithmic(1e-320, 1e308)]),
    "erf": (2, [linear(-6, 6), logarithmic(1e-300, 1), linear(-1.1, 1.1)]),
    "erfc": (5, [linear(-6, 26.5), linear(0, 1.5)]),
    "lgamma": (
        2,
        [linear(3, 10), linear(3, 1000), logarithmic(10, 1e305, False), logarithmic(1e-300, 0.5, False)],
    ),
    "tgamma": (30, [linear(0.01, 170), linear(-20, 0), linear(1, 3)]),
    "sinf": (2, [linear(-10, 10), logarithmic(1e-30, 1e38)]),
    "cosf": (2, [linear(-10, 10), logarithmic(1e-3, 1e38)]),
    "tanf": (3, [linear(-10, 10), logarithmic(1e-3, 1e38)]),
    "expm1f": (2, [linear(-17, 88), logarithmic(1e-30, 1)]),
    "tanhf": (3, [linear(-10, 10), logarithmic(1e-30, 1)]),
    "erff": (2, [linear(-4.2, 4.2), logarithmic(1e-30, 1)]),
}


@pytest.mark.parametrize("name", CASES)
def test_error_is_within_what_the_header_says(
    functions: Any, generator: np.random.Generator, name: str
) -> None:
    limit, draws = CASES[name]
    plain = name.removesuffix("f") if name in FLOATS else name
    exact = EXACT.get(plain) or getattr(mpmath, plain)
    kind = np.float32 if name in FLOATS else np.float64
    for draw in draws:
        x = draw(generator).astype(kind)
        got = functions.call(f"{name}_", x, result=kind)
        assert worst(got, [exact(mpmath.mpf(value)) for value in x.tolist()]) <= limit


def test_powers(functions: Any, generator: np.random.Generator) -> None:
    pairs = [
        (logarithmic(1e-3, 1e3, False), linear(-100, 100)),
        (logarithmic(1e-300, 1e300, False), linear(-1, 1)),
        (lambda g: 1 + logarithmic(1e-12, 1e-3)(g), logarithmic(1e3, 1e10)),
    ]
    for bases, exponents in pairs:
        x, y = bases(generator), exponents(generator)
        got = functions.call("pow_", x, y, result=np.float64)
        assert (
            worst(got, [mpmath.mpf(a) ** mpmath.mpf(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
            <= 1
        )
    x, y = pairs[0][0](generator).astype(np.float32), linear(-10, 10)(generator).astype(np.float32)
    got = functions.call("powf_", x, y, result=np.float32)
    assert (
        worst(got, [mpmath.mpf(a) ** mpmath.mpf(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]) <= 1
    )


def test_angles_and_distances(functions: Any, generator: np.random.Generator) -> None:
    for draw in (linear(-2, 2), logarithmic(1e-300, 1e300)):
        x, y = draw(generator), draw(generator)
        for name, exact in (("atan2", mpmath.atan2), ("hypot", mpmath.hypot)):
            got = functions.call(f"{name}_", x, y, result=np.float64)
            expected = [
                exact(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)
            ]
            assert worst(got, expected) <= 1


def test_remainders_are_exact(functions: Any, generator: np.random.Generator) -> None:
    x = np.concatenate([logarithmic(1e-300, 1e300)(generator), np.round(linear(-1e4, 1e4)(generator))])
    y = np.concatenate([logarithmic(1e-300, 1e300)(generator), np.round(linear(1, 200)(generator)) / 2])
    assert np.array_equal(functions.call("fmod_", x, y, result=np.float64), np.fmod(x, y))
    quotients = np.empty(x.size, np.int32)
    remainder = np.empty_like(x)
    functions.functions.remquo_(
        *(ctypes.c_void_p(array.ctypes.data) for array in (x, y, remainder)),
        ctypes.c_long(x.size),
        ctypes.c_void_p(quotients.ctypes.data),
    )
    assert remainder.tolist() == [math.remainder(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    small = np.abs(x) < 1e5 * np.abs(y)
    expected = np.rint((x[small] - remainder[small]) / y[small])
    assert np.array_equal(quotients[small], expected.astype(np.int32))


def test_sine_and_cosine_of_multiples_of_pi(functions: Any, generator: np.random.Generator) -> None:
    x = np.concatenate([linear(-5, 5)(generator), logarithmic(1e-10, 1e15)(generator)])
    for name, exact in (("sinpi", mpmath.sinpi), ("cospi", mpmath.cospi)):
        got = functions.call(f"{name}_", x, result=np.float64)
        assert worst(got, [exact(mpmath.mpf(value)) for value in x.tolist()]) <= 2
    whole = np.arange(-4, 5) / 2
    assert functions.call("sinpi_", whole, result=np.float64).tolist() == [0, 1, 0, -1, 0, 1, 0, -1, 0]
    assert functions.call("cospi_", whole, result=np.float64).tolist() == [1, 0, -1, 0, 1, 0, -1, 0, 1]


INF, NAN = math.inf, math.nan
SPECIAL: dict[str, dict[float, float]] = {
    "exp": {INF: INF, -INF: 0, NAN: NAN, 710: INF, -746: 0, 0: 1},
    "exp2": {INF: INF, -INF: 0, NAN: NAN, 1024: INF, -1076: 0, -1074: 2.0**-1074, 10: 1024},
    "exp10": {INF: INF, -INF: 0, NAN: NAN, 309: INF, 2: 100},
    "expm1": {INF: INF, -INF: -1, NAN: NAN, 0: 0},
    "log": {0: -INF, -1: NAN, INF: INF, NAN: NAN, 1: 0},
    "log2": {0: -INF, -1: NAN, INF: INF, NAN: NAN, 2.0**-1074: -1074, 8: 3},
    "log10": {0: -INF, -1: NAN, INF: INF, 1000: 3},
    "log1p": {-1: -INF, -2: NAN, INF: INF, 0: 0},
    "sin": {0: 0, INF: NAN, NAN: NAN},
    "cos": {0: 1, -INF: NAN, NAN: NAN},
    "asin": {1: math.pi / 2, -1: -math.pi / 2, 1.5: NAN, NAN: NAN},
    "acos": {1: 0, -1: math.pi, 1.5: NAN, NAN: NAN},
    "atan": {INF: math.pi / 2, -INF: -math.pi / 2, NAN: NAN},
    "sinh": {INF: INF, -INF: -INF, NAN: NAN},
    "cosh": {INF: INF, -INF: INF, NAN: NAN},
    "tanh": {INF: 1, -INF: -1, NAN: NAN},
    "asinh": {INF: INF, -INF: -INF, NAN: NAN},
    "acosh": {1: 0, 0.5: NAN, INF: INF, NAN: NAN},
    "atanh": {1: INF, -1: -INF, 2: NAN, NAN: NAN},
    "cbrt": {INF: INF, -INF: -INF, NAN: NAN, 27: 3, -8: -2},
    "erf": {INF: 1, -INF: -1, NAN: NAN},
    "erfc": {INF: 0, -INF: 2, NAN: NAN, 0: 1},
    "lgamma": {INF: INF, -INF: INF, NAN: NAN, 0: INF, 1: 0, 2: 0, -3: INF},
    "tgamma": {INF: INF, -INF: NAN, NAN: NAN, 0: INF, -2: NAN, 172: INF},
    "sinf": {0: 0, INF: NAN, NAN: NAN},
    "cosf": {0: 1, INF: NAN, NAN: NAN},
    "tanhf": {INF: 1, -INF: -1, NAN: NAN},
    "erff": {INF: 1, -INF: -1, NAN: NAN},
    "expm1f": {INF: INF, -INF: -1, NAN: NAN},
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_arguments(functions: Any, name: str) -> None:
    kind = np.float32 if name in FLOATS else np.float64
    x = np.array(list(SPECIAL[name]), kind)
    got = functions.call(f"{name}_", x, result=kind)
    np.testing.assert_array_equal(got, np.array(list(SPECIAL[name].values()), kind))


def test_special_powers(functions: Any) -> None:
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1e300, -1e300, INF, -INF, NAN]
    x, y = (array.ravel() for array in np.meshgrid(values, values))
    for name, exact in (("pow", np.power), ("atan2", np.arctan2), ("hypot", np.hypot), ("fmod", np.fmod)):
        got = functions.call(f"{name}_", x, y, result=np.float64)
        with np.errstate(all="ignore"):
            expected = exact(x, y)
        np.testing.assert_allclose(got, expected, rtol=4e-16, atol=0, err_msg=name)
        real = ~np.isnan(expected)
        assert np.array_equal(np.signbit(got[real]), np.signbit(expected[real])), name


def test_signs_of_zero(functions: Any) -> None:
    zero = np.array([0.0, -0.0])
    for name in (
        "sin",
        "tan",
        "atan",
        "asin",
        "sinh",
        "tanh",
        "asinh",
        "atanh",
        "expm1",
        "log1p",
        "cbrt",
        "erf",
    ):
        got = functions.call(f"{name}_", zero, result=np.float64)
        assert np.signbit(got).tolist() == [False, True], name
        assert got.tolist() == [0, 0], name
