"""The provenance of a number: the instructions that made it, from its store back to global memory.

It is derived from the tape of the work-group that wrote the number. Each value is followed to the last
instruction that wrote its register in its lane, through the LDS to the lane that wrote there, and through a
matrix instruction to the row of A and the column of B. Values from other lanes (DPP, permutations) are
followed in all of them: there the result may include too much, but never too little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.codeobject import Instruction, printer
from workbench.codeobject.instructions import Access as Does
from workbench.codeobject.instructions import Lanes, Space
from workbench.codeobject.registers import read, stored
from workbench.display import Shown
from workbench.errors import UsageError
from workbench.kernel import Kernel, Launcher, Module
from workbench.launches import AccessKind, LaunchOptions, TapeOptions, TrafficOptions, Watched
from workbench.operators import KernelSpec, Shape
from workbench.operators.launch_target import Target, resolve
from workbench.runtime import Device
from workbench.step.stepper import Stepper

if TYPE_CHECKING:
    import torch

MOST = 200_000
"""Maximum number of values to follow; the rest is left out, and reported."""


class Cause(NamedTuple):
    """An instruction that contributed to the value.

    Attributes:
        event: index of its event on the tape.
        wave: wave that ran it.
        line: source line; None if unknown.
        text: text of the instruction.
        lanes: number of its lanes that contributed to the value.
    """

    event: int
    wave: int
    line: int | None
    text: str
    lanes: int


@dataclass(frozen=True)
class Provenance(Shown):
    """The provenance of a tensor's element.

    Attributes:
        of, at: name of the tensor and index of the element.
        value: value of the element after the launch.
        stepper: stepper at the position right after the store, in the wave that made it.
        lane: lane that stored it.
        causes: instructions that contributed to it, the latest first.
        elements: by tensor, flat indices of the elements that contributed; by an address in hexadecimal if no
            tensor is known there.
        shapes: shapes of these tensors.
        cut: True if the search stopped at its limit.
    """

    of: str
    at: tuple[int, ...]
    value: float
    stepper: Stepper = field(repr=False)
    lane: int
    causes: tuple[Cause, ...] = field(repr=False)
    elements: Mapping[str, npt.NDArray[np.int64]] = field(repr=False)
    shapes: Mapping[str, tuple[int, ...]] = field(repr=False)
    cut: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The elements in words, such as "a[3, 0:64]"."""
        return tuple(
            _box(name, self.shapes.get(name, ()), elements) for name, elements in self.elements.items()
        )

    def __str__(self) -> str:
        s = self.stepper
        place = ", ".join(map(str, self.at))
        lines = [
            f"{self.of}[{place}] = {self.value:.6g}, stored by lane {self.lane} of wave {s.wave} in "
            f"work-group {s.group}, line {self.causes[0].line or 'not known'}"
        ]
        lines += [f"  from {source}" for source in self.sources] or ["  from no memory"]
        for line, text, count in folded(self.causes):
            lines.append(f"  by line {line if line else '?':>4}  {count:4} x {text}")
        if self.cut:
            lines.append(f"  and more: {MOST:,} values were followed")
        return "\n".join(lines)

    __repr__ = __str__


def folded(causes: Sequence[Cause]) -> Iterator[tuple[int | None, str, int]]:
    """Instructions, grouped by opcode and line, the latest first."""
    counts: dict[tuple[int | None, str], int] = {}
    for cause in causes:
        key = cause.line, cause.text.partition(" ")[0]
        counts[key] = counts.get(key, 0) + 1
    yield from ((line, text, count) for (line, text), count in counts.items())


