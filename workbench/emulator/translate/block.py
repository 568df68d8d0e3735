"""One basic block of AMDGPU code as one LLVM function.

Scalar instructions become scalar code over the wave's state. Lane-wise vector instructions that follow each
other form a run: one loop over four chunks of 16 lanes, with register values in SSA form inside the body.
EXEC is constant in a run, so values are computed for all lanes and stored under EXEC's mask. Scalar
instructions that stand between vector ones are placed before the loop: what they write goes to the wave's
state before the loop where no earlier vector instruction of the run read the old value there, and after it
where one did.

The generated code is selected by LLVM without optimisation, so what is emitted here is what runs: registers
are stored where they are last written, and loaded again when their last use is far back, which is cheaper
than what the fast register allocator would do with long live ranges.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native import abi
from workbench.emulator.translate.ir import I1, I16, I32, I64, LANES, Emitter, Type, Value, floating, integer

CHUNKS = abi.LANES // LANES
ROW_BYTES = 4 * abi.LANES

V_I1 = integer(1, LANES)
V_I16 = integer(16, LANES)
V_I32 = integer(32, LANES)
V_I64 = integer(64, LANES)
V_F16 = floating(16, LANES)
V_F32 = floating(32, LANES)
V_F64 = floating(64, LANES)

INDEXED = 1 << 16
"""Added to the number of a row that M0's index is added to when the code runs."""

SCC = 128
"""Key of SCC beside the scalar operand encodings."""

_SCC_OFFSET = abi.offset("Wave", "scc")
_REUSE = 24
"""Instructions after which a value is loaded again rather than kept in a register."""

# Operations that round, by LLVM's name.
_ROUNDING = {
    "fadd": abi.ROUND_ADD,
    "fsub": abi.ROUND_SUBTRACT,
    "fmul": abi.ROUND_MULTIPLY,
    "fdiv": abi.ROUND_DIVIDE,
    "fma": abi.ROUND_FMA,
    "sqrt": abi.ROUND_ROOT,
    "fptrunc": abi.ROUND_NARROW,
    "sitofp": abi.ROUND_FROM_SIGNED,
    "uitofp": abi.ROUND_FROM_UNSIGNED,
}

MASKED_STORE = "llvm.masked.store"


class Unsupported(Exception):
    """The instruction, or a modifier of it, is not executed; the text says which."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What the MODE register says about floating point, known when the code is translated.

    Rounding: 0 nearest even, 1 up, 2 down, 3 to zero. Denormals: 0 flush sources and results, 1 flush
    results, 2 flush sources, 3 keep.

    Attributes:
        value: the register.
        overflow_saturates: FP16_OVFL: what overflows in 8 bits becomes the largest number.
    """

    value: int = 0x3F0
    round32: int = 0
    round64: int = 0
    denormal32: int = 3
    denormal64: int = 3
    dx10_clamp: bool = True
    ieee: bool = True
    overflow_saturates: bool = False

    @classmethod
    def of(cls, value: int) -> Mode:
        """From the register's value."""
        return cls(
            value=value,
            round32=value & 3,
            round64=value >> 2 & 3,
            denormal32=value >> 4 & 3,
            denormal64=value >> 6 & 3,
            dx10_clamp=bool(value >> 8 & 1),
            ieee=bool(value >> 9 & 1),
            overflow_saturates=bool(value >> 23 & 1),
        )

    def with_field(self, first: int, size: int, field: int) -> Mode:
        """After a write of `field` to bits first..first+size-1."""
        mask = ((1 << size) - 1) << first
        return Mode.of((self.value & ~mask) | (field << first & mask))


@dataclass(frozen=True, slots=True)
class Options:
    """What a translation depends on beside the code.

    Attributes:
        target: "gfx942", "gfx950" or "gfx90a".
        acc_offset: row of AGPR 0.
        mode: floating-point mode at the kernel's start.
        host: features of the CPU that runs the code, as LLVM names them.
        rows: vector register rows that a wave has.
        sanitize: whether the code reports to the sanitizer.
    """

    target: str
    acc_offset: int
    mode: Mode
    host: frozenset[str]
    rows: int = 512
    sanitize: bool = False


class _Row:
    """What a run knows about a register row: its value as integers or floats, and the line that stored it."""

    __slots__ = ("as_float", "as_int", "store", "tick")

    def __init__(self, tick: int) -> None:
        self.as_int: Value | None = None
        self.as_float: Value | None = None
        self.store: int | None = None
        self.tick = tick


