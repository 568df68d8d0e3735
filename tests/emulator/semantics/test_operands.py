"""Common parts of all vector instructions: operand kinds, modifiers, op_sel, SDWA, DPP, denormals, clamp,
omod; and moves between lanes and scalar registers.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from alu_reference import F16, F32, convert, signed

SEED = 31337


def f32(values) -> np.ndarray:
    return np.asarray(values, np.float32).view(np.uint32)


def random_state(machine, random):
    state = machine.State()
    state.v[:] = random.integers(0, 1 << 32, state.v.shape, dtype=np.uint64).astype(np.uint32)
    state.s[:106] = random.integers(0, 1 << 32, 106, dtype=np.uint64).astype(np.uint32)
    return state


# Sources


def test_kinds_of_sources(machine) -> None:
    random = np.random.default_rng(SEED)
    programs = {
        "v_add_u32_e32 v10, s3, v2": lambda st: st.v[2] + st.s[3],
        "v_add_u32_e32 v10, vcc_lo, v2": lambda st: st.v[2] + st.s[106],
        "v_add_u32_e32 v10, m0, v2": lambda st: st.v[2] + st.s[124],
        "v_add_u32_e32 v10, exec_hi, v2": lambda st: st.v[2] + st.s[127],
        "v_add_u32_e32 v10, src_scc, v2": lambda st: st.v[2] + np.uint32(st.s[128]),
        "v_add_u32_e32 v10, 64, v2": lambda st: st.v[2] + np.uint32(64),
        "v_add_u32_e32 v10, -16, v2": lambda st: st.v[2] - np.uint32(16),
        "v_add_u32_e32 v10, 0x12345678, v2": lambda st: st.v[2] + np.uint32(0x12345678),
        "v_mov_b32_e32 v10, 1.0": lambda st: f32(np.full(64, 1.0)),
        "v_mov_b32_e32 v10, 0.15915494": lambda st: f32(np.full(64, 0.15915494)),
        "v_accvgpr_write_b32 a3, v2": None,
        "v_mov_b32_e32 v10, src_shared_base": lambda st: np.zeros(64, np.uint32),
    }
    for (text, meaning), run in zip(programs.items(), machine.build([[t] for t in programs]), strict=True):
        state = random_state(machine, random)
        state.s[124], state.s[128] = 77, 1
        state.set_pair(106, 0x123456789ABCDEF0)
        if meaning is None:
            expected = state.v[2].copy()
            run(state)
            assert (state.v[32 + 3] == expected).all()
            continue
        expected = meaning(state)
        run(state)
        assert (state.v[10] == expected).all(), text


def test_64_bit_sources(machine) -> None:
    random = np.random.default_rng(SEED)
    unit = np.float64(1.0).view(np.uint64)
    programs = {
        "v_lshlrev_b64 v[10:11], 0, s[4:5]": lambda st: st.pair(4),
        "v_lshlrev_b64 v[10:11], 0, -5": lambda st: -5 & (1 << 64) - 1,
        "v_add_f64 v[10:11], 0, 1.0": lambda st: int(unit),
        "v_add_f64 v[10:11], s[6:7], 0": lambda st: int(np.float64(2.5).view(np.uint64)),
        "v_ceil_f64_e32 v[10:11], 0x40100000": lambda st: 0x4010000000000000,
        "v_mov_b64_e32 v[10:11], 0x40100000": lambda st: 0x40100000,
        "v_mov_b64_e32 v[10:11], 1.0": lambda st: int(unit),
        "v_mov_b64_e32 v[10:11], -1": lambda st: (1 << 64) - 1,
        "v_lshl_add_u64 v[10:11], s[4:5], 0, 0": lambda st: st.pair(4),
    }
    for (text, meaning), run in zip(programs.items(), machine.build([[t] for t in programs]), strict=True):
        state = random_state(machine, random)
        state.set_pair(6, int(np.float64(2.5).view(np.uint64)))
        expected = meaning(state)
        run(state)
        assert (state.wide(10) == np.uint64(expected)).all(), text


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("absolute", [False, True])
def test_float_modifiers(machine, values, negative: bool, absolute: bool) -> None:
    random = np.random.default_rng(SEED)
    source = ("-" if negative else "") + ("|v2|" if absolute else "v2")
    runs = machine.build(
        [[f"v_mul_f32_e64 v10, {source}, v4"], [f"v_cndmask_b32_e64 v10, {source}, v4, s[4:5]"]]
    )
    changed = lambda x: (x & 0x7FFFFFFF if absolute else x) ^ (1 << 31 if negative else 0)  # noqa: E731
    state = machine.State()
    state.v[2], state.v[4] = values(random, "f32"), values(random, "f32")
    runs[0](state)
    for lane in range(64):
        expected = F32.mul(changed(int(state.v[2][lane])), int(state.v[4][lane]))
        got = int(state.v[10][lane])
        assert F32.is_nan(got) if F32.is_nan(expected) else got == expected
    state.set_pair(4, 0xFFFF0000FFFF0000)
    runs[1](state)
    for lane in range(64):
        expected = int(state.v[4][lane]) if lane & 16 else changed(int(state.v[2][lane]))
        assert int(state.v[10][lane]) == expected


def test_op_sel(machine, values) -> None:
    """16-bit VOP3 instructions: op_sel names the half of each source and of the destination."""
    random = np.random.default_rng(SEED)
    cases = list(itertools.product((0, 1), repeat=4))
    texts = [f"v_fma_f16 v10, v2, v4, v6 op_sel:[{a},{b},{c},{d}]" for a, b, c, d in cases]
    for (*sources, destination), run in zip(cases, machine.build([[t] for t in texts]), strict=True):
        state = random_state(machine, random)
        for row in (2, 4, 6):
            low, high = (values(random, "f16") & np.uint32(0xFFFF) for _ in range(2))
            state.v[row] = low | high << np.uint32(16)
        before = state.v.copy()
        run(state)
        for lane in range(64):
            a, b, c = (
                int(before[row][lane]) >> 16 * s & 0xFFFF for row, s in zip((2, 4, 6), sources, strict=True)
            )
            expected, got = F16.fma(a, b, c), int(state.v[10][lane])
            old = int(before[10][lane])
            written, other_half, before_kept = (
                (got >> 16, got & 0xFFFF, old & 0xFFFF)
                if destination
                else (got & 0xFFFF, got >> 16, old >> 16)
            )
            assert other_half == before_kept
            assert F16.is_nan(written) if F16.is_nan(expected) else written == expected


# Results


def test_clamp(machine, values) -> None:
    random = np.random.default_rng(SEED)
    run, without_dx10 = (
        machine.build([["v_add_f32_e64 v10, v2, v4 clamp"]], mode=mode)[0] for mode in (0x3F0, 0x2F0)
    )
    state = machine.State()
    state.v[2], state.v[4] = values(random, "f32"), f32(np.zeros(64))
    run(state)
    x = state.v[2].view(np.float32)
    with np.errstate(invalid="ignore"):
        expected = np.where(np.isnan(x), 0, np.clip(x, 0, 1)).astype(np.float32)
    assert (state.v[10].view(np.float32) == expected).all()
    without_dx10(state)
    assert (np.isnan(state.v[10].view(np.float32)) == np.isnan(x)).all()


def test_output_modifiers(machine) -> None:
    """They are ignored in IEEE mode and if denormals are preserved; -0 becomes +0 where they act."""
    texts = [f"v_add_f32_e64 v10, v2, v4 {omod}" for omod in ("mul:2", "mul:4", "div:2")]
    x = np.array([1.5, -0.0, 3e38, -1.25e-38] * 16, np.float32)
    for mode, acts in ((0x3F0, False), (0x1F0, False), (0x3C0, False), (0x1C0, True)):
        for factor, run in zip((2, 4, 0.5), machine.build([[t] for t in texts], mode=mode), strict=True):
            state = machine.State()
            state.v[2], state.v[4] = f32(x), f32(np.full(64, -0.0))
            run(state)
            with np.errstate(over="ignore"):
                expected = x * np.float32(factor) if acts else x
            if acts:
                expected = np.where(np.abs(expected) < 2.0**-126, np.float32(0), expected)
                assert not np.signbit(state.v[10].view(np.float32)[1])
            assert (state.v[10].view(np.float32) == expected).all(), (hex(mode), factor)


@pytest.mark.parametrize("mode", range(4))
def test_denormal_modes(machine, mode: int) -> None:
    """Single and half precision each have a mode: bit 0 keeps denormal sources, bit 1 denormal results."""
    tiny = np.array([1e-40, -1e-40, 2.0**-100, 1.5] * 16, np.float32)
    runs = machine.build(
        [["v_mul_f32_e32 v10, v2, v4"], ["v_mul_f16_e32 v11, v3, v5"]], mode=0x3C0 | mode << 4
    )
    state = machine.State()
    state.v[2], state.v[4] = f32(tiny), f32([2.0**20, 1.0, 2.0**-40, 1.0] * 16)
    state.v[3] = np.array([0x0001, 0x8003, 0x0400, 0x3C00] * 16, np.uint32)
    state.v[5] = np.array([0x3C00, 0x3C00, 0x3800, 0x3C00] * 16, np.uint32)
    runs[0](state)
    for lane in range(4):
        a, b = int(state.v[2][lane]), int(state.v[4][lane])
        if not mode & 1 and F32.is_denormal(a):
            a &= 1 << 31
        expected = F32.mul(a, b)
        if not mode & 2 and F32.is_denormal(expected):
            expected &= 1 << 31
        assert int(state.v[10][lane]) == expected, (mode, lane)
    runs[1](state)
    for lane in range(4):
        assert int(state.v[11][lane]) == F16.mul(int(state.v[3][lane]), int(state.v[5][lane]))


def test_a_test_of_the_class_sees_denormals_in_every_mode(machine) -> None:
    """It reports the unflushed source, where a comparison sees zero."""
    programs = [["v_cmp_class_f32_e64 s[20:21], v2, v3", "v_cmp_eq_f32_e64 s[22:23], v2, 0"]]
    state = machine.State()
    state.v[2] = np.array([0x00000001, 0x807FFFFF, 0x00000000, 0x00800000] * 16, np.uint32)
    state.v[3] = np.full(64, 1 << 7 | 1 << 4, np.uint32)
    (run,) = machine.build(programs, mode=0x300)
    run(state)
    assert state.pair(20) == 0x3333_3333_3333_3333
    assert state.pair(22) == 0x7777_7777_7777_7777


ROUNDED = {
    "v_add_f32_e32 v10, v2, v4": (F32, "f32", lambda a, b, c: a + b),
    "v_sub_f32_e32 v10, v2, v4": (F32, "f32", lambda a, b, c: a - b),
    "v_mul_f32_e32 v10, v2, v4": (F32, "f32", lambda a, b, c: a * b),
    "v_fma_f32 v10, v2, v4, v6": (F32, "f32", lambda a, b, c: a * b + c),
    "v_add_f16_e32 v10, v2, v4": (F16, "f16", lambda a, b, c: a + b),
    "v_fma_f16 v10, v2, v4, v6": (F16, "f16", lambda a, b, c: a * b + c),
    "v_cvt_f16_f32_e32 v10, v2": (F16, "f32", lambda a, b, c: a),
}


@pytest.mark.parametrize("rounding", [1, 2, 3])
def test_rounding_modes(machine, values, rounding: int) -> None:
    """Up, down and towards zero, for single precision and for the others."""
    random = np.random.default_rng(SEED)
    runs = machine.build([[text] for text in ROUNDED], mode=0x3F0 | rounding | rounding << 2)
    for run, (text, (format, kind, meaning)) in zip(runs, ROUNDED.items(), strict=True):
        source = F32 if kind == "f32" else F16
        state = machine.State()
        for row in (2, 4, 6):
            lanes = values(random, kind) & np.uint32((1 << source.width) - 1)
            finite = np.array([source.magnitude(int(x)) < source.infinity for x in lanes])
            state.v[row] = np.where(finite, lanes, 1)
        run(state)
        for lane in range(64):
            exact = meaning(*(source.exact(int(state.v[row][lane])) for row in (2, 4, 6)))
            if exact == 0:
                continue
            down = format.round(exact, towards_zero=True)
            inexact = format.exact(down) != exact
            away = (rounding == 1 and exact > 0) or (rounding == 2 and exact < 0)
            expected = down + 1 if inexact and away else down
            got = int(state.v[10][lane]) & ((1 << format.width) - 1)
            assert got == expected, f"seed {SEED}: {text}, lane {lane}: {float(exact)}"


def test_rounding_mode_is_left(machine) -> None:
    """Single precision rounds down and back to nearest; the host's mode does not change."""
    run = machine.build(
        [
            [
                "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 2",
                "v_add_f32_e32 v10, v2, v4",
                "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0",
                "v_add_f32_e32 v11, v2, v4",
            ]
        ]
    )[0]
    state = machine.State()
    state.v[2], state.v[4] = f32(np.full(64, 1.0)), f32(np.full(64, 2.0**-24 * 1.5))
    run(state)
    assert (state.v[10] == 0x3F800000).all()
    assert (state.v[11] == 0x3F800001).all()
    assert np.float32(1) + np.float32(2.0**-24 * 1.5) == np.float32(1 + 2.0**-23)


