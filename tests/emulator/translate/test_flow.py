"""Division of code into blocks where two decodings of the same bytes meet, and the mode where paths meet."""

from __future__ import annotations

from workbench.codeobject.decoder import decode, decode_one
from workbench.codeobject.instructions import MATRICES
from workbench.emulator.translate import flow
from workbench.emulator.translate.flow import Code, blocks_of, float_modes
from workbench.emulator.translate.options import Mode


def test_readings_that_join_again_each_go_on_at_a_block() -> None:
    words = (
        0xBF840001,  # 0: s_cbranch_scc0 8
        0xBE8000FF,  # 4: s_mov_b32 s0, 0xbf800000
        0xBF800000,  # 8: its literal, or s_nop 0
        0xBE810080,  # 12: s_mov_b32 s1, 0
        0xBF810000,  # 16: s_endpgm
    )
    data = b"".join(word.to_bytes(4, "little") for word in words)
    instructions = {a: decode_one(data, a, a, "gfx950") for a in (0, 4, 8, 12, 16)}
    assert instructions[4].size == 8
    blocks = blocks_of(Code(instructions, {0, 4, 8}))
    assert [block[0].address for block in blocks] == [0, 4, 8, 12]


def test_code_with_matrix_instructions_has_shorter_pieces() -> None:
    move, matrix = b"\x00\x03\x02\x7e", bytes.fromhex("0000b5d304110204")
    for last, longest in ((b"", flow.PIECE), (matrix, flow.PIECE_WITH_MATRICES)):
        code = decode(2 * flow.PIECE * move + last, 0, "gfx950")
        assert (code[-1].opcode in MATRICES) == bool(last)
        blocks = blocks_of(Code({instruction.address: instruction for instruction in code}, {0}))
        assert max(map(len, blocks)) == longest


def test_mode_that_depends_on_the_way() -> None:
    """Two paths with different modes meet: the mode there is unknown."""
    words = [
        0xBF850003,  # s_cbranch_scc1 +3
        0xBA000901, 0x00000000,  # s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
        0xBF820000,  # s_branch +0
        0xBF810000,  # s_endpgm
    ]  # fmt: skip
    instructions = decode(b"".join(word.to_bytes(4, "little") for word in words), 0, "gfx950")
    blocks = [[instructions[0]], list(instructions[1:3]), [instructions[3]]]
    index_of = {0: 0, 4: 1, 16: 2}
    modes = float_modes(blocks, index_of, [0], Mode.from_register(0x3F0))
    assert modes == [Mode.from_register(0x3F0), Mode.from_register(0x3F0), None]
