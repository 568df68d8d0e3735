"""The same matrix instruction several times in a row becomes one call: native/ops/matrix.c's "chain".

A GEMM's inner loop is a row of MFMAs that share their operands: looking at each operand once, and keeping a
result in registers while one instruction after the other adds to it, saves a quarter of their time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Registers, Trait
from workbench.emulator.native import abi
from workbench.emulator.native.ops import OpFields
from workbench.emulator.semantics import ENDS_BLOCK
from workbench.emulator.translate.block import BlockTranslator

LONGEST = 64

_SCALAR_FORMATS = frozenset({"SOP1", "SOP2", "SOPC", "SOPK"})
_MEMORY_FORMATS = frozenset({"DS", "MUBUF", "FLAT", "GLOBAL", "SCRATCH"})


@dataclass(frozen=True)
class _Link:
    """One instruction of a chain and the rows that it touches; `c` is empty for a constant."""

    opcode: str
    fields: OpFields
    address: int
    a: range
    b: range
    c: range
    d: range


def _link(instruction: Instruction, fields: OpFields) -> _Link | None:
    """None for an instruction that has no place in a chain."""
    shape = instruction.record.matrix
    if shape is None or shape.sparse or shape.blocks != 1 or shape.type_a not in ("f16", "bf16"):
        return None
    if any(instruction.modifiers.get(name, 0) for name in ("cbsz", "abid", "blgp", "neg_lo")):
        return None
    results = shape.m * shape.n // abi.LANES
    rows_a, rows_b = fields.imm[2] & 255, fields.imm[2] >> 8 & 255
    link = _Link(
        instruction.opcode,
        fields,
        instruction.address,
        a=range(fields.src0, fields.src0 + rows_a),
        b=range(fields.src1, fields.src1 + rows_b),
        c=range(0) if fields.flags & abi.MATRIX_C_CONSTANT else range(fields.src2, fields.src2 + results),
        d=range(fields.dst, fields.dst + results),
    )
    # A larger result is written piece by piece.
    if shape.m > 16 and not (_apart(link.d, link.a) and _apart(link.d, link.b)):
        return None
    return link if link.c == link.d or _apart(link.c, link.d) else None


def _apart(one: range, other: range) -> bool:
    return one.stop <= other.start or other.stop <= one.start or not one or not other


def _commute(one: _Link, other: _Link) -> bool:
    """Whether two instructions may change places, or add to the same result."""
    if one.d != other.d and not _apart(one.d, other.d):
        return False
    factors = (one.d, other.a), (one.d, other.b), (other.d, one.a), (other.d, one.b)
    # An addend is an instruction's own result, or no result of the other.
    addends = [(a.c, b.d) for a, b in ((one, other), (other, one)) if a.c != a.d]
    return all(_apart(*pair) for pair in (*factors, *addends))


def _by_result(links: list[_Link]) -> list[_Link]:
    """The same instructions, those of one result together as far as the meaning stays."""
    ordered: list[_Link] = []
    free: dict[int, list[_Link]] = {}
    for link in links:
        if not all(_commute(link, other) for same in free.values() for other in same):
            ordered += (other for same in free.values() for other in same)
            free = {}
        free.setdefault(link.d.start, []).append(link)
    return ordered + [link for same in free.values() for link in same]


def _flags(ordered: list[_Link]) -> list[int]:
    """What native/ops/matrix.h wants to know of each instruction besides its own flags."""
    result = []
    factors: set[range] = set()
    made: set[range] = set()
    for number, link in enumerate(ordered):
        flags = abi.MATRIX_SEEN_A if link.a in factors else 0
        flags |= abi.MATRIX_SEEN_B if link.b in factors else 0
        flags |= abi.MATRIX_SEEN_C if link.c in made else 0
        after = ordered[number + 1] if number + 1 < len(ordered) else None
        if after is not None and after.c == after.d == link.d:
            flags |= abi.MATRIX_LINKED if _apart(link.d, after.a) and _apart(link.d, after.b) else 0
        result.append(flags)
        factors = {rows for rows in factors | {link.a, link.b} if _apart(rows, link.d)}
        made = {rows for rows in made if _apart(rows, link.d)} | {link.d}
    return result


class MatrixChain:
    """Matrix instructions of a block that wait to be handed over together."""

    def __init__(self, translator: BlockTranslator) -> None:
        self._translator = translator
        self._links: list[_Link] = []

    def add(self, instruction: Instruction, fields: OpFields) -> bool:
        """Take an instruction; False where it is none of a chain, and nothing is waiting then."""
        link = None if self._translator.indexed_positions else _link(instruction, fields)
        if link is None:
            self.flush()
            return False
        if self._links and (len(self._links) == LONGEST or self._links[0].opcode != link.opcode):
            self.flush()
        self._links.append(link)
        return True

    @property
    def waits(self) -> bool:
        """Whether instructions are waiting."""
        return bool(self._links)

    def lets_pass(self, instruction: Instruction) -> bool:
        """Whether an instruction may as well run before the ones that are waiting: one of scalar registers
        that does not change how vector registers are read, or of memory, with other vector registers."""
        record = instruction.record
        if (
            instruction.opcode in ENDS_BLOCK
            or Registers.MODE in record.writes
            or Trait.INDEXES in record.traits
        ):
            return False
        if instruction.format in _SCALAR_FORMATS:
            return True
        if instruction.format not in _MEMORY_FORMATS or instruction.modifiers.get("tfe", 0):
            return False
        touched = [
            range(first, first + operand.width)
            for operand in (*instruction.dst, *instruction.src)
            if operand.kind in ("v", "a")
            for first in (self._translator.row_of(operand),)
        ]
        return all(
            _apart(rows, of_link)
            for link in self._links
            for of_link in (link.a, link.b, link.c, link.d)
            for rows in touched
        )

    def flush(self) -> None:
        """Hand over what is waiting."""
        links, self._links = _by_result(self._links), []
        if not links:
            return
        function = links[0].fields.function
        if len(links) == 1:
            self._translator.native(function, links[0].fields.record(links[0].address), False)
            return
        records = [
            replace(link.fields, flags=link.fields.flags | flags).record(link.address)
            for link, flags in zip(links, _flags(links), strict=True)
        ]
        self._translator.native(f"{function}_chain", b"".join(records), False, count=len(records))
