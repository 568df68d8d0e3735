"""Lane-wise and scalar instructions of later targets: the cases of gfx9, under each target's own names.

A case's meaning is exact arithmetic that was written for gfx9. It holds for a later instruction if that has
the same meaning by the opcode table, which this checks by executing it.
"""

from __future__ import annotations

import itertools
import math
import random as python_random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

import numpy as np
import pytest
import test_packed
import test_scalar
import test_transcendental
import test_vector
from alu_reference import FORMATS
from assembler import assembled

from workbench.codeobject.instructions import forms
from workbench.targets import target as target_record

WAVES = {"gfx1100": 64, "gfx1201": 64, "gfx1250": 32}
"""Lanes of a wave: 64 where the target has a choice, so that texts of gfx9 are its own."""

Check = Callable[..., None]
"""Runs one case: gets a new state, and `run` and `random` by name."""

END = b"\x00\x00\xb0\xbf"


@cache
def opcodes_by_meaning(target: str) -> Mapping[str, list[str]]:
    """A later target's opcodes by gfx9's name for them."""
    result: dict[str, list[str]] = {}
    for form in forms(target).values():
        if form.meaning and form.opcode not in (known := result.setdefault(form.meaning, [])):
            known.append(form.opcode)
    return result


def texts(text: str, target: str) -> list[str]:
    """A text of gfx9 in the target's words, for each of its opcodes with that meaning."""
    mnemonic, _, operands = text.partition(" ")
    opcode = re.sub(r"_e(32|64)$", "", mnemonic)
    if WAVES[target] == 32:
        # Masks have one register.
        masks = r"vcc|s\[(\d+):\d+\]" if opcode.startswith("v_") else "$^"
        operands = re.sub(masks, lambda match: f"s{match[1]}" if match[1] else "vcc_lo", operands)
    suffixes = dict.fromkeys((mnemonic[len(opcode) :], ""))
    return [
        f"{name}{suffix} {operands}"
        for name in opcodes_by_meaning(target).get(opcode, ())
        for suffix in suffixes
    ]


def encoded(texts: Sequence[str], target: str, lanes: int) -> Mapping[str, bytes]:
    """Machine code of the texts that the target has."""
    features = ["+wavefrontsize64", "-wavefrontsize32"] if lanes == 64 else []
    answers = zip(texts, assembled(texts, target, features), strict=True)
    return {text: answer[1] for text, answer in answers if answer}


def run_all(cases: Sequence[tuple[str, Check]], target: str, machine, lanes: int) -> set[str]:
    """Runs the cases that the target has, in the target's own words; their opcodes."""
    random = np.random.default_rng(seed := python_random.randrange(1 << 32))
    print(f"seed {seed}")
    codes = encoded([text for text, _ in cases], target, lanes)
    pairs = [(text, check) for text, check in cases if text in codes]
    mode = 0x3F0 if target_record(target).has_ieee_mode else 0x1F0
    runs = machine.build_code([codes[text] + END for text, _ in pairs], target, mode, lanes=lanes)
    wrong = []
    for (text, check), run in zip(pairs, runs, strict=True):
        try:
            check(state=machine.State(lanes=lanes), run=run, random=random)
        except AssertionError as failure:
            wrong.append(f"{text}: {str(failure).splitlines()[0]}")
    assert not wrong, "\n".join(wrong)
    return {text.split()[0] for text, _ in pairs}


@pytest.mark.parametrize("target", WAVES)
def test_instructions_mean_what_those_of_gfx9_do(target: str, machine, values, random_exec) -> None:
    vector = partial(test_vector.check, values=values, random_exec=random_exec, keep=True)
    packed = partial(test_packed.check_packed, values=values)
    function = partial(test_transcendental.check, values=values)
    cases = [
        *((case.text, partial(vector, case)) for case in test_vector.CASES),
        *((case.text, partial(test_scalar.check, case)) for case in test_scalar.CASES),
        *((test_packed.packed_text(case), partial(packed, case)) for case in test_packed.PACKED),
        *((test_transcendental.text(*case), partial(function, case)) for case in test_transcendental.CASES),
    ]
    here = [(text, check) for name, check in cases for text in texts(name, target)]
    assert len(run_all(here, target, machine, WAVES[target])) > 400


