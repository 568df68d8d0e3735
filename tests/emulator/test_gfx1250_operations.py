"""Operations of gfx1250 alone, in assembly, against tables of the formats, exact fractions and NumPy.

Each kernel is one wave of 32 lanes.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench import errors
from workbench.kernel import Module

torch = pytest.importorskip("torch")

LANES = 32
ARCH = "gfx1250"

# Bits, bits of the mantissa, bias.
FORMATS = {"fp8": (8, 3, 7), "bf8": (8, 2, 15), "fp6": (6, 3, 1), "bf6": (6, 2, 3), "fp4": (4, 1, 1)}
LARGE = {"f32": (32, 23), "f16": (16, 10), "bf16": (16, 7)}
PAIRS = list(itertools.product(FORMATS, LARGE))
# Values of scale_sel, and the bytes of the lower and the upper lanes, and the first lane with a scale.
SELECTS = {8: {0: (0, 0, 0), 6: (3, 3, 0), 10: (1, 1, 16)}, 4: {0: (0, 1, 0), 1: (0, 2, 0), 6: (2, 3, 16)}}


def selects(bits: int) -> dict[int, tuple[int, int, int]]:
    return SELECTS[8 if bits == 8 else 4]


@cache
def table(name: str) -> tuple[float, ...]:
    """The number of every pattern."""
    if name == "e5m3":
        bits, mantissa, bias = 9, 3, 15
    else:
        bits, mantissa, bias = FORMATS[name]
    numbers = []
    for code in range(1 << bits):
        magnitude = code & (1 << bits - 1) - 1
        exponent, fraction = magnitude >> mantissa, magnitude & (1 << mantissa) - 1
        value = (fraction + (exponent > 0) * (1 << mantissa)) * 2.0 ** (max(exponent, 1) - bias - mantissa)
        if name in ("fp8", "e5m3") and magnitude == (1 << bits - 1) - 1:
            value = np.nan
        if name == "bf8" and exponent == 31:
            value = np.nan if fraction else np.inf
        numbers.append(-value if code >> bits - 1 else value)
    return tuple(numbers)


@cache
def numbers(name: str) -> dict[Fraction, int]:
    """Patterns of magnitudes of a format."""
    codes = 256 if name == "e5m3" else 1 << FORMATS[name][0] - 1
    return {Fraction(value): code for code, value in enumerate(table(name)[:codes]) if np.isfinite(value)}


def nearest(name: str, x: Fraction) -> int:
    """The pattern of the nearest number, of two that are as near the even one."""
    magnitudes = numbers(name)
    value = min(magnitudes, key=lambda y: (abs(y - abs(x)), magnitudes[y] & 1))
    return magnitudes[value] | (sign_bit(name) if x < 0 else 0)


def sign_bit(name: str) -> int:
    return 0 if name == "e5m3" else 1 << FORMATS[name][0] - 1


def stochastic(name: str, x: Fraction, random: int, dropped: int) -> int:
    """The pattern below, or the next one if the `dropped` bits of x and of the random number carry."""
    magnitudes = sorted(numbers(name))
    below = max(y for y in magnitudes if y <= abs(x))
    above = magnitudes[magnitudes.index(below) + 1]
    rest = int((abs(x) - below) / (above - below) * (1 << dropped))
    value = above if rest + (random >> 32 - dropped) >= 1 << dropped else below
    return numbers(name)[value] | (sign_bit(name) if x < 0 else 0)


def advanced(random: int) -> int:
    """The next number of the generator that v_prng_b32 is."""
    return (random << 1 & 0xFFFFFFFF) ^ (197 if random >> 31 else 0)


def conversion_kernel(small: str, large: str) -> str:
    bits = FORMATS[small][0]
    count = 16 if bits == 6 else 8
    packed, wide = count * bits // 32, count * LARGE[large][0] // 32
    small_type = f"int R({packed})" if packed > 1 else "int"
    select = "".join(
        f"""
    asm volatile("v_cvt_scale_pk{count}_{large}_{small} %0, %1, %2 scale_sel:{value}"
                 : "=&v"(widened) : "v"(packed), "v"(bytes[i]));
    for (int k = 0; k < {wide}; k++) out[({number} * 32 + i) * 16 + k] = widened[k];"""
        for number, value in enumerate(selects(bits))
    )
    index = "[k]" if packed > 1 else ""
    return f"""
