"""The opcode tables are what LLVM's disassembler says now, and the script that makes them reads it right."""

from __future__ import annotations

from importlib.resources import files

import pytest

from workbench.codeobject.encodings import ENCODINGS
from workbench.codeobject.instructions.isa.enumerate import (
    disassemble,
    encode,
    register,
    split,
    table,
)
from workbench.targets import NAMES


@pytest.mark.parametrize("target", NAMES)
def test_table_is_llvms(target: str, llvm_mc: str) -> None:
    committed = files("workbench.codeobject.instructions.isa").joinpath(f"{target}.csv").read_text()
    assert table(target, llvm_mc).splitlines() == committed.splitlines()


def test_disassemble_tells_size_and_refusal(llvm_mc: str) -> None:
    encodings = [
        encode("VOP2", 1, {"src0": 255}, 0x12345678)[:4],
        encode("VOP2", 1, {"src0": 256}),
        b"\xff" * 4,
    ]
    answers = disassemble("gfx950", encodings, llvm_mc)
    # The first takes what follows as its literal.
    assert answers[0] is not None
    assert answers[0][1] == 8
    assert answers[1] == ("v_add_f32_e32 v0, v0, v0", 4)
    assert answers[2] is None


def test_split_and_register() -> None:
    text = "v_pk_add_f16 v0, -|v[2:3]|, s4 op_sel:[1,0] clamp"
    assert split(text) == ("v_pk_add_f16", ["v0", "-|v[2:3]|", "s4"], ["op_sel:[1,0]", "clamp"])
    assert split("ds_gws_sema_v gds") == ("ds_gws_sema_v", [], ["gds"])
    assert register("-|v[2:3]|") == ("v", 2, 2)
    assert register("vcc") == ("s", 106, 2)
    assert register("0x10") is None


def test_fields_stay_inside_their_encoding() -> None:
    for encoding in ENCODINGS.values():
        for low, width in (encoding.opcode, *encoding.fields.values()):
            assert low + width <= 8 * encoding.size