def comparisons(target: str, values, random_exec) -> Iterator[tuple[str, Check]]:
    """Comparisons that write EXEC and nothing else."""

    def check(case, state, run, random) -> None:
        def moved(state) -> int:
            # The mask goes where the case expects it.
            before, status = state.exec, run(state)
            masks = state.s[126:128].copy()
            state.exec = before
            words = state.v.shape[1] // 32
            state.s[8 : 8 + words] = masks[:words]
            return status

        test_vector.check(case, state, moved, random, values, random_exec)

    for case in test_vector.CASES:
        if case.text.startswith("v_cmp_"):
            for text in texts(case.text, target):
                opcode, _, operands = text.partition(" ")
                yield (
                    f"{opcode.replace('v_cmp_', 'v_cmpx_')} {operands.partition(', ')[2]}",
                    partial(check, case),
                )


@pytest.mark.parametrize("target", WAVES)
def test_comparisons_that_write_exec(target: str, machine, values, random_exec) -> None:
    cases = [*comparisons(target, values, random_exec)]
    assert len(run_all(cases, target, machine, WAVES[target])) > 80


@pytest.mark.parametrize("target", WAVES)
def test_masks_that_save_exec(target: str, machine) -> None:
    def check(meaning, width, saves, state, run, random) -> None:
        mask = (1 << width) - 1
        state.s[:106] = random.integers(0, 1 << 32, 106, dtype=np.uint64).astype(np.uint32)
        state.exec = int(random.integers(0, 1 << 63)) & ((1 << state.v.shape[1]) - 1)
        source, before, high = state.pair(2) & mask, state.exec, state.exec & ~mask
        other = state.pair(8) & ~mask
        assert run(state) == -1
        expected = meaning(source, before & mask) & mask
        assert state.exec == expected | high
        assert state.pair(8) == (before & mask if saves else expected) | other
        assert state.s[128] == (expected != 0)

    cases = []
    for name, meaning in test_scalar.SAVE_EXEC.items():
        later = name.replace("n1", "_not0").replace("n2", "_not1")
        for width, registers in ((64, "s[8:9], s[2:3]"), (32, "s8, s2")):
            for what in ("saveexec", "wrexec"):
                saves = partial(check, meaning, width, what == "saveexec")
                cases.append((f"s_{later}_{what}_b{width} {registers}", saves))
    # gfx1100 and later have and, or, xor, nand, nor, xnor and four with a complement; two of wrexec.
    assert len(run_all(cases, target, machine, WAVES[target])) == 24


def number(format, largest: bool):
    """IEEE 754's minimumNumber or maximumNumber: a NaN is no number."""

    def function(a: int, b: int) -> int:
        if format.is_nan(a):
            return format.nan if format.is_nan(b) else b
        return a if format.is_nan(b) else format.minimum(a, b, largest)

    return function


def extremes(format) -> Mapping[str, Callable[..., int]]:
    """Minimum and maximum of later targets, and what is made of both."""
    low, high = number(format, False), number(format, True)
    least, most = test_vector.propagated(format, False), test_vector.propagated(format, True)
    two = {"min_num": low, "max_num": high}
    two |= {"minimum": lambda a, b: least(a, b, b), "maximum": lambda a, b: most(a, b, b)}
    three = {
        "min3_num": lambda a, b, c: low(low(a, b), c),
        "max3_num": lambda a, b, c: high(high(a, b), c),
        "minmax_num": lambda a, b, c: high(low(a, b), c),
        "maxmin_num": lambda a, b, c: low(high(a, b), c),
        "minimum3": least,
        "maximum3": most,
        "minimummaximum": lambda a, b, c: most(least(a, b, b), c, c),
        "maximumminimum": lambda a, b, c: least(most(a, b, b), c, c),
    }
    return two | three


@pytest.mark.parametrize("target", ["gfx1201", "gfx1250"])
def test_minimum_and_maximum(target: str, machine, values, random_exec) -> None:
    cases: list[tuple[str, Check]] = []
    for kind in ("f16", "f32", "f64"):
        register = "v[{}:{}]" if kind == "f64" else "v{}"
        for name, meaning in extremes(FORMATS[kind]).items():
            count = meaning.__code__.co_argcount
            places = [register.format(first, first + 1) for first in (10, 2, 4, 6)[: count + 1]]
            case = test_vector.Case(name, kind, " ".join([kind] * count), meaning)
            check = partial(test_vector.check, case, values=values, random_exec=random_exec, keep=True)
            cases.append((f"v_{name}_{kind} {', '.join(places)}", check))
    assert len(run_all(cases, target, machine, WAVES[target])) > 20


LITERAL = "0x40490fdb"


