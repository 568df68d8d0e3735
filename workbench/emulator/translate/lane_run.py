"""A run: lane-wise instructions that follow each other, as one loop over the wave's chunks of 16 lanes.

Register values are in SSA form inside the body. EXEC is constant in a run, so values are computed for all
lanes and stored under EXEC's mask. The generated code is selected by LLVM without optimisation, so what is
emitted here is what runs: registers are stored where they are last written, and loaded again when their last
use is far back, which is cheaper than what the fast register allocator would do with long live ranges.
"""

from __future__ import annotations

from workbench.emulator.native import abi
from workbench.emulator.translate.chunk import (
    V_F32,
    V_F64,
    V_I1,
    V_I32,
    V_I64,
    halves,
    join,
)
from workbench.emulator.translate.function import Function
from workbench.emulator.translate.ir import I16, I64, LANES, Value, floating, integer
from workbench.emulator.translate.scalars import Scalars
from workbench.toolchain import cpu

INDEXED = 1 << 16
"""Marks the number of a row to which M0's index is added when the code runs."""

_REUSE = 24
"""Instructions after which a value is loaded again rather than kept in a register."""

_L1_BYTES = 24 << 10
"""Bytes of register rows beyond which a run keeps the values that it reads again on the stack.

A run touches the same 16 lanes of all its rows, and these lines fall into a quarter of the sets of an L1
cache of 32 or 48 KiB (64 lanes; half of them with 32). Values of these lanes that lie side by side use all
sets.
"""

_MIDDLE = 128 * 64 if cpu.machine() == "x86_64" else 0
"""Bytes between the first of the stack's slots and the place from which all are addressed.

AVX-512's instructions hold an offset from -128 to 127 slots in one byte instead of four. So a run over 250
registers is 42 KiB of code instead of 50, and 1.36 times as fast on a Xeon with 32 KiB of L1 for code.
"""

_MASKED_STORE = "llvm.masked.store"


class Step:
    """State of the translation of one instruction.

    Attributes:
        number: counts the instructions of the block.
        enable: lanes (i1) that it writes; None for every lane that EXEC enables.
        hoisted: scalar registers that it writes as masks; as numbers they are read before the loop.
    """

    def __init__(self) -> None:
        self.number = 0
        self.enable: Value | None = None
        self.hoisted: frozenset[int] = frozenset()

    def next(self) -> None:
        """Advance to the next instruction."""
        self.number += 1
        self.enable = None
        self.hoisted = frozenset()


class _Definition:
    """A value of a register row within a run.

    Attributes:
        row: number of the row.
        value: type and name of the value.
        line: number of the line that loads or stores it.
        is_store: True if the run computes it.
        is_used: True if code outside of the run's own lines reads it from the row.
        reloads: numbers of the lines that load it again.
    """

    __slots__ = ("is_store", "is_used", "line", "reloads", "row", "value")

    def __init__(self, row: int, value: Value, line: int, is_store: bool) -> None:
        self.row, self.line, self.is_store = row, line, is_store
        self.value = f"{value.type.text} {value.name}"
        self.is_used = False
        self.reloads: list[int] = []


class _Row:
    """A register row within a run: its value as integers or floats, and the line that stored it."""

    __slots__ = ("as_float", "as_int", "definition", "step", "store")

    def __init__(self, step: int) -> None:
        self.as_int: Value | None = None
        self.as_float: Value | None = None
        self.definition: _Definition
        self.store: int | None = None
        self.step = step


