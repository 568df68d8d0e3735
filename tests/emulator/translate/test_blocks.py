"""How code is cut into blocks, where two readings of the same bytes meet."""

from __future__ import annotations

from workbench.codeobject.decoder import decode_one
from workbench.emulator.translate.translator import _Code, blocks_of


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
    blocks = blocks_of(_Code(instructions, {0, 4, 8}))
    assert [block[0].address for block in blocks] == [0, 4, 8, 12]
