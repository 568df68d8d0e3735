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
    """One element in one access or, without an access, in one location.

    Fields that do not apply are None. A list of rows converts directly to a pandas DataFrame.

    Attributes:
        row, col: row and column of the element.
        access: index of the access in `LayoutResult.accesses`.
        wave: wave that makes the access.
        lane: lane that requests the element (or sends it, in a store); without an access, the lane that holds
            it.
        holder: lane whose register has the element. It differs from `lane` only in reads that transpose.
        register: 32-bit register of the tile that contains it, counted from the tile's first register.
        register_byte: byte offset in the register.
        address: byte offset in shared memory.
        bank: bank of shared memory.
        phase: phase of the access in which shared memory serves the lane.
        conflict: True if the bank takes more than one cycle in this phase.
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
    """Lanes that shared memory serves in one phase of an access.

    Attributes:
        lanes: active lanes.
        cycles: cycles of the phase; 1 without conflicts.
        banks: banks with conflicts.
    """

    lanes: tuple[int, ...]
    cycles: int
    banks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WaveAccess:
    """One access of one wave; an instruction with two addresses, such as ds_read2_b64, makes two.

    Attributes:
        pc: address of the instruction in the code object.
        text: text of the instruction.
        opcode: opcode of the instruction.
        wave: wave that made the access.
        bytes: bytes per lane.
        banks: banks of shared memory that serve it; 0 for global memory.
        phases: phases with at least one active lane; empty for global memory.
        lanes: number of active lanes.
        sectors: for global memory, number of 64-byte blocks that it touches.
        measured: True if these phases agree with a hardware counter.
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
        """Its share of SQ_LDS_BANK_CONFLICT: cycles beyond one per phase."""
        return sum(phase.cycles - 1 for phase in self.phases)


@dataclass(frozen=True)
class LayoutResult(Plotted):
    """Locations of a tile's elements, and the accesses that move them.

    Attributes:
        question: the tile and access.
        device: name of the emulated device.
        arch: its target.
        rows: one row for each element of each access (or, without an access, of each location).
        accesses: accesses in execution order.
        banks: number of banks of shared memory, the width of the drawn memory; 0 if only global memory is
            involved.
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
        """Counted: a kernel ran, and its addresses were recorded."""
        return Origin.COUNTED

    @property
    def conflicts(self) -> int:
        """SQ_LDS_BANK_CONFLICT of the access: cycles beyond one per phase."""
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
        """The figure, with another initial selection.

        Args:
            colour: quantity of the colours: "lane", "register", "bank", "phase", "access", "wave", "row",
                "column".
            access, phase: access and phase to highlight; None for all.

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