class _Run:
    """A loop over chunks under construction."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.body: list[str] = []
        self.rows: dict[int, _Row] = {}
        self.pairs: dict[int, tuple[Value, int]] = {}
        self.row_pointers: dict[int, str] = {}
        self.splats: dict[tuple[int, int, str], tuple[Value, int]] = {}
        self.masks: dict[int, Value] = {}
        # Scalar registers whose value at the run's entry the body reads from the wave's state (those read as
        # numbers, which every chunk needs whole, once more), and those that the body writes there as masks.
        self.scalar_reads: set[int] = set()
        self.number_reads: set[int] = set()
        self.scalar_writes: set[int] = set()
        self.written_rows: set[int] = set()
        self.exec: Value | None = None
        self.lane_ids: Value | None = None
        self.ends_after = False


# Register kinds of instruction signatures: LLVM type in a lane run, and dwords.
KINDS: Mapping[str, tuple[Type, int]] = {
    **dict.fromkeys(("b32", "i32", "u32"), (V_I32, 1)),
    **dict.fromkeys(("b16", "i16", "u16", "bf16"), (V_I16, 1)),
    **dict.fromkeys(("b64", "i64", "u64"), (V_I64, 2)),
    "f16": (V_F16, 1),
    "f32": (V_F32, 1),
    "f64": (V_F64, 2),
    **{kind: (integer(16, 2 * LANES), 1) for kind in ("v2b16", "v2i16", "v2u16", "v2bf16")},
    "v2f16": (floating(16, 2 * LANES), 1),
}


class BlockTranslator:
    """Emits the function of one block; semantics get it as their first argument.

    Attributes:
        emitter: receives IR; its current list is the straight code or the body of the open run.
        options: what the translation depends on.
        instruction: the current one.
        clamp: whether the current instruction clamps (saturates) its result.
        indexed_positions: operands of vector instructions whose register number M0 is added to: bits 0..2
            sources, bit 3 the destination.
    """

    def __init__(
        self,
        options: Options,
        name: str,
        index_of: Callable[[int], int],
        next_index: int,
        mode: Mode | None,
    ) -> None:
        self.emitter = Emitter()
        self.options = options
        self._mode = mode
        self.name = name
        self.index_of = index_of
        self.next_index = next_index
        self.constants: list[str] = []
        self.finished = False
        self.clamp = False
        self.indexed_positions = 0
        self.instruction: Instruction
        self._text: list[str] = []
        self._prelude: list[str] = []
        self._buffers: dict[int, str] = {}
        self._label = "entry"
        self._runs = 0
        self._labels = 0
        self._run: _Run | None = None
        self._tick = 0
        self._s32: dict[int, Value] = {}
        self._s64: dict[int, Value] = {}
        self._scc: Value | None = None
        self._dirty: set[int] = set()
        self._row_base = False
        self._enable: Value | None = None
        self._hoisted: frozenset[int] = frozenset()
        self.emitter.lines = self._text

    # Driving

    def begin(self, instruction: Instruction) -> None:
        """Start the next instruction; code goes to the straight part until a run is asked for."""
        self.instruction = instruction
        self.clamp = bool(instruction.modifiers.get("clamp"))
        self._enable = None
        self._hoisted = frozenset()
        mode = self._mode
        self.emitter.rounding = self._rounded if mode is not None and mode.value & 15 else None
        self._tick += 1
        self.emitter.lines = self._text

    def end(self) -> None:
        """Finish the instruction."""
        if self._run is not None and self._run.ends_after:
            self.close_run()

    def finish(self, result: int | Value | None = None) -> None:
        """End the function: return a block index or one of layout's codes; None falls through."""
        self.close_run()
        self.flush()
        text = self.next_index if result is None else result.name if isinstance(result, Value) else result
        self.emitter.lines.append(f"ret i32 {text}")
        self.finished = True

    def function(self) -> str:
        """The whole function as text."""
        lines = [f"define i32 @{self.name}(ptr %wave) #0 {{", "entry:", *self._prelude, *self._text, "}"]
        return "\n".join(lines)

    @property
    def mode(self) -> Mode:
        """Floating-point mode at the current instruction; Unsupported where that is not known."""
        if self._mode is None:
            raise Unsupported("a floating-point mode that depends on the way taken or on a register")
        return self._mode

    def set_mode(self, mode: Mode | None) -> None:
        """The mode from the next instruction on; None if it is not known."""
        self._mode = mode

    @property
    def known_mode(self) -> Mode | None:
        """The mode, None where it is not known."""
        return self._mode

    # The wave's state

    def field(self, *path: str) -> str:
        """Name of a pointer to a field of the Wave structure, or to a field of a field."""
        return self.emitter.offset("%wave", abi.offset("Wave", *path))

    def _scalar_pointer(self, index: int) -> str:
        return self.emitter.offset("%wave", _SCC_OFFSET if index == SCC else 4 * index)

    def _prelude_once(self, lines: list[str]) -> None:
        self._prelude.extend(lines)

    def rows_base(self) -> str:
        """Name of the pointer to row 0."""
        if not self._row_base:
            self._row_base = True
            self._prelude_once(
                [
                    f"%vp = getelementptr i8, ptr %wave, i64 {abi.offset('Wave', 'v')}",
                    "%v = load ptr, ptr %vp, align 8",
                ]
            )
        return "%v"

    def buffer(self, number: int, size: int = 192) -> str:
        """A 64-byte-aligned block of stack memory of the function."""
        name = self._buffers.get(number)
        if name is None:
            name = f"%buffer{number}"
            self._buffers[number] = name
            self._prelude_once([f"{name} = alloca [{size} x i8], align 64"])
        return name

    def new_buffer(self, size: int) -> str:
        """Stack memory of its own, 64-byte aligned."""
        return self.buffer(100 + len(self._buffers), size)

    def flush(self) -> None:
        """Write scalar registers that are held in SSA values to the wave's state."""
        for index in sorted(self._dirty):
            if index in self._dirty:
                self._store_scalar(index)

    def _store_scalar(self, index: int) -> None:
        """Store a dirty register, its partner too when they are one value."""
        pair = index if index in self._s64 else index - 1 if index - 1 in self._s64 else None
        if pair is not None and pair in self._dirty and pair + 1 in self._dirty:
            self.emitter.store(self._s64[pair], self._scalar_pointer(pair), 4)
            self._dirty -= {pair, pair + 1}
            return
        self.emitter.store(self._half(index), self._scalar_pointer(index), 4)
        self._dirty.discard(index)

    def forget(self) -> None:
        """Drop SSA copies of scalar registers after code that may have changed them; all are stored."""
        self._s32.clear()
        self._s64.clear()
        self._scc = None
        assert not self._dirty

    def _half(self, index: int) -> Value:
        """A scalar register as i32."""
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
            value = self.emitter.load(I32, self._scalar_pointer(index), 4)
        self._s32[index] = value
        return value

    def _pair(self, index: int) -> Value:
        value = self._s64.get(index)
        if value is not None:
            return value
        halves = (index in self._s32, index + 1 in self._s32)
        if any(halves) or index - 1 in self._s64 or index + 1 in self._s64:
            low, high = self._half(index).zext(64), self._half(index + 1).zext(64)
            value = low | high.shl(32)
        else:
            value = self.emitter.load(I64, self._scalar_pointer(index), 4)
        self._s64[index] = value
        return value

    def register(self, index: int, width: int = 1) -> Value:
        """A scalar register (i32) or a pair (i64) in scalar code."""
        self._before_scalar_read(index, width)
        return self._half(index) if width == 1 else self._pair(index)

    def _before_scalar_read(self, index: int, width: int) -> None:
        run = self._run
        if (
            run is not None
            and run.scalar_writes
            and any(index + n in run.scalar_writes and index + n not in self._dirty for n in range(width))
        ):
            self.close_run()

    def set_register(self, index: int, value: Value) -> None:
        """Write an i32 to a scalar register or an i64 to a pair."""
        if abi.EXEC <= index <= abi.EXEC + 1:
            self.close_run()
        width = 2 if value.type is I64 else 1
        if self._run is not None:
            for mask in range(index - 1, index + width):
                self._run.masks.pop(mask, None)
        # A pair that loses one half keeps the other.
        for pair in (index - 1, index + 1) if width == 2 else (index - 1, index):
            if pair in self._s64:
                for half in (pair, pair + 1):
                    if not index <= half < index + width and half in self._dirty:
                        self._half(half)
                del self._s64[pair]
        for n in range(width):
            self._s32.pop(index + n, None)
            self._dirty.add(index + n)
        if width == 2:
            self._s64[index] = value
        else:
            self._s32[index] = value

    def scc(self) -> Value:
        """SCC as i1."""
        if self._scc is None:
            self._scc = self._half(SCC).ne(0)
        return self._scc

    def set_scc(self, value: Value) -> None:
        """Write SCC from an i1."""
        self._scc = value
        self._s32.pop(SCC, None)
        self._dirty.add(SCC)

    def exec(self) -> Value:
        """EXEC as i64 in scalar code."""
        return self.register(abi.EXEC, 2)

    # Scalar operands

    def scalar(self, operand: Operand, kind: str = "b32") -> Value:
        """A scalar source operand as i32 or i64."""
        wide = kind.endswith("64")
        if operand.kind == "s":
            return self.register(operand.index, 2 if wide else 1)
        if operand.kind in ("imm", "simm"):
            return self.emitter.const(I64 if wide else I32, operand.bits(kind))
        if operand.kind == "special":
            value = self._special(operand.index)
            return value.zext(64) if wide and value.type is I32 else value if wide else self._low(value)
        raise Unsupported(f"operand of kind {operand.kind!r} in scalar code")

    def _low(self, value: Value) -> Value:
        return value.trunc(32) if value.type is I64 else value

    def _special(self, index: int) -> Value:
        """Sources that are no registers; the apertures are 64-bit values whose low half is zero."""
        if index in (235, 237):
            base = abi.SHARED_APERTURE if index == 235 else abi.PRIVATE_APERTURE
            return self.emitter.const(I64, base)
        if index in (236, 238):
            base = abi.SHARED_APERTURE if index == 236 else abi.PRIVATE_APERTURE
            return self.emitter.const(I64, base | 0xFFFFFFFF)
        if index == 251:
            return self.register(abi.VCC, 2).eq(0).zext(32)
        if index == 252:
            return self.exec().eq(0).zext(32)
        if index == 253:
            return self.scc().zext(32)
        raise Unsupported(f"source operand {index}")

    # Control inside the function

    def _new_label(self) -> str:
        self._labels += 1
        return f"b{self._labels}"

    def branch_out(self, condition: Value, code: int) -> None:
        """Leave the function with a code where the i1 condition holds; all state is stored."""
        leave, stay = self._new_label(), self._new_label()
        self.emitter.lines += [
            f"br i1 {condition.name}, label %{leave}, label %{stay}",
            f"{leave}:",
            f"ret i32 {code}",
            f"{stay}:",
        ]
        self._label = stay

    def native(self, function: str, op: bytes, can_fault: bool, count: int | None = None) -> None:
        """Call a native operation with a constant Op record, or one that takes `count` records."""
        self.close_run()
        self.flush()
        name = f"@{self.name}_op{len(self.constants)}"
        words = struct.unpack(f"<{len(op) // 4}I", op)
        text = ", ".join(f"i32 {word}" for word in words)
        self.constants.append(f"{name} = private constant [{len(words)} x i32] [{text}], align 8")
        more, number = ("", "") if count is None else (", i32", f", i32 {count}")
        result = self.emitter.call(
            f"declare i32 @{function}(ptr, ptr{more})", I32, f"@{function}", f"ptr %wave, ptr {name}{number}"
        )
        assert result is not None
        if can_fault:
            self.branch_out(result.ne(0), abi.FAULT)
        self.forget()

    # Lane runs

    def row_of(self, operand: Operand) -> int:
        """Register row of a vector operand."""
        if operand.kind == "v":
            return operand.index
        if operand.kind == "a":
            return operand.index + self.options.acc_offset
        raise Unsupported(f"operand of kind {operand.kind!r} where a vector register is wanted")

    def open_run(self) -> _Run:
        """The current run; further code goes to its body."""
        run = self._run
        if run is None:
            self.flush()
            self.rows_base()
            self._runs += 1
            run = self._run = _Run(self._runs)
            self.emitter.lines = run.body
            n = run.number
            run.body += [
                f"%rows{n} = getelementptr i8, ptr %v, i64 %c{n}",
                f"%mo{n} = lshr i64 %c{n}, 5",
                f"%masks{n} = getelementptr i8, ptr %wave, i64 %mo{n}",
            ]
            run.exec = self._mask_from_state(abi.EXEC)
        self.emitter.lines = run.body
        return run

    def close_run(self) -> None:
        """End the run: what follows sees its results in the wave's state."""
        run, self._run = self._run, None
        self.emitter.lines = text = self._text
        if run is None:
            return
        n = run.number
        text += [
            f"br label %loop{n}",
            f"loop{n}:",
            f"%c{n} = phi i64 [ 0, %{self._label} ], [ %n{n}, %loop{n} ]",
            *(line for line in run.body if line),
            f"%n{n} = add i64 %c{n}, {4 * LANES}",
            f"%d{n} = icmp eq i64 %n{n}, {ROW_BYTES}",
            f"br i1 %d{n}, label %exit{n}, label %loop{n}",
            f"exit{n}:",
        ]
        self._label = f"exit{n}"
        self.flush()
        self.forget()

    def in_preheader(self) -> None:
        """Further code of a lane instruction goes before the loop."""
        self.emitter.lines = self._text

    def in_body(self) -> None:
        """Further code goes into the loop again."""
        assert self._run is not None
        self.emitter.lines = self._run.body

    def chunk_offset(self) -> Value:
        """Byte offset of the chunk in a row (i64): 0, 64, 128, 192."""
        return Value(self.emitter, f"%c{self.open_run().number}", I64)

    def lane_ids(self) -> Value:
        """Numbers of the chunk's lanes."""
        run = self.open_run()
        if run.lane_ids is None:
            first = self.chunk_offset().lshr(2).trunc(32)
            text = ", ".join(f"i32 {n}" for n in range(LANES))
            run.lane_ids = self.emitter.splat(first) + Value(self.emitter, f"<{text}>", V_I32)
        return run.lane_ids

    def _row_pointer(self, row: int) -> str:
        run = self._run
        assert run is not None
        name = run.row_pointers.get(row)
        if name is None:
            base = f"%rows{run.number}"
            if row >= INDEXED:
                base, row_ = self.emitter.offset(base, self._indexed_offset(row - INDEXED)), row - INDEXED
                name = self.emitter.offset(base, row_ * ROW_BYTES)
            else:
                name = self.emitter.offset(base, row * ROW_BYTES)
            run.row_pointers[row] = name
        return name

    def _indexed_offset(self, row: int) -> Value:
        """Bytes from a row to the one that M0's index leads to; none where that is outside the registers."""
        lines, self.emitter.lines = self.emitter.lines, self._text
        index = self._half(abi.M0) & 0xFF
        inside = index.cmp("ult", max(self.options.rows - row, 1))
        offset = inside.select(index, 0).zext(64).shl(8)
        self.emitter.lines = lines
        return offset

    def row(self, row: int, as_float: bool = False) -> Value:
        """A register row's chunk, 32 bits a lane."""
        run = self.open_run()
        state = run.rows.get(row)
        if state is None or self._tick - state.tick > _REUSE:
            # The store that this load reads must stay.
            state = run.rows[row] = _Row(self._tick)
            value = self.emitter.load(V_F32 if as_float else V_I32, self._row_pointer(row), 64)
            if as_float:
                state.as_float = value
            else:
                state.as_int = value
            return value
        state.tick = self._tick
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
        """Write 32 bits a lane to a register row under EXEC and the instruction's own lane enables."""
        run = self.open_run()
        if self._enable is not None:
            value = self._enable.select(value, self.row(row, value.type.is_float))
        state = run.rows.get(row)
        if state is not None and state.store is not None:
            run.body[state.store] = ""
        state = run.rows[row] = _Row(self._tick)
        if value.type.is_float:
            state.as_float = value
        else:
            state.as_int = value
        run.pairs.pop(row, None)
        run.pairs.pop(row - 1, None)
        run.written_rows.add(row)
        pointer = self._row_pointer(row)
        assert run.exec is not None
        state.store = len(run.body)
        suffix, text = value.type.suffix, value.type.text
        self.emitter.intrinsics.add(
            f"declare void @{MASKED_STORE}.{suffix}.p0({text}, ptr, i32, {V_I1.text})"
        )
        run.body.append(
            f"call void @{MASKED_STORE}.{suffix}.p0("
            f"{text} {value.name}, ptr {pointer}, i32 64, {V_I1.text} {run.exec.name})"
        )

    def wide(self, row: int, as_float: bool = False) -> Value:
        """Two consecutive rows as 64 bits a lane."""
        run = self.open_run()
        cached = run.pairs.get(row)
        type = V_F64 if as_float else V_I64
        if cached is not None and self._tick - cached[1] <= _REUSE:
            return cached[0].bitcast(type)
        value = self.join(self.row(row), self.row(row + 1)).bitcast(type)
        run.pairs[row] = (value, self._tick)
        return value

    def join(self, low: Value, high: Value) -> Value:
        """64-bit lanes from their halves."""
        order = [index for lane in range(LANES) for index in (lane, lane + LANES)]
        return self.emitter.shuffle(low, high, order).bitcast(V_I64)

    def halves(self, value: Value) -> tuple[Value, Value]:
        """The low and high dwords of 64-bit lanes."""
        parts = value.bitcast(integer(32, 2 * LANES))
        low = self.emitter.shuffle(parts, None, list(range(0, 2 * LANES, 2)))
        return low, self.emitter.shuffle(parts, None, list(range(1, 2 * LANES, 2)))

    def set_wide(self, row: int, value: Value) -> None:
        """Write 64 bits a lane to two consecutive rows."""
        low, high = self.halves(value)
        self.set_row(row, low)
        self.set_row(row + 1, high)
        if self._enable is None:
            self.open_run().pairs[row] = (value, self._tick)

    # Lane masks in scalar registers

    def _mask_from_state(self, index: int) -> Value:
        run = self._run
        assert run is not None
        pointer = self.emitter.offset(f"%masks{run.number}", 4 * index)
        return self.emitter.load(I16, pointer, 2).bitcast(V_I1)

    def mask(self, index: int) -> Value:
        """The chunk's 16 bits of a lane mask in a pair of scalar registers."""
        run = self.open_run()
        if index == abi.EXEC:
            assert run.exec is not None
            return run.exec
        found = run.masks.get(index)
        if found is not None:
            return found
        held = {index, index + 1} & self._dirty
        if held and not self._settle(index, 2):
            self.in_preheader()
            pair = self._pair(index)
            self.in_body()
            amount = self.chunk_offset().lshr(2)
            value = pair.lshr(amount).trunc(16).bitcast(V_I1)
        else:
            value = self._mask_from_state(index)
            run.scalar_reads |= {index, index + 1}
        run.masks[index] = value
        return value

    def set_mask(self, index: int, value: Value) -> None:
        """Write the chunk's bits of a lane mask; lanes that are off get zero."""
        run = self.open_run()
        assert run.exec is not None
        value = self.emitter.binary("and", value, run.exec)
        if self._enable is not None:
            value = self.emitter.binary("and", value, self._enable)
        pointer = self.emitter.offset(f"%masks{run.number}", 4 * index)
        self.emitter.store(value.bitcast(I16), pointer, 2)
        for register in (index, index + 1):
            self._drop(register)
        run.scalar_writes |= {index, index + 1}
        for other in (index - 1, index + 1):
            run.masks.pop(other, None)
        run.masks[index] = value
        if index == abi.EXEC:
            run.ends_after = True

    def _drop(self, register: int) -> None:
        """Forget the scalar value of a register that vector code now writes; its pair's other half stays."""
        for pair in (register - 1, register):
            if pair in self._s64:
                lines, self.emitter.lines = self.emitter.lines, self._text
                for half in (pair, pair + 1):
                    if half != register and half in self._dirty:
                        self._half(half)
                self.emitter.lines = lines
                del self._s64[pair]
        self._s32.pop(register, None)
        self._dirty.discard(register)

    def prepare_scalar(self, index: int, width: int) -> None:
        """End the run if an operand that is about to be read as a number was written by its body.

        Called for every operand before any is fetched: a value of one run means nothing in the next.
        """
        self._before_scalar_read(index, width)

    def prepare_mask(self, index: int) -> None:
        """End the run if only a part of a lane mask was written by its body."""
        run = self._run
        if run is not None and index not in run.masks and index != abi.EXEC:
            self._before_scalar_read(index, 2)

    def prepare_mask_write(self, index: int) -> None:
        """End the run if its body reads, as a number, a register that is about to be written as a mask.

        The instruction itself may read it too: then the number is read before the loop.
        """
        run = self._run
        if run is not None and not run.number_reads.isdisjoint((index, index + 1)):
            self.close_run()
        self._hoisted = frozenset((index, index + 1))

    def _settle(self, index: int, width: int) -> bool:
        """Store registers before the loop, where no instruction of the run reads or writes them there."""
        run = self._run
        assert run is not None
        registers = {index + n for n in range(width)}
        if registers & run.scalar_reads or registers & run.scalar_writes:
            return False
        self.in_preheader()
        for register in sorted(registers & self._dirty):
            if register in self._dirty:
                pair = register if register in self._s64 else register - 1
                both = {pair, pair + 1}
                if pair in self._s64 and both & (run.scalar_reads | run.scalar_writes):
                    self.in_body()
                    return False
                self._store_scalar(register)
        self.in_body()
        return True

    # Vector operands

    def splat_register(self, index: int, width: int, as_float: bool) -> Value:
        """A scalar register (or pair) in every lane of the chunk."""
        run = self.open_run()
        registers = {index + n for n in range(width)}
        type = floating(32 * width) if as_float else integer(32 * width)
        key = (index, width, type.text)
        found = run.splats.get(key)
        if found is not None and not registers & self._dirty and self._tick - found[1] <= _REUSE:
            return found[0]
        if registers & self._hoisted or (registers & self._dirty and not self._settle(index, width)):
            self.in_preheader()
            scalar = self._half(index) if width == 1 else self._pair(index)
            value = self.emitter.splat(scalar.bitcast(type))
            self.in_body()
            return value
        pointer = self._scalar_pointer(index)
        value = self.emitter.splat(self.emitter.load(type, pointer, 4))
        run.scalar_reads |= registers
        run.number_reads |= registers
        run.splats[key] = (value, self._tick)
        return value

    def dword(self, operand: Operand, word: int = 0, as_float: bool = False, kind: str = "b32") -> Value:
        """One dword a lane of a vector source operand, without modifiers."""
        self.open_run()
        type = V_F32 if as_float else V_I32
        if operand.kind in ("v", "a"):
            return self.row(self.row_of(operand) + word, as_float)
        if operand.kind == "s":
            return self.splat_register(operand.index + word, 1, as_float)
        if operand.kind in ("imm", "simm"):
            bits = operand.bits(kind)
            return self.emitter.const(type, bits >> (32 * word) & 0xFFFFFFFF)
        if operand.kind == "special":
            self.in_preheader()
            value = self._special(operand.index)
            if value.type is I64:
                value = value.lshr(32 * word).trunc(32)
            elif word:
                value = self.emitter.const(I32, 0)
            value = self.emitter.splat(value).bitcast(type)
            self.in_body()
            return value
        raise Unsupported(f"source operand of kind {operand.kind!r}")

    def quad(self, operand: Operand, kind: str) -> Value:
        """64 bits a lane of a vector source operand, without modifiers."""
        self.open_run()
        as_float = kind == "f64"
        if operand.kind in ("v", "a"):
            return self.wide(self.row_of(operand), as_float)
        if operand.kind == "s":
            return self.splat_register(operand.index, 2, as_float)
        if operand.kind in ("imm", "simm"):
            return self.emitter.const(V_F64 if as_float else V_I64, operand.bits(kind))
        value = self.join(self.dword(operand, 0, kind=kind), self.dword(operand, 1, kind=kind))
        return value.bitcast(V_F64 if as_float else V_I64)

    # Helpers of semantics

    def disable_lanes(self, enable: Value) -> None:
        """Write results of this instruction only in lanes whose i1 is set."""
        self._enable = enable if self._enable is None else self.emitter.binary("and", self._enable, enable)

    @property
    def enable(self) -> Value | None:
        """Lanes that this instruction writes, None for all that EXEC has on."""
        return self._enable

    def exec_chunk(self) -> Value:
        """The chunk's EXEC bits."""
        run = self.open_run()
        assert run.exec is not None
        return run.exec

    def is_row_written(self, row: int) -> bool:
        """Whether the open run writes a row, so that straight code would see its old value."""
        return self._run is not None and row in self._run.written_rows

    def is_row_touched(self, row: int) -> bool:
        """Whether the open run reads or writes a row."""
        return self._run is not None and (row in self._run.rows or row in self._run.written_rows)

    def call_lanes(self, function: str, result: Type, *arguments: Value) -> Value:
        """Call a C function (result, arguments...) that works on 16 lanes in memory."""
        pointers = [self.buffer(0)]
        for number, argument in enumerate(arguments, 1):
            pointer = self.buffer(number)
            self.emitter.store(argument, pointer, 64)
            pointers.append(pointer)
        parameters = ", ".join(["ptr"] * len(pointers))
        self.emitter.call(
            f"declare void @{function}({parameters})",
            None,
            f"@{function}",
            ", ".join(f"ptr {pointer}" for pointer in pointers),
        )
        return self.emitter.load(result, pointers[0], 64)

    def _rounded(self, operation: str, type: Type, operands: tuple[Value, ...]) -> Value | None:
        """An operation rounded as the MODE register says, where that is not to nearest."""
        number = _ROUNDING.get(operation)
        mode = self.mode.round32 if type.bits == 32 else self.mode.round64
        if number is None or not mode:
            return None
        # What the conversion itself is made of is not to be rounded again.
        hook, self.emitter.rounding = self.emitter.rounding, None
        kinds = {16: abi.HALF, 32: abi.SINGLE, 64: abi.DOUBLE}
        how = (
            number
            | kinds[type.bits] << abi.ROUND_RESULT
            | kinds.get(operands[0].type.bits, 0) << abi.ROUND_SOURCE
            | mode << abi.ROUND_MODE
            | type.lanes << abi.ROUND_COUNT
        )
        pointers = [self.buffer(0)]
        for place in range(3):
            pointers.append(self.buffer(place + 1))
            if place < len(operands):
                self.emitter.store(operands[place], pointers[-1], 64)
        arguments = ", ".join(f"ptr {pointer}" for pointer in pointers)
        self.emitter.call(
            "declare void @hk_rounded(ptr, ptr, ptr, ptr, i32)",
            None,
            "@hk_rounded",
            f"{arguments}, i32 {how}",
        )
        result = self.emitter.load(type, pointers[0], 64)
        self.emitter.rounding = hook
        return result

    def call_lanes_with_mask(self, function: str, result: Type, *arguments: Value) -> tuple[Value, Value]:
        """The same for a function that also writes 16 numbers after its result: a lane mask, set where they
        are not zero."""
        value = self.call_lanes(function, result, *arguments)
        place = self.emitter.offset(self.buffer(0), result.bits * LANES // 8)
        return value, self.emitter.load(V_I32, place, 64).ne(0)

    def row_address(self, operand: Operand) -> str:
        """Pointer to the chunk of a register's first row, for C functions; its content is up to date."""
        run = self.open_run()
        first = self.row_of(operand)
        for row in range(first, first + operand.width):
            if (state := run.rows.get(row)) is not None:
                # What is in memory now is read there, so a store that led to it has to stay.
                state.store = None
        return self._row_pointer(first)

    def lane_rows(self, values: list[Value]) -> str:
        """Pointer to values laid out as a chunk of consecutive rows."""
        pointer = self.new_buffer(ROW_BYTES * (len(values) - 1) + 4 * LANES)
        for number, value in enumerate(values):
            place = self.emitter.offset(pointer, ROW_BYTES * number) if number else pointer
            self.emitter.store(value, place, 64)
        return pointer

    def call_on_rows(self, function: str, result: Operand, pointers: list[str], constant: int) -> None:
        """Call a C function (result rows, pointers..., constant, EXEC mask) that writes whole registers."""
        run = self.open_run()
        target = self.row_address(result)
        assert run.exec is not None
        mask = run.exec.bitcast(I16).zext(32)
        parameters = ", ".join(["ptr"] * (len(pointers) + 1))
        arguments = ", ".join(f"ptr {pointer}" for pointer in (target, *pointers))
        self.emitter.call(
            f"declare void @{function}({parameters}, i32, i32)",
            None,
            f"@{function}",
            f"{arguments}, i32 {constant}, i32 {mask.name}",
        )
        first = self.row_of(result)
        for row in range(first - 1, first + result.width):
            run.pairs.pop(row, None)
        for row in range(first, first + result.width):
            run.rows.pop(row, None)
            run.written_rows.add(row)

    def scalar_row_lane(self, row: int, lane: Value) -> Value:
        """One lane's dword of a row, in scalar code; the lane number is i32, 0 to 63."""
        if self.is_row_written(row):
            self.close_run()
        base = self.rows_base()
        self.emitter.lines = self._text
        offset = lane.zext(64).shl(2) + row * ROW_BYTES
        return self.emitter.load(I32, self.emitter.offset(base, offset), 4)

    def set_scalar_row_lane(self, row: int, lane: Value, value: Value) -> None:
        """Write one lane's dword of a row from scalar code."""
        if self.is_row_touched(row):
            self.close_run()
        base = self.rows_base()
        self.emitter.lines = self._text
        offset = lane.zext(64).shl(2) + row * ROW_BYTES
        self.emitter.store(value, self.emitter.offset(base, offset), 4)


__all__ = ["CHUNKS", "I1", "KINDS", "BlockTranslator", "Mode", "Options", "Unsupported"]