extern "C" __global__ void {small}_{large}(const int *x, const int *p, const int *scale, const int *bytes,
                                           const int *random, int *out) {{
    const int i = threadIdx.x;
    int R({wide}) given, widened;
    {small_type} packed, narrow, drawn;
    for (int k = 0; k < {wide}; k++) given[k] = x[16 * i + k];
    for (int k = 0; k < {packed}; k++) packed{index} = p[4 * i + k];{select}
    asm volatile("v_cvt_scalef32_pk{count}_{small}_{large} %0, %1, %2"
                 : "=&v"(narrow) : "v"(given), "v"(scale[i]));
    asm volatile("v_cvt_scalef32_sr_pk{count}_{small}_{large} %0, %1, %2, %3"
                 : "=&v"(drawn) : "v"(given), "v"(random[i]), "v"(scale[i]));
    for (int k = 0; k < {packed}; k++) {{
        out[(3 * 32 + i) * 16 + k] = narrow{index};
        out[(4 * 32 + i) * 16 + k] = drawn{index};
    }}
}}
"""


SOURCE = r"""
#include <hip/hip_runtime.h>
#define R(n) __attribute__((ext_vector_type(n)))
#define KERNEL(name) extern "C" __global__ void name(const int *x, const int *y, const int *z, int *out)
#define ONE(row, text) { int r = 0x55555555; \
    asm volatile(text : "+v"(r) : "v"(a), "v"(b), "v"(c)); out[32 * (row) + i] = r; }
#define SETUP const int i = threadIdx.x, a = x[i], b = y[i], c = z[i];
KERNEL(small) {
    SETUP
    ONE(0, "v_cvt_f16_fp8 %0, %1 byte_sel:1") ONE(1, "v_cvt_f16_fp8 %0, %1")
    ONE(2, "v_cvt_f16_bf8 %0, %1 byte_sel:2") ONE(3, "v_cvt_pk_f16_fp8 %0, %1 op_sel:[1,0]")
    ONE(4, "v_cvt_pk_f16_bf8 %0, %1")
    ONE(5, "v_cvt_pk_fp8_f16 %0, %2") ONE(6, "v_cvt_pk_bf8_f16 %0, -|%2| op_sel:[0,1]")
    ONE(7, "v_cvt_sr_fp8_f16 %0, %2, %3 byte_sel:1")
    ONE(8, "v_cvt_sr_bf8_f16 %0, %2, %3 op_sel:[1,0,0] byte_sel:2")
}
KERNEL(unsigned_floats) {
    SETUP
    ONE(0, "v_cvt_f32_fp8 %0, %1 byte_sel:1 clamp") ONE(1, "v_cvt_pk_fp8_f32 %0, %2, -%2 clamp")
    ONE(2, "v_cvt_sr_fp8_f32 %0, %2, %3 byte_sel:0 clamp")
}
KERNEL(integers) {
    SETUP
    ONE(0, "v_sat_pk4_i4_i8 %0, %1") ONE(1, "v_sat_pk4_u4_u8 %0, %1")
    ONE(2, "v_cvt_sr_pk_bf16_f32 %0, %1, %2, %3")
    ONE(3, "v_pk_min3_num_f16 %0, %1, %2, %3") ONE(4, "v_pk_max3_num_f16 %0, %1, %2, %3")
}
KERNEL(tables) {
    const int i = threadIdx.x;
    int2 pair = {x[i], y[i]}, other = {z[i], x[31 - i]}, indices = {y[31 - i], z[31 - i]};
    int R(2) four; int R(3) six; int R(4) eight;
    asm volatile("v_perm_pk16_b4_u4 %0, %1, %2, %3" : "=&v"(four) : "v"(pair.x), "v"(other.x), "v"(indices));
    asm volatile("v_perm_pk16_b6_u4 %0, %1, %2, %3" : "=&v"(six) : "v"(pair.x), "v"(other), "v"(indices));
    asm volatile("v_perm_pk16_b8_u4 %0, %1, %2, %3" : "=&v"(eight) : "v"(pair), "v"(other), "v"(indices));
    for (int k = 0; k < 4; k++) {
        out[(i * 3 + 0) * 4 + k] = k < 2 ? four[k] : 0;
        out[(i * 3 + 1) * 4 + k] = k < 3 ? six[k] : 0;
        out[(i * 3 + 2) * 4 + k] = eight[k];
    }
}
#define MOVE(row, text, by, width) { int r = -1; \
    asm volatile(text : "+v"(r) : "v"(a), "s"(by), "s"(width)); out[32 * (row) + i] = r; }
