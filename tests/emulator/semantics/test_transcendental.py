"""Transcendental instructions within one unit in the last place of the true value, over the whole range. The
true values come from mpmath in 60 digits, or without it from the host's double precision.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from alu_reference import F16, F32, F64, ulp_distance

mpmath = pytest.importorskip("mpmath")

SEED = 5150


def true_value(name: str, x: Fraction) -> object:
    """The function of a finite argument, as a fraction or one of "nan", "inf", "-inf"."""
    with mpmath.workdps(60):
        value = mpmath.mpf(x.numerator) / x.denominator
        if name == "exp":
            if abs(x) > 40000:
                return "inf" if x > 0 else Fraction(0)
            result = mpmath.power(2, value)
        elif name == "log":
            if x <= 0:
                return "nan" if x < 0 else "-inf"
            result = mpmath.log(value, 2)
        elif name == "rsq":
            if x <= 0:
                return "nan" if x < 0 else "inf"
            result = 1 / mpmath.sqrt(value)
        elif name == "sqrt":
            if x < 0:
                return "nan"
            result = mpmath.sqrt(value)
        elif name == "rcp":
            return "inf" if x == 0 else 1 / x
        else:
            # Whole turns are subtracted exactly.
            turn = mpmath.mpf((x % 1).numerator) / (x % 1).denominator
            result = mpmath.sinpi(2 * turn) if name == "sin" else mpmath.cospi(2 * turn)
        if result == 0:
            return Fraction(0)
        sign, mantissa, exponent, _ = result._mpf_
        return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


SPECIAL = {  # results for +inf and -inf
    "exp": ("inf", 0.0),
    "log": ("inf", "nan"),
    "rsq": (0.0, "nan"),
    "sqrt": ("inf", "nan"),
    "rcp": (0.0, 0.0),
    "sin": ("nan", "nan"),
    "cos": ("nan", "nan"),
}


def expected(name: str, bits: int, format) -> int:
    if format.is_nan(bits):
        return format.nan
    if format.is_infinite(bits):
        value = SPECIAL[name][format.is_negative(bits)]
    else:
        value = true_value(name, format.exact(bits))
    if value == "nan":
        return format.nan
    if value in ("inf", "-inf"):
        negative = value == "-inf" or (name in ("rcp", "rsq") and format.is_negative(bits))
        return format.infinity | (format.sign if negative else 0)
    return format.round(Fraction(value))


def arguments(name: str, random: np.random.Generator, format, values, kind: str) -> np.ndarray:
    """64 patterns: special ones, and ones in the function's interesting range."""
    result = values(random, kind)
    ranges = {"exp": 160.0, "sin": 300.0, "cos": 300.0}
    near = random.uniform(-1, 1, 64) * ranges.get(name, 4.0)
    if name == "log":
        near = 1 + random.uniform(-1, 1, 64) * 2.0 ** random.integers(-20, 0, 64)
    if format is F16:
        near = np.clip(near, -60000, 60000)
    for lane in range(0, 64, 2):
        result[lane] = format.round(Fraction(float(near[lane])))
    return result


CASES = [(name, "f32") for name in SPECIAL] + [(name, "f16") for name in SPECIAL]
CASES += [("rcp", "f64"), ("rsq", "f64"), ("sqrt", "f64")]


def text(name: str, kind: str) -> str:
    return f"v_{name}_{kind}_e32 " + ("v[10:11], v[2:3]" if kind == "f64" else "v10, v2")


@pytest.fixture(scope="module")
def runners(machine):
    return dict(zip(CASES, machine.build([[text(*case)] for case in CASES]), strict=True))


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_within_one_ulp(name: str, kind: str, machine, runners, values) -> None:
    random = np.random.default_rng(SEED + len(name))
    for _ in range(12 if kind == "f32" else 4):
        check((name, kind), machine.State(), runners[name, kind], random, values)