def test_mode_is_set_in_the_code(machine) -> None:
    run = machine.build(
        [
            [
                "v_mul_f32_e32 v10, v2, v4",
                "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0",
                "v_mul_f32_e32 v11, v2, v4",
                "s_getreg_b32 s4, hwreg(HW_REG_MODE, 4, 4)",
                "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3",
                "v_mul_f32_e32 v12, v2, v4",
            ]
        ]
    )[0]
    state = machine.State()
    state.v[2], state.v[4] = f32(np.full(64, 1e-40)), f32(np.full(64, 1.0))
    run(state)
    assert (state.v[10] == state.v[2]).all()
    assert (state.v[11] == 0).all()
    assert (state.v[12] == state.v[2]).all()
    assert state.s[4] == 0xC
    assert state.wave.mode == 0x3F0


# SDWA

SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")


def selected(value: int, select: str, extend: bool) -> int:
    kind, _, number = select.partition("_")
    width = {"BYTE": 8, "WORD": 16, "DWORD": 32}[kind]
    part = value >> width * int(number or 0) & ((1 << width) - 1)
    return signed(part, width) & 0xFFFFFFFF if extend else part


def placed(value: int, select: str, unused: str, old: int) -> int:
    kind, _, number = select.partition("_")
    width = {"BYTE": 8, "WORD": 16, "DWORD": 32}[kind]
    shift = width * int(number or 0)
    mask = (1 << width) - 1
    if unused == "UNUSED_PRESERVE":
        return old & ~(mask << shift) & 0xFFFFFFFF | (value & mask) << shift
    if unused == "UNUSED_SEXT":
        return signed(value & mask, width) << shift & 0xFFFFFFFF
    return (value & mask) << shift