class LaneRun:
    """A loop over chunks under construction.

    Attributes:
        body: code of the loop.
        exec: EXEC bits of the chunk.
        scalar_writes: scalar registers that the body writes to the wave's state, as lane masks.
        number_reads: scalar registers that the body reads from the wave's state as numbers.
        ends_after: True if the run ends with the current instruction.
    """

    def __init__(
        self, number: int, function: Function, scalars: Scalars, step: Step, register_rows: int
    ) -> None:
        self.body: list[str] = []
        self.scalar_writes: set[int] = set()
        self.number_reads: set[int] = set()
        self.ends_after = False
        self._number = number
        self._function = function
        self._scalars = scalars
        self._step = step
        self._register_rows = register_rows
        self._emitter = function.emitter
        self._rows: dict[int, _Row] = {}
        self._definitions: list[_Definition] = []
        self._written_rows: set[int] = set()
        self._pairs: dict[int, tuple[Value, int]] = {}
        self._row_pointers: dict[int, str] = {}
        self._splats: dict[tuple[int, int, str], tuple[Value, int]] = {}
        self._masks: dict[int, Value] = {}
        # Those read from the wave's state, as masks or as numbers.
        self._scalar_reads: set[int] = set()
        self._lane_ids: Value | None = None
        base = function.rows_base()
        self._emitter.lines = self.body
        self.body += [
            f"%rows{number} = getelementptr i8, ptr {base}, i64 %c{number}",
            f"%mo{number} = lshr i64 %c{number}, 5",
            f"%masks{number} = getelementptr i8, ptr %wave, i64 %mo{number}",
        ]
        self.exec = self._mask_from_state(abi.EXEC)

    def close(self, keeps_on_stack: bool) -> None:
        """Append the loop to the straight code, which continues after it.

        Args:
            keeps_on_stack: True to keep values on the stack if the run touches more than `_L1_BYTES` of rows.
        """
        n, function = self._number, self._function
        rows = {definition.row for definition in self._definitions}
        if keeps_on_stack and len(rows) * function.row_bytes > _L1_BYTES and max(rows) < INDEXED:
            self._keep_on_stack()
        function.straight += [
            f"br label %loop{n}",
            f"loop{n}:",
            f"%c{n} = phi i64 [ 0, %{function.label} ], [ %n{n}, %loop{n} ]",
            *(line for line in self.body if line),
            f"%n{n} = add i64 %c{n}, {4 * LANES}",
            f"%d{n} = icmp eq i64 %n{n}, {function.row_bytes}",
            f"br i1 %d{n}, label %exit{n}, label %loop{n}",
            f"exit{n}:",
        ]
        function.label = f"exit{n}"

    def _keep_on_stack(self) -> None:
        """Keep values that are read again in stack memory, and store to each row only its last value."""
        last = {definition.row: definition for definition in self._definitions}
        stack = self._function.stack(64 * self._register_rows)
        middle = f"%middle{self._number}"
        self._function.straight.append(f"{middle} = getelementptr i8, ptr {stack}, i64 {_MIDDLE}")
        slots: dict[int, int] = {}
        lines = 0

        def slot(row: int) -> tuple[str, str]:
            """A pointer to a row's slot, and the line that computes it, at its use so that it is folded."""
            nonlocal lines
            lines += 1
            name = f"%slot{self._number}.{lines}"
            offset = 64 * slots.setdefault(row, len(slots)) - _MIDDLE
            return name, f"{name} = getelementptr i8, ptr {middle}, i64 {offset}\n"

        for definition in self._definitions:
            row = definition.row
            if definition.is_store and not definition.is_used and last[row] is not definition:
                self.body[definition.line] = ""
            if not definition.reloads:
                continue
            name, line = slot(row)
            line += f"store {definition.value}, ptr {name}, align 64"
            self.body[definition.line] = f"{self.body[definition.line]}\n{line}".lstrip("\n")
            for reload in definition.reloads:
                name, line = slot(row)
                pointer = f"ptr {self._row_pointers[row]},"
                self.body[reload] = line + self.body[reload].replace(pointer, f"ptr {name},")

    def in_preheader(self) -> None:
        """Further code of the instruction goes before the loop."""
        self._emitter.lines = self._function.straight

    def in_body(self) -> None:
        """Further code goes into the loop again."""
        self._emitter.lines = self.body

    def chunk_offset(self) -> Value:
        """Byte offset of the chunk in a row (i64), a multiple of 64."""
        return Value(self._emitter, f"%c{self._number}", I64)

    def lane_ids(self) -> Value:
        """Numbers of the chunk's lanes."""
        if self._lane_ids is None:
            first = self.chunk_offset().lshr(2).trunc(32)
            text = ", ".join(f"i32 {n}" for n in range(LANES))
            self._lane_ids = self._emitter.splat(first) + Value(self._emitter, f"<{text}>", V_I32)
        return self._lane_ids

    # Register rows

    def writes(self, row: int) -> bool:
        """True if the body writes a row: code before the loop would see its old value."""
        return row in self._written_rows

    def touches(self, row: int) -> bool:
        """True if the run reads or writes a register row."""
        return row in self._rows or row in self._written_rows

    def row(self, row: int, as_float: bool = False) -> Value:
        """A register row's chunk, 32 bits per lane."""
        state = self._rows.get(row)
        if state is None or self._step.number - state.step > _REUSE:
            # The store that this load reads must be kept.
            before, state = state, _Row(self._step.number)
            self._rows[row] = state
            value = self._emitter.load(V_F32 if as_float else V_I32, self._row_pointer(row), 64)
            line = len(self.body) - 1
            if before is None:
                state.definition = _Definition(row, value, line, is_store=False)
                self._definitions.append(state.definition)
            else:
                state.definition = before.definition
                state.definition.reloads.append(line)
            if as_float:
                state.as_float = value
            else:
                state.as_int = value
            return value
        state.step = self._step.number
        if as_float:
            if state.as_float is None:
                assert state.as_int is not None
                state.as_float = state.as_int.bitcast(V_F32)
            return state.as_float
        if state.as_int is None:
            assert state.as_float is not None
            state.as_int = state.as_float.bitcast(V_I32)
        return state.as_int

    def set_row(self, row: int, value: Value) -> None:
        """Write 32 bits per lane to a register row under EXEC and the instruction's own lane enables."""
        if self._step.enable is not None:
            value = self._step.enable.select(value, self.row(row, value.type.is_float))
        state = self._rows.get(row)
        if state is not None and state.store is not None:
            self.body[state.store] = ""
        state = self._rows[row] = _Row(self._step.number)
        if value.type.is_float:
            state.as_float = value
        else:
            state.as_int = value
        self._pairs.pop(row, None)
        self._pairs.pop(row - 1, None)
        self._written_rows.add(row)
        pointer = self._row_pointer(row)
        state.store = len(self.body)
        state.definition = _Definition(row, value, state.store, is_store=True)
        self._definitions.append(state.definition)
        suffix, text = value.type.suffix, value.type.text
        self._emitter.intrinsics.add(
            f"declare void @{_MASKED_STORE}.{suffix}.p0({text}, ptr, i32, {V_I1.text})"
        )
        self.body.append(
            f"call void @{_MASKED_STORE}.{suffix}.p0("
            f"{text} {value.name}, ptr {pointer}, i32 64, {V_I1.text} {self.exec.name})"
        )

    def wide(self, row: int, as_float: bool = False) -> Value:
        """Two consecutive rows as 64 bits per lane."""
        cached = self._pairs.get(row)
        type = V_F64 if as_float else V_I64
        if cached is not None and self._step.number - cached[1] <= _REUSE:
            return cached[0].bitcast(type)
        value = join(self.row(row), self.row(row + 1)).bitcast(type)
        self._pairs[row] = (value, self._step.number)
        return value

    def set_wide(self, row: int, value: Value) -> None:
        """Write 64 bits per lane to two consecutive rows."""
        low, high = halves(value)
        self.set_row(row, low)
        self.set_row(row + 1, high)
        if self._step.enable is None:
            self._pairs[row] = (value, self._step.number)

    def row_address(self, first: int, width: int) -> str:
        """Pointer to the chunk of consecutive rows, for C functions; their content is up to date."""
        for row in range(first, first + width):
            if (state := self._rows.get(row)) is not None:
                # The current value in memory is read there, so an earlier store of it must be kept.
                state.store = None
                state.definition.is_used = True
        return self._row_pointer(first)

    def rows_written_outside(self, first: int, width: int) -> None:
        """Forget consecutive rows that a C function has written."""
        for row in range(first - 1, first + width):
            self._pairs.pop(row, None)
        for row in range(first, first + width):
            if (state := self._rows.pop(row, None)) is not None:
                # Lanes that the function does not write keep it.
                state.definition.is_used = True
            self._written_rows.add(row)

    def _row_pointer(self, row: int) -> str:
        name = self._row_pointers.get(row)
        if name is None:
            base = f"%rows{self._number}"
            if row >= INDEXED:
                base = self._emitter.offset(base, self._indexed_offset(row - INDEXED))
            name = self._emitter.offset(base, row % INDEXED * self._function.row_bytes)
            self._row_pointers[row] = name
        return name

    def _indexed_offset(self, row: int) -> Value:
        """Byte offset that M0's index adds to a row; 0 if it would leave the registers."""
        lines, self._emitter.lines = self._emitter.lines, self._function.straight
        index = self._scalars.half(abi.M0) & 0xFF
        inside = index.cmp("ult", max(self._register_rows - row, 1))
        offset = inside.select(index, 0).zext(64).shl(self._function.row_bytes.bit_length() - 1)
        self._emitter.lines = lines
        return offset

    # Lane masks in scalar registers

    def has_mask(self, index: int) -> bool:
        """True if the body holds a lane mask in an SSA value."""
        return index in self._masks

    def mask(self, index: int) -> Value:
        """The chunk's 16 bits of a lane mask in scalar registers."""
        if index == abi.EXEC:
            return self.exec
        cached = self._masks.get(index)
        if cached is not None:
            return cached
        registers, words = self._mask_registers(index), self._function.mask_words
        if registers & self._scalars.dirty and not self._settle(index, words):
            self.in_preheader()
            bits = self._scalars.pair(index) if words == 2 else self._scalars.half(index)
            self.in_body()
            amount = self.chunk_offset().lshr(2)
            if words == 1:
                amount = amount.trunc(32)
            value = bits.lshr(amount).trunc(16).bitcast(V_I1)
        else:
            value = self._mask_from_state(index)
            self._scalar_reads |= registers
        self._masks[index] = value
        return value

    def set_mask(self, index: int, value: Value) -> None:
        """Write the chunk's bits of a lane mask; lanes that are off get zero."""
        value = self._emitter.binary("and", value, self.exec)
        if self._step.enable is not None:
            value = self._emitter.binary("and", value, self._step.enable)
        pointer = self._emitter.offset(f"%masks{self._number}", 4 * index)
        self._emitter.store(value.bitcast(I16), pointer, 2)
        registers = self._mask_registers(index)
        for register in sorted(registers):
            self._scalars.drop(register)
        self.scalar_writes |= registers
        self.forget_masks(index, self._function.mask_words)
        self._masks[index] = value
        if index == abi.EXEC:
            self.ends_after = True

    def forget_masks(self, index: int, width: int) -> None:
        """Drop lane masks that overlap scalar registers being written."""
        for other in range(index + 1 - self._function.mask_words, index + width):
            self._masks.pop(other, None)

    def _mask_registers(self, index: int) -> set[int]:
        return set(range(index, index + self._function.mask_words))

    def _mask_from_state(self, index: int) -> Value:
        pointer = self._emitter.offset(f"%masks{self._number}", 4 * index)
        return self._emitter.load(I16, pointer, 2).bitcast(V_I1)

    # Scalar registers as numbers

    def splat_register(self, index: int, width: int, as_float: bool) -> Value:
        """A scalar register (or pair) in every lane of the chunk."""
        registers = {index + n for n in range(width)}
        type = floating(32 * width) if as_float else integer(32 * width)
        key = (index, width, type.text)
        dirty = registers & self._scalars.dirty
        cached = self._splats.get(key)
        if cached is not None and not dirty and self._step.number - cached[1] <= _REUSE:
            return cached[0]
        if registers & self._step.hoisted or (dirty and not self._settle(index, width)):
            self.in_preheader()
            scalar = self._scalars.half(index) if width == 1 else self._scalars.pair(index)
            value = self._emitter.splat(scalar.bitcast(type))
            self.in_body()
            return value
        pointer = self._function.scalar_pointer(index)
        value = self._emitter.splat(self._emitter.load(type, pointer, 4))
        self._scalar_reads |= registers
        self.number_reads |= registers
        self._splats[key] = (value, self._step.number)
        return value

    def _settle(self, index: int, width: int) -> bool:
        """Store registers before the loop, where no instruction of the run reads or writes them there."""
        registers = {index + n for n in range(width)}
        used = self._scalar_reads | self.scalar_writes
        if registers & used:
            return False
        self.in_preheader()
        for register in sorted(registers & self._scalars.dirty):
            if register in self._scalars.dirty:
                if self._scalars.held_with(register) & used:
                    self.in_body()
                    return False
                self._scalars.store(register)
        self.in_body()
        return True