def half(opcode: str, registers: Sequence[int], dual: bool) -> str:
    """Text of half a VOPD instruction, or of an instruction that does the same.

    Args:
        registers: of the result and of three sources, or the first of pairs of registers.
    """
    name = opcode.removeprefix("v_dual_")
    to, a, b, c = (f"v[{n}:{n + 1}]" if name.endswith("f64") else f"v{n}" for n in registers)
    alone = {"dot2acc_f32_bf16": f"v_dot2_f32_bf16 {to}, {a}, {b}, {to}"}
    if not dual and name in alone:
        return alone[name]
    operands = {
        "mov_b32": (a,),
        "fmaak_f32": (a, b, LITERAL),
        "fmamk_f32": (a, LITERAL, b),
        "fma_f32": (a, b, c),
        "fma_f64": (a, b, c),
        "cndmask_b32": (a, b) if dual else (a, b, "vcc_lo"),
    }.get(name, (a, b))
    return f"{'v_dual_' if dual else 'v_'}{name} {', '.join((to, *operands))}"


@pytest.mark.parametrize("target", WAVES)
def test_dual_instructions_are_two(target: str, machine, values) -> None:
    """Both halves of a VOPD instruction do what two instructions do."""
    halves: dict[str, list[str]] = {}
    for (layout, _), form in forms(target).items():
        if layout.startswith("VOPD"):
            halves.setdefault(layout, []).append(form.mnemonic)
    random = np.random.default_rng(seed := python_random.randrange(1 << 32))
    print(f"seed {seed}")
    pairs = {}
    for x, y, second in (("VOPDX", "VOPDY", 11), ("VOPD3X", "VOPD3Y", 12)):
        # Each half three times, beside others.
        count = 3 * max(len(halves.get(x, ())), len(halves.get(y, ())))
        drawn = [list(random.permutation(halves.get(z, ()))) for z in (x, y)]
        for one, other in itertools.islice(zip(*map(itertools.cycle, drawn), strict=True), count):
            places = (10, 2, 4, 6), (second, 3, 5, 7)
            if one.endswith("f64"):
                places = (14, 2, 4, 6), (second, 8, 9, 17)
            texts = [half(*item, dual=True) for item in zip((one, other), places, strict=True)]
            singles = [half(*item, dual=False) for item in zip((one, other), places, strict=True)]
            pairs[" :: ".join(texts)] = singles
    singles = {text for texts in pairs.values() for text in texts}
    codes = encoded([*pairs, *singles], target, 32)
    there = [text for text in pairs if {text, *pairs[text]} <= codes.keys()]
    print(f"{len(there)} of {len(pairs)}; without a single one: {sorted(singles - codes.keys())}")
    assert len(there) > 30
    duals = machine.build_code([codes[text] + END for text in there], target, lanes=32)
    twos = [b"".join(codes[single] for single in pairs[text]) + END for text in there]
    for text, dual, two in zip(there, duals, machine.build_code(twos, target, lanes=32), strict=True):
        both = machine.State(lanes=32), machine.State(lanes=32)
        for row in range(20):
            both[0].v[row] = both[1].v[row] = values(random, "f32")[:32]
        for state in both:
            state.s[106] = 0x5A5A1234
        assert dual(both[0]) == two(both[1]) == -1
        assert (both[0].v == both[1].v).all(), text


def scalar_floats(kind: str) -> Iterator[tuple[str, Callable[..., object], int]]:
    """Opcodes of scalar floats, their meanings, and how many sources they have."""
    format = FORMATS[kind]
    for name in ("lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt"):
        yield f"s_cmp_{name}_{kind}", test_vector.float_order(format, name), 2
    yield f"s_add_{kind}", format.add, 2
    yield f"s_sub_{kind}", format.sub, 2
    yield f"s_mul_{kind}", format.mul, 2
    yield f"s_fmac_{kind}", format.fma, 3
    for name, meaning in extremes(format).items():
        if meaning.__code__.co_argcount == 2:
            yield f"s_{name}_{kind}", meaning, 2
    for name, function in (
        ("trunc", math.trunc),
        ("ceil", math.ceil),
        ("floor", math.floor),
        ("rndne", round),
    ):
        yield f"s_{name}_{kind}", test_vector.rounding(format, function), 1


