"""Scalar registers of a block: SSA values between their load from the wave's state and their store."""

from __future__ import annotations

from workbench.emulator.translate.function import SCC, Function
from workbench.emulator.translate.ir import I32, I64, Value


class Scalars:
    """Values of the registers in straight code, by encoding; SCC has its own key.

    Attributes:
        dirty: registers not yet stored to the wave's state.
    """

    def __init__(self, function: Function) -> None:
        self.dirty: set[int] = set()
        self._function = function
        self._s32: dict[int, Value] = {}
        self._s64: dict[int, Value] = {}
        self._scc: Value | None = None

    def flush(self) -> None:
        """Store the dirty registers to the wave's state."""
        for index in sorted(self.dirty):
            if index in self.dirty:
                self.store(index)

    def store(self, index: int) -> None:
        """Store a dirty register, and its partner too if they hold one value."""
        both = self.held_with(index)
        if both and both <= self.dirty:
            pair = min(both)
            self._function.emitter.store(self._s64[pair], self._function.scalar_pointer(pair), 4)
            self.dirty -= both
            return
        self._function.emitter.store(self.half(index), self._function.scalar_pointer(index), 4)
        self.dirty.discard(index)

    def forget(self) -> None:
        """Drop all values, after code that may have changed the registers; nothing may be dirty."""
        self._s32.clear()
        self._s64.clear()
        self._scc = None
        assert not self.dirty

    def held_with(self, index: int) -> set[int]:
        """The pair whose 64-bit value holds a register; empty if there is none."""
        for pair in (index, index - 1):
            if pair in self._s64:
                return {pair, pair + 1}
        return set()

    def half(self, index: int) -> Value:
        """A register as i32."""
        value = self._s32.get(index)
        if value is not None:
            return value
        if (pair := self._s64.get(index)) is not None:
            value = pair.trunc(32)
        elif (pair := self._s64.get(index - 1)) is not None:
            value = pair.lshr(32).trunc(32)
        elif index == SCC and self._scc is not None:
            value = self._scc.zext(32)
        else:
            value = self._function.emitter.load(I32, self._function.scalar_pointer(index), 4)
        self._s32[index] = value
        return value

    def pair(self, index: int) -> Value:
        """A register and the next as i64."""
        value = self._s64.get(index)
        if value is not None:
            return value
        halves = (index in self._s32, index + 1 in self._s32)
        if any(halves) or index - 1 in self._s64 or index + 1 in self._s64:
            low, high = self.half(index).zext(64), self.half(index + 1).zext(64)
            value = low | high.shl(32)
        else:
            value = self._function.emitter.load(I64, self._function.scalar_pointer(index), 4)
        self._s64[index] = value
        return value

    def set(self, index: int, value: Value) -> None:
        """Write an i32 to a register or an i64 to a pair."""
        width = 2 if value.type is I64 else 1
        # A pair that loses one half keeps the other.
        for pair in (index - 1, index + 1) if width == 2 else (index - 1, index):
            if pair in self._s64:
                for half in (pair, pair + 1):
                    if not index <= half < index + width and half in self.dirty:
                        self.half(half)
                del self._s64[pair]
        for n in range(width):
            self._s32.pop(index + n, None)
            self.dirty.add(index + n)
        if width == 2:
            self._s64[index] = value
        else:
            self._s32[index] = value

    def drop(self, index: int) -> None:
        """Forget the value of a register that vector code now writes; its pair's other half stays."""
        emitter = self._function.emitter
        for pair in (index - 1, index):
            if pair in self._s64:
                lines, emitter.lines = emitter.lines, self._function.straight
                for half in (pair, pair + 1):
                    if half != index and half in self.dirty:
                        self.half(half)
                emitter.lines = lines
                del self._s64[pair]
        self._s32.pop(index, None)
        self.dirty.discard(index)

    def scc(self) -> Value:
        """SCC as a value of type i1."""
        if self._scc is None:
            self._scc = self.half(SCC).ne(0)
        return self._scc

    def set_scc(self, value: Value) -> None:
        """Write SCC from an i1."""
        self._scc = value
        self._s32.pop(SCC, None)
        self.dirty.add(SCC)
