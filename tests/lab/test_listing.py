"""Blocks, loops and register pressure of machine code, on small programs worked out by hand."""

from __future__ import annotations

import random

import pytest

from tests.codeobject.rows import row as row_of
from workbench.codeobject import Instruction, Operand, printer
from workbench.lab.listing import Place, build
from workbench.profile.instructions import INSTRUCTIONS, ISSUE, STALLS, InstructionProfile


@pytest.fixture(autouse=True)
def plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prints mnemonics: these instructions have no encoding from which their text could be made."""
    monkeypatch.setattr(printer, "text", lambda instruction: instruction.mnemonic)


def v(index: int, width: int = 1) -> Operand:
    return Operand("v", index, width)


def instruction(row: int, opcode: str, dst=(), src=(), **modifiers) -> Instruction:
    kind = "SOPP" if opcode.startswith("s_") else "VOP3P_MAI" if "mfma" in opcode else "VOP2"
    return Instruction(
        row * 4, 4, opcode, opcode, kind, tuple(dst), tuple(src), modifiers, (0,), row_of(opcode)
    )


def branch(row: int, opcode: str, target: int) -> Instruction:
    return instruction(row, opcode, src=[Operand("label", 0, 1, target * 4)])


def program(*rows) -> list[Instruction]:
    return [row(i) if callable(row) else instruction(i, *row) for i, row in enumerate(rows)]


def listing(instructions, costs=None):
    return build("k", "gfx950", instructions, lambda address: Place(address // 4 + 2, ""), costs)


def test_blocks_and_nested_loops() -> None:
    code = program(
        ("v_mov_b32", [v(0)]),
        ("v_add_f32", [v(1)], [v(0)]),
        ("v_add_f32", [v(2)], [v(1)]),
        lambda i: branch(i, "s_cbranch_scc1", 2),
        lambda i: branch(i, "s_cbranch_vccnz", 1),
        lambda i: branch(i, "s_branch", 7),
        ("v_mov_b32", [v(9)]),
        ("s_endpgm",),
    )
    isa = listing(code)
    assert isa.blocks == [0, 1, 2, 4, 5, 6, 7]
    assert [(loop.first, loop.last, loop.depth) for loop in isa.loops] == [(1, 4, 0), (2, 3, 1)]
    assert isa.lines == list(range(2, 10))
    assert isa.counts is None
    assert not isa.measures


def test_costs_become_columns() -> None:
    code = program(("v_mov_b32", [v(0)]), ("s_endpgm",))
    values = {0: {"instructions": 3.0, "issue_cycles": 12.0}}
    isa = listing(code, InstructionProfile((ISSUE, INSTRUCTIONS, STALLS), values, {0: 3}))
    assert isa.counts == [3, 0]
    # Executions have their column, and nothing stalls.
    assert [(c.key, c.origin, list(c.values)) for c in isa.measures] == [
        ("issue_cycles", "modelled", [12.0, 0])
    ]
    assert isa.to_dict()["measures"][0]["values"] == [12.0, 0]
    assert listing(code, InstructionProfile((ISSUE,), values)).counts is None


def test_pressure_counts_values_still_needed() -> None:
    code = program(
        ("v_mov_b32", [v(0)]),
        ("v_mov_b32", [v(1, 2)]),
        ("v_add_f32", [v(3)], [v(0), v(2)]),
        ("v_mfma_f32_16x16x16_bf16", [Operand("a", 0, 4)], [v(1, 2), v(3, 2), Operand("a", 0, 4)]),
        ("s_endpgm",),
    )
    isa = listing(code)
    # v4 is read and never written: live from the start, as an input would be; a0..a3 likewise.
    assert isa.vgprs == [1, 2, 4, 4, 0]
    assert isa.agprs == [4, 4, 4, 4, 0]


def test_accumulating_destination_is_read() -> None:
    code = program(("v_mov_b32", [v(5)]), ("v_fmac_f32", [v(5)], [v(6), v(7)]), ("s_endpgm",))
    assert listing(code).vgprs == [2, 3, 0]


def test_value_stays_live_around_a_loop() -> None:
    code = program(
        ("v_mov_b32", [v(0)]),
        ("v_add_f32", [v(1)], [v(0)]),
        lambda i: branch(i, "s_cbranch_scc1", 1),
        ("s_endpgm",),
    )
    assert listing(code).vgprs == [0, 1, 1, 0]


def test_random_programs_agree_with_a_search_over_paths(draw: random.Random) -> None:
    for _ in range(40):
        size = draw.randrange(3, 14)
        code = []
        for row in range(size):
            if draw.random() < 0.25:
                code.append(branch(row, draw.choice(["s_branch", "s_cbranch_scc0"]), draw.randrange(size)))
            else:
                registers = [v(draw.randrange(6), draw.choice([1, 1, 2])) for _ in range(3)]
                opcode = draw.choice(["v_add_f32", "v_fmac_f32", "v_mov_b32"])
                code.append(instruction(row, opcode, registers[:1], registers[1:]))
        code.append(instruction(size, "s_endpgm"))
        assert listing(code).vgprs == [len(live_by_search(code, row)) for row in range(len(code))]


def live_by_search(code: list[Instruction], start: int) -> set[int]:
    """Registers that some path from a row reads before it writes them."""
    return {register for register in range(8) if read_first(code, start, register)}


def read_first(code: list[Instruction], start: int, register: int) -> bool:
    seen: set[int] = set()
    stack = [start]
    while stack:
        row = stack.pop()
        if row in seen or row >= len(code):
            continue
        seen.add(row)
        this = code[row]
        reads = covers(this.src, register) or (this.opcode == "v_fmac_f32" and covers(this.dst, register))
        if reads:
            return True
        if covers(this.dst, register) or this.opcode == "s_endpgm":
            continue
        stack += [int(o.value) // 4 for o in this.src if o.kind == "label"]
        if this.opcode != "s_branch":
            stack.append(row + 1)
    return False


def covers(operands, register: int) -> bool:
    return any(o.kind == "v" and o.index <= register < o.index + o.width for o in operands)