@pytest.mark.parametrize("target", ["gfx1201", "gfx1250"])
def test_scalar_floats(target: str, machine, values) -> None:
    def check(kind, meaning, count, compares, state, run, random) -> None:
        mask = (1 << int(kind[1:])) - 1
        for register in (2, 4, 8):
            state.s[register] = values(random, kind)[0]
        state.s[128] = random.integers(0, 2)
        sources = [int(state.s[register]) & mask for register in (2, 4, 8)[:count]]
        before = state.s.copy()
        assert run(state) == -1
        if compares:
            before[128] = meaning(*sources)
        else:
            got, expected = int(state.s[8]), int(meaning(*sources))
            assert test_vector.same(kind, got & mask, expected), f"{[hex(a) for a in sources]} -> {got:#x}"
            # The device clears the other half; AMD's pseudocode of RDNA4 does not say what becomes of it.
            assert got >> int(kind[1:]) == 0
            before[8] = state.s[8]
        assert (state.s == before).all()

    cases = []
    for kind in ("f16", "f32"):
        for opcode, meaning, count in scalar_floats(kind):
            compares = opcode.startswith("s_cmp")
            operands = "s2, s4" if compares else "s8, s2, s4" if count > 1 else "s8, s2"
            case = partial(check, kind, meaning, count, compares)
            cases += [(f"{opcode} {operands}", case)] * 5
    assert len(run_all(cases, target, machine, WAVES[target])) == 52


def dpp_control(random: np.random.Generator) -> tuple[str, Callable[[int], int | None]]:
    """A DPP control, and the lane of the 16 of a row that each of them reads; None outside of the row."""
    n = int(random.integers(1, 16))
    quad = [int(lane) for lane in random.integers(0, 4, 4)]
    controls: list[tuple[str, Callable[[int], int | None]]] = [
        (f"quad_perm:[{','.join(map(str, quad))}]", lambda lane: lane // 4 * 4 + quad[lane % 4]),
        (f"row_shl:{n}", lambda lane: lane + n if lane + n < 16 else None),
        (f"row_shr:{n}", lambda lane: lane - n if lane >= n else None),
        (f"row_ror:{n}", lambda lane: (lane - n) % 16),
        ("row_mirror", lambda lane: 15 - lane),
        ("row_half_mirror", lambda lane: lane // 8 * 8 + 7 - lane % 8),
        (f"row_share:{n}", lambda lane: n),
        (f"row_xmask:{n}", lambda lane: lane ^ n),
    ]
    return controls[int(random.integers(len(controls)))]


@pytest.mark.parametrize("target", WAVES)
def test_dpp(target: str, machine, random_exec) -> None:
    """Lanes from elsewhere in a row, in two-operand and three-operand instructions."""
    random = np.random.default_rng(seed := python_random.randrange(1 << 32))
    print(f"seed {seed}")
    cases = {}
    for three, fetches, bound, eights in itertools.product((0, 1), repeat=4):
        for _ in range(3):
            operands = "v10, v2, v4, v6" if three else "v10, v2, v4"
            name = "v_add3_u32_e64_dpp" if three else "v_add_nc_u32_dpp"
            rows, banks = int(random.integers(16)), int(random.integers(16))
            if eights:
                selects = [int(lane) for lane in random.integers(0, 8, 8)]
                text = f"dpp8:[{','.join(map(str, selects))}] fi:{fetches}"
                bound_here, rows, banks = 1, 15, 15
                pattern = lambda lane, selects=selects: lane // 8 * 8 + selects[lane % 8]  # noqa: E731
            else:
                words, pattern = dpp_control(random)
                text = f"{words} row_mask:{rows} bank_mask:{banks} bound_ctrl:{bound} fi:{fetches}"
                bound_here = bound
            cases[f"{name} {operands} {text}"] = three, fetches, bound_here, rows, banks, pattern
    lanes = WAVES[target]
    codes = encoded([*cases], target, lanes)
    assert len(codes) == len(cases)
    runs = machine.build_code([codes[text] + END for text in cases], target, lanes=lanes)
    for (text, (three, fetches, bound, rows, banks, pattern)), run in zip(cases.items(), runs, strict=True):
        state = machine.State(lanes=lanes)
        state.v[:] = random.integers(0, 1 << 32, state.v.shape, dtype=np.uint64).astype(np.uint32)
        state.exec = active = random_exec(random) & ((1 << lanes) - 1)
        before = state.v.copy()
        assert run(state) == -1
        for lane in range(lanes):
            source = pattern(lane % 16)
            place = None if source is None else lane // 16 * 16 + source
            if place is not None and not fetches and not active >> place & 1:
                place = None
            written = active >> lane & 1 and rows >> lane // 16 & 1 and banks >> lane % 16 // 4 & 1
            written = written and (place is not None or bound)
            moved = 0 if place is None else int(before[2][place])
            total = moved + int(before[4][lane]) + (int(before[6][lane]) if three else 0)
            expected = total & 0xFFFFFFFF if written else before[10][lane]
            assert state.v[10][lane] == expected, f"{text}, lane {lane}"
