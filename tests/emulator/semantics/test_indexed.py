"""Registers chosen at run time."""

from __future__ import annotations

import numpy as np

SEED = 61


def test_vector_index_mode(machine) -> None:
    run = machine.build(
        [
            [
                "s_set_gpr_idx_on s4, gpr_idx(SRC0)",
                "s_getreg_b32 s8, hwreg(HW_REG_MODE)",
                "v_mov_b32_e32 v10, v2",
                "s_set_gpr_idx_mode gpr_idx(DST)",
                "v_mov_b32_e32 v20, v3",
                "s_set_gpr_idx_idx s5",
                "v_add_u32_e32 v20, v3, v3",
                "s_set_gpr_idx_on s6, gpr_idx(SRC1)",
                "v_add_u32_e32 v11, v2, v2",
                "s_set_gpr_idx_off",
                "s_getreg_b32 s9, hwreg(HW_REG_MODE)",
                "v_mov_b32_e32 v12, v2",
            ]
        ]
    )[0]
    random = np.random.default_rng(SEED)
    state = machine.State()
    state.v[:] = random.integers(0, 1 << 32, state.v.shape, dtype=np.uint64)
    state.s[4:7] = [5, 7, 3]
    state.s[124] = 0xABCD0000
    before = state.v.copy()
    run(state)
    expected = before.copy()
    expected[10] = before[2 + 5]
    expected[25] = before[3]
    expected[27] = before[3] + before[3]
    expected[11] = before[2] + before[2 + 3]
    expected[12] = before[2]
    np.testing.assert_array_equal(state.v, expected)
    assert state.s[124] == 0xABCD2003
    assert state.s[8] == state.s[9] | 1 << 27, "GPR_IDX_EN of MODE"
    assert not state.s[9] >> 27 & 1


def test_vector_index_outside_the_registers(machine) -> None:
    """The register that the instruction names is used: no index leads out of a wave's registers."""
    program = ["s_set_gpr_idx_on s4, gpr_idx(SRC0)", "v_mov_b32_e32 v10, v2", "s_set_gpr_idx_off"]
    run = machine.build([program])[0]
    state = machine.State()
    state.v[2], state.s[4] = 77, 200
    run(state)
    assert (state.v[10] == 77).all()


def test_scalar_relative(machine) -> None:
    run = machine.build(
        [
            [
                "s_mov_b32 m0, 3",
                "s_movrels_b32 s40, s4",
                "s_movrels_b64 s[42:43], s[6:7]",
                "s_movreld_b32 s20, s4",
                "s_mov_b32 m0, 4",
                "s_movreld_b64 s[30:31], s[4:5]",
            ]
        ]
    )[0]
    state = machine.State()
    state.s[:106] = np.arange(1000, 1106)
    run(state)
    assert state.s[40] == 1007
    assert list(state.s[42:44]) == [1009, 1010]
    assert state.s[23] == 1004
    assert list(state.s[34:36]) == [1004, 1005]
