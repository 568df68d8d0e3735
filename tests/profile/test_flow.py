"""The walk of a wave: waits, overlap with other instructions, loads in flight over a back edge."""

from __future__ import annotations

from dataclasses import replace

from tests.codeobject.rows import row
from workbench.codeobject.instruction import Instruction, Operand
from workbench.profile.flow import flow, walk
from workbench.targets import CDNA3_TIMING, CDNA4_TIMING, GFX950

LATENCY = 500.0
TURN = GFX950.timing.turn
LDS_LATENCY = GFX950.timing.lds_latency - TURN


def instruction(address, opcode, form, src=(), words=(0, 0)):
    return Instruction(address, 8, opcode, opcode, form, (), src, {}, words, row(opcode))


def wait(address, field):
    return instruction(address, "s_waitcnt", "SOPP", words=(0xBF8C0000 | field, 0))


def branch(address, opcode, to):
    label = Operand("label", 0, 1, to, False, False, False)
    return instruction(address, opcode, "SOPP", (label,))


def load(address):
    return instruction(address, "global_load_dwordx4", "GLOBAL")


def read(address):
    return instruction(address, "ds_read_b128", "DS")


def mfma(address):
    return instruction(address, "v_mfma_f32_16x16x32_bf16", "VOP3P_MAI")


def walked(code, counts=None, waves=1, lds=4.0):
    counts = counts or {i.address: waves for i in code}
    blocks = flow(counts, {i.address: i for i in code}, GFX950.timing)
    return walk(blocks, waves, GFX950.timing, memory_latency=LATENCY, lds_cycles=lds)


def test_a_load_is_waited_for_once():
    breakdown = walked([load(0), wait(8, 0x0F70), wait(16, 0x0F70)], waves=10)
    assert breakdown.memory == LATENCY - TURN
    assert breakdown.issue == 3 * TURN
    assert breakdown.lds == 0


def test_what_is_issued_meanwhile_hides_the_latency():
    work = [mfma(8 * i) for i in range(1, 11)]
    breakdown = walked([load(0), *work, wait(88, 0x0F70)])
    # The tenth MFMA is issued after nine of 16 cycles each.
    assert breakdown.memory == LATENCY - TURN - 9 * 16 - TURN
    assert breakdown.issue == TURN + 9 * 16 + TURN + TURN


def test_a_partial_wait_asks_for_the_oldest():
    code = [read(0), read(8), wait(16, 0xC17F), wait(24, 0xC07F)]
    breakdown = walked(code, lds=100.0)
    # The first is served at 100, the second at 200, each a latency later in the register.
    assert breakdown.lds == (100 + LDS_LATENCY - 2 * TURN) + (100 - TURN)


def test_loads_in_flight_over_the_back_edge():
    """A loop that waits at its top for loads at its bottom: every iteration waits."""
    turns = 50
    code = [
        load(0),
        wait(8, 0x0F70),
        mfma(16),
        load(24),
        branch(32, "s_cbranch_scc1", 8),
        instruction(40, "s_endpgm", "SOPP"),
    ]
    counts = {0: 1, 8: turns, 16: turns, 24: turns, 32: turns, 40: 1}
    breakdown = walked(code, counts)
    assert breakdown.memory == turns * (LATENCY - 2 * TURN)


def test_the_other_way_into_a_block_is_seen():
    """Most iterations skip the loads, so most of them have nothing in flight."""
    code = [
        branch(0, "s_cbranch_scc1", 16),
        load(8),
        wait(16, 0x0F70),
        branch(24, "s_cbranch_scc0", 0),
        instruction(32, "s_endpgm", "SOPP"),
    ]
    breakdown = walked(code, {0: 100, 8: 3, 16: 100, 24: 100, 32: 1})
    assert breakdown.memory == 0


def test_a_wave_takes_as_long_as_its_target_says():
    """A transcendental of fp32 has half the rate on gfx950, a quarter on gfx942."""
    to = Operand("v", 0, 1, 0, False, False, False)
    code = [replace(instruction(0, "v_exp_f32", "VOP1"), dst=(to,)), read(8), wait(16, 0xC07F)]
    for timing, cycles, latency in ((CDNA3_TIMING, 16, 51), (CDNA4_TIMING, 8, 60)):
        blocks = flow({i.address: 1 for i in code}, {i.address: i for i in code}, timing)
        assert [step.cycles for step in blocks[0].steps] == [cycles, TURN, TURN]
        breakdown = walk(blocks, 1, timing, memory_latency=LATENCY, lds_cycles=8.0)
        assert breakdown.lds == 8 + latency - TURN - TURN
