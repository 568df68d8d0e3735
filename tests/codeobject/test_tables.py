"""The opcode table matches LLVM's disassembler, and the script that makes the table parses it correctly."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.codeobject import llvm_answers
from workbench.codeobject.encodings import ENCODINGS
from workbench.codeobject.instructions.isa.enumerate import (
    TABLE,
    disassemble,
    encode,
    register,
    rows,
    split,
)
from workbench.targets import NAMES


@pytest.mark.parametrize("target", NAMES)
def test_table_is_llvms(target: str) -> None:
    assert rows(target, partial(llvm_answers.from_recording, target)) == TABLE.of(target)


def test_table_has_its_own_form() -> None:
    """Writing it again changes nothing: sorted, with one line for all targets that share an instruction."""
    assert TABLE.text({target: TABLE.of(target) for target in NAMES}, ENCODINGS) == TABLE.path.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("target", NAMES)
def test_recording_matches_llvm(target: str) -> None:
    """Compared where LLVM is installed; elsewhere each target must at least have its own recording."""
    recorded = llvm_answers.recorded(target)
    assert len(recorded) > 30000
    tool = llvm_answers.live()
    if tool is not None:
        assert disassemble(target, list(recorded), tool) == list(recorded.values()), llvm_answers.COMMAND


# Output of LLVM 22.1.8's `llvm-mc --disassemble` for the three encodings below.
SAID = """\
\tv_add_f32_e32 v0, 0xbf80aa01, v0
\ts_nop 0xaa02
\ts_nop 0xaa03
\ts_nop 0x1234
\tv_add_f32_e32 v0, v0, v0
\ts_nop 0xaa01
\ts_nop 0xaa02
\ts_nop 0xaa03
\ts_nop 0x1234
\ts_nop 0xaa01
\ts_nop 0xaa02
\ts_nop 0xaa03
\ts_nop 0x1234
"""
WARNED = """\
<stdin>:5:1: warning: invalid instruction encoding
0xff 0xff 0xff 0xff 0x01 0xaa 0x80 0xbf 0x02 0xaa 0x80 0xbf 0x03 0xaa 0x80 0xbf
^
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> str:
    """Path of a program that repeats llvm-mc's answer, and stores its input."""
    (tmp_path / "said").write_text(SAID)
    (tmp_path / "warned").write_text(WARNED)
    program = tmp_path / "llvm-mc"
    program.write_text('#!/bin/sh\ncd "${0%/*}" && cat > asked && cat warned >&2 && cat said\n')
    program.chmod(0o755)
    return str(program)


def test_disassemble_returns_sizes_and_refusals(stand_in: str) -> None:
    encodings = [
        encode("VOP2", 1, {"src0": 255}, 0x12345678)[:4],
        encode("VOP2", 1, {"src0": 256}),
        b"\xff" * 4,
    ]
    tool = llvm_answers.live()
    for llvm_mc in (stand_in, tool) if tool else (stand_in,):
        answers = disassemble("gfx950", encodings, llvm_mc)
        # The first takes the next dword as its literal.
        assert answers[0] is not None
        assert answers[0][1] == 8
        assert answers[1] == ("v_add_f32_e32 v0, v0, v0", 4)
        assert answers[2] is None
    asked = Path(stand_in).with_name("asked").read_text().splitlines()
    assert [line[:19] for line in asked[::2]] == [
        "0xff 0x00 0x00 0x02",
        "0x00 0x01 0x00 0x02",
        "0xff 0xff 0xff 0xff",
    ]


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
