"""The same matrix instruction several times in a row becomes one call: native/ops/matrix.c's "chain".

A GEMM's inner loop is a row of MFMAs that share their operands: looking at each operand once, and keeping a
result in registers while one instruction after the other adds to it, saves a quarter of their time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import MATRICES, Registers, Trait
from workbench.emulator.native import abi
from workbench.emulator.native.ops import OpFields, Rows
from workbench.emulator.semantics import ENDS_BLOCK
from workbench.emulator.translate.block import BlockTranslator

LONGEST = 64

KEPT_ROWS = 96
"""Rows for factors that are overwritten while their instructions wait."""

_OVERTAKING_FORMATS = frozenset(
    {"SOP1", "SOP2", "SOPC", "SOPK", "DS", "MUBUF", "FLAT", "GLOBAL", "SCRATCH"}
    | {"VOP1", "VOP2", "VOPC", "VOP3", "VOP3P", "VOP3P_MAI"}
)
"""Formats of instructions that access no vector registers other than their operands."""

_SCALAR_FORMATS = frozenset({"SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM"})
"""Formats of instructions that write no vector registers."""


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

    def reading(self, factor: range, place: range) -> _Link:
        """The link with a factor in another place."""
        a, b = (place if rows == factor else rows for rows in (self.a, self.b))
        return replace(self, fields=replace(self.fields, src0=a.start, src1=b.start), a=a, b=b)


def _link(instruction: Instruction, fields: OpFields, wave_size: int) -> _Link | None:
    """None for an instruction that cannot be part of a chain."""
    shape = instruction.record.matrix
    if shape is None or shape.sparse or shape.blocks != 1 or shape.type_a not in ("f16", "bf16"):
        return None
    if any(instruction.modifiers.get(name, 0) for name in ("cbsz", "abid", "blgp", "neg_lo")):
        return None
    results = shape.m * shape.n // wave_size
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


def sums(instructions: Iterable[Instruction], rows: Rows) -> frozenset[int]:
    """Rows of results that chains may keep as known sums (abi.h, Wave.sums): those of bf16."""
    result: set[int] = set()
    for instruction in instructions:
        shape = instruction.record.matrix
        if instruction.opcode not in MATRICES or shape is None:
            continue
        if shape.type_a == "bf16" and not shape.sparse:
            first = rows.row(instruction.dst[0])
            result.update(range(first, first + shape.m * shape.n * shape.blocks // rows.wave_size))
    return frozenset(result)


def _apart(first: range, second: range) -> bool:
    return first.stop <= second.start or second.stop <= first.start or not first or not second


def _commute(first: _Link, second: _Link) -> bool:
    """True if two instructions may be swapped, or if both add to one result."""
    if first.d != second.d and not _apart(first.d, second.d):
        return False
    factors = (first.d, second.a), (first.d, second.b), (second.d, first.a), (second.d, first.b)
    # An addend is the instruction's own result, or not a result of the other.
    addends = [(a.c, b.d) for a, b in ((first, second), (second, first)) if a.c != a.d]
    return all(_apart(*pair) for pair in (*factors, *addends))


def _by_result(links: list[_Link]) -> list[_Link]:
    """The instructions reordered to make those of one result adjacent, without a change of meaning."""
    ordered: list[_Link] = []
    free: dict[int, list[_Link]] = {}
    for link in links:
        if not all(_commute(link, other) for same in free.values() for other in same):
            ordered += (other for same in free.values() for other in same)
            free = {}
        free.setdefault(link.d.start, []).append(link)
    return ordered + [link for same in free.values() for link in same]


def _by_factors(ordered: list[_Link]) -> list[_Link]:
    """Independent results in squares: two factors A by two factors B, which the CPU's matrix unit loads once
    for four results (native/ops/matrix_tiles.h). Other results come last."""
    results: dict[range, list[_Link]] = {}
    for link in ordered:
        results.setdefault(link.d, []).append(link)
    written = {row for d in results for row in d}
    if len(written) != sum(map(len, results)) or not all(
        written.isdisjoint(rows)
        for link in ordered
        for rows in (link.a, link.b, () if link.c == link.d else link.c)
    ):
        return ordered
    by_factors: dict[tuple[tuple[range, ...], tuple[range, ...]], list[_Link]] = {}
    alone: list[_Link] = []
    for links in results.values():
        factors = tuple(link.a for link in links), tuple(link.b for link in links)
        if factors in by_factors:
            alone += links
        else:
            by_factors[factors] = links
    squares: list[_Link] = []
    while by_factors:
        a, b = next(iter(by_factors))
        corners = (
            [(a, b), (a, other_b), (other_a, b), (other_a, other_b)] for other_a, other_b in by_factors
        )
        square = next((c for c in corners if len(by_factors.keys() & c) == 4), None)
        for factors in square or [(a, b)]:
            (alone if square is None else squares).extend(by_factors.pop(factors))
    return squares + alone


def _flags(ordered: list[_Link]) -> list[int]:
    """Flags of each instruction for native/ops/matrix.h, in addition to its own."""
    result = []
    factors: set[range] = set()
    for number, link in enumerate(ordered):
        flags = abi.MATRIX_SEEN_A if link.a in factors else 0
        flags |= abi.MATRIX_SEEN_B if link.b in factors else 0
        after = ordered[number + 1] if number + 1 < len(ordered) else None
        if after is not None and after.c == after.d == link.d:
            flags |= abi.MATRIX_LINKED if _apart(link.d, after.a) and _apart(link.d, after.b) else 0
        result.append(flags)
        factors = {rows for rows in factors | {link.a, link.b} if _apart(rows, link.d)}
    return [flags | waits for flags, waits in zip(result, _waits(ordered, result), strict=True)]


def _waits(ordered: list[_Link], flags: list[int]) -> list[int]:
    """MATRIX_WAITS of each instruction, or 0."""
    result = [0] * len(ordered)
    first = 0
    earlier: list[range] = []
    for number, link in enumerate(ordered):
        if flags[number] & abi.MATRIX_LINKED:
            continue
        group = ordered[first : number + 1]
        if not all(_apart(written, of) for written in earlier for g in group for of in (g.a, g.b, g.c, g.d)):
            result[first] = abi.MATRIX_WAITS
            earlier = []
        earlier.append(link.d)
        first = number + 1
    return result


class MatrixChain:
    """Matrix instructions of a block that wait to be emitted together."""

    def __init__(
        self,
        translator: BlockTranslator,
        spare: int | None = None,
        sums: Collection[int] = range(abi.MAX_ROWS),
    ) -> None:
        """`spare` is the first of KEPT_ROWS rows that no instruction names; None: there are none. `sums` are
        the rows that may hold results of the kernel's chains."""
        self._translator = translator
        self._links: list[_Link] = []
        self._sums = sums
        self._changed: set[int] = set()
        self._spare = range(0) if spare is None else range(spare, spare + KEPT_ROWS)
        self.kept = False

    def add(self, instruction: Instruction, fields: OpFields) -> bool:
        """Take an instruction; False if it does not belong to a chain, and nothing is waiting then."""
        link = (
            None
            if self._translator.indexed_positions
            else _link(instruction, fields, self._translator.function.wave_size)
        )
        if link is None:
            self.flush()
            self._changes(instruction)
            return False
        if self._links and (len(self._links) == LONGEST or self._links[0].opcode != link.opcode):
            self.flush()
        self._links.append(link)
        return True

    def make_way(self, instruction: Instruction) -> None:
        """Prepare for an instruction to run before those that are waiting.

        Factors that it overwrites are copied: compilers load into their registers as soon as the last matrix
        instruction that reads them is issued. Others that it must not overtake are emitted.
        """
        while count := self._before(instruction):
            written = self._written(instruction)
            last = self._links[count - 1]
            factors = {f for f in (last.a, last.b) if not all(_apart(rows, f) for rows in written)}
            results = [*written, *self._rows(instruction.src)]
            if (
                not self._overtakes(instruction)
                or not factors
                or not all(_apart(rows, of_last) for rows in written for of_last in (last.c, last.d))
                or not all(_apart(rows, last.d) for rows in results)
                or not all(self._keep(factor, last.address) for factor in factors)
            ):
                self._flush(count)
        self._changes(instruction)
        if instruction.opcode in ENDS_BLOCK:
            self._tell_changed()

    def lets_pass(self, instruction: Instruction) -> bool:
        """True if an instruction may run before all that are waiting."""
        return self._before(instruction) == 0

    def _before(self, instruction: Instruction) -> int:
        """Number of waiting instructions that must run before this one: up to the last whose registers it
        writes, or whose result it reads."""
        if not self._overtakes(instruction):
            return len(self._links)
        read, written = self._rows(instruction.src), self._written(instruction)
        for number in range(len(self._links), 0, -1):
            link = self._links[number - 1]
            if not all(_apart(rows, link.d) for rows in read) or not all(
                _apart(rows, of_link) for rows in written for of_link in (link.a, link.b, link.c, link.d)
            ):
                return number
        return 0

    def _overtakes(self, instruction: Instruction) -> bool:
        """True if an instruction may run before matrix instructions with other registers."""
        record = instruction.record
        return not (
            instruction.opcode in ENDS_BLOCK
            or Registers.MODE in record.writes
            or Trait.INDEXES in record.traits
            or instruction.modifiers.get("tfe", 0)
            or record.matrix is not None
            or instruction.format not in _OVERTAKING_FORMATS
        )

    def _written(self, instruction: Instruction) -> list[range]:
        exchanges = Trait.EXCHANGES in instruction.record.traits
        return self._rows((*instruction.dst, *instruction.src) if exchanges else instruction.dst)

    def _keep(self, factor: range, address: int) -> bool:
        """Copy a factor to spare rows, which pending links then read instead; False if there is no room, or
        if the factor is a result that is not computed yet."""
        taken = [of_link for link in self._links for of_link in (link.a, link.b)]
        place = next(
            (
                rows
                for first in self._spare[:: len(factor)]
                for rows in (range(first, first + len(factor)),)
                if rows.stop <= self._spare.stop and all(_apart(rows, other) for other in taken)
            ),
            None,
        )
        if place is None or not all(_apart(factor, link.d) for link in self._links):
            return False
        copy = OpFields("hk_copy_rows", dst=place.start, src0=factor.start, imm=(len(factor),))
        self._translator.native(copy.function, copy.record(address), False)
        self._links = [link.reading(factor, place) for link in self._links]
        self.kept = True
        return True

    def _rows(self, operands: Iterable[Operand]) -> list[range]:
        return [
            range(first, first + operand.width)
            for operand in operands
            if operand.kind in ("v", "a")
            for first in (self._translator.row_of(operand),)
        ]

    def _changes(self, instruction: Instruction) -> None:
        """Remember which sums an instruction outside of chains may overwrite."""
        if instruction.format in _SCALAR_FORMATS:
            return
        if (
            self._translator.indexed_positions
            or instruction.format not in _OVERTAKING_FORMATS
            or instruction.modifiers.get("tfe", 0)
        ):
            self._changed.update(self._sums)
            return
        for rows in self._written(instruction):
            self._changed.update(row for row in rows if row in self._sums)

    def _tell_changed(self) -> None:
        """Make the wave forget sums that have been overwritten."""
        rows = sorted(self._changed)
        firsts = [row for row in rows if row - 1 not in self._changed]
        lasts = [row for row in rows if row + 1 not in self._changed]
        records = [
            OpFields("hk_forget_sums", dst=first, imm=(last + 1 - first,)).record(0)
            for first, last in zip(firsts, lasts, strict=True)
        ]
        if records:
            self._translator.native("hk_forget_sums", b"".join(records), False, count=len(records))
        self._changed.clear()

    def flush(self) -> None:
        """Emit the waiting instructions."""
        self._flush(len(self._links))

    def finish(self) -> None:
        """Emit the waiting instructions at the end of a block."""
        self.flush()
        self._tell_changed()

    def _flush(self, count: int) -> None:
        links, self._links = _by_result(self._links[:count]), self._links[count:]
        if not links:
            return
        if self._translator.uses_tiles and links[0].fields.flags & 15 == abi.BF16:
            links = _by_factors(links)
        function = links[0].fields.function
        if len(links) == 1:
            self._translator.native(function, links[0].fields.record(links[0].address), False)
            self._changed.update(row for row in links[0].d if row in self._sums)
            return
        self._tell_changed()
        records = [
            replace(link.fields, flags=link.fields.flags | flags).record(link.address)
            for link, flags in zip(links, _flags(links), strict=True)
        ]
        self._translator.native(f"{function}_chain", b"".join(records), False, count=len(records))
        if links[0].fields.flags & 15 != abi.BF16:
            self._changed.update(row for link in links for row in link.d if row in self._sums)
