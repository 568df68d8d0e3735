"""Answers of the layout explorer: the location of each element, its access, and the LDS's phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from workbench.display import Plotted, figure_of
from workbench.origin import Figure, Origin
from workbench.tiles.question import Question

SECTOR_BYTES = 64
"""Bytes that the vector cache requests from the L2 at once; global accesses are compared with it."""


class Row(NamedTuple):
    """One element in one access, or where no access is looked at, in one place.

    What does not apply is None. A list of these makes a pandas DataFrame as it is.

    Attributes:
        row, col: the element.
        access: its number: an index into `LayoutResult.accesses`.
        wave: that makes it.
        lane: that asks for the element (sends it, in a store); without an access, that holds it.
        holder: lane whose register has the element. It is `lane`, but for reads that transpose.
        register: 32-bit register of the tile that has it, counted from the tile's first.
        register_byte: its place in the register.
        address: byte offset in shared memory.
        bank: of shared memory.
        phase: of the access, in which shared memory serves the lane.
        conflict: whether the bank takes more than a cycle in this phase.
        offset: byte offset from the first element of the tile in global memory.
    """

    row: int
    col: int
    access: int | None = None
    wave: int | None = None
    lane: int | None = None
    holder: int | None = None
    register: int | None = None
    register_byte: int | None = None
    address: int | None = None
    bank: int | None = None
    phase: int | None = None
    conflict: bool = False
    offset: int | None = None


class PhaseOf(NamedTuple):
    """Lanes that shared memory serves together in one access.

    Attributes:
        lanes: active ones.
        cycles: that it takes; one without conflicts.
        banks: that conflict.
    """

    lanes: tuple[int, ...]
    cycles: int
    banks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WaveAccess:
    """One access of one wave; an instruction with two addresses, such as ds_read2_b64, makes two.

    Attributes:
        pc: address of the instruction in the code object.
        text: the instruction.
        opcode: its name.
        wave: that made it.
        bytes: of a lane.
        banks: of shared memory that serve it; 0 for global memory.
        phases: with at least one active lane; none for global memory.
        lanes: active ones.
        sectors: for global memory, blocks of 64 bytes that it touches.
        measured: hardware's counter showed these phases.
    """

    pc: int
    text: str
    opcode: str
    wave: int
    bytes: int
    banks: int
    phases: tuple[PhaseOf, ...]
    lanes: int
    sectors: int
    measured: bool

    @property
    def conflicts(self) -> int:
        """Its share of SQ_LDS_BANK_CONFLICT: cycles beyond one a phase."""
        return sum(phase.cycles - 1 for phase in self.phases)


@dataclass(frozen=True)
class LayoutResult(Plotted):
    """Locations of a tile's elements, and the accesses that move them.

    Attributes:
        question: what was looked at.
        device: name of the emulated device.
        arch: its target.
        rows: one for each element of each access (of each place, without an access).
        accesses: in the order in which they were made.
        banks: of shared memory, as the drawn memory is wide; 0 where only global memory is involved.
        figure: tile and memory, coloured by lane, with a slider over accesses and phases.
    """

    question: Question
    device: str
    arch: str
    rows: tuple[Row, ...] = field(repr=False)
    accesses: tuple[WaveAccess, ...] = field(repr=False)
    banks: int = 0

    @property
    def name(self) -> str:
        """The tile's type, or the access as C++ writes it."""
        return self.question.title

    @property
    def origin(self) -> Origin:
        """Counted: a kernel ran, and its addresses were written down."""
        return Origin.COUNTED

    @property
    def conflicts(self) -> int:
        """SQ_LDS_BANK_CONFLICT of the access: cycles beyond one a phase."""
        return sum(a.conflicts for a in self.accesses)

    @cached_property
    def summary(self) -> Mapping[str, Figure]:
        """Costs of the access, by name; empty without an access."""

        def figure(value: float, unit: str = "", origin: Origin = Origin.COUNTED) -> Figure:
            return Figure(value, unit, origin, self.device)

        if not self.accesses:
            return {}
        figures = {"instructions": figure(len({(a.pc, a.wave) for a in self.accesses}))}
        phases = [phase for a in self.accesses for phase in a.phases]
        if phases:
            confirmed = all(a.measured for a in self.accesses if a.phases)
            origin = Origin.COUNTED if confirmed else Origin.MODELLED
            figures["phases"] = figure(len(phases), origin=origin)
            figures["LDS cycles"] = figure(sum(phase.cycles for phase in phases), "cycles", origin)
            figures["SQ_LDS_BANK_CONFLICT"] = figure(self.conflicts, "cycles", origin)
        sectors = sum(a.sectors for a in self.accesses)
        if sectors:
            asked = sum(a.bytes * a.lanes for a in self.accesses if a.sectors)
            figures["bytes requested"] = figure(asked, "bytes")
            figures["bytes of 64-byte blocks touched"] = figure(sectors * SECTOR_BYTES, "bytes")
        return figures

    def draw(self, colour: str | None = None, access: int | None = None, phase: int | None = None) -> Any:
        """The figure, with another beginning.

        Args:
            colour: what colours say: "lane", "register", "bank", "phase", "access", "wave", "row", "column".
            access, phase: which are lit; None: all.

        Raises:
            UsageError: there is no such colour, access or phase.
        """
        return figure_of(self, colour, access, phase)

    def __str__(self) -> str:
        lines = [f"{self.name} on {self.device}"]
        for opcode, group in by_opcode(self.accesses).items():
            conflicts = sum(a.conflicts for a in group)
            phases = sum(len(a.phases) for a in group)
            detail = f", {phases} phases, {conflicts} conflict cycles" if phases else ""
            several = len({(a.pc, a.wave) for a in group})
            twice = f" ({len(group)} accesses)" if several != len(group) else ""
            lines.append(f"  {several} x {opcode}{twice}, {group[0].bytes} bytes a lane{detail}")
        lines += [f"  {name}: {figure}" for name, figure in self.summary.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(HTML(self._repr_html_()))  # type: ignore[no-untyped-call]
        display(self.figure)  # type: ignore[no-untyped-call]


def by_opcode(accesses: Iterable[WaveAccess]) -> dict[str, list[WaveAccess]]:
    """Accesses by the name of their instruction."""
    groups: dict[str, list[WaveAccess]] = {}
    for access in accesses:
        groups.setdefault(access.opcode, []).append(access)
    return groups
