"""Sequences of instructions: a program in one block has the effect of its single instructions.

Single instructions are right (the other tests here); what is tested is what the translator does between
them: values kept in registers across a run, scalar code moved before a loop, masks, stores and reloads.
"""

from __future__ import annotations

import numpy as np
import pytest

SEED = 77
COUNT = 40
LENGTH = 60


def one_instruction(random: np.random.Generator) -> str:
    """An instruction on few registers, so that dependencies of every kind are frequent."""

    def v() -> str:
        return f"v{random.integers(0, 8)}"

    def s() -> str:
        return f"s{random.integers(0, 8)}"

    def pair() -> str:
        first = 2 * int(random.integers(0, 4))
        return f"s[{first}:{first + 1}]"

    def wide() -> str:
        first = 2 * int(random.integers(0, 4))
        return f"v[{first}:{first + 1}]"

    choices = [
        lambda: f"v_add_u32_e32 {v()}, {v()}, {v()}",
        lambda: f"v_xor_b32_e32 {v()}, {v()}, {v()}",
        # No operation that may choose between two NaNs: which payload survives is the host's choice.
        lambda: f"v_cvt_f32_u32_e32 {v()}, {v()}",
        lambda: f"v_cvt_i32_f32_e32 {v()}, {v()}",
        lambda: f"v_add_u32_e32 {v()}, {s()}, {v()}",
        lambda: f"v_mov_b32_e32 {v()}, {s()}",
        lambda: f"v_mov_b32_e32 {v()}, {random.integers(-16, 65)}",
        lambda: f"v_lshlrev_b64 {wide()}, 3, {wide()}",
        lambda: f"v_lshl_add_u64 {wide()}, {wide()}, 2, {pair()}",
        lambda: f"v_mad_u64_u32 {wide()}, {pair()}, {v()}, {v()}, {wide()}",
        lambda: f"v_cmp_lt_u32_e64 {pair()}, {v()}, {v()}",
        lambda: f"v_cmp_ne_u32_e64 {pair()}, {v()}, {s()}",
        lambda: f"v_mad_u64_u32 {wide()}, {pair()}, {s()}, {v()}, {wide()}",
        lambda: f"v_add_co_u32_e64 {v()}, {pair()}, {v()}, {s()}",
        lambda: f"v_cmp_gt_i32_e32 vcc, {v()}, {v()}",
        lambda: f"v_cndmask_b32_e64 {v()}, {v()}, {v()}, {pair()}",
        lambda: f"v_cndmask_b32_e32 {v()}, {v()}, {v()}, vcc",
        lambda: f"v_add_co_u32_e32 {v()}, vcc, {v()}, {v()}",
        lambda: f"v_addc_co_u32_e32 {v()}, vcc, {v()}, {v()}, vcc",
        lambda: f"v_addc_co_u32_e64 {v()}, {pair()}, {v()}, {v()}, {pair()}",
        lambda: f"s_mov_b32 {s()}, {random.integers(-16, 65)}",
        lambda: f"s_add_u32 {s()}, {s()}, {s()}",
        lambda: f"s_addc_u32 {s()}, {s()}, {s()}",
        lambda: f"s_mov_b64 {pair()}, {pair()}",
        lambda: f"s_and_b64 {pair()}, {pair()}, vcc",
        lambda: f"s_mov_b64 vcc, {pair()}",
        lambda: f"s_lshl_b64 {pair()}, {pair()}, 1",
        lambda: f"s_cselect_b32 {s()}, {s()}, {s()}",
        lambda: f"s_and_saveexec_b64 {pair()}, {pair()}",
        lambda: f"s_or_b64 exec, exec, {pair()}",
        lambda: "s_mov_b64 exec, -1",
        lambda: f"v_cmpx_ne_u32_e64 {pair()}, {v()}, {v()}",
        lambda: f"v_readfirstlane_b32 {s()}, {v()}",
        lambda: f"v_readlane_b32 {s()}, {v()}, {random.integers(0, 64)}",
        lambda: f"v_writelane_b32 {v()}, {s()}, {random.integers(0, 64)}",
        lambda: f"v_mov_b32_dpp {v()}, {v()} quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
        lambda: f"v_add_u32_dpp {v()}, {v()}, {v()} row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
        lambda: f"v_add_u32_dpp {v()}, {v()}, {v()} row_bcast:15 row_mask:0xa bank_mask:0xf",
        lambda: f"v_mov_b32_dpp {v()}, {v()} wave_ror:1 row_mask:0xf bank_mask:0xf",
        lambda: f"v_pk_add_u16 {v()}, {v()}, {v()}",
        lambda: f"v_pk_mov_b32 {wide()}, {wide()}, {wide()} op_sel:[1,0]",
        lambda: f"v_add_u16_e32 {v()}, {v()}, {v()}",
        lambda: f"v_exp_f32_e32 {v()}, {v()}",
        lambda: f"v_mbcnt_lo_u32_b32 {v()}, {s()}, {v()}",
        lambda: f"v_swap_b32 {v()}, {v()}",
        lambda: "s_nop 0",
    ]
    weights = np.ones(len(choices))
    weights[:20] = 3
    return str(random.choice(np.array([choice() for choice in choices], object), p=weights / weights.sum()))


@pytest.fixture(scope="module")
def programs():
    random = np.random.default_rng(SEED)
    return [[one_instruction(random) for _ in range(LENGTH)] for _ in range(COUNT)]


def test_program_equals_its_instructions(programs, machine) -> None:
    whole = machine.build(programs)
    texts = sorted({text for program in programs for text in program})
    single = dict(zip(texts, machine.build([[text] for text in texts]), strict=True))
    random = np.random.default_rng(SEED + 1)
    for program, run in zip(programs, whole, strict=True):
        start = random.integers(0, 1 << 32, (64, 64), dtype=np.uint64).astype(np.uint32)
        scalars = random.integers(0, 1 << 32, 129, dtype=np.uint64).astype(np.uint32)
        scalars[128] &= 1
        states = []
        for _ in range(2):
            state = machine.State()
            state.v[:], state.s[:] = start, scalars
            states.append(state)
        assert run(states[0]) == -1
        for text in program:
            assert single[text](states[1]) == -1
        whole_state, other = states
        rows = np.nonzero((whole_state.v != other.v).any(axis=1))[0]
        registers = np.nonzero(whole_state.s != other.s)[0]
        assert not len(rows), f"seed {SEED}: rows {rows} differ after\n" + "\n".join(program)
        assert not len(registers), f"seed {SEED}: scalars {registers} differ after\n" + "\n".join(program)