def test_sdwa_sources(machine) -> None:
    random = np.random.default_rng(SEED)
    cases = [
        (a, b, extend) for a in SELECTS for b in ("BYTE_2", "WORD_1", "DWORD") for extend in (False, True)
    ]
    texts = [
        f"v_add_u32_sdwa v10, {'sext(v2)' if extend else 'v2'}, v4 dst_sel:DWORD dst_unused:UNUSED_PAD "
        f"src0_sel:{a} src1_sel:{b}"
        for a, b, extend in cases
    ]
    for (a, b, extend), run in zip(cases, machine.build([[t] for t in texts]), strict=True):
        state = random_state(machine, random)
        run(state)
        for lane in range(64):
            x = selected(int(state.v[2][lane]), a, extend)
            y = selected(int(state.v[4][lane]), b, False)
            assert int(state.v[10][lane]) == x + y & 0xFFFFFFFF, (a, b, extend)


def test_sdwa_results(machine) -> None:
    random = np.random.default_rng(SEED)
    cases = list(itertools.product(SELECTS, ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")))
    texts = [
        f"v_xor_b32_sdwa v10, v2, v4 dst_sel:{select} dst_unused:{unused} src0_sel:DWORD src1_sel:DWORD"
        for select, unused in cases
    ]
    for (select, unused), run in zip(cases, machine.build([[t] for t in texts]), strict=True):
        state = random_state(machine, random)
        old = state.v[10].copy()
        run(state)
        for lane in range(64):
            value = int(state.v[2][lane] ^ state.v[4][lane])
            assert int(state.v[10][lane]) == placed(value, select, unused, int(old[lane])), (select, unused)


def test_sdwa_halves(machine, values) -> None:
    """fp16 arithmetic on chosen words, with modifiers, into a chosen word."""
    random = np.random.default_rng(SEED)
    run = machine.build(
        [
            [
                "v_add_f16_sdwa v10, -v2, |v4| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
                "src0_sel:WORD_1 src1_sel:WORD_0"
            ]
        ]
    )[0]
    state = random_state(machine, random)
    state.v[2] = values(random, "f16") << np.uint32(16)
    state.v[4] = values(random, "f16")
    before = state.v.copy()
    run(state)
    for lane in range(64):
        expected = F16.add(int(before[2][lane]) >> 16 ^ 0x8000, int(before[4][lane]) & 0x7FFF)
        got = int(state.v[10][lane])
        assert got & 0xFFFF == int(before[10][lane]) & 0xFFFF
        assert F16.is_nan(got >> 16) if F16.is_nan(expected) else got >> 16 == expected


def test_sdwa_comparison(machine) -> None:
    random = np.random.default_rng(SEED)
    run = machine.build([["v_cmp_lt_u32_sdwa s[8:9], v2, v4 src0_sel:BYTE_1 src1_sel:WORD_1"]])[0]
    state = random_state(machine, random)
    run(state)
    expected = sum(1 << n for n in range(64) if (int(state.v[2][n]) >> 8 & 255) < int(state.v[4][n]) >> 16)
    assert state.pair(8) == expected


# DPP


def source_lane(control: str, lane: int) -> int | None:
    """The lane that `lane` reads from; None if it reads none (ISA guide, "DPP")."""
    row, place = lane & ~15, lane & 15
    name, _, text = control.partition(":")
    if name == "quad_perm":
        return lane & ~3 | int(text.strip("[]").split(",")[lane & 3])
    if name == "row_mirror":
        return row | 15 - place
    if name == "row_half_mirror":
        return row | place & 8 | 7 - (place & 7)
    n = int(text)
    if name == "row_shl":
        return lane + n if place + n < 16 else None
    if name == "row_shr":
        return lane - n if place >= n else None
    if name == "row_ror":
        return row | place - n & 15
    if name == "row_newbcast":
        return row | n
    if name == "wave_shl":
        return lane + 1 if lane < 63 else None
    if name == "wave_shr":
        return lane - 1 if lane else None
    if name == "wave_rol":
        return lane + 1 & 63
    if name == "wave_ror":
        return lane - 1 & 63
    if name == "row_bcast" and n == 15:
        return row - 1 if row else None
    return 31 if lane > 31 else None


CONTROLS = [
    "quad_perm:[0,1,2,3]",
    "quad_perm:[3,2,1,0]",
    "quad_perm:[1,1,2,0]",
    "row_mirror",
    "row_half_mirror",
    "row_shl:1",
    "row_shl:15",
    "row_shr:1",
    "row_shr:8",
    "row_ror:1",
    "row_ror:12",
    "wave_shl:1",
    "wave_shr:1",
    "wave_rol:1",
    "wave_ror:1",
    "row_bcast:15",
    "row_bcast:31",
    "row_newbcast:0",
    "row_newbcast:11",
]
MASKS = ("row_mask:0xf bank_mask:0xf", "row_mask:0xa bank_mask:0xf", "row_mask:0xf bank_mask:0x6")


def test_dpp(machine, random_exec) -> None:
    random = np.random.default_rng(SEED)
    cases = [
        (control, masks, bound)
        for control in CONTROLS
        for masks in MASKS
        for bound in (False, True)
        if "row_bcast" not in control or not bound
    ]
    texts = [
        f"v_add_u32_dpp v10, v2, v4 {control} {masks}{' bound_ctrl:0' if bound else ''}"
        for control, masks, bound in cases
    ]
    for (control, masks, bound), run, text in zip(
        cases, machine.build([[t] for t in texts]), texts, strict=True
    ):
        rows, banks = (int(part.split(":")[1], 16) for part in masks.split())
        for _ in range(3):
            state = random_state(machine, random)
            state.exec = active = random_exec(random)
            before = state.v.copy()
            run(state)
            for lane in range(64):
                source = source_lane(control, lane)
                valid = source is not None and active >> source & 1
                old = int(before[10][lane])
                enabled = active >> lane & 1 and rows >> lane // 16 & 1 and banks >> lane % 16 // 4 & 1
                if not enabled or (not valid and not bound):
                    expected = old
                else:
                    first = int(before[2][source]) if valid else 0
                    expected = first + int(before[4][lane]) & 0xFFFFFFFF
                assert int(state.v[10][lane]) == expected, f"seed {SEED}: {text}, lane {lane}"


def test_dpp_on_its_own_result(machine) -> None:
    """A wave-wide sum as compiled: each step reads the result of the one before."""
    steps = [
        "v_add_u32_dpp v2, v2, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
        "v_add_u32_dpp v2, v2, v2 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:0",
        "v_add_u32_dpp v2, v2, v2 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:0",
        "v_add_u32_dpp v2, v2, v2 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:0",
        "v_add_u32_dpp v2, v2, v2 row_bcast:15 row_mask:0xa bank_mask:0xf",
        "v_add_u32_dpp v2, v2, v2 row_bcast:31 row_mask:0xc bank_mask:0xf",
    ]
    run = machine.build([[*steps, "v_readlane_b32 s4, v2, 63"]])[0]
    random = np.random.default_rng(SEED)
    state = machine.State()
    state.v[2] = random.integers(0, 1000, 64)
    sums = np.cumsum(state.v[2])
    run(state)
    assert state.s[4] == sums[-1]
    assert (state.v[2] == sums).all()


def test_dpp_float_and_64_bit(machine, values) -> None:
    random = np.random.default_rng(SEED)
    texts = [
        "v_subrev_f32_dpp v10, -v2, |v4| row_newbcast:5 row_mask:0xf bank_mask:0xf",
        "v_mov_b64_dpp v[12:13], v[2:3] row_newbcast:3 row_mask:0xf bank_mask:0xf",
    ]
    state = random_state(machine, random)
    state.v[2], state.v[4] = values(random, "f32"), values(random, "f32")
    for run in machine.build([[t] for t in texts]):
        run(state)
    for lane in range(64):
        a, b = int(state.v[2][lane & ~15 | 5]) ^ 1 << 31, int(state.v[4][lane]) & 0x7FFFFFFF
        expected, got = F32.sub(b, a), int(state.v[10][lane])
        assert F32.is_nan(got) if F32.is_nan(expected) else got == expected
        assert state.wide(12)[lane] == state.wide(2)[lane & ~15 | 3]


def test_dpp_broadcasts_of_one_register(machine) -> None:
    """Each lane of a row to a separate register, as in AITER's mla kernels, which made LLVM abort."""
    run = machine.build(
        [
            [
                f"v_mul_u32_u24_dpp v{10 + n}, v2, v4 row_newbcast:{n} row_mask:0xf bank_mask:0xf"
                for n in range(16)
            ]
        ]
    )[0]
    state = random_state(machine, np.random.default_rng(SEED))
    before = state.v.copy()
    run(state)
    low = (before & 0xFFFFFF).astype(np.uint64)
    for n in range(16):
        expected = low[2].reshape(4, 16)[:, n].repeat(16) * low[4] & 0xFFFFFFFF
        assert (state.v[10 + n] == expected).all(), f"seed {SEED}: row_newbcast:{n}"


# Lanes and scalar registers


def test_lane_moves(machine) -> None:
    run = machine.build(
        [
            [
                "v_readlane_b32 s4, v2, 17",
                "s_mov_b32 m0, 21",
                "v_readlane_b32 s5, v2, m0",
                "v_writelane_b32 v10, s4, 3",
                "v_writelane_b32 v10, -1, m0",
                "v_readfirstlane_b32 s6, v2",
                "v_mov_b32_e32 v11, s6",
                "s_mov_b64 exec, 0",
                "v_readfirstlane_b32 s7, v2",
                "v_mov_b32_e32 v12, 0",
                "s_mov_b64 exec, 0xff00",
                "v_readfirstlane_b32 s8, v2",
            ]
        ]
    )[0]
    random = np.random.default_rng(SEED)
    state = random_state(machine, random)
    before = state.v.copy()
    state.exec = 0xFFFFFFFFFFFFFFF0
    run(state)
    assert list(state.s[4:9]) == [before[2][n] for n in (17, 21, 4, 0, 8)]
    expected = before[10].copy()
    expected[3], expected[21] = before[2][17], 0xFFFFFFFF
    assert (state.v[10] == expected).all()
    assert (state.v[11][4:] == before[2][4]).all()
    assert (state.v[12] == before[12]).all()


def test_mbcnt(machine) -> None:
    run = machine.build([["v_mbcnt_lo_u32_b32 v10, s4, 5", "v_mbcnt_hi_u32_b32 v10, s5, v10"]])[0]
    state = machine.State()
    mask = 0xF0F012345678ABCD
    state.set_pair(4, mask)
    run(state)
    assert list(state.v[10]) == [5 + (mask & (1 << lane) - 1).bit_count() for lane in range(64)]


def test_mqsad_u32(machine) -> None:
    run = machine.build([["v_mqsad_u32_u8 v[10:13], v[2:3], v4, v[6:9]"]])[0]
    random = np.random.default_rng(SEED)
    state = random_state(machine, random)
    state.v[4] &= np.uint32(0xFF00FFFF)
    before = state.v.copy()
    run(state)
    for lane, n in itertools.product(range(64), range(4)):
        whole = int(before[2][lane]) | int(before[3][lane]) << 32
        pairs = zip(
            (whole >> 8 * n).to_bytes(8, "little"), int(before[4][lane]).to_bytes(4, "little"), strict=False
        )
        total = sum(abs(x - y) for x, y in pairs if y)
        assert int(state.v[10 + n][lane]) == total + int(before[6 + n][lane]) & 0xFFFFFFFF


def test_conversion_keeps_nan_quiet(machine) -> None:
    run = machine.build([["v_cvt_f16_f32_e32 v10, v2"]])[0]
    state = machine.State()
    state.v[2] = 0x7F800001
    run(state)
    assert F16.is_nan(int(state.v[10][0]))
    assert F16.is_nan(convert(0x7F800001, F32, F16))


def test_small_integers_are_bit_patterns_beside_floats_of_the_same_value(machine) -> None:
    """The inline constant 1 of a float instruction is the least denormal; a reciprocal divides 1.0."""
    programs = [
        ["v_rcp_f32_e32 v3, v2", "v_max_f32_e32 v4, 1, v2"],
        ["v_max_f32_e32 v4, 1, v2", "v_rcp_f32_e32 v3, v2"],
    ]
    for run in machine.build(programs):
        state = machine.State()
        state.v[2] = 0
        run(state)
        assert (state.v[3] == 0x7F800000).all()
        assert (state.v[4] == 1).all()