KERNEL(moves) {
    const int i = threadIdx.x, a = x[i];
    for (int n = 0; n < 5; n++) {
        const int by = __builtin_amdgcn_readfirstlane(y[n]), width = __builtin_amdgcn_readfirstlane(z[n]);
        MOVE(5 * n + 0, "v_permlane_bcast_b32 %0, %1, %2, %3", by, width)
        MOVE(5 * n + 1, "v_permlane_up_b32 %0, %1, %2, %3", by, width)
        MOVE(5 * n + 2, "v_permlane_down_b32 %0, %1, %2, %3", by, width)
        MOVE(5 * n + 3, "v_permlane_xor_b32 %0, %1, %2, %3", by, width)
        MOVE(5 * n + 4, "v_permlane_idx_gen_b32 %0, %1, %3", by, width)
    }
}
KERNEL(memory) {
    const int i = threadIdx.x;
    int one; int R(2) two; int R(4) four;
    const int *at = x + 4 * i;
    asm volatile("global_load_monitor_b32 %0, %1, off offset:4\n s_wait_loadcnt 0" : "=v"(one) : "v"(at));
    out[8 * i] = one;
    asm volatile("flat_load_monitor_b64 %0, %1\n s_wait_loadcnt_dscnt 0" : "=v"(two) : "v"(at));
    out[8 * i + 1] = two[0], out[8 * i + 2] = two[1];
    asm volatile("cluster_load_b128 %0, %1, off\n s_wait_loadcnt 0" : "=v"(four) : "v"(at));
    for (int k = 0; k < 4; k++) out[8 * i + 3 + k] = four[k];
}
KERNEL(clock) {
    unsigned long long first, second;
    asm volatile("s_get_shader_cycles_u64 %0\n s_sleep 3\n s_get_shader_cycles_u64 %1"
                 : "=&s"(first), "=&s"(second));
    out[0] = second > first && second - first < 10000;
}
extern "C" __global__ void doubles(double *places, const double *data, double *old) {
    const int i = threadIdx.x;
    const double value = data[i];
    double r;
    asm volatile("global_atomic_min_num_f64 %0, %1, %2, off th:TH_ATOMIC_RETURN\n s_wait_loadcnt 0"
                 : "=v"(r) : "v"(places + i), "v"(value) : "memory");
    old[i] = r;
    asm volatile("flat_atomic_max_num_f64 %0, %1, %2 th:TH_ATOMIC_RETURN\n s_wait_loadcnt_dscnt 0"
                 : "=v"(r) : "v"(places + 32 + i), "v"(value) : "memory");
    old[32 + i] = r;
}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return wb.compile(SOURCE + "".join(conversion_kernel(*pair) for pair in PAIRS), arch=ARCH)