def _box(name: str, shape: tuple[int, ...], flat: npt.NDArray[np.int64]) -> str:
    if not shape:
        return f"{name} ({len(flat)} places)"
    places = np.stack(np.unravel_index(flat, shape))
    low, high = places.min(axis=1), places.max(axis=1)
    parts = [str(a) if a == b else f"{a}:{b + 1}" for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    whole = math.prod((high - low + 1).tolist())
    share = "" if whole == len(flat) else f" ({len(flat)} of them)"
    return f"{name}[{', '.join(parts)}]{share}"


def provenance(
    target: KernelSpec | Launcher | Kernel | Module | Callable[..., Any] | str,
    *args: Any,
    of: torch.Tensor | str,
    at: Sequence[int] | int,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    **kwargs: Any,
) -> Provenance:
    """Finds the origin of an element that a launch writes: its store, and the values that it came from.

        wb.provenance("gemm/bf16", shape={"m": 64, "n": 64, "k": 128}, of="c", at=(3, 5))
        wb.provenance(module["attend"][grid, block], q, k, v, out, of=out, at=(0, 7, 2, 5))

    It launches twice: once to find the work-group that wrote the element, then only that one, with a tape.

    Args:
        target, args, kwargs, spec, shape, seed, device: the launch, as in `sanitize`.
        of: an operator's tensor by its name, an argument by its name, or the tensor itself.
        at: index of the element.

    Raises:
        UsageError: no such tensor or element; no launch writes it.
        DeviceError: the device is a GPU, which records no tape.
    """
    launches = resolve(target, args, kwargs, spec=spec, shape=shape, seed=seed, device=device)
    launches.device.check_observes("which instruction writes what")
    named = _named(launches, args, kwargs)
    name, tensor = _chosen(of, named)
    index = tuple(at) if isinstance(at, Sequence) else (at,)
    sizes = tuple(tensor.shape)
    if len(index) != len(sizes) or not all(-n <= i < n for i, n in zip(index, sizes, strict=True)):
        raise UsageError(f"{name} has shape {list(sizes)}; at={list(index)} is not an element of it")
    index = tuple(i % n for i, n in zip(index, sizes, strict=True))
    width = tensor.element_size()
    address = tensor.data_ptr() + width * sum(i * s for i, s in zip(index, tensor.stride(), strict=True))
    number, group = _writer(launches, Watched(address, width, 1), name, index)
    record = launches.parts[number].run(LaunchOptions(tape=TapeOptions(group)))
    kernel = launches.parts[number].kernel
    value = float(tensor[index].double())
    return _Following(kernel, record, named).back_from(name, index, value, address)


def _named(launches: Target, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors of the launches by name: an operator's, or a kernel's arguments."""
    taken = launches.parts[0].kernel.plan.taken
    arguments = {**dict(zip(taken, args, strict=False)), **kwargs}
    return {k: v for k, v in {**arguments, **launches.tensors}.items() if hasattr(v, "data_ptr")}


def _chosen(of: Any, named: Mapping[str, Any]) -> tuple[str, Any]:
    if isinstance(of, str):
        if of not in named:
            raise UsageError(f"of={of!r}: the launch has {', '.join(named) or 'no tensors by name'}")
        return of, named[of]
    if not hasattr(of, "data_ptr"):
        raise UsageError(
            f"of is a {type(of).__name__}; expected a tensor that the launch writes, or its name"
        )
    return next((name for name, tensor in named.items() if tensor is of), "tensor"), of


def _writer(launches: Target, watched: Watched, name: str, index: tuple[int, ...]) -> tuple[int, int]:
    """The last launch that writes an element, and the work-group."""
    last = None
    for number, part in enumerate(launches.parts):
        record = part.run(LaunchOptions(traffic=TrafficOptions(lines=False, watched=(watched,))))
        assert record.traffic is not None
        group = int(record.traffic.writers(0)[0])
        if group >= 0:
            last = number, group
    if last is None:
        raise UsageError(f"{launches.name} does not write {name}{list(index)}")
    return last


class _Value(NamedTuple):
    """A dword of a lane's register, before an event."""

    wave: int
    row: int
    lane: int
    event: int


class _Following:
    """Follows values back on a tape."""

    def __init__(self, kernel: Kernel, record: Any, named: Mapping[str, Any]) -> None:
        self._stepper = Stepper(kernel, record)
        self._tape = self._stepper.tape
        self._wave_size = self._stepper.held.wave_size
        self._named = named
        self._waves = np.asarray(self._tape.events["wave"])
        self._blocks = np.asarray(self._tape.events["block"])
        self._firsts = np.asarray(self._tape.events["accesses"])
        self._causes: dict[int, set[int]] = {}
        self._leaves: dict[str, set[int]] = {}
        self._exec: dict[int, int] = {}

    def back_from(self, name: str, index: tuple[int, ...], value: float, address: int) -> Provenance:
        event, lane, data = self._store(address)
        pending = [_Value(int(self._waves[event]), row, lane, event) for row in data]
        self._causes[event] = {lane}
        seen = set(pending)
        while pending and len(seen) < MOST:
            for source in self._behind(pending.pop()):
                if source not in seen:
                    seen.add(source)
                    pending.append(source)
        s = self._stepper
        wave = int(self._waves[event])
        s.choose(wave).goto(int(np.searchsorted(np.flatnonzero(self._waves == wave), event)) + 1)
        tensors = {key: entry for key, entry in self._named.items() if key in self._leaves}
        return Provenance(
            name,
            index,
            value,
            s,
            lane,
            tuple(self._cause(entry) for entry in sorted(self._causes, reverse=True)),
            {
                key: np.array(sorted(elements), dtype=np.int64)
                for key, elements in sorted(self._leaves.items())
            },
            {key: tuple(entry.shape) for key, entry in tensors.items()},
            bool(pending),
        )

    # Events and instructions

    def _instructions(self, event: int) -> tuple[Instruction, ...]:
        code = self._stepper.kernel.module
        return tuple(code.instruction(at) for at in self._tape.blocks[self._blocks[event]])

    def _cause(self, event: int) -> Cause:
        first = self._instructions(event)[0]
        lanes = len(self._causes[event])
        line = self._stepper.line_of(first.address)
        return Cause(event, int(self._waves[event]), line, printer.text(first), lanes)

    def _event_of(self, access: int) -> int:
        return int(np.searchsorted(self._firsts, access, side="right")) - 1

    def _row(self, operand: Any) -> int:
        return int(operand.index) + (self._tape.acc_offset if operand.kind == "a" else 0)

    def _on(self, event: int, lane: int) -> bool:
        """True if a lane was active when an event ran."""
        if event not in self._exec:
            held, wave = self._at(event), self._waves[event]
            self._exec[event] = held.exec(wave)
        return bool(self._exec[event] >> lane & 1)

    def _at(self, event: int) -> Any:
        if not hasattr(self, "_held"):
            self._held, self._place = self._tape.begin(), 0
        self._tape.move(self._held, self._place, event)
        self._place = event
        return self._held

    @cached_property
    def _writers(self) -> dict[tuple[int, int], list[int]]:
        """Events that write a register, by wave and row, in order."""
        of_block = []
        for block in self._tape.blocks:
            code = self._stepper.kernel.module
            rows = {
                self._row(operand) + word
                for at in block
                for operand in code.instruction(at).dst
                if operand.kind in "va"
                for word in range(operand.width)
            }
            of_block.append(rows)
        events: dict[tuple[int, int], list[int]] = {}
        for event, (wave, block) in enumerate(zip(self._waves.tolist(), self._blocks.tolist(), strict=True)):
            for row in of_block[block]:
                events.setdefault((wave, row), []).append(event)
        return events

    # Memory

    def _store(self, address: int) -> tuple[int, int, list[int]]:
        """The last store of an address: its event, its lane, and the rows of its data there."""
        accesses = self._tape.accesses
        for number in range(len(accesses) - 1, -1, -1):
            access = accesses[number]
            if access.kind is not AccessKind.GLOBAL_WRITE:
                continue
            for lane, start in access.addresses.items():
                if start <= address < start + access.bytes:
                    event = self._event_of(number)
                    matches = [i for i in self._instructions(event) if i.address == access.pc]
                    row = self._row(stored(matches[0])[0]) + (address - start) // 4
                    return event, lane, [row]
        raise UsageError("the tape was full before this store; use a smaller problem")

    def _leaf(self, address: int, size: int) -> None:
        for name, tensor in self._named.items():
            width, base = tensor.element_size(), tensor.data_ptr()
            if base <= address < base + tensor.untyped_storage().nbytes() and tensor.is_contiguous():
                elements = range(
                    (address - base) // width, (address - base + max(size, width) - 1) // width + 1
                )
                self._leaves.setdefault(name, set()).update(n for n in elements if n < tensor.numel())
                return
        self._leaves.setdefault(f"{address:#x}", set()).add(0)

    def _accesses_of(self, event: int) -> Iterator[tuple[int, Any]]:
        end = self._firsts[event + 1] if event + 1 < len(self._firsts) else len(self._tape.accesses)
        for number in range(int(self._firsts[event]), min(int(end), len(self._tape.accesses))):
            yield number, self._tape.accesses[number]

    @cached_property
    def _shared(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Dwords of the LDS that were written, each with access and lane: sorted by dword, then by access."""
        dwords, whose = [], []
        for number, access in enumerate(self._tape.accesses):
            if access.kind not in (AccessKind.LDS_WRITE, AccessKind.TO_LDS):
                continue
            starts = np.array(list(access.addresses.values()), dtype=np.int64) // 4
            lanes = np.array(list(access.addresses), dtype=np.int64)
            for word in range(max(1, access.bytes // 4)):
                dwords.append(starts + word)
                whose.append(number * self._wave_size + lanes)
        if not dwords:
            empty = np.empty(0, dtype=np.int64)
            return empty, empty
        places, by = np.concatenate(dwords), np.concatenate(whose)
        order = np.lexsort((by, places))
        return places[order], by[order]

    def _from_lds(self, dword: int, before: int) -> Iterator[_Value]:
        """The value last written to a dword of the LDS before an access."""
        places, by = self._shared
        low, high = np.searchsorted(places, (dword, dword + 1))
        end = low + np.searchsorted(by[low:high], before * self._wave_size)
        if end == low:
            return
        number, lane = divmod(int(by[end - 1]), self._wave_size)
        access, event = self._tape.accesses[number], self._event_of(number)
        self._causes.setdefault(event, set()).add(lane)
        word = dword - access.addresses[lane] // 4
        if access.kind is AccessKind.TO_LDS:
            for _, other in self._accesses_of(event):
                if other.kind is AccessKind.GLOBAL_READ and lane in other.addresses:
                    self._leaf(other.addresses[lane] + 4 * word, 4)
            return
        (instruction,) = [i for i in self._instructions(event) if i.address == access.pc]
        data = stored(instruction)
        which = sum(
            1
            for n, other_access in self._accesses_of(event)
            if n < number and other_access.kind is access.kind
        )
        operand = data[min(which, len(data) - 1)]
        yield _Value(int(self._waves[event]), self._row(operand) + word, lane, event)

    # One value

    def _behind(self, value: _Value) -> Iterator[_Value]:
        """The values that a value was computed from, one instruction back."""
        events = self._writers.get((value.wave, value.row), [])
        place = int(np.searchsorted(np.array(events, dtype=np.int64), value.event))
        for event in reversed(events[:place]):
            instruction = next(i for i in self._instructions(event) if self._word(i, value.row) is not None)
            if instruction.record.matrix is None and not self._writes_lane(instruction, event, value.lane):
                continue
            self._causes.setdefault(event, set()).add(value.lane)
            word = self._word(instruction, value.row)
            assert word is not None
            yield from self._sources(instruction, event, value, word)
            return

    def _writes_lane(self, instruction: Instruction, event: int, lane: int) -> bool:
        return instruction.record.lanes is Lanes.WRITE or self._on(event, lane)

    def _word(self, instruction: Instruction, row: int) -> int | None:
        """Index of the dword of an instruction's result that is in a register; None if there is none."""
        for operand in instruction.dst:
            if operand.kind in "va" and 0 <= row - self._row(operand) < operand.width:
                return row - self._row(operand)
        return None

    def _sources(self, instruction: Instruction, event: int, value: _Value, word: int) -> Iterator[_Value]:
        record = instruction.record
        memory = record.memory
        if (
            memory is not None
            and memory.access in (Does.LOAD, Does.ATOMIC)
            and memory.space is not Space.LANES
        ):
            yield from self._loaded(instruction, event, value.lane, word)
        elif record.matrix is not None:
            yield from self._multiplied(instruction, event, value, word)
        else:
            moves = record.lanes is not Lanes.NONE or instruction.form.is_dpp or memory is not None
            lanes = range(self._wave_size) if moves else (value.lane,)
            width = max((o.width for o in instruction.dst if o.kind in "va"), default=1)
            for operand in read(instruction):
                if operand.kind in "va":
                    words = (word,) if operand.width == width else range(operand.width)
                    for dword in words:
                        for lane in lanes:
                            yield _Value(value.wave, self._row(operand) + dword, lane, event)

    def _loaded(self, instruction: Instruction, event: int, lane: int, word: int) -> Iterator[_Value]:
        memory = instruction.record.memory
        assert memory is not None
        mine = [(n, a) for n, a in self._accesses_of(event) if a.pc == instruction.address]
        per = max(1, memory.bytes // 4)
        # An instruction with two addresses loads separate dwords from each.
        number, access = mine[min(word // per, len(mine) - 1)] if mine else (0, None)
        if access is None:
            return
        lanes = list(access.addresses) if memory.transposed else [lane]
        for source_lane in lanes:
            if source_lane not in access.addresses:
                continue
            words = range(per) if memory.transposed else (word % per,)
            for dword in words:
                start = access.addresses[source_lane] + 4 * dword
                if access.kind is AccessKind.LDS_READ:
                    yield from self._from_lds(start // 4, number)
                else:
                    self._leaf(start, min(4, memory.bytes or 4))

    def _multiplied(self, instruction: Instruction, event: int, value: _Value, word: int) -> Iterator[_Value]:
        """Operands of one element: a row of A, a column of B, and the same element of C."""
        matrix = instruction.record.matrix
        assert matrix is not None
        left, right, *rest = instruction.src
        simple = (
            matrix.blocks == 1 and matrix.m == matrix.n and matrix.m in (16, 32) and matrix.type_d != "f64"
        )
        row, col = _element(matrix.m, value.lane, word) if simple else (0, 0)
        for operand, first in ((left, row), (right, col)):
            if operand.kind in "va":
                lanes = range(first, self._wave_size, matrix.m) if simple else range(self._wave_size)
                for lane in lanes:
                    for dword in range(operand.width):
                        yield _Value(value.wave, self._row(operand) + dword, lane, event)
        for operand in rest:
            if operand.kind in "va":
                # C has the shape of D; a scale or an index is one register per lane.
                same = operand.width == instruction.dst[0].width
                yield _Value(value.wave, self._row(operand) + (word if same else 0), value.lane, event)


def _element(side: int, lane: int, word: int) -> tuple[int, int]:
    """Row and column of a 32-bit result (CDNA3 and CDNA4 ISA guides, "Matrix fused-multiply-add")."""
    if side == 16:
        return 4 * (lane // 16) + word, lane % 16
    return 8 * (word // 4) + 4 * (lane // 32) + word % 4, lane % 32
