"""A kernel's machine code for the ISA view: rows with source line and count, blocks, loops, pressure.

Everything is derived from the decoded instructions; no compiler is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.codeobject import printer, registers
from workbench.codeobject.graph import Graph, Loop
from workbench.profile.instructions import InstructionProfile, latest
from workbench.profile.results import waits_of

if TYPE_CHECKING:
    from workbench.codeobject import Instruction, Operand
    from workbench.kernel import Kernel

VGPR_COUNT = 256
"""Bit position at which accumulation registers begin in a register mask."""


@dataclass(frozen=True, slots=True)
class Place:
    """The source position of an instruction.

    Attributes:
        line: line of the cell; 0 if unknown.
        header: "kittens.cuh:12" for code from a header, or "".
    """

    line: int
    header: str


@dataclass(frozen=True, slots=True)
class Column:
    """Cost of each instruction by one measure (`workbench.profile.instructions.Measure`)."""

    key: str
    label: str
    unit: str
    origin: str
    doc: str
    values: Sequence[float]

    def to_dict(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in ("key", "label", "unit", "origin", "doc")}
        return {**plain, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class Listing:
    """Machine code of one kernel in address order, with a column for each property.

    Attributes:
        kernel: name of the kernel.
        arch: target.
        addresses: address of each instruction.
        texts: instructions in LLVM syntax, with addresses for branch targets.
        classes: class of each instruction, from `workbench.codeobject.instructions.PIPELINES`.
        lines: line of the cell; 0 if there is none.
        headers: "name.cuh:12" for an instruction from a header, else "".
        counts: executions summed over waves in the last counted launch; None without one.
        vgprs: number of live vector registers before the instruction; 0 for dead code.
        agprs: number of live accumulation registers before the instruction; 0 for dead code.
        blocks: first row of each basic block.
        loops: loops, outer before inner.
        measures: further costs of the last profiled launch; empty without one.
        waits: (row of a wait, row of the load that it waits for longest), of the last profile.
    """

    kernel: str
    arch: str
    addresses: Sequence[int]
    texts: Sequence[str]
    classes: Sequence[str]
    lines: Sequence[int]
    headers: Sequence[str]
    counts: Sequence[int] | None
    vgprs: Sequence[int]
    agprs: Sequence[int]
    blocks: Sequence[int]
    loops: Sequence[Loop]
    measures: Sequence[Column] = ()
    waits: Sequence[tuple[int, int]] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "arch": self.arch,
            "addresses": list(self.addresses),
            "texts": list(self.texts),
            "classes": list(self.classes),
            "lines": list(self.lines),
            "headers": list(self.headers),
            "counts": None if self.counts is None else list(self.counts),
            "vgprs": list(self.vgprs),
            "agprs": list(self.agprs),
            "blocks": list(self.blocks),
            "loops": [{"first": loop.first, "last": loop.last, "depth": loop.depth} for loop in self.loops],
            "measures": [column.to_dict() for column in self.measures],
            "waits": [list(pair) for pair in self.waits],
        }


def listing(kernel: Kernel) -> Listing:
    """The listing of a kernel, with the costs of its last counted launch or of its last profile."""
    table = build(kernel.name, kernel.arch, kernel.instructions, places(kernel), latest(kernel))
    row_of = {address: row for row, address in enumerate(table.addresses)}
    causes = waits_of(kernel)
    return replace(
        table, waits=[(row_of[a], row_of[b]) for a, b in causes.items() if a in row_of and b in row_of]
    )


def places(kernel: Kernel) -> Callable[[int], Place]:
    """A function from addresses of a kernel's instructions to their source positions.

    Code that was inlined from a header belongs to the line of the cell that called it, if debug info has the
    chain of calls.
    """
    debug, module = kernel.module.debug, kernel.module

    def place(address: int) -> Place:
        if debug is None:
            return Place(0, "")
        position = debug.line_of(address)
        if position is None:
            return Place(0, "")
        if module.is_own_source(position[0]):
            return Place(position[1], "")
        header = f"{position[0].replace(chr(92), '/').rpartition('/')[2]}:{position[1]}"
        frames = getattr(debug, "frames_of", None)
        for file, line, _ in frames(address) if frames is not None else ():
            if module.is_own_source(file):
                return Place(line, header)
        return Place(0, header)

    return place


def build(
    name: str,
    arch: str,
    instructions: Sequence[Instruction],
    place: Callable[[int], Place],
    costs: InstructionProfile | None = None,
) -> Listing:
    """A listing from decoded instructions.

    Args:
        name: name of the kernel.
        arch: target.
        instructions: instructions in address order.
        place: returns the source position of an address.
        costs: costs of a launch; addresses that are absent never ran.
    """
    where = [place(instruction.address) for instruction in instructions]
    graph = Graph(instructions)
    live = _pressure(instructions, graph)
    low = (1 << VGPR_COUNT) - 1
    counts = costs.executions if costs is not None else None
    return Listing(
        kernel=name,
        arch=arch,
        addresses=[i.address for i in instructions],
        texts=[printer.text(i) for i in instructions],
        classes=[i.record.pipeline for i in instructions],
        lines=[p.line for p in where],
        headers=[p.header for p in where],
        counts=None if counts is None else [counts.get(i.address, 0) for i in instructions],
        measures=_columns(instructions, costs),
        vgprs=[(mask & low).bit_count() for mask in live],
        agprs=[(mask >> VGPR_COUNT).bit_count() for mask in live],
        blocks=graph.starts,
        loops=graph.loops(),
    )


def _columns(instructions: Sequence[Instruction], costs: InstructionProfile | None) -> list[Column]:
    """Measures that any instruction has; executions have their own column."""
    if costs is None:
        return []
    columns = []
    for m in costs.measures:
        values = [costs.value(i.address, m.key) for i in instructions]
        if m.key != "instructions" and any(values):
            columns.append(Column(m.key, m.label, m.unit, str(m.origin), m.doc, values))
    return columns


def _mask(operands: Iterable[Operand]) -> int:
    mask = 0
    for operand in operands:
        if operand.kind in ("v", "a"):
            base = operand.index + (VGPR_COUNT if operand.kind == "a" else 0)
            mask |= ((1 << operand.width) - 1) << base
    return mask


def _pressure(instructions: Sequence[Instruction], graph: Graph) -> list[int]:
    """Mask of the registers that are live before each instruction.

    A write counts for all lanes, whatever EXEC is, so a value kept for lanes that are off counts as dead.
    """
    reads = []
    writes = []
    for instruction in instructions:
        reads.append(_mask(registers.read(instruction)))
        writes.append(_mask(instruction.dst))
    live_in = [0] * len(graph.starts)
    changed = True
    while changed:
        changed = False
        for block in range(len(graph.starts) - 1, -1, -1):
            live = 0
            for following in graph.successors[block]:
                live |= live_in[following]
            for row in range(graph.ends[block], graph.starts[block] - 1, -1):
                live = live & ~writes[row] | reads[row]
            if live != live_in[block]:
                live_in[block] = live
                changed = True
    before = [0] * len(instructions)
    for block in range(len(graph.starts)):
        live = 0
        for following in graph.successors[block]:
            live |= live_in[following]
        for row in range(graph.ends[block], graph.starts[block] - 1, -1):
            live = live & ~writes[row] | reads[row]
            before[row] = live
    return before
