"""A position on the tape of a work-group: the wave's next instruction, registers and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.codeobject import Instruction
from workbench.codeobject.debug import Type
from workbench.codeobject.instructions import Control
from workbench.codeobject.variables import Located
from workbench.display import Presented
from workbench.errors import UsageError
from workbench.kernel import Kernel
from workbench.kernel.show import Moments
from workbench.launches import Access, Held, LaunchRecord, Tape
from workbench.step.names import register_name, scalar_name
from workbench.step.text import Changed, WaveState, text
from workbench.step.variables import Here, Variable, tile, variables
from workbench.step.waiting import Waiting, waiting
from workbench.targets import waits_of

if TYPE_CHECKING:
    import torch

Condition = Callable[["Stepper"], Any]

STOPS = {"barrier": Control.BARRIER, "wait": Control.WAIT}
"""Instructions that `Stepper.to` accepts by name."""


@dataclass(frozen=True)
class Breakpoint:
    """A breakpoint of `run`.

    Attributes:
        line: source line; None for any.
        when: additional condition; None for none.
    """

    line: int | None = None
    when: Condition | None = None


class Stepper(Presented):
    """A wave of a launch, step by step in both directions; made by `wb.step`.

    A stepper is positioned before an instruction of one wave: `instruction` runs next, and registers and
    memory have their values before it. The other waves are where the emulated device's scheduling left them.
    Methods that move return the stepper, whose text shows the position.

    Attributes:
        kernel: the kernel.
        record: record of the launch.
        group: linear number of the work-group.
        breakpoints: breakpoints of `run` and `run_back`.
    """

    def __init__(self, kernel: Kernel, record: LaunchRecord, wave: int = 0) -> None:
        assert record.tape is not None
        self.kernel = kernel
        self.record = record
        self.tape: Tape = record.tape
        self.group = self.tape.group
        self.breakpoints: list[Breakpoint] = []
        self._located: dict[int, tuple[tuple[Located, Type], ...]] = {}
        self._code = kernel.module
        self._held: Held = self.tape.begin()
        self._at = 0
        waves = np.asarray(self.tape.events["wave"])
        self._events = tuple(np.flatnonzero(waves == n) for n in range(len(self._held.scalars)))
        self._blocks = np.asarray(self.tape.events["block"])
        if not len(self._events[wave]):
            raise UsageError(
                f"wave {wave} of work-group {self.group} has no recorded instruction"
                + (
                    ": the tape was full; give bytes="
                    if self.tape.cut
                    else ": skip= is larger than what it ran"
                )
            )
        self._wave = wave
        self._go(0)

    # Position

    @property
    def wave(self) -> int:
        """The wave that is followed."""
        return self._wave

    @property
    def position(self) -> int:
        """Instructions of the wave that were run."""
        return int(np.searchsorted(self._events[self._wave], self._at))

    @property
    def length(self) -> int:
        """Instructions of the wave that are on the tape."""
        return len(self._events[self._wave])

    @property
    def ended(self) -> bool:
        """True if the wave has run all of its instructions on the tape."""
        return self.position == self.length

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The next instruction, or several loads that are executed as one; none at the end."""
        return () if self.ended else self._instructions_of(self._events[self._wave][self.position])

    @property
    def instruction(self) -> Instruction | None:
        """The next instruction, None at the end."""
        return next(iter(self.instructions), None)

    @property
    def address(self) -> int | None:
        """Address of the next instruction in the code object; None at the end."""
        return self.instruction.address if self.instruction is not None else None

    @property
    def line(self) -> int | None:
        """Line of the source that the next instruction comes from; None if it is not known."""
        return None if self.address is None else self.line_of(self.address)

    def line_of(self, address: int) -> int | None:
        """Line of the module's own source that an instruction comes from, or that called the header."""
        frames = self._code.debug.frames_of(address) if self._code.debug is not None else ()
        return next((line for file, line, _ in frames if self._code.is_own_source(file)), None)

    @property
    def waves(self) -> tuple[WaveState, ...]:
        """Position of each wave of the work-group."""
        return tuple(self._state_of(wave) for wave in range(len(self._events)))

    def _state_of(self, wave: int) -> WaveState:
        events = self._events[wave]
        done = int(np.searchsorted(events, self._at))
        if done == len(events):
            return WaveState(wave, "ended", None, None, done)
        address = self.tape.blocks[self._blocks[events[done]]][0]
        waits = done > 0 and self._control_of_block[self._blocks[events[done - 1]]] is Control.BARRIER
        # Past a barrier, but no other wave has run since.
        state = "here" if wave == self._wave else "at a barrier" if waits else "ready"
        return WaveState(wave, state, address, self.line_of(address), done)

    # Moving

    def choose(self, wave: int) -> Stepper:
        """Follows another wave of the work-group, at the same moment.

        Raises:
            UsageError: there is no wave of that number on the tape.
        """
        if not 0 <= wave < len(self._events) or not len(self._events[wave]):
            there = ", ".join(str(n) for n, events in enumerate(self._events) if len(events))
            raise UsageError(f"wave {wave} was not recorded; expected one of {there}")
        self._wave = wave
        return self

    def step(self, count: int = 1) -> Stepper:
        """Moves this many instructions forward, or to the end of the wave."""
        return self.goto(self.position + count)

    def back(self, count: int = 1) -> Stepper:
        """Moves this many instructions back, or to the beginning of the tape."""
        return self.goto(self.position - count)

    def goto(self, position: int) -> Stepper:
        """Moves to where the wave has run this many instructions of the tape."""
        events = self._events[self._wave]
        position = max(0, min(position, len(events)))
        # Right after the previous instruction, so that its own effects show, and not those of waves that ran
        # since.
        self._go(int(events[position - 1]) + 1 if position else 0)
        return self

    def next(self) -> Stepper:
        """Moves to the next line of the source."""
        lines = self._of_wave(self._line_of_block)
        return self._jump((lines != 0) & (lines != (self.line or 0)), 1)

    def previous(self) -> Stepper:
        """Moves back to the beginning of the previous line."""
        lines = self._of_wave(self._line_of_block)
        self._jump((lines != 0) & (lines != (self.line or 0)), -1)
        if not self.ended:
            others = np.flatnonzero((lines[: self.position] != 0) & (lines[: self.position] != self.line))
            self.goto(int(others[-1]) + 1 if len(others) else 0)
        return self

    def to(self, what: str | int | Condition) -> Stepper:
        """Moves to the next barrier or wait, to a line, or to where a condition holds; otherwise to the end.

        Args:
            what: "barrier", "wait", a line's number, or a function of the stepper: `lambda s: s.s(4) > 3`.

        Raises:
            UsageError: the argument is none of these.
        """
        return self._to(what, 1)

    def to_address(self, address: int) -> Stepper:
        """Moves to an instruction by its address in the code object; does not move if it is already next.

        Raises:
            UsageError: the kernel has no instruction there.
        """
        if not any(address in block for block in self.tape.blocks):
            raise UsageError(f"{self.kernel.name} has no instruction at {address:#x}")
        if address in {instruction.address for instruction in self.instructions}:
            return self
        fits = np.array([address in block for block in self.tape.blocks])
        return self._jump(self._of_wave(fits), 1)

    def back_to(self, what: str | int | Condition) -> Stepper:
        """The same backward; otherwise to the beginning."""
        return self._to(what, -1)

    def break_at(self, line: int | None = None, when: Condition | None = None) -> Breakpoint:
        """Makes `run` and `run_back` stop at a line, where a condition holds, or where both do.

        Raises:
            UsageError: neither is given; no instruction of the kernel comes from the line.
        """
        if line is None and when is None:
            raise UsageError("break_at() got nothing; expected a line, a condition, or both")
        if line is not None:
            self._check_line(line)
        stop = Breakpoint(line, when)
        self.breakpoints.append(stop)
        return stop

    def run(self) -> Stepper:
        """Moves to the next breakpoint, or to the end."""
        return self._run(1)

    def run_back(self) -> Stepper:
        """Moves back to the previous breakpoint, or to the beginning."""
        return self._run(-1)

    # Registers, memory and variables

    @property
    def exec(self) -> int:
        """One bit for each active lane."""
        return self._held.exec(self._wave)

    def s(self, number: int) -> int:
        """A scalar register as an unsigned number; VCC is 106 and 107, M0 124, EXEC 126 and 127, SCC 128.

        Raises:
            UsageError: there is none of that number.
        """
        if not 0 <= number < 130:
            raise UsageError(f"s({number}): expected 0 to 129")
        return int(self._held.scalars[self._wave, number])

    def v(self, number: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A vector register: [lanes] int32, or the same bits in another type of PyTorch.

        Raises:
            UsageError: the wave has no register of that number.
        """
        return self._row(number, number, "v", dtype)

    def a(self, number: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """An accumulation register, likewise."""
        return self._row(number, number + self.tape.acc_offset, "a", dtype)

    def _row(self, number: int, row: int, kind: str, dtype: torch.dtype | None) -> torch.Tensor:
        import torch

        rows = self._held.rows[self._wave]
        if not 0 <= row < len(rows):
            raise UsageError(f"{kind}({number}): wave {self._wave} has {len(rows)} vector registers")
        register = torch.from_numpy(rows[row].view(np.int32).copy())
        return register if dtype is None else register.view(dtype)

    @property
    def lds(self) -> torch.Tensor:
        """The work-group's shared memory, [bytes] uint8."""
        import torch

        return torch.from_numpy(self._held.lds.copy())

    @property
    def held(self) -> Held:
        """Registers and shared memory of the work-group."""
        return self._held

    @property
    def variables(self) -> dict[str, Variable]:
        """Variables of the source that have a location at the next instruction, by name."""
        return {} if self.address is None else variables(self._here(self.address))

    def tile(self, name: str) -> Moments:
        """A tile or a vector of the source as a matrix, with the place of each element; a notebook draws it.

        Optimized code keeps tiles in registers that nothing names: `wb.step(..., debug=True)` has them.

        Raises:
            UsageError: no tile of this name has a location at the next instruction.
        """
        if self.address is None:
            raise UsageError(f"{name!r}: the wave has ended, and holds nothing by a name; step back")
        return tile(self._here(self.address), name)

    # Effects

    @property
    def last(self) -> tuple[Instruction, ...]:
        """The wave's last instruction, or loads executed as one; empty at the beginning of the tape."""
        return self._instructions_of(self._last_event) if self.position else ()

    @property
    def changed(self) -> tuple[Changed, ...]:
        """Registers and memory that `last` changed."""
        if not self.position:
            return ()
        event = self._last_event
        held = self._held
        if event + 1 != self._at:
            # Other waves have run since: its state is shown as of its stop.
            held = self.tape.begin()
            self.tape.move(held, 0, event + 1)
        return tuple(self._told(held, change) for change in self.tape.changes(event))

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Its memory accesses, with lanes, addresses and banks."""
        if not self.position:
            return ()
        event = self._last_event
        following = self.tape.events["accesses"]
        first = int(following[event])
        end = int(following[event + 1]) if event + 1 < len(following) else first + 2
        candidates = (self.tape.accesses[n] for n in range(first, min(end, len(self.tape.accesses))))
        addresses = {entry.address for entry in self.last}
        return tuple(entry for entry in candidates if entry.wave == self._wave and entry.pc in addresses)

    @property
    def outstanding(self) -> tuple[Waiting, ...]:
        """Requests of the wave that a GPU may still have in flight, by counter."""
        return waiting(self._before(), waits_of(self._code.arch))

    # Inside

    def _here(self, address: int) -> Here:
        return Here(
            *(self.kernel, address, self.line, self.group, self.wave, self.position),
            *(self._held, self.exec, self.tape.acc_offset, self._located),
        )

    @cached_property
    def lines(self) -> frozenset[int]:
        """Lines that instructions of the kernel come from."""
        numbers = (self.line_of(address) for block in self.tape.blocks for address in block)
        return frozenset(line for line in numbers if line is not None)

    @property
    def _last_event(self) -> int:
        return int(self._events[self._wave][self.position - 1])

    def _instructions_of(self, event: int) -> tuple[Instruction, ...]:
        return tuple(map(self._code.instruction, self.tape.blocks[self._blocks[event]]))

    def _before(self) -> Iterator[Instruction]:
        for event in self._events[self._wave][: self.position][::-1]:
            yield from reversed(self._instructions_of(event))

    def _go(self, at: int) -> None:
        self.tape.move(self._held, self._at, at)
        self._at = at

    def _told(self, held: Held, change: Any) -> Changed:
        if change.kind == "scalar":
            value = int(held.scalars[self._wave, change.place])
            return Changed(scalar_name(change.place), 0, value ^ int(change.bits[0]), value)
        if change.kind == "row":
            after = held.rows[self._wave, change.place].copy()
            name = register_name(change.place, self.tape.acc_offset)
            return Changed(name, int(np.count_nonzero(change.bits)), after ^ change.bits, after)
        memory = held.lds.view(np.uint32) if change.kind == "lds" else held.scratch[self._wave].ravel()
        after = memory[16 * change.place : 16 * (change.place + 1)].copy()
        if change.kind == "lds":
            name = f"lds[{64 * change.place:#x}:{64 * (change.place + 1):#x}]"
        else:
            # A dword of all lanes is in several such chunks of 16.
            dword, chunk = divmod(change.place, held.wave_size // 16)
            name = f"scratch[{4 * dword:#x}] of lanes {16 * chunk} to {16 * chunk + 15}"
        return Changed(name, 0, after ^ change.bits, after)

    @cached_property
    def _line_of_block(self) -> npt.NDArray[np.int64]:
        """0 if unknown."""
        return np.array([self.line_of(block[0]) or 0 for block in self.tape.blocks], dtype=np.int64)

    @cached_property
    def _control_of_block(self) -> npt.NDArray[np.object_]:
        controls = [self._code.instruction(block[-1]).record.control for block in self.tape.blocks]
        return np.array(controls, dtype=object)

    def _of_wave(self, of_blocks: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of blocks, indexed by the wave's positions."""
        by_position: npt.NDArray[Any] = of_blocks[self._blocks[self._events[self._wave]]]
        return by_position

    def _jump(self, fits: npt.NDArray[np.bool_], way: int) -> Stepper:
        """Moves to the nearest other position that fits, otherwise to the end or the beginning."""
        here = self.position
        positions = (
            np.flatnonzero(fits[here + 1 :]) + here + 1 if way > 0 else np.flatnonzero(fits[:here])[::-1]
        )
        return self.goto(int(positions[0]) if len(positions) else self.length if way > 0 else 0)

    def _to(self, stop: str | int | Condition, way: int) -> Stepper:
        if isinstance(stop, str) and stop in STOPS:
            return self._jump(self._of_wave(self._control_of_block) == STOPS[stop], way)
        if isinstance(stop, int) and not isinstance(stop, bool):
            self._check_line(stop)
            return self._jump(self._of_wave(self._line_of_block) == stop, way)
        if callable(stop):
            return self._seek(np.ones(self.length, dtype=bool), [stop], way)
        raise UsageError(
            f"to({stop!r}): expected {', '.join(map(repr, STOPS))}, a line's number or a condition"
        )

    def _run(self, way: int) -> Stepper:
        lines = self._of_wave(self._line_of_block)
        # A breakpoint stops where a line begins, not at each of its instructions.
        begins = np.append(True, lines[1:] != lines[:-1])
        reached = {
            stop: np.full(len(lines), stop.line is None) | (lines == stop.line) & begins
            for stop in self.breakpoints
        }
        plain = [stop for stop in self.breakpoints if stop.when is None]
        sure = (
            np.any([reached[stop] for stop in plain], axis=0) if plain else np.zeros(len(lines), dtype=bool)
        )
        asked = [(reached[stop], stop.when) for stop in self.breakpoints if stop.when is not None]
        if not asked:
            return self._jump(sure, way)
        maybe = np.any([sure, *(fits for fits, _ in asked)], axis=0)

        def stops(s: Stepper) -> bool:
            here = s.position
            return bool(sure[here]) or any(bool(fits[here] and when(s)) for fits, when in asked)

        return self._seek(maybe, [stops], way)

    def _seek(self, fits: npt.NDArray[np.bool_], conditions: Sequence[Condition], way: int) -> Stepper:
        """Goes to the nearest position where a condition on registers or memory holds."""
        while True:
            self._jump(fits, way)
            at_end = self.ended if way > 0 else self.position == 0
            if at_end or any(condition(self) for condition in conditions):
                return self

    def _check_line(self, line: int) -> None:
        if line not in self.lines:
            close = min(self.lines, key=lambda other: abs(other - line), default=None)
            there = f"; line {close} has some" if close is not None else ""
            raise UsageError(f"no instruction of {self.kernel.name} comes from line {line}{there}")

    def __repr__(self) -> str:
        return text(self)


__all__ = ["Breakpoint", "Changed", "Stepper", "WaveState"]
