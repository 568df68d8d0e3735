"""Conversions to 16-bit floats in host code, which clang leaves to functions that few libraries have."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from workbench.toolchain.hipcc import main

# The functions take and return arrays; their bodies are calls of the conversions.
SOURCE = """
using Small = TYPE;
#define NARROW(name, wide) \\
    extern "C" void name(const wide *x, Small *y, int n) { for (int i = 0; i < n; i++) y[i] = (Small)x[i]; }
NARROW(of_float, float)
NARROW(of_double, double)
NARROW(of_long_double, long double)
extern "C" void widen(const Small *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = (float)x[i]; }
"""
DIGITS, INFINITIES = {"__bf16": 7, "_Float16": 10}, {"__bf16": 0x7F80, "_Float16": 0x7C00}


def values(kind: str) -> np.ndarray:
    """The value of each pattern of bits from 0 to infinity, which is the next power of two here."""
    bits = np.arange(INFINITIES[kind] + 1)
    digits, bias = DIGITS[kind], (1 << 14 - DIGITS[kind]) - 1
    exponent, fraction = bits >> digits, bits & (1 << digits) - 1
    significand = fraction + np.where(exponent, 1 << digits, 0)
    result: np.ndarray = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - bias - digits)
    return result


def rounded(kind: str, x: np.ndarray) -> np.ndarray:
    """Patterns of bits of the values nearest to x; of two, the even one."""
    table = values(kind)
    middles = (table[:-1] + table[1:]) / 2
    size = np.abs(x)
    index = np.searchsorted(middles, size)
    is_tie = (index < len(middles)) & (middles[np.minimum(index, len(middles) - 1)] == size)
    index += is_tie & (index & 1 == 1)
    bits: np.ndarray = (index | np.where(np.signbit(x), 0x8000, 0)).astype(np.uint16)
    return bits


@pytest.mark.parametrize("kind", ["__bf16", "_Float16"])
def test_conversions_round_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "convert.cpp").write_text(SOURCE.replace("TYPE", kind))
    words = ["-x", "c++", "-O1", "-fPIC", "-shared", "convert.cpp", "-o", "convert.so"]
    assert main(words, lambda: "gfx950") == 0, capfd.readouterr().err
    library = ctypes.CDLL(str(tmp_path / "convert.so"))

    table = values(kind)
    middles = (table[:-1] + table[1:]) / 2
    bits = np.random.default_rng(seed).integers(0, 2**32, 4096, dtype=np.uint32)
    anything = bits.view(np.float32)
    anything = anything[~np.isnan(anything)].astype(np.float64)
    near = np.concatenate([table, middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf), [1e300]])
    x = np.concatenate([near, -near, anything, [np.inf, -np.inf, 1e-300]])
    for name, wide in (
        ("of_float", np.float32),
        ("of_double", np.float64),
        ("of_long_double", np.longdouble),
    ):
        with np.errstate(over="ignore"):
            exact = x.astype(wide)
        y = np.empty(len(exact), dtype=np.uint16)
        getattr(library, name)(ctypes.c_void_p(exact.ctypes.data), ctypes.c_void_p(y.ctypes.data), len(exact))
        np.testing.assert_array_equal(y, rounded(kind, exact.astype(np.float64)), err_msg=name)

    words_of_all = np.arange(2**16, dtype=np.uint16)
    widened = np.empty(2**16, dtype=np.float32)
    library.widen(ctypes.c_void_p(words_of_all.ctypes.data), ctypes.c_void_p(widened.ctypes.data), 2**16)
    size = words_of_all & 0x7FFF
    is_nan = size > INFINITIES[kind]
    np.testing.assert_array_equal(np.isnan(widened), is_nan)
    expected = np.concatenate([table[:-1], [np.inf]])[np.minimum(size, INFINITIES[kind])]
    np.testing.assert_array_equal(np.abs(widened)[~is_nan], expected.astype(np.float32)[~is_nan])
    np.testing.assert_array_equal(np.signbit(widened)[~is_nan], words_of_all[~is_nan] >= 0x8000)

    nan = np.array([np.nan], dtype=np.float64)
    quiet = np.zeros(1, dtype=np.uint16)
    library.of_double(ctypes.c_void_p(nan.ctypes.data), ctypes.c_void_p(quiet.ctypes.data), 1)
    assert quiet[0] & 0x7FFF > INFINITIES[kind]
