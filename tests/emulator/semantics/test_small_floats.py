"""fp8, bf8, fp6, bf6 and fp4 conversions against PyTorch's types and against the formats' definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from alu_reference import BF16, F16, F32, convert

torch = pytest.importorskip("torch")

SEED = 808

TYPES = {
    ("gfx950", "fp8"): "float8_e4m3fn",
    ("gfx950", "bf8"): "float8_e5m2",
    ("gfx942", "fp8"): "float8_e4m3fnuz",
    ("gfx942", "bf8"): "float8_e5m2fnuz",
}


def from_torch(codes: np.ndarray, dtype) -> np.ndarray:
    return torch.from_numpy(codes.astype(np.uint8)).view(dtype).to(torch.float32).numpy()


def to_torch(values: np.ndarray, dtype) -> np.ndarray:
    return torch.from_numpy(values).to(dtype).view(torch.uint8).numpy()


@pytest.mark.parametrize(("target", "name"), TYPES)
def test_every_code(machine, target: str, name: str) -> None:
    dtype = getattr(torch, TYPES[target, name])
    byte, pair, word = machine.build(
        [
            [f"v_cvt_f32_{name}_sdwa v10, v2 src0_sel:BYTE_2"],
            [f"v_cvt_pk_f32_{name}_e32 v[10:11], v2"],
            [f"v_cvt_pk_f32_{name}_sdwa v[10:11], v2 src0_sel:WORD_1"],
        ],
        target,
    )
    for first in range(0, 256, 64):
        codes = np.arange(first, first + 64, dtype=np.uint32)
        other = (codes * 7 + 3) & 255
        expected, wanted_other = from_torch(codes, dtype), from_torch(other, dtype)
        state = machine.State()
        state.v[2] = codes << 16 | 0x55
        byte(state)
        np.testing.assert_array_equal(state.v[10].view(np.float32), expected)
        for run, shift in ((pair, 0), (word, 16)):
            state.v[2] = (other << 8 | codes) << shift
            run(state)
            np.testing.assert_array_equal(state.v[10].view(np.float32), expected)
            np.testing.assert_array_equal(state.v[11].view(np.float32), wanted_other)
            zero = expected == 0
            assert (np.signbit(state.v[10].view(np.float32)) == np.signbit(expected))[zero].all()


def floats(random: np.random.Generator, values) -> np.ndarray:
    """Numbers in and around the range of 8-bit formats, ties between neighbours, specials."""
    result = values(random, "f32").view(np.float32).copy()
    result[:40] = (random.normal(size=40) * 2.0 ** random.integers(-18, 18, 40)).astype(np.float32)
    result[40:50] = random.integers(-64, 64, 10) / 32 * 2.0 ** random.integers(-12, 12, 10)
    return result


@pytest.mark.parametrize(("target", "name"), TYPES)
def test_lanes_moved_before_a_conversion(machine, target: str, name: str) -> None:
    """DPP forms take another lane's byte, and do not change lanes without a source lane."""
    swapped, shifted, spread = machine.build(
        [
            [f"v_cvt_f32_{name}_dpp v10, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"],
            [f"v_cvt_f32_{name}_dpp v10, v2 row_shr:1 row_mask:0xf bank_mask:0xf"],
            [f"v_cvt_pk_f32_{name}_dpp v[10:11], v2 row_newbcast:3 row_mask:0x7 bank_mask:0xf"],
        ],
        target,
    )
    dtype = getattr(torch, TYPES[target, name])
    lanes = np.arange(64)
    for first in range(0, 256, 64):
        state = machine.State()
        bytes_ = (first + lanes).astype(np.uint32)
        state.v[2], state.v[10] = bytes_ | (bytes_ ^ 0x55) << 8, 7
        swapped(state)
        np.testing.assert_array_equal(state.v[10].view(np.float32), from_torch(bytes_[lanes ^ 1], dtype))
        state.v[10] = 7
        shifted(state)
        moved = lanes % 16 != 0
        expected = from_torch(bytes_[lanes - 1], dtype)
        np.testing.assert_array_equal(state.v[10].view(np.float32)[moved], expected[moved])
        assert (state.v[10][~moved] == 7).all()
        state.v[10], state.v[11] = 7, 8
        spread(state)
        for row, source in ((10, bytes_), (11, bytes_ ^ 0x55)):
            expected = from_torch(source[lanes // 16 * 16 + 3], dtype)
            np.testing.assert_array_equal(state.v[row].view(np.float32)[:48], expected[:48])
            assert (state.v[row][48:] == row - 3).all()


@pytest.mark.parametrize(("target", "name"), TYPES)
def test_rounding_to_8_bits(machine, values, target: str, name: str) -> None:
    dtype = getattr(torch, TYPES[target, name])
    low, high = machine.build(
        [[f"v_cvt_pk_{name}_f32 v10, v2, v4"], [f"v_cvt_pk_{name}_f32 v10, v2, v4 op_sel:[0,0,1]"]], target
    )
    random = np.random.default_rng(SEED)
    for _ in range(8):
        a, b = floats(random, values), floats(random, values)
        state = machine.State()
        state.v[2], state.v[4], state.v[10] = a.view(np.uint32), b.view(np.uint32), 0x12345678
        expected = to_torch(a, dtype).astype(np.uint32) | to_torch(b, dtype).astype(np.uint32) << 8
        # NaNs differ in their bits, and PyTorch saturates where the hardware overflows to NaN or infinity.
        compare = ~(np.isnan(a) | np.isnan(b))
        if TYPES[target, name] == "float8_e4m3fn":
            compare &= (np.abs(a) <= 464) & (np.abs(b) <= 464)
        low(state)
        assert (state.v[10] == (0x12340000 | expected))[compare].all(), f"seed {SEED}"
        state.v[10] = 0x12345678
        high(state)
        assert (state.v[10] == (0x5678 | expected << 16))[compare].all(), f"seed {SEED}"
        decoded = from_torch(state.v[10] >> 16 & 255, dtype)
        assert (np.isnan(decoded) == (np.isnan(from_torch(expected & 255, dtype)) | np.isnan(a)))[
            compare
        ].all()


@pytest.mark.parametrize(("target", "name"), TYPES)
def test_stochastic_rounding(machine, target: str, name: str) -> None:
    """The two neighbours occur in proportion to the distances, in the byte that op_sel names."""
    dtype = getattr(torch, TYPES[target, name])
    runs = machine.build(
        [[f"v_cvt_sr_{name}_f32 v10, v2, v4 op_sel:[0,0,{byte & 1},{byte >> 1}]"] for byte in range(4)],
        target,
    )
    random = np.random.default_rng(SEED)
    codes = np.arange(256, dtype=np.uint32)
    numbers = from_torch(codes, dtype)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    position = random.integers(0, len(numbers) - 1)
    below, above = numbers[position], numbers[position + 1]
    fraction = 0.3
    x = np.float32(below + (above - below) * fraction)
    results = []
    for round_ in range(64):
        state = machine.State()
        state.v[2] = np.full(64, x).view(np.uint32)
        state.v[4] = random.integers(0, 1 << 32, 64, dtype=np.uint64)
        state.v[10] = 0xA5A5A5A5
        byte = round_ % 4
        runs[byte](state)
        others = ~np.uint32(255 << 8 * byte)
        assert ((state.v[10] & others) == (np.uint32(0xA5A5A5A5) & others)).all()
        results.append(from_torch(state.v[10] >> 8 * byte & 255, dtype))
    values = np.concatenate(results)
    assert set(np.unique(values)) == {below, above}
    share = (values == above).mean() if x > 0 else (values == below).mean()
    expected = fraction if x > 0 else 1 - fraction
    assert abs(share - expected) < 0.05, f"seed {SEED}"


def test_stochastic_rounding_to_16_bits(machine, values) -> None:
    """Without random bits the magnitude is cut off; with all of them any excess rounds up."""
    random = np.random.default_rng(SEED)
    texts = [f"v_cvt_sr_{name}_f32 v10, v2, v4" for name in ("f16", "bf16")]
    for run, format in zip(machine.build([[t] for t in texts]), (F16, BF16), strict=True):
        state = machine.State()
        patterns = values(random, "f32")
        for bits in (0, 0xFFFFFFFF):
            state.v[2], state.v[4], state.v[10] = patterns, bits, 0xABCD0000
            run(state)
            assert (state.v[10] >> 16 == 0xABCD).all()
            for lane in range(64):
                x, got = int(patterns[lane]), int(state.v[10][lane]) & 0xFFFF
                if F32.is_nan(x):
                    assert format.is_nan(got)
                    continue
                down = convert(x, F32, format, towards_zero=True)
                if F32.is_infinite(x):
                    assert got == down
                    continue
                if abs(F32.exact(x)) >= 65536 and format is F16:
                    assert got == down + 1, hex(x)
                    continue
                exact = format.exact(down) == F32.exact(x)
                if bits == 0 or exact:
                    assert got == down, hex(x)
                else:
                    assert got in (down, down + 1), hex(x)


# Scaled conversions

# Exponent bits, mantissa bits, bias (OCP Microscaling formats).
SMALL = {"fp8": (4, 3, 7), "bf8": (5, 2, 15), "fp6": (2, 3, 1), "bf6": (3, 2, 3), "fp4": (2, 1, 1)}
LARGE = {"f32": F32, "f16": F16, "bf16": BF16}


def small_value(code: int, name: str) -> Fraction | None:
    """The number that a code stands for; None for infinities and NaN."""
    exponent_bits, mantissa_bits, bias = SMALL[name]
    sign = code >> (exponent_bits + mantissa_bits)
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    if name == "bf8" and exponent == 31:
        return None
    if name == "fp8" and code & 127 == 127:
        return None
    if exponent:
        mantissa |= 1 << mantissa_bits
    value = Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - bias - mantissa_bits)
    return -value if sign else value


def nearest(value: Fraction, negative: bool, name: str) -> int | None:
    """Code nearest to a number, ties to the even code; None where it is too large for fp8 and bf8."""
    width = 1 + sum(SMALL[name][:2])
    sign = 1 << width - 1 if negative else 0
    codes = [(code, small_value(code, name)) for code in range(1 << width - 1)]
    codes = [(code, number) for code, number in codes if number is not None]
    top, largest = codes[-1]
    value = abs(value)
    if value > largest and name in ("fp8", "bf8"):
        half = (largest - codes[-2][1]) / 2
        # The number after the largest would be even.
        if value >= largest + half:
            return None
    code = min(codes, key=lambda item: (abs(item[1] - value), item[0] & 1))[0]
    return sign | min(code, top)


def bits_at(rows: np.ndarray, lane: int, first: int, width: int) -> int:
    whole = sum(int(rows[n][lane]) << 32 * n for n in range(len(rows)))
    return whole >> first & (1 << width) - 1


def scaled_programs(narrow: bool):
    result = []
    for small in SMALL:
        for large in LARGE:
            if small in ("fp8", "bf8", "fp4"):
                count, size = 2, {"f32": 2, "f16": 1, "bf16": 1}[large]
                if narrow:
                    source = "v4, v5" if large == "f32" else "v4"
                    text = f"v_cvt_scalef32_pk_{small}_{large} v40, {source}, v2"
                else:
                    text = f"v_cvt_scalef32_pk_{large}_{small} {'v[40:41]' if size == 2 else 'v40'}, v4, v2"
            else:
                count, size = 32, {"f32": 32, "f16": 16, "bf16": 16}[large]
                if narrow and large == "f32":
                    text = f"v_cvt_scalef32_2xpk16_{small}_f32 v[40:45], v[4:19], v[20:35], v2"
                elif narrow:
                    text = f"v_cvt_scalef32_pk32_{small}_{large} v[40:45], v[4:{3 + size}], v2"
                else:
                    first = 40 if size < 32 else 12
                    text = f"v_cvt_scalef32_pk32_{large}_{small} v[{first}:{first + size - 1}], v[4:9], v2"
            result.append((text, small, large, count))
    return result


def test_scaled_to_small(machine, values) -> None:
    random = np.random.default_rng(SEED)
    programs = scaled_programs(True)
    for (text, small, large, count), run in zip(
        programs, machine.build([[text] for text, *_ in programs], acc_offset=64), strict=True
    ):
        width = 1 + sum(SMALL[small][:2])
        format = LARGE[large]
        state = machine.State()
        scales = random.integers(-3, 4, 64)
        state.v[2] = (scales + 127).astype(np.uint32) << 23 | 12345
        for row in range(4, 36):
            numbers = (random.normal(size=(2, 64)) * 2.0 ** random.integers(-6, 6, (2, 64))).astype(
                np.float32
            )
            patterns = numbers.view(np.uint32)
            state.v[row] = patterns[0]
            if large != "f32":
                low, high = (np.array([convert(int(x), F32, format) for x in p], np.uint32) for p in patterns)
                state.v[row] = low | high << 16
        state.v[40:46] = 0x77777777
        run(state)
        interleaved = "2xpk16" in text
        for lane in range(0, 64, 5):
            for n in range(count):
                if large == "f32":
                    row = (20 if interleaved and n & 1 else 4) + (n // 2 if interleaved else n)
                    x = int(state.v[row][lane])
                else:
                    x = int(state.v[4 + n // 2][lane]) >> 16 * (n & 1) & 0xFFFF
                value = format.exact(x) / Fraction(2) ** int(scales[lane])
                expected = nearest(value, format.is_negative(x), small)
                got = bits_at(state.v[40:46], lane, n * width, width)
                if expected is None:
                    assert small_value(got, small) is None, text
                else:
                    assert got == expected, f"seed {SEED}: {text}, lane {lane}, number {n}: {float(value)}"
        if count == 2:
            assert (state.v[40] >> 2 * width == 0x77777777 >> 2 * width).all()


def test_scaled_from_small(machine) -> None:
    random = np.random.default_rng(SEED)
    programs = scaled_programs(False)
    for (text, small, large, count), run in zip(
        programs, machine.build([[text] for text, *_ in programs], acc_offset=64), strict=True
    ):
        width = 1 + sum(SMALL[small][:2])
        format = LARGE[large]
        state = machine.State()
        scales = random.integers(-3, 4, 64)
        state.v[2] = (scales + 127).astype(np.uint32) << 23
        state.v[4:10] = random.integers(0, 1 << 32, (6, 64), dtype=np.uint64)
        before = state.v.copy()
        run(state)
        first = int(text.split("v[")[1].split(":")[0]) if text.split()[1].startswith("v[") else 40
        for lane in range(0, 64, 5):
            for n in range(count):
                value = small_value(bits_at(before[4:10], lane, n * width, width), small)
                if large == "f32":
                    got = int(state.v[first + n][lane])
                else:
                    got = int(state.v[first + n // 2][lane]) >> 16 * (n & 1) & 0xFFFF
                if value is None:
                    assert format.is_nan(got) or format.is_infinite(got), text
                    continue
                code = bits_at(before[4:10], lane, n * width, width)
                expected = format.round(value * Fraction(2) ** int(scales[lane]), bool(code >> width - 1))
                assert got == expected, f"seed {SEED}: {text}, lane {lane}, number {n}"


def test_scaled_selectors(machine) -> None:
    """Bytes and words of sources and destinations by op_sel; single and stochastic forms."""
    texts = [
        "v_cvt_scalef32_f32_fp8 v40, v4, v2 op_sel:[1,0,0]",
        "v_cvt_scalef32_pk_f32_fp4 v[40:41], v4, v2 op_sel:[0,1,0]",
        "v_cvt_scalef32_pk_fp4_f32 v40, v4, v5, v2 op_sel:[0,0,1,1]",
        "v_cvt_scalef32_sr_fp8_f32 v40, v4, v5, v2 op_sel:[0,0,1,0]",
        "v_cvt_scalef32_pk_fp8_f16 v40, v4, v2 op_sel:[0,0,1]",
        "v_cvt_scalef32_f16_fp8 v40, v4, v2 op_sel:[0,0,1]",
    ]
    first, two, three, four, five, six = machine.build([[text] for text in texts], acc_offset=64)
    state = machine.State()
    state.v[2] = np.full(64, 2.0, np.float32).view(np.uint32)
    state.v[4] = 0x40384438
    first(state)
    assert state.v[40].view(np.float32)[0] == 2 * 3.0
    state.v[4] = 0x00210000
    two(state)
    assert [state.v[row].view(np.float32)[0] for row in (40, 41)] == [1.0, 2.0]
    state.v[4], state.v[5] = (np.full(64, x, np.float32).view(np.uint32) for x in (1.0, 4.0))
    state.v[40] = 0
    three(state)
    assert state.v[40][0] == 0x41000000
    state.v[5], state.v[40] = 0, 0
    four(state)
    assert state.v[40][0] == 0x00003000
    state.v[4], state.v[40] = 0x44004000, 1
    five(state)
    assert state.v[40][0] == 0x40380001
    state.v[4], state.v[40] = 0x38, 0x12345678
    six(state)
    assert state.v[40][0] == 0x40005678


def test_scaled_stochastic_rounding(machine) -> None:
    """Random bits are added below the last bit that is kept; each number's are v_prng_b32 of those before."""
    random = np.random.default_rng(SEED)
    run = machine.build([["v_cvt_scalef32_sr_pk32_fp6_f32 v[40:45], v[4:35], v36, v2"]], acc_offset=64)[0]
    state = machine.State()
    state.v[2] = np.float32(1).view(np.uint32)
    fractions = random.integers(0, 7 << 20, (32, 64), dtype=np.uint32)
    state.v[4:36] = np.float32(1).view(np.uint32) | fractions
    state.v[36] = seeds = random.integers(0, 1 << 32, 64, dtype=np.uint64).astype(np.uint32)
    run(state)
    for n in range(32):
        rounded = fractions[n] + (seeds >> 12) >> 20
        got = [bits_at(state.v[40:46], lane, 6 * n, 6) for lane in range(64)]
        assert got == [8 + int(k) for k in rounded], f"seed {SEED}: number {n}"
        seeds = seeds << 1 ^ np.where(seeds >> 31, np.uint32(197), np.uint32(0))
