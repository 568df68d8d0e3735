"""Everything that the waves of one work-group did, as tape.c records it on request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access as Does
from workbench.codeobject.instructions import Space, Trait
from workbench.emulator.native import abi, native_library
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.native.observe.trace import Trace
from workbench.errors import LaunchError
from workbench.launches import EVENT, Access, Change, Dim, Held, TapeOptions

_ACCESSES = 1 << 17
"""Maximum number of accesses that a tape records; of later ones it has the effects without the addresses."""

_NOT_LDS = (Space.GLOBAL, Space.SCRATCH, Space.SCALAR, Space.SCALAR_BUFFER, Space.GWS)


_KINDS = {getattr(abi, f"CHANGED_{kind.upper()}"): kind for kind in ("scalar", "row", "lds", "scratch")}


class TapeRecorder:
    """Records what one work-group of a launch does: its `Tape`.

    Args:
        launch: a `Launch` whose registers and memory are known.
        blocks: blocks of the kernel, each with one instruction, or with loads that are executed as one.
        wave_size: lanes of a wave.
        anywhere: True if any instruction may change any register and LDS, because accesses come late.
    """

    def __init__(
        self,
        options: TapeOptions,
        launch: CData,
        blocks: Sequence[Sequence[Instruction]],
        acc_offset: int,
        wave_size: int,
        anywhere: bool = False,
    ) -> None:
        self.blocks = tuple(tuple(instruction.address for instruction in block) for block in blocks)
        self.acc_offset = acc_offset
        self.group = _linear(options.group, tuple(launch.groups))
        self._options = options
        size = launch.group_size[0] * launch.group_size[1] * launch.group_size[2]
        waves = -(-size // wave_size)
        if not (0 <= self.group < launch.group_total and 0 <= options.wave < waves):
            raise LaunchError(
                f"wave {options.wave} of work-group {self.group} is asked for; the launch has work-groups "
                f"0 to {launch.group_total - 1}, of waves 0 to {waves - 1}"
            )
        self._lds_size = int(launch.lds_size)
        self._shapes = {
            "scalars": (waves, abi.TAPE_SCALARS),
            "rows": (waves, int(launch.row_count), wave_size),
            "lds": (-(-self._lds_size // 64) * 16,),
            "scratch": (waves, -(-int(launch.scratch_size) // 4), wave_size),
        }
        self._begin, now = self._state(), self._state()
        changes = ffi.new("HkChanges[]", len(blocks))
        everywhere = anywhere or any(
            instruction.record.traits & Trait.INDEXES for block in blocks for instruction in block
        )
        for place, block in enumerate(blocks):
            changes[place] = _changes(block, acc_offset, everywhere)
            if anywhere:
                changes[place].flags |= abi.TAPE_LDS
        self._trace = Trace(_ACCESSES)
        self._only = np.zeros(launch.group_total, dtype=np.uint8)
        self._only[self.group] = 1
        self._library = native_library(wave_size)
        # Looked up now: when the interpreter ends, cffi no longer finds names.
        self._free, self._move = self._library.hk_tape_free, self._library.hk_tape_move
        self._tape = ffi.new(
            "HkTape *",
            {
                "group": self.group,
                "skip": options.skip,
                "limit": options.bytes,
                "changes": changes,
                "trace": self._trace.pointer,
                "watched": options.wave,
                "waves": waves,
                "rows": launch.row_count,
                "lds_words": self._shapes["lds"][0],
                "scratch_words": self._shapes["scratch"][1] * wave_size,
                "begin": _pointers(self._begin),
                "now": _pointers(now),
            },
        )
        self._keep: Any = (changes, now)

    def tell(self, launch: CData) -> None:
        """Makes a launch record its tape here, and run only this work-group."""
        launch.tape, launch.trace = self._tape, self._trace.pointer
        launch.only = ffi.from_buffer("uint8_t[]", self._only)

    @property
    def cut(self) -> bool:
        return bool(self._tape.cut)

    @cached_property
    def events(self) -> npt.NDArray[np.void]:
        count = self._tape.event_count
        if self._tape.differs:
            raise AssertionError(f"the tape lacks {self._tape.differs} dwords of what its work-group did")
        raw = ffi.buffer(self._tape.events, count * ffi.sizeof("HkEvent")) if count else b""
        return np.frombuffer(raw, dtype=list(EVENT))

    @property
    def accesses(self) -> Sequence[Access]:
        return self._trace

    def begin(self) -> Held:
        held = {name: array.copy() for name, array in self._begin.items()}
        return self._held(held)

    def changes(self, event: int) -> tuple[Change, ...]:
        at = int(self.events["at"][event])
        is_last = event + 1 == len(self.events)
        end = self._tape.word_count if is_last else int(self.events["at"][event + 1])
        changes = []
        while at < end:
            head = int(self._words[at])
            kind, place = _KINDS[head >> abi.CHANGED_KIND], head & abi.CHANGED_PLACE
            at += 1
            if kind == "row":
                bits = np.zeros((self._shapes["rows"][2] // 16, 16), dtype=np.uint32)
                for quarter in range(len(bits)):
                    if head >> abi.CHANGED_QUARTERS + quarter & 1:
                        bits[quarter] = self._words[at : at + 16]
                        at += 16
                changes.append(Change(kind, place, bits.ravel()))
            else:
                count = 1 if kind == "scalar" else 16
                changes.append(Change(kind, place, self._words[at : at + count]))
                at += count
        return tuple(changes)

    @cached_property
    def _words(self) -> npt.NDArray[np.uint32]:
        raw = ffi.buffer(self._tape.words, 4 * self._tape.word_count) if self._tape.word_count else b""
        return np.frombuffer(raw, dtype=np.uint32)

    def move(self, held: Held, start: int, end: int) -> None:
        if not (0 <= start <= len(self.events) and 0 <= end <= len(self.events)):
            raise IndexError(f"events {start} and {end} of {len(self.events)}")
        state = {"scalars": held.scalars, "rows": held.rows, "lds": held.lds, "scratch": held.scratch}
        self._move(self._tape, ffi.new("HkState *", _pointers(state)), start, end)

    def _state(self) -> dict[str, npt.NDArray[np.uint32]]:
        # Untouched zeros take no memory; a state of no bytes must still have an address.
        return {name: np.zeros(shape, dtype=np.uint32) for name, shape in self._shapes.items()}

    def _held(self, state: dict[str, Any]) -> Held:
        return Held(state["scalars"], state["rows"], state["lds"].view(np.uint8), state["scratch"])

    def __del__(self) -> None:
        if getattr(self, "_tape", None) is not None:
            self._free(self._tape)


def _linear(group: int | Dim, groups: Dim) -> int:
    if isinstance(group, int):
        return group
    x, y, z = group
    return x + groups[0] * (y + groups[1] * z)


def _pointers(state: dict[str, Any]) -> dict[str, CData]:
    return {name: ffi.cast("uint32_t *", array.ctypes.data) for name, array in state.items()}


def _changes(block: Sequence[Instruction], acc_offset: int, everywhere: bool) -> dict[str, Any]:
    """The state that a block may change, as HkChanges describes it."""
    ranges = list(_written(block, acc_offset))
    flags = 0
    if everywhere or len(ranges) > abi.TAPE_RANGES:
        ranges, flags = [], abi.TAPE_ROWS
    for instruction in block:
        memory = instruction.record.memory
        if instruction.record.traits & (Trait.ASYNCHRONOUS | Trait.COPIES_TILES):
            flags |= abi.TAPE_LDS
        if memory is None:
            continue
        # A modifier of a buffer load says that its data goes to LDS.
        to_lds = memory.to_lds or instruction.modifiers.get("lds")
        if to_lds or (memory.access is not Does.LOAD and memory.space not in _NOT_LDS):
            flags |= abi.TAPE_LDS
    return {"first": [first for first, _ in ranges], "count": [count for _, count in ranges], "flags": flags}


def _written(block: Iterable[Instruction], acc_offset: int) -> Iterable[tuple[int, int]]:
    for instruction in block:
        both = instruction.record.traits & Trait.EXCHANGES
        for operand in (*instruction.dst, *(instruction.src if both else ())):
            if operand.kind in "va":
                yield operand.index + (acc_offset if operand.kind == "a" else 0), operand.width
