"""Packed, mixed-precision and dot product instructions, with every operand selector."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from alu_reference import BF16, F16, F32, convert, signed

SEED = 4242


def halves(value: int) -> tuple[int, int]:
    return value & 0xFFFF, value >> 16


def run_case(state, run, values, random, kinds):
    """One run on random operands in v2, v4, v6 (and v10); per lane (sources, old result, result)."""
    lanes = state.v.shape[1]
    for position, kind in enumerate(kinds):
        if kind.startswith("v2"):
            low, high = (values(random, kind[2:])[:lanes] & np.uint32(0xFFFF) for _ in range(2))
            state.v[2 + 2 * position] = low | high << np.uint32(16)
        elif kind == "pair":
            state.v[2 + 2 * position], state.v[3 + 2 * position] = (
                values(random, "f32")[:lanes],
                values(random, "f32")[:lanes],
            )
        else:
            state.v[2 + 2 * position] = values(random, kind)[:lanes]
    state.v[10], state.v[11] = values(random, "f32")[:lanes], values(random, "f32")[:lanes]
    before = state.v.copy()
    assert run(state) == -1
    return state, before


def same(format, actual: int, expected: int) -> bool:
    return format.is_nan(actual) if format.is_nan(expected) else actual == expected


INTEGERS = {
    "v_pk_add_u16": (2, lambda a, b: a + b),
    "v_pk_sub_u16": (2, lambda a, b: a - b),
    "v_pk_add_i16": (2, lambda a, b: a + b),
    "v_pk_sub_i16": (2, lambda a, b: a - b),
    "v_pk_mul_lo_u16": (2, lambda a, b: a * b),
    "v_pk_lshlrev_b16": (2, lambda a, b: b << (a & 15)),
    "v_pk_lshrrev_b16": (2, lambda a, b: b >> (a & 15)),
    "v_pk_ashrrev_i16": (2, lambda a, b: signed(b, 16) >> (a & 15)),
    "v_pk_min_u16": (2, min),
    "v_pk_max_u16": (2, max),
    "v_pk_min_i16": (2, lambda a, b: min(a, b, key=lambda x: signed(x, 16))),
    "v_pk_max_i16": (2, lambda a, b: max(a, b, key=lambda x: signed(x, 16))),
    "v_pk_mad_u16": (3, lambda a, b, c: a * b + c),
    "v_pk_mad_i16": (3, lambda a, b, c: a * b + c),
}
FLOATS = {
    "v_pk_add_f16": (2, F16.add),
    "v_pk_mul_f16": (2, F16.mul),
    "v_pk_fma_f16": (3, F16.fma),
    "v_pk_min_f16": (2, F16.minimum),
    "v_pk_max_f16": (2, lambda a, b: F16.minimum(a, b, True)),
}
SELECTORS = ("", " op_sel:[1,0{0}] op_sel_hi:[0,1{1}]", " op_sel:[1,1{1}] op_sel_hi:[1,0{0}]")
SIGNS = (" neg_lo:[1,0{0}]", " neg_hi:[0,1{1}]", " neg_lo:[0,1{0}] neg_hi:[1,1{1}]")


def suffixes(count: int, floats: bool) -> list[str]:
    result = []
    for text in SELECTORS + (SIGNS if floats else ()):
        result.append(
            text.replace("{0}", ",0" if count == 3 else "").replace("{1}", ",1" if count == 3 else "")
        )
    return result


def bits_of(text: str, name: str, position: int, default: int) -> int:
    if f" {name}:[" not in text:
        return default
    return int(text.split(f" {name}:[")[1].split("]")[0].split(",")[position])


PACKED = [
    (opcode, count, meaning, suffix, opcode in FLOATS)
    for opcode, (count, meaning) in {**INTEGERS, **FLOATS}.items()
    for suffix in suffixes(count, opcode in FLOATS)
]


def packed_text(case) -> str:
    opcode, count, _, suffix, _ = case
    return f"{opcode} v10, {', '.join(('v2', 'v4', 'v6')[:count])}{suffix}"


@pytest.fixture(scope="module")
def packed_runners(machine):
    return machine.build([[packed_text(case)] for case in PACKED])


def test_packed(machine, packed_runners, values) -> None:
    random = np.random.default_rng(SEED)
    for case, run in zip(PACKED, packed_runners, strict=True):
        check_packed(case, machine.State(), run, random, values)


def check_packed(case, state, run, random, values) -> None:
    """Runs a packed instruction once on a new state and compares both halves of every lane."""
    _, count, meaning, suffix, floats = case
    state, before = run_case(state, run, values, random, ["v2f16" if floats else "v2u16"] * count)
    for lane in range(state.v.shape[1]):
        result = []
        for high in (0, 1):
            arguments = []
            for position in range(count):
                pair = halves(int(before[2 + 2 * position][lane]))
                half = bits_of(suffix, "op_sel_hi" if high else "op_sel", position, high)
                value = pair[half]
                if bits_of(suffix, "neg_hi" if high else "neg_lo", position, 0):
                    value ^= 0x8000
                arguments.append(value)
            result.append(meaning(*arguments) & 0xFFFF)
        got = halves(int(state.v[10][lane]))
        for actual, expected in zip(got, result, strict=True):
            ok = same(F16, actual, expected) if floats else actual == expected
            assert ok, f"seed {SEED}: {packed_text(case)}, lane {lane}: {actual:#x}, wanted {expected:#x}"


SATURATED = {
    "v_pk_add_u16": (2, lambda a, b: min(a + b, 0xFFFF)),
    "v_pk_sub_u16": (2, lambda a, b: max(a - b, 0)),
    "v_pk_add_i16": (2, lambda a, b: min(max(signed(a, 16) + signed(b, 16), -32768), 32767)),
    "v_pk_mad_u16": (3, lambda a, b, c: min(a * b + c, 0xFFFF)),
    "v_pk_mad_i16": (
        3,
        lambda a, b, c: min(max(signed(a, 16) * signed(b, 16) + signed(c, 16), -32768), 32767),
    ),
}


def test_packed_saturation(machine, values) -> None:
    random = np.random.default_rng(SEED)
    texts = [
        f"{name} v10, {', '.join(('v2', 'v4', 'v6')[:count])} clamp" for name, (count, _) in SATURATED.items()
    ]
    for run, (name, (count, meaning)) in zip(
        machine.build([[text] for text in texts]), SATURATED.items(), strict=True
    ):
        state, before = run_case(machine.State(), run, values, random, ["v2u16"] * count)
        for lane in range(64):
            sources = [halves(int(before[2 + 2 * p][lane])) for p in range(count)]
            expected = [meaning(*(s[h] for s in sources)) & 0xFFFF for h in (0, 1)]
            assert list(halves(int(state.v[10][lane]))) == expected, name


def test_packed_single(machine, values) -> None:
    """v_pk_*_f32: op_sel names the dword of a pair that each result sees."""
    random = np.random.default_rng(SEED)
    operations = {"v_pk_add_f32": (2, F32.add), "v_pk_mul_f32": (2, F32.mul), "v_pk_fma_f32": (3, F32.fma)}
    cases = [(name, suffix) for name, (count, _) in operations.items() for suffix in suffixes(count, True)]
    names = ("v[2:3]", "v[4:5]", "v[6:7]")
    texts = [f"{name} v[10:11], {', '.join(names[: operations[name][0]])}{suffix}" for name, suffix in cases]
    for (name, suffix), run, text in zip(cases, machine.build([[t] for t in texts]), texts, strict=True):
        count, meaning = operations[name]
        state, before = run_case(machine.State(), run, values, random, ["pair"] * count)
        for lane, high in itertools.product(range(64), (0, 1)):
            arguments = []
            for position in range(count):
                word = bits_of(suffix, "op_sel_hi" if high else "op_sel", position, high)
                value = int(before[2 + 2 * position + word][lane])
                if bits_of(suffix, "neg_hi" if high else "neg_lo", position, 0):
                    value ^= 1 << 31
                arguments.append(value)
            expected = meaning(*arguments)
            assert same(F32, int(state.v[10 + high][lane]), expected), f"seed {SEED}: {text}, lane {lane}"


def test_packed_single_from_scalars(machine, values) -> None:
    run = machine.build([["v_pk_fma_f32 v[10:11], v[2:3], s[4:5], 1.0 op_sel_hi:[1,1,0]"]])[0]
    random = np.random.default_rng(SEED)
    state = machine.State()
    state.v[2], state.v[3] = (np.float32(random.normal(size=64)).view(np.uint32) for _ in range(2))
    state.s[4:6] = np.array([1.5, -2.25], np.float32).view(np.uint32)
    before = state.v.copy()
    run(state)
    for row, factor in ((0, 1.5), (1, -2.25)):
        expected = (before[2 + row].view(np.float32).astype(np.float64) * factor + 1.0).astype(np.float32)
        assert (state.v[10 + row].view(np.float32) == expected).all()


def test_pk_mov(machine, values) -> None:
    random = np.random.default_rng(SEED)
    choices = list(itertools.product((0, 1), repeat=2))
    texts = [f"v_pk_mov_b32 v[10:11], v[2:3], v[4:5] op_sel:[{a},{b}]" for a, b in choices]
    for (a, b), run in zip(choices, machine.build([[t] for t in texts]), strict=True):
        state, before = run_case(machine.State(), run, values, random, ["pair", "pair"])
        assert (state.v[10] == before[2 + a]).all()
        assert (state.v[11] == before[4 + b]).all()


def mixed(value: int, as_half: int, high: int) -> int:
    return convert(halves(value)[high], F16, F32) if as_half else value


def test_fma_mix(machine, values) -> None:
    """Each source is a single, or the half that op_sel names; then abs, then neg."""
    random = np.random.default_rng(SEED)
    forms = [("000", "000"), ("111", "000"), ("111", "101"), ("010", "010"), ("100", "100")]
    texts, cases = [], []
    for opcode in ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"):
        for hi, lo in forms:
            texts.append(f"{opcode} v10, v2, -v4, |v6| op_sel:[{','.join(lo)}] op_sel_hi:[{','.join(hi)}]")
            cases.append((opcode, hi, lo))
    for (opcode, hi, lo), run, text in zip(cases, machine.build([[t] for t in texts]), texts, strict=True):
        kinds = ["v2f16" if int(flag) else "f32" for flag in hi]
        state, before = run_case(machine.State(), run, values, random, kinds)
        for lane in range(64):
            a, b, c = (mixed(int(before[2 + 2 * n][lane]), int(hi[n]), int(lo[n])) for n in range(3))
            expected = F32.fma(a, b ^ 1 << 31, c & 0x7FFFFFFF)
            got = int(state.v[10][lane])
            if opcode == "v_fma_mix_f32":
                assert same(F32, got, expected), f"seed {SEED}: {text}, lane {lane}"
                continue
            expected = convert(expected, F32, F16)
            old = halves(int(before[10][lane]))
            other_half, written = (old[1], got & 0xFFFF) if "lo" in opcode else (old[0], got >> 16)
            assert (got >> 16 if "lo" in opcode else got & 0xFFFF) == other_half
            assert same(F16, written, expected), f"seed {SEED}: {text}, lane {lane}"


def elements(value: int, bits: int, is_signed: bool) -> list[int]:
    parts = [value >> n & (1 << bits) - 1 for n in range(0, 32, bits)]
    return [signed(x, bits) for x in parts] if is_signed else parts


INTEGER_DOTS = {
    "v_dot2_i32_i16": (16, True),
    "v_dot2_u32_u16": (16, False),
    "v_dot4_i32_i8": (8, True),
    "v_dot4_u32_u8": (8, False),
    "v_dot8_i32_i4": (4, True),
    "v_dot8_u32_u4": (4, False),
}


def test_integer_dots(machine, values) -> None:
    random = np.random.default_rng(SEED)
    texts = [f"{name} v10, v2, v4, v6{tail}" for name in INTEGER_DOTS for tail in ("", " clamp")]
    for text, run in zip(texts, machine.build([[t] for t in texts]), strict=True):
        bits, is_signed = INTEGER_DOTS[text.split()[0]]
        state, before = run_case(machine.State(), run, values, random, ["u32"] * 3)
        for lane in range(64):
            a, b, c = (int(before[2 + 2 * n][lane]) for n in range(3))
            total = signed(c, 32) if is_signed else c
            total += sum(
                x * y for x, y in zip(elements(a, bits, is_signed), elements(b, bits, is_signed), strict=True)
            )
            if "clamp" in text:
                low, high = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, (1 << 32) - 1)
                total = min(max(total, low), high)
            assert int(state.v[10][lane]) == total & 0xFFFFFFFF, f"seed {SEED}: {text}, lane {lane}"


def test_integer_dots_with_accumulator(machine, values) -> None:
    random = np.random.default_rng(SEED)
    forms = {"v_dot2c_i32_i16_e32": 16, "v_dot4c_i32_i8_e32": 8, "v_dot8c_i32_i4_e32": 4}
    for run, (_, bits) in zip(
        machine.build([[f"{name} v10, v2, v4"] for name in forms]), forms.items(), strict=True
    ):
        state, before = run_case(machine.State(), run, values, random, ["u32"] * 2)
        for lane in range(64):
            a, b, c = int(before[2][lane]), int(before[4][lane]), int(before[10][lane])
            total = c + sum(
                x * y for x, y in zip(elements(a, bits, True), elements(b, bits, True), strict=True)
            )
            assert int(state.v[10][lane]) == total & 0xFFFFFFFF


FLOAT_DOTS = {
    "v_dot2_f32_f16 v10, v2, v4, v6": (F16, False),
    "v_dot2c_f32_f16_e32 v10, v2, v4": (F16, False),
    "v_dot2_f32_bf16 v10, v2, v4, v6": (BF16, True),
    "v_dot2c_f32_bf16_e32 v10, v2, v4": (BF16, False),
}


def test_float_dots(machine, values) -> None:
    random = np.random.default_rng(SEED)
    for run, (text, (format, products_first)) in zip(
        machine.build([[text] for text in FLOAT_DOTS]), FLOAT_DOTS.items(), strict=True
    ):
        kind = "v2f16" if format is F16 else "v2bf16"
        state, before = run_case(machine.State(), run, values, random, [kind, kind, "f32"])
        for lane in range(64):
            a, b = ([convert(x, format, F32) for x in halves(int(before[row][lane]))] for row in (2, 4))
            c = int(before[6 if "v6" in text else 10][lane])
            p, q = F32.mul(a[0], b[0]), F32.mul(a[1], b[1])
            expected = F32.add(F32.add(p, q), c) if products_first else F32.add(F32.add(c, p), q)
            assert same(F32, int(state.v[10][lane]), expected), f"seed {SEED}: {text}, lane {lane}"


def test_pk_fmac(machine, values) -> None:
    run = machine.build([["v_pk_fmac_f16 v10, v2, v4"]])[0]
    random = np.random.default_rng(SEED)
    state, before = run_case(machine.State(), run, values, random, ["v2f16", "v2f16"])
    for lane in range(64):
        rows = [halves(int(before[row][lane])) for row in (2, 4, 10)]
        for half in (0, 1):
            expected = F16.fma(*(row[half] for row in rows))
            assert same(F16, halves(int(state.v[10][lane]))[half], expected)