def check(case, state, run, random, values) -> None:
    """Runs a function once on a new state and compares every lane."""
    name, kind = case
    format = {"f16": F16, "f32": F32, "f64": F64}[kind]
    lanes = state.v.shape[1]
    patterns = arguments(name, random, format, values, kind)[:lanes]
    if kind == "f64":
        state.set_wide(2, patterns)
    else:
        state.v[2] = patterns
    assert run(state) == -1
    results = state.wide(10) if kind == "f64" else state.v[10]
    for lane in range(lanes):
        bits = int(patterns[lane]) & ((1 << format.width) - 1)
        right, got = expected(name, bits, format), int(results[lane]) & ((1 << format.width) - 1)
        context = f"seed {SEED}: {name}({bits:#x}) = {got:#x}, wanted {right:#x}"
        if format.is_nan(right):
            assert format.is_nan(got), context
            continue
        assert not format.is_nan(got), context
        if format.is_zero(right) and format.is_zero(got):
            continue
        assert ulp_distance(got, right, format) <= 1, context


def test_whole_range_of_exp2(machine) -> None:
    """Every binade of arguments, against double precision."""
    run = machine.build([["v_exp_f32_e32 v10, v2"]])[0]
    x = np.concatenate(
        [np.linspace(-150, 128, 64 * 200, dtype=np.float32), np.float32(2.0) ** -np.arange(64)]
    )
    for chunk in x.reshape(-1, 64):
        state = machine.State()
        state.v[2] = chunk.astype(np.float32).view(np.uint32)
        run(state)
        true = np.exp2(chunk.astype(np.float64))
        with np.errstate(over="ignore"):
            nearest = true.astype(np.float32)
        distance = np.abs(state.v[10].astype(np.int64) - nearest.view(np.uint32).astype(np.int64))
        assert distance.max() <= 1


def test_large_argument_reduction(machine) -> None:
    """v_trig_preop_f64 returns the bits of 2/pi that the reduction of a large argument needs."""
    run = machine.build([["v_trig_preop_f64 v[10:11], v[2:3], v4"]])[0]
    random = np.random.default_rng(SEED)
    with mpmath.workdps(420):
        digits = int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** 1201))
    exponents = random.integers(1000, 2040, 64)
    segments = random.integers(0, 20, 64)
    state = machine.State()
    state.set_wide(2, (exponents.astype(np.uint64) << np.uint64(52)) | np.uint64(12345))
    state.v[4] = segments.astype(np.uint32)
    run(state)
    for lane, value in enumerate(state.wide(10)):
        exponent = int(exponents[lane])
        shift = int(segments[lane]) * 53 + max(exponent - 1077, 0)
        # Bits shift .. shift+52 of the fraction, the first of them worth 2**-(shift + 1).
        top = digits >> max(1201 - shift - 53, 0) if shift + 53 <= 1201 else digits << (shift + 53 - 1201)
        result = Fraction(top & ((1 << 53) - 1)) * Fraction(2) ** (
            -53 - shift + (128 if exponent >= 1968 else 0)
        )
        if shift <= 1120:
            assert value == F64.round(result), f"seed {SEED}, lane {lane}"


def test_division_sequence(machine) -> None:
    """The instructions of an IEEE division together give its correctly rounded result."""
    run = machine.build(
        [
            [
                "v_div_scale_f32 v20, s[8:9], v3, v3, v2",
                "v_div_scale_f32 v21, vcc, v2, v3, v2",
                "v_rcp_f32_e32 v22, v20",
                "v_fma_f32 v23, -v20, v22, 1.0",
                "v_fma_f32 v22, v23, v22, v22",
                "v_mul_f32_e32 v24, v21, v22",
                "v_fma_f32 v25, -v20, v24, v21",
                "v_fma_f32 v24, v25, v22, v24",
                "v_fma_f32 v25, -v20, v24, v21",
                "v_div_fmas_f32 v25, v25, v22, v24",
                "v_div_fixup_f32 v10, v25, v3, v2",
            ]
        ]
    )[0]
    random = np.random.default_rng(SEED)
    for _ in range(40):
        state = machine.State()
        # All exponents: quotients that overflow, are denormal, or lie near the bounds are frequent.
        exponents = random.integers(0, 256, (2, 64))
        mantissas = random.integers(0, 1 << 23, (2, 64))
        signs = random.integers(0, 2, (2, 64))
        patterns = (signs << 31 | exponents << 23 | mantissas).astype(np.uint32)
        state.v[2], state.v[3] = patterns
        run(state)
        with np.errstate(all="ignore"):
            expected = patterns[0].view(np.float32) / patterns[1].view(np.float32)
        got = state.v[10].view(np.float32)
        bad = (state.v[10] != expected.view(np.uint32)) & ~(np.isnan(got) & np.isnan(expected))
        assert not bad.any(), [
            f"{patterns[0][i]:#x} / {patterns[1][i]:#x} = {state.v[10][i]:#x}, wanted {expected[i]}"
            for i in np.nonzero(bad)[0]
        ]


