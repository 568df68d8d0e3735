"""The headers' inverse error functions and Bessel functions against exact values from mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench.toolchain import CompileOptions, compile_device

mpmath = pytest.importorskip("mpmath")

UNARY = (
    *("erfinv", "erfcinv", "erfcx", "normcdf", "normcdfinv"),
    *("j0", "j1", "y0", "y1", "cyl_bessel_i0", "cyl_bessel_i1"),
)
SOURCE = "#include <hip/hip_runtime.h>\n" + "".join(
    f'extern "C" void {name}_(const double *x, double *y, long n{", int order" * (name in ("jn", "yn"))}) '
    f"{{ for (long i = 0; i < n; ++i) "
    f"y[i] = __hip_math::{name}({'order, ' * (name in ('jn', 'yn'))}x[i]); }}\n"
    for name in (*UNARY, "jn", "yn")
)


@pytest.fixture(scope="module")
def functions(host_library: Callable[[str], Any]) -> Any:
    return host_library(SOURCE)


def ulps(got: float, exact: Any) -> float:
    return float(abs(mpmath.mpf(got) - exact)) / math.ulp(float(exact))


def test_inverse_error_functions(functions: Any, generator: np.random.Generator) -> None:
    mpmath.mp.dps = 40
    x = np.concatenate([generator.uniform(-1, 1, 60), 2.0 ** generator.uniform(-900, -1, 20)])
    for value, got in zip(x.tolist(), functions.call("erfinv_", x, result=np.float64), strict=True):
        assert ulps(got, mpmath.erfinv(mpmath.mpf(value))) <= 4
    z = np.concatenate([generator.uniform(0, 2, 60), 10.0 ** generator.uniform(-300, -1, 40)])
    for value, got in zip(z.tolist(), functions.call("erfcinv_", z, result=np.float64), strict=True):
        # y is right where erfc of the doubles around it encloses z.
        y, step = mpmath.mpf(float(got)), 6 * math.ulp(got)
        assert mpmath.erfc(y + step) <= value <= mpmath.erfc(y - step)
    p = np.array([0.5, 0.0, 1.0, -0.1, 0.975])
    quantiles = functions.call("normcdfinv_", p, result=np.float64)
    np.testing.assert_allclose(quantiles, [0, -np.inf, np.inf, np.nan, 1.959963984540054], rtol=1e-15)


def check(functions: Any, name: str, x: np.ndarray, exact: Callable[[Any], Any], limit: float) -> None:
    for value, got in zip(x.tolist(), functions.call(f"{name}_", x, result=np.float64).tolist(), strict=True):
        expected = exact(mpmath.mpf(value))
        assert got == expected or ulps(got, expected) <= limit, (name, value, got, expected)


def test_scaled_error_functions(functions: Any, generator: np.random.Generator) -> None:
    mpmath.mp.dps = 60
    x = np.concatenate([generator.uniform(*ends, 60) for ends in ((-26, 1), (1, 28), (28, 40), (1e3, 1e150))])
    check(functions, "erfcx", x, lambda v: mpmath.exp(v * v) * mpmath.erfc(v), 8)
    x = np.concatenate([generator.uniform(*ends, 60) for ends in ((-37, -1.5), (-1.5, 1.5), (1.5, 9))])
    check(functions, "normcdf", x, mpmath.ncdf, 8)
    edges = np.array([np.inf, -np.inf, np.nan])
    for name, expected in (("erfcx", [0, np.inf, np.nan]), ("normcdf", [1, 0, np.nan])):
        np.testing.assert_array_equal(functions.call(f"{name}_", edges, result=np.float64), expected)


@pytest.mark.parametrize("order", [0, 1])
def test_modified_bessel_functions(functions: Any, generator: np.random.Generator, order: int) -> None:
    mpmath.mp.dps = 40
    name = f"cyl_bessel_i{order}"
    for ends, limit in (((-2, 2), 1), ((2, 20), 1), ((-20, -2), 1), ((20, 45), 6), ((40, 713), 6)):
        x = generator.uniform(*ends, 50)
        check(functions, name, x, lambda v: mpmath.besseli(order, v), limit)
    edges = functions.call(f"{name}_", np.array([0.0, np.inf, -np.inf, np.nan, 720]), result=np.float64)
    at_infinity = -np.inf if order else np.inf
    np.testing.assert_array_equal(edges, [1 - order, np.inf, at_infinity, np.nan, np.inf])


def bessel_arguments(generator: np.random.Generator) -> np.ndarray:
    ranges = [(1e-6, 2), (2, 25), (24.9, 25.1), (25, 1e4)]
    return np.concatenate([generator.uniform(*ends, 25) for ends in ranges])


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1"])
def test_bessel_functions(functions: Any, generator: np.random.Generator, name: str) -> None:
    mpmath.mp.dps = 40
    x = bessel_arguments(generator)
    exact = mpmath.besselj if name[0] == "j" else mpmath.bessely
    expected = np.array([float(exact(int(name[1]), mpmath.mpf(value))) for value in x.tolist()])
    np.testing.assert_allclose(
        functions.call(f"{name}_", x, result=np.float64), expected, rtol=4e-15, atol=2e-15
    )
    edges = functions.call(f"{name}_", np.array([0, np.inf, np.nan, -2.0]), result=np.float64)
    at_minus_2 = {"j0": 0.22389077914123567, "j1": -0.5767248077568734}.get(name, np.nan)
    at_zero = {"j0": 1.0, "j1": 0.0}.get(name, -np.inf)
    np.testing.assert_allclose(edges, [at_zero, 0, np.nan, at_minus_2], rtol=1e-14)


@pytest.mark.parametrize("order", [0, 1, 2, 7, 30, -3])
def test_bessel_functions_of_any_order(functions: Any, generator: np.random.Generator, order: int) -> None:
    mpmath.mp.dps = 40
    x = bessel_arguments(generator)
    j = functions.call("jn_", x, result=np.float64, extra=(order,))
    y = functions.call("yn_", x, result=np.float64, extra=(order,))
    for value, first, second in zip(x.tolist(), j.tolist(), y.tolist(), strict=True):
        assert abs(first - mpmath.besselj(order, value)) <= 1e-13
        expected = mpmath.bessely(order, value)
        assert second == expected or abs(second - expected) <= 1e-12 * max(1, abs(expected))


def test_the_device_has_them_by_their_names() -> None:
    calls = "".join(f"x[n++] = {name}(x[0]); f[n] = {name}f(f[0]);\n" for name in UNARY)
    calls += "x[n++] = powi(x[0], 3); f[n] = powif(f[0], 3);\n"
    calls += "x[n++] = jn(2, x[0]) + yn(2, x[0]); f[n] = jnf(2, f[0]) + ynf(2, f[0]);"
    source = (
        f"#include <hip/hip_runtime.h>\n__global__ void k(double *x, float *f) {{ int n = 1;\n{calls}\n}}\n"
    )
    assert compile_device(source, CompileOptions("gfx942")).diagnostics == ()