def ints(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values).view(np.int32))


def words(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.integers(0, 1 << 32, shape or (LANES,), dtype=np.uint32)


def run(module: Module, kernel: str, *inputs: np.ndarray, rows: int) -> np.ndarray:
    out = torch.zeros(rows * LANES, dtype=torch.int32)
    module[kernel][1, LANES](*map(ints, inputs), out)
    return out.numpy().view(np.uint32).reshape(rows, LANES)


def large_bits(kind: str, values: np.ndarray) -> np.ndarray:
    """Patterns of the nearest numbers of a format, as bytes of a row."""
    if kind == "f32":
        return values.astype(np.float32).view(np.uint32)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint32)
    brain = torch.from_numpy(values.astype(np.float32)).to(torch.bfloat16)
    return brain.view(torch.int32).numpy().view(np.uint32)


def fields(row: np.ndarray, bits: int, count: int) -> list[int]:
    """The first fields of a lane's dwords."""
    whole = sum(int(word) << 32 * n for n, word in enumerate(row))
    return [whole >> bits * n & (1 << bits) - 1 for n in range(count)]


@pytest.mark.parametrize(("small", "large"), PAIRS)
def test_scaled_conversions(module: Module, random: np.random.Generator, small: str, large: str) -> None:
    bits, mantissa, _ = FORMATS[small]
    count = 16 if bits == 6 else 8
    width, large_mantissa = LARGE[large]
    greatest = float(max(numbers(small)))
    exponents = random.integers(-3, 4, LANES)
    # Few bits of the mantissa, so that some are half-way; magnitudes of normal numbers of both formats.
    values = random.integers(1 << 5, 1 << 6, (LANES, count)) * 2.0 ** random.integers(-5, 4, (LANES, count))
    while (big := values > 0.9 * greatest).any():
        values[big] /= 4
    smallest = 2.0 ** (1 - FORMATS[small][2])
    values[values < smallest] = smallest
    values *= random.choice((-1, 1), (LANES, count)) * 2.0 ** exponents[:, None]
    given = np.zeros((LANES, 16), np.uint32)
    given[:, : count * width // 32] = large_bits(large, values)
    packed, scales, seeds = words(random, LANES, 4), words(random), words(random)
    scales = (scales & 0x07070707) + 0x7B7B7B7B
    inputs = given, packed, (2.0**exponents).astype(np.float32), scales, seeds
    rows = run(module, f"{small}_{large}", *inputs, rows=5 * 16).reshape(5, LANES, 16)
    for number, (low, high, first) in enumerate(selects(bits).values()):
        expected = np.zeros((LANES, count))
        for lane in range(LANES):
            byte = int(scales[first + lane % 16]) >> 8 * (low if lane < 16 else high) & 255
            codes = fields(packed[lane], bits, count)
            expected[lane] = [table(small)[code] * 2.0 ** (byte - 127) for code in codes]
        actual = np.ascontiguousarray(rows[number, :, : count * width // 32])
        types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
        result = ints(actual).view(types[large]).double().numpy()
        if large == "f16":
            with np.errstate(over="ignore"):
                expected = expected.astype(np.float16)
        assert np.array_equal(result, expected, equal_nan=True), number
    dropped = large_mantissa - mantissa
    for lane in range(LANES):
        seed = int(seeds[lane])
        exact = [Fraction(value) / Fraction(2) ** int(exponents[lane]) for value in values[lane].tolist()]
        assert fields(rows[3, lane], bits, count) == [nearest(small, x) for x in exact], lane
        drawn = []
        for x in exact:
            drawn.append(stochastic(small, x, seed, dropped))
            seed = advanced(seed)
        assert fields(rows[4, lane], bits, count) == drawn, lane


def halves(bits: np.ndarray) -> np.ndarray:
    return bits.astype(np.uint16).view(np.float16).astype(np.float64)


def test_small_floats(module: Module, random: np.random.Generator) -> None:
    a, c = words(random), words(random)
    numbers_16 = (random.integers(32, 64, 2 * LANES) * 2.0 ** random.integers(-9, 3, 2 * LANES)).astype(
        np.float16
    )
    b = (numbers_16 * random.choice((-1, 1), 2 * LANES)).astype(np.float16).view(np.uint32)
    rows = run(module, "small", a, b, c, rows=9)

    def as_halves(name: str, byte: np.ndarray) -> np.ndarray:
        return np.array([table(name)[code] for code in byte])

    def same(actual: np.ndarray, expected: np.ndarray) -> bool:
        return np.array_equal(halves(actual), expected, equal_nan=True)

    assert same(rows[0] & 0xFFFF, as_halves("fp8", a >> 8 & 255))
    assert set(rows[0] >> 16) == {0x5555}
    assert same(rows[1] & 0xFFFF, as_halves("fp8", a & 255))
    assert set(rows[1] >> 16) == {0x5555}
    assert same(rows[2] & 0xFFFF, as_halves("bf8", a >> 16 & 255))
    for row, name, shift in ((3, "fp8", 16), (4, "bf8", 0)):
        assert same(rows[row] & 0xFFFF, as_halves(name, a >> shift & 255))
        assert same(rows[row] >> 16, as_halves(name, a >> shift + 8 & 255))
    for i in range(LANES):
        low, high = (Fraction(float(halves(b[i : i + 1] >> shift & 0xFFFF)[0])) for shift in (0, 16))
        assert rows[5, i] == 0x55550000 | nearest("fp8", low) | nearest("fp8", high) << 8
        pair = nearest("bf8", -abs(low)) | nearest("bf8", -abs(high)) << 8
        assert rows[6, i] == 0x5555 | pair << 16
        assert rows[7, i] == 0x55550055 | stochastic("fp8", low, int(c[i]), 7) << 8
        assert rows[8, i] == 0x55005555 | stochastic("bf8", high, int(c[i]), 8) << 16


def test_floats_without_a_sign(module: Module, random: np.random.Generator) -> None:
    a, c = words(random), words(random)
    values = (random.integers(256, 512, LANES) * 2.0 ** random.integers(-20, 7, LANES)).astype(np.float32)
    rows = run(module, "unsigned_floats", a, values, c, rows=3)
    expected = np.array([table("e5m3")[code] for code in a >> 8 & 255], np.float32)
    assert np.array_equal(rows[0].view(np.float32), expected, equal_nan=True)
    for i, x in enumerate(map(Fraction, values.tolist())):
        assert rows[1, i] == 0x55550000 | nearest("e5m3", x) * 0x101
        assert rows[2, i] == 0x55555500 | stochastic("e5m3", x, int(c[i]), 20)


def test_saturation_and_pairs(module: Module, random: np.random.Generator) -> None:
    singles = random.standard_normal((2, LANES)).astype(np.float32)
    a, b, c = singles[0].view(np.uint32), singles[1].view(np.uint32), words(random)
    rows = run(module, "integers", a, b, c, rows=5)
    bytes_a = a.view(np.int8).reshape(LANES, 4).astype(int)
    for row, least, values in ((0, -8, bytes_a), (1, 0, bytes_a & 255)):
        fours = np.clip(values, least, least + 15) & 15
        packed = (fours << 4 * np.arange(4)).sum(axis=1)
        assert np.array_equal(rows[row], packed | 0x55550000)
    expected = (a + (c & 0xFFFF) >> 16) | (b + (c >> 16) & 0xFFFF0000)
    assert np.array_equal(rows[2], expected)
    parts = [value.view(np.float16) for value in (a, b, c)]
    for row, meaning in ((3, np.fmin), (4, np.fmax)):
        number = meaning(meaning(parts[0], parts[1]), parts[2])
        assert np.array_equal(rows[row].view(np.float16), number, equal_nan=True)


def test_tables(module: Module, random: np.random.Generator) -> None:
    x, y, z = (words(random) for _ in range(3))
    rows = run(module, "tables", x, y, z, rows=12).reshape(LANES, 3, 4)
    for i in range(LANES):
        indices = int(y[31 - i]) | int(z[31 - i]) << 32
        low, high = int(z[i]) | int(x[31 - i]) << 32, int(x[i]) | int(y[i]) << 32
        tables = int(x[i]) << 32 | int(z[i]), int(x[i]) << 64 | low, high << 64 | low
        for row, (bits, entries) in enumerate(zip((4, 6, 8), tables, strict=True)):
            picked = [entries >> bits * (indices >> 4 * n & 15) & (1 << bits) - 1 for n in range(16)]
            assert fields(rows[i, row], bits, 16) == picked


def test_moves_in_groups_of_lanes(module: Module, random: np.random.Generator) -> None:
    x = words(random)
    cases = [(5, 32), (3, 16), (2, 8), (1, 4), (40, 8)]
    rows = run(
        module, "moves", x, *(np.array(column, np.uint32) for column in zip(*cases, strict=True)), rows=25
    )
    for n, (by, width) in enumerate(cases):
        for lane in range(LANES):
            group = list(range(lane // width * width, lane // width * width + width))
            place = lane - group[0]
            sources = (
                group[by % 64 % width],
                group[place - min(by, width)] if place >= min(by, width) else lane,
                group[place + min(by, width)] if place + min(by, width) < width else lane,
                lane ^ by if by < LANES and lane ^ by in range(group[0] + width) else lane,
            )
            assert [rows[5 * n + k, lane] for k in range(4)] == [x[source] for source in sources]
            assert rows[5 * n + 4, lane] == 4 * group[int(x[lane]) % width]


def test_loads_and_atomics(module: Module, random: np.random.Generator) -> None:
    x = words(random, LANES, 4)
    empty = np.zeros(1, np.uint32)
    rows = run(module, "memory", x, empty, empty, rows=8).reshape(LANES, 8)
    assert np.array_equal(rows[:, :7], np.column_stack((x[:, 1], x[:, :2], x)))
    places, data = random.standard_normal((2, LANES)), random.standard_normal(LANES)
    data[3], places[:, 5] = np.nan, np.nan
    memory, old = torch.from_numpy(places.copy()), torch.zeros(2, LANES, dtype=torch.float64)
    module["doubles"][1, LANES](memory, torch.from_numpy(data), old)
    assert np.array_equal(old.numpy(), places, equal_nan=True)
    assert np.array_equal(memory.numpy(), [np.fmin(places[0], data), np.fmax(places[1], data)])


def test_the_clock_advances(module: Module) -> None:
    empty = np.zeros(1, np.uint32)
    assert run(module, "clock", empty, empty, empty, rows=1)[0, 0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v_cvt_scale_pk8_f32_fp8 %0, %1, %2 scale_sel:1", "Which scales scale_sel:1 selects"),
        ("v_cvt_scale_pk8_f32_fp8 %0, %1, %2 scale_sel:8", "Which scales scale_sel:8 selects"),
    ],
)
def test_selections_of_scales_that_are_not_published(text: str, message: str) -> None:
    source = f"""
#include <hip/hip_runtime.h>
#define R(n) __attribute__((ext_vector_type(n)))
extern "C" __global__ void refused(int R(8) *out, const int R(2) *x) {{
    int R(8) result;
    asm volatile("{text}" : "=&v"(result) : "v"(x[threadIdx.x]), "v"((int)threadIdx.x));
    out[threadIdx.x] = result;
}}
"""
    numbers = torch.zeros(256, dtype=torch.int32)
    with pytest.raises(errors.UnsupportedInstruction, match=message):
        wb.compile(source, arch=ARCH)["refused"][1, LANES](numbers, numbers)