def test_division_sequence_f64(machine) -> None:
    run = machine.build(
        [
            [
                "v_div_scale_f64 v[20:21], s[8:9], v[4:5], v[4:5], v[2:3]",
                "v_rcp_f64_e32 v[22:23], v[20:21]",
                "v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0",
                "v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]",
                "v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0",
                "v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]",
                "v_div_scale_f64 v[24:25], vcc, v[2:3], v[4:5], v[2:3]",
                "v_mul_f64 v[26:27], v[24:25], v[22:23]",
                "v_fma_f64 v[20:21], -v[20:21], v[26:27], v[24:25]",
                "v_div_fmas_f64 v[20:21], v[20:21], v[22:23], v[26:27]",
                "v_div_fixup_f64 v[10:11], v[20:21], v[4:5], v[2:3]",
            ]
        ]
    )[0]
    random = np.random.default_rng(SEED)
    for turn in range(40):
        state = machine.State()
        exponents = random.integers(0, 2048, (2, 64), dtype=np.uint64)
        if turn % 2:
            # Denormal quotients, where the result has fewer bits than the steps before it.
            exponents[0] = random.integers(0, 1024, 64, dtype=np.uint64)
            exponents[1] = exponents[0] + random.integers(1020, 1078, 64, dtype=np.uint64)
            exponents = np.minimum(exponents, 2046)
        patterns = exponents << np.uint64(52) | random.integers(0, 1 << 52, (2, 64), dtype=np.uint64)
        # Rounded twice, this quotient ends one unit too high.
        patterns[:, 0] = 0x3FFFD0F95607232F, 0x7FE3BECDFFF284C1
        state.set_wide(2, patterns[0])
        state.set_wide(4, patterns[1])
        run(state)
        with np.errstate(all="ignore"):
            expected = (patterns[0].view(np.float64) / patterns[1].view(np.float64)).view(np.uint64)
        got = state.wide(10)
        for lane in range(64):
            if F64.is_nan(int(expected[lane])):
                assert F64.is_nan(int(got[lane]))
            else:
                assert got[lane] == expected[lane], f"{patterns[0][lane]:#x} / {patterns[1][lane]:#x}"


def test_the_last_step_of_a_division_rounds_once(machine) -> None:
    """v_div_fmas moves a small quotient down: every sum that lies on or beside half a unit of the result."""
    run = machine.build([["v_div_fmas_f64 v[10:11], v[2:3], v[4:5], v[6:7]"]])[0]
    random = np.random.default_rng(SEED)
    for _ in range(20):
        state = machine.State()
        state.s[106], state.s[107] = 0xFFFFFFFF, 0xFFFFFFFF
        # Quotients of k + 1/2 units of 2**-1074, moved up by 2**128, and additions that are far smaller.
        units = random.integers(1, 1 << 51, 64) * 2 + 1
        c = np.ldexp(units.astype(np.float64), -1075 + 128)
        a = np.ldexp(random.integers(-(1 << 52), 1 << 52, 64).astype(np.float64), -560)
        b = np.ldexp(random.integers(1, 1 << 52, 64).astype(np.float64), -560 - random.integers(0, 60, 64))
        a[::5] = 0
        for row, values in ((2, a), (4, b), (6, c)):
            state.set_wide(row, values.view(np.uint64))
        run(state)
        got = state.wide(10)
        for lane in range(64):
            exact = Fraction(a[lane]) * Fraction(b[lane]) + Fraction(c[lane])
            assert got[lane] == F64.round(exact / 2**128), f"seed {SEED}: {a[lane]} {b[lane]} {c[lane]}"
