"""Scalar ALU instructions against Python integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from alu_reference import signed

SEED = 909
M32, M64 = (1 << 32) - 1, (1 << 64) - 1


@dataclass(frozen=True)
class Case:
    """An instruction on s[2:3], s[4:5] with its result in s[8:9].

    `meaning(a, b, scc, old)` returns (result or None, SCC or None for unchanged).
    """

    text: str
    width: int
    meaning: Callable[..., tuple[int | None, object]]
    sources: tuple[int, ...] = ()


CASES: list[Case] = []


def name(position: int, width: int) -> str:
    first = 2 + 2 * position
    return f"s[{first}:{first + 1}]" if width == 64 else f"s{first}"


def add(
    opcode: str, width: int, sources: tuple[int, ...], meaning, scc: str = "", constant: str = ""
) -> None:
    destination = [] if width == 0 else ["s[8:9]" if width == 64 else "s8"]
    operands = destination + [name(position, size) for position, size in enumerate(sources)]
    if constant:
        operands.append(constant)

    def complete(a, b, carry, old):
        outcome = meaning(a, b, carry, old)
        if scc == "pair":
            return outcome
        if scc == "only":
            return None, outcome
        if scc == "nonzero":
            return outcome, bool(outcome & ((1 << width) - 1))
        return outcome, None

    CASES.append(Case(f"{opcode} {', '.join(operands)}", width, complete, sources))


def leading(a: int, width: int) -> int:
    return width - a.bit_length() if a else -1


def trailing(a: int) -> int:
    return (a & -a).bit_length() - 1 if a else -1


def quads(a: int, width: int) -> list[bool]:
    return [bool(a >> n & 15) for n in range(0, width, 4)]


for w in (32, 64):
    mask = (1 << w) - 1
    b = f"b{w}"
    shift = w - 1
    add(f"s_mov_{b}", w, (w,), lambda a, b, c, o: a)
    add(f"s_cmov_{b}", w, (w,), lambda a, b, c, o: a if c else o)
    add(f"s_cselect_{b}", w, (w, w), lambda a, b, c, o: a if c else b)
    add(f"s_not_{b}", w, (w,), lambda a, b, c, o: ~a, "nonzero")
    add(f"s_and_{b}", w, (w, w), lambda a, b, c, o: a & b, "nonzero")
    add(f"s_or_{b}", w, (w, w), lambda a, b, c, o: a | b, "nonzero")
    add(f"s_xor_{b}", w, (w, w), lambda a, b, c, o: a ^ b, "nonzero")
    add(f"s_andn2_{b}", w, (w, w), lambda a, b, c, o: a & ~b, "nonzero")
    add(f"s_orn2_{b}", w, (w, w), lambda a, b, c, o: a | ~b, "nonzero")
    add(f"s_nand_{b}", w, (w, w), lambda a, b, c, o: ~(a & b), "nonzero")
    add(f"s_nor_{b}", w, (w, w), lambda a, b, c, o: ~(a | b), "nonzero")
    add(f"s_xnor_{b}", w, (w, w), lambda a, b, c, o: ~(a ^ b), "nonzero")
    add(f"s_lshl_{b}", w, (w, 32), lambda a, b, c, o, s=shift: a << (b & s), "nonzero")
    add(f"s_lshr_{b}", w, (w, 32), lambda a, b, c, o, s=shift: a >> (b & s), "nonzero")
    add(f"s_ashr_i{w}", w, (w, 32), lambda a, b, c, o, w=w: signed(a, w) >> (b & w - 1), "nonzero")
    add(f"s_bfm_{b}", w, (32, 32), lambda a, b, c, o, s=shift: ((1 << (a & s)) - 1) << (b & s))
    add(f"s_brev_{b}", w, (w,), lambda a, b, c, o, w=w: int(f"{a:0{w}b}"[::-1], 2))
    add(f"s_bcnt0_i32_{b}", 32, (w,), lambda a, b, c, o, w=w: w - a.bit_count(), "nonzero")
    add(f"s_bcnt1_i32_{b}", 32, (w,), lambda a, b, c, o: a.bit_count(), "nonzero")
    add(f"s_ff0_i32_{b}", 32, (w,), lambda a, b, c, o, m=mask: trailing(~a & m))
    add(f"s_ff1_i32_{b}", 32, (w,), lambda a, b, c, o: trailing(a))
    add(f"s_flbit_i32_{b}", 32, (w,), lambda a, b, c, o, w=w: leading(a, w))
    add(
        "s_flbit_i32" if w == 32 else "s_flbit_i32_i64",
        32,
        (w,),
        lambda a, b, c, o, w=w, m=mask: leading(a ^ (m if a >> w - 1 else 0), w),
    )
    add(f"s_bitset0_{b}", w, (32,), lambda a, b, c, o, s=shift: o & ~(1 << (a & s)))
    add(f"s_bitset1_{b}", w, (32,), lambda a, b, c, o, s=shift: o | 1 << (a & s))
    add(f"s_bitcmp0_{b}", 0, (w, 32), lambda a, b, c, o, s=shift: not a >> (b & s) & 1, "only")
    add(f"s_bitcmp1_{b}", 0, (w, 32), lambda a, b, c, o, s=shift: a >> (b & s) & 1, "only")
    add(
        f"s_wqm_{b}",
        w,
        (w,),
        lambda a, b, c, o, w=w: sum(15 << 4 * n for n, on in enumerate(quads(a, w)) if on),
        "nonzero",
    )
    add(
        f"s_quadmask_{b}",
        w,
        (w,),
        lambda a, b, c, o, w=w: sum(1 << n for n, on in enumerate(quads(a, w)) if on),
        "nonzero",
    )
    add(
        f"s_bfe_u{w}",
        w,
        (w, 32),
        lambda a, b, c, o, s=shift: a >> (b & s) & ((1 << (b >> 16 & 127)) - 1),
        "nonzero",
    )

    def field(a, b, c, o, w=w):
        size = b >> 16 & 127
        shifted = signed(a, w) >> (b & w - 1)
        return signed(shifted, size) if 0 < size < w else shifted if size else 0

    add(f"s_bfe_i{w}", w, (w, 32), field, "nonzero")

add("s_sext_i32_i8", 32, (32,), lambda a, b, c, o: signed(a, 8))
add("s_sext_i32_i16", 32, (32,), lambda a, b, c, o: signed(a, 16))
add("s_abs_i32", 32, (32,), lambda a, b, c, o: abs(signed(a, 32)), "nonzero")
add(
    "s_absdiff_i32",
    32,
    (32, 32),
    lambda a, b, c, o: abs(signed(a - b, 32)),
    "nonzero",
)
add("s_bitreplicate_b64_b32", 64, (32,), lambda a, b, c, o: sum(3 << 2 * n for n in range(32) if a >> n & 1))
add("s_pack_ll_b32_b16", 32, (32, 32), lambda a, b, c, o: a & 0xFFFF | b << 16)
add("s_pack_lh_b32_b16", 32, (32, 32), lambda a, b, c, o: a & 0xFFFF | b & 0xFFFF0000)
add("s_pack_hh_b32_b16", 32, (32, 32), lambda a, b, c, o: a >> 16 | b & 0xFFFF0000)
add("s_add_u32", 32, (32, 32), lambda a, b, c, o: (a + b, a + b > M32), "pair")
add("s_sub_u32", 32, (32, 32), lambda a, b, c, o: (a - b, b > a), "pair")
add("s_addc_u32", 32, (32, 32), lambda a, b, c, o: (a + b + c, a + b + c > M32), "pair")
add("s_subb_u32", 32, (32, 32), lambda a, b, c, o: (a - b - c, b + c > a), "pair")


def overflows(value: int) -> bool:
    return not -(1 << 31) <= value < 1 << 31


add("s_add_i32", 32, (32, 32), lambda a, b, c, o: (a + b, overflows(signed(a, 32) + signed(b, 32))), "pair")
add("s_sub_i32", 32, (32, 32), lambda a, b, c, o: (a - b, overflows(signed(a, 32) - signed(b, 32))), "pair")
add("s_mul_i32", 32, (32, 32), lambda a, b, c, o: a * b)
add("s_mul_hi_u32", 32, (32, 32), lambda a, b, c, o: a * b >> 32)
add("s_mul_hi_i32", 32, (32, 32), lambda a, b, c, o: signed(a, 32) * signed(b, 32) >> 32)
for n in (1, 2, 3, 4):
    add(
        f"s_lshl{n}_add_u32",
        32,
        (32, 32),
        lambda a, b, c, o, n=n: ((a << n) + b, (a << n) + b > M32),
        "pair",
    )
for letter in "iu":
    number = (lambda x: signed(x, 32)) if letter == "i" else int
    add(
        f"s_min_{letter}32",
        32,
        (32, 32),
        lambda a, b, c, o, f=number: (min(a, b, key=f), f(a) < f(b)),
        "pair",
    )
    add(
        f"s_max_{letter}32",
        32,
        (32, 32),
        lambda a, b, c, o, f=number: (max(a, b, key=f), f(a) >= f(b)),
        "pair",
    )
    orders = {
        "eq": lambda x, y: x == y,
        "lg": lambda x, y: x != y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
    }
    for order, relation in orders.items():
        add(
            f"s_cmp_{order}_{letter}32",
            0,
            (32, 32),
            lambda a, b, c, o, f=number, t=relation: t(f(a), f(b)),
            "only",
        )
        constant = -3 if letter == "i" else 0xFFFD
        add(
            f"s_cmpk_{order}_{letter}32",
            0,
            (32,),
            lambda a, b, c, o, f=number, t=relation, k=constant: t(f(a), k),
            "only",
            str(constant),
        )
add("s_cmp_eq_u64", 0, (64, 64), lambda a, b, c, o: a == b, "only")
add("s_cmp_lg_u64", 0, (64, 64), lambda a, b, c, o: a != b, "only")
add("s_movk_i32", 32, (), lambda a, b, c, o: -300, constant="-300")
add("s_cmovk_i32", 32, (), lambda a, b, c, o: -300 if c else o, constant="-300")
add(
    "s_addk_i32",
    32,
    (),
    lambda a, b, c, o: (o - 300, overflows(signed(o, 32) - 300)),
    "pair",
    constant="-300",
)
add("s_mulk_i32", 32, (), lambda a, b, c, o: o * -300, constant="-300")


@pytest.fixture(scope="module")
def runners(machine):
    return dict(
        zip((case.text for case in CASES), machine.build([[case.text] for case in CASES]), strict=True)
    )


def number(random: np.random.Generator, width: int) -> int:
    edges = [0, 1, -1, 3, 31, 32, 63, 1 << width - 1, (1 << width - 1) - 1, -3, 0x10000, 0x200000, 0x400003]
    if random.random() < 0.5:
        return edges[int(random.integers(0, len(edges)))] & ((1 << width) - 1)
    return int(random.integers(0, 1 << 62)) * 5 & ((1 << width) - 1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_instruction(case: Case, machine, runners) -> None:
    random = np.random.default_rng(SEED)
    for _ in range(30):
        check(case, machine.State(), runners[case.text], random)


def check(case: Case, state, run, random) -> None:
    """Runs a case once on a new state and compares every scalar register."""
    state.s[:106] = random.integers(0, 1 << 32, 106, dtype=np.uint64).astype(np.uint32)
    state.s[128] = random.integers(0, 2)
    a, b = number(random, 64), number(random, 64)
    if random.random() < 0.2:
        b = a
    # Fields of s_bfe: a shift and a size that are in range more often than not.
    if "bfe" in case.text and random.random() < 0.8:
        b = int(random.integers(0, 64)) | int(random.integers(0, 66)) << 16
    state.set_pair(2, a)
    state.set_pair(4, b)
    carry = int(state.s[128])
    old = state.pair(8) if case.width == 64 else int(state.s[8])
    before = state.s.copy()
    values = [x & ((1 << w) - 1) for x, w in zip((a, b), (*case.sources, 64, 64)[:2], strict=True)]

    assert run(state) == -1

    result, scc = case.meaning(values[0], values[1], carry, old)
    context = f"seed {SEED}: a={values[0]:#x} b={values[1]:#x} scc={carry} old={old:#x}"
    if result is not None:
        got = state.pair(8) if case.width == 64 else int(state.s[8])
        assert got == int(result) & ((1 << case.width) - 1), context
        before[8] = state.s[8]
        if case.width == 64:
            before[9] = state.s[9]
    before[128] = carry if scc is None else bool(scc)
    assert (state.s == before).all(), context


SAVE_EXEC = {
    "and": lambda a, x: a & x,
    "or": lambda a, x: a | x,
    "xor": lambda a, x: a ^ x,
    "andn2": lambda a, x: a & ~x,
    "orn2": lambda a, x: a | ~x,
    "nand": lambda a, x: ~(a & x),
    "nor": lambda a, x: ~(a | x),
    "xnor": lambda a, x: ~(a ^ x),
    "andn1": lambda a, x: ~a & x,
    "orn1": lambda a, x: ~a | x,
}


def test_saveexec(machine) -> None:
    names = list(SAVE_EXEC)
    runners = machine.build([[f"s_{name}_saveexec_b64 s[8:9], s[2:3]"] for name in names])
    random = np.random.default_rng(SEED)
    for name, run in zip(names, runners, strict=True):
        for _ in range(10):
            state = machine.State()
            a, old = number(random, 64), number(random, 64)
            state.set_pair(2, a)
            state.exec = old
            run(state)
            new = SAVE_EXEC[name](a, old) & M64
            assert (state.exec, state.pair(8), state.s[128]) == (new, old, new != 0), name


def test_wrexec(machine) -> None:
    first, two = machine.build([["s_andn1_wrexec_b64 s[8:9], s[2:3]"], ["s_andn2_wrexec_b64 s[8:9], s[2:3]"]])
    for run, meaning in ((first, lambda a, x: ~a & x), (two, lambda a, x: a & ~x)):
        state = machine.State()
        state.set_pair(2, 0xF0F0F0F012345678)
        state.exec = 0xFF00FF00FF00FF00
        run(state)
        new = meaning(0xF0F0F0F012345678, 0xFF00FF00FF00FF00) & M64
        assert (state.exec, state.pair(8), state.s[128]) == (new, new, 1)


def test_special_sources(machine) -> None:
    """Apertures, and the condition codes as numbers."""
    run = machine.build(
        [
            [
                "s_mov_b64 s[2:3], src_shared_base",
                "s_mov_b64 s[4:5], src_private_base",
                "s_mov_b32 s6, src_scc",
                "s_mov_b32 s7, src_vccz",
                "s_mov_b32 s8, src_execz",
                "s_mov_b32 s9, m0",
                "s_mov_b32 s10, 0x12345678",
                "s_mov_b64 s[12:13], 0.5",
                "s_mov_b64 s[14:15], -7",
            ]
        ]
    )[0]
    state = machine.State()
    state.s[128] = 1
    state.s[124] = 4711
    run(state)
    assert state.pair(2) == 0x0001000000000000
    assert state.pair(4) == 0x0002000000000000
    assert list(state.s[6:11]) == [1, 1, 0, 4711, 0x12345678]
    assert state.pair(12) == 0x3FE0000000000000
    assert state.pair(14) == -7 & M64
