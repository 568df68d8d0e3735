"""One basic block of AMDGPU code as one LLVM function.

Scalar instructions become scalar code over the wave's state (`scalars`). Lane-wise vector instructions that
follow each other form a run (`lane_run`). Scalar instructions between vector ones are placed before the run's
loop: what they write goes to the wave's state before the loop where no earlier vector instruction of the run
read the old value there, and after it where one did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Registers
from workbench.emulator.native import abi
from workbench.emulator.translate.chunk import V_F32, V_F64, V_I32, V_I64, join
from workbench.emulator.translate.function import Function
from workbench.emulator.translate.ir import I32, I64, Type, Value
from workbench.emulator.translate.lane_run import LaneRun, Step
from workbench.emulator.translate.options import VSKIP, Mode, Options, Unsupported
from workbench.emulator.translate.rounding import rounded
from workbench.emulator.translate.scalars import Scalars


class BlockTranslator:
    """Emits the function of one block; semantics get it as their first argument.

    Attributes:
        function: the LLVM function.
        emitter: emitter of its IR.
        scalars: the scalar registers; write them with `set_register`, which accounts for the open run.
        options: options of the translation.
        index_of: block index by address.
        next_index: index of the block that follows in memory.
        instruction: the current one.
        clamp: True if the current instruction clamps (saturates) its result.
        follows_mode: True if the current instruction reads the MODE register.
        indexed_positions: operands of vector instructions to whose register number M0 is added: bits 0..2
            sources, bit 3 the destination.
        finished: True if the function has its terminator.
        uses_tiles: True if the kernel may use the CPU's matrix unit, which must not go idle.
    """

    def __init__(
        self,
        options: Options,
        name: str,
        index_of: Callable[[int], int],
        next_index: int,
        mode: Mode | None,
        has_matrices: bool = False,
        skips: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.function = Function(name, options.wave_size)
        self.emitter = self.function.emitter
        self.scalars = Scalars(self.function)
        self.options = options
        self.index_of = index_of
        self.next_index = next_index
        self.finished = False
        self.uses_tiles = options.uses_tiles and has_matrices
        self._has_matrices = has_matrices
        self._skips = skips
        self.clamp = False
        self.follows_mode = False
        self.indexed_positions = 0
        self.instruction: Instruction
        self._mode = mode
        self._step = Step()
        self._runs = 0
        self._run: LaneRun | None = None

    # Driver

    def begin(self, instruction: Instruction) -> None:
        """Start the next instruction; code goes to the straight part until a run is requested."""
        self.instruction = instruction
        self.clamp = bool(instruction.modifiers.get("clamp"))
        self.follows_mode = Registers.MODE in instruction.record.reads
        rounds = self.follows_mode and self._mode is not None and self._mode.value & 15
        self.emitter.rounding = self._rounded if rounds else None
        self._step.next()
        self.emitter.lines = self.function.straight

    def end(self) -> None:
        """Finish the instruction."""
        if self._run is not None and self._run.ends_after:
            self.close_run()

    def finish(self, result: int | Value | None = None) -> None:
        """End the function: return a block index or one of abi.h's codes; None falls through."""
        self.close_run()
        self.scalars.flush()
        if not isinstance(result, Value):
            result = self.entered(self.next_index if result is None else result)
        text = result.name if isinstance(result, Value) else result
        self.emitter.lines.append(f"ret i32 {text}")
        self.finished = True

    # MODE.vskip

    def entered(self, index: int) -> Value | int:
        """The block that runs in place of block `index`: the next one if it is skipped."""
        behind = self._skips.get(index)
        return index if behind is None else self._skipping().select(behind, index, I32)

    def skip_over(self, index: int) -> None:
        """At the start of block `index`: leave it if an indirect jump went to skipped code."""
        if index in self._skips:
            self.function.branch_out(self._skipping(), self._skips[index])

    def _skipping(self) -> Value:
        mode = self.emitter.load(I32, self.function.field("mode"), 4)
        return (mode & (1 << VSKIP)).ne(0)

    def native(
        self, name: str, op: bytes, can_fault: bool, count: int | None = None, through: str = ""
    ) -> None:
        """Call a native operation with a constant Op record, or one that takes `count` records.

        Args:
            through: the function that calls it, with the record and its address.
        """
        self.close_run()
        self.scalars.flush()
        record = self.function.constant("op", op)
        more, number = ("", "") if count is None else (", i32", f", i32 {count}")
        declaration = f"declare i32 @{name}(ptr, ptr{more})"
        arguments = f"ptr %wave, ptr {record}{number}"
        if can_fault and self.options.sanitize:
            through = "hk_san_native"
        if through:
            self.emitter.intrinsics.add(declaration)
            declaration = f"declare i32 @{through}(ptr, ptr, ptr)"
            arguments += f", ptr @{name}"
            name = through
        result = self.emitter.call(declaration, I32, f"@{name}", arguments)
        assert result is not None
        if can_fault:
            self.function.branch_out(result.ne(0), abi.FAULT)
        self.scalars.forget()

    # The floating-point mode

    @property
    def mode(self) -> Mode:
        """Floating-point mode at the current instruction; raises Unsupported if it is not known."""
        if self._mode is None:
            raise Unsupported("a floating-point mode that depends on the way taken or on a register")
        return self._mode

    @property
    def known_mode(self) -> Mode | None:
        """The mode, None if it is not known."""
        return self._mode

    def set_mode(self, mode: Mode | None) -> None:
        """The mode from the next instruction on; None if it is not known."""
        self._mode = mode

    def _rounded(self, operation: str, type: Type, operands: tuple[Value, ...]) -> Value | None:
        return rounded(self.function, self.mode, operation, type, operands)

    # Lane runs

    def open_run(self) -> LaneRun:
        """The current run; further code goes to its body."""
        run = self._run
        if run is None:
            self.scalars.flush()
            self._runs += 1
            run = self._run = LaneRun(self._runs, self.function, self.scalars, self._step, self.options.rows)
        run.in_body()
        return run

    def close_run(self) -> None:
        """End the run: later code sees its results in the wave's state."""
        run, self._run = self._run, None
        self.emitter.lines = self.function.straight
        if run is not None:
            # Between matrix instructions a run is short, and what it adds to its rows' traffic shows.
            run.close(keeps_on_stack=not self._has_matrices)
            self.scalars.flush()
            self.scalars.forget()
            if self.uses_tiles:
                self.emitter.call("declare i32 @hk_stay_awake(ptr)", I32, "@hk_stay_awake", "ptr %wave")

    def writes_row(self, row: int) -> bool:
        """True if the open run writes a row: code outside the run would still see the old value."""
        return self._run is not None and self._run.writes(row)

    def disable_lanes(self, enable: Value) -> None:
        """Write results of this instruction only in lanes whose i1 is set."""
        before = self._step.enable
        self._step.enable = enable if before is None else self.emitter.binary("and", before, enable)

    def prepare_scalar(self, index: int, width: int) -> None:
        """End the run if an operand that is about to be read as a number was written by its body.

        Called for every operand before any is fetched: a value of one run means nothing in the next.
        """
        if self._run is None or not self._run.scalar_writes:
            return
        written = self._run.scalar_writes - self.scalars.dirty
        if not written.isdisjoint(range(index, index + width)):
            self.close_run()

    def prepare_mask(self, index: int) -> None:
        """End the run if only a part of a lane mask was written by its body."""
        run = self._run
        if run is not None and index != abi.EXEC and not run.has_mask(index):
            self.prepare_scalar(index, self.function.mask_words)

    def prepare_mask_write(self, index: int) -> None:
        """End the run if its body reads, as a number, a register that is about to be written as a mask.

        The instruction itself may read it too: then the number is read before the loop.
        """
        if self.is_null(index):
            return
        run, registers = self._run, frozenset(range(index, index + self.function.mask_words))
        if run is not None and not run.number_reads.isdisjoint(registers):
            self.close_run()
        self._step.hoisted = registers

    # Scalar code

    def is_null(self, index: int) -> bool:
        """True for the scalar register that reads as 0 and drops what is written to it."""
        return index == abi.NULL and self.options.has_null

    def register(self, index: int, width: int = 1) -> Value:
        """A scalar register (i32) or a pair (i64)."""
        if self.is_null(index):
            return self.emitter.const(I32 if width == 1 else I64, 0)
        self.prepare_scalar(index, width)
        return self.scalars.half(index) if width == 1 else self.scalars.pair(index)

    def set_register(self, index: int, value: Value) -> None:
        """Write an i32 to a scalar register or an i64 to a pair."""
        if self.is_null(index):
            return
        if abi.EXEC <= index <= abi.EXEC + 1:
            self.close_run()
        if self._run is not None:
            self._run.forget_masks(index, 2 if value.type is I64 else 1)
        self.scalars.set(index, value)

    def lane_mask(self, index: int) -> Value:
        """A lane mask in scalar registers as one integer, of the function's `mask_type`."""
        return self.register(index, self.function.mask_words)

    def exec(self) -> Value:
        """EXEC, as `lane_mask`."""
        return self.lane_mask(abi.EXEC)

    def scalar(self, operand: Operand, kind: str = "b32") -> Value:
        """A scalar source operand as i32 or i64."""
        wide = kind.endswith("64")
        if operand.kind == "s":
            return self.register(operand.index, 2 if wide else 1)
        if operand.kind in ("imm", "simm"):
            return self.emitter.const(I64 if wide else I32, operand.bits(kind))
        if operand.kind == "special":
            value = self._special(operand.index)
            if wide:
                return value.zext(64) if value.type is I32 else value
            return value.trunc(32) if value.type is I64 else value
        raise Unsupported(f"operand of kind {operand.kind!r} in scalar code")

    def _special(self, index: int) -> Value:
        """Sources that are not registers; the apertures are 64-bit values whose low half is zero."""
        if index in (235, 237):
            base = abi.SHARED_APERTURE if index == 235 else abi.PRIVATE_APERTURE
            return self.emitter.const(I64, base)
        if index in (236, 238):
            base = abi.SHARED_APERTURE if index == 236 else abi.PRIVATE_APERTURE
            return self.emitter.const(I64, base | 0xFFFFFFFF)
        if index in (230, 231) and self.options.has_global_scratch:
            return self.emitter.const(I64, abi.GLOBAL_SCRATCH >> (32 * (index - 230)))
        if index == 251:
            return self.lane_mask(abi.VCC).eq(0).zext(32)
        if index == 252:
            return self.exec().eq(0).zext(32)
        if index == 253:
            return self.scalars.scc().zext(32)
        raise Unsupported(f"source operand {index}")

    def row_lane(self, row: int, lane: Value) -> Value:
        """One lane's dword of a row; the lane number is an i32 below the wave size."""
        if self.writes_row(row):
            self.close_run()
        return self.emitter.load(I32, self._row_lane(row, lane), 4)

    def set_row_lane(self, row: int, lane: Value, value: Value) -> None:
        """Write one lane's dword of a row."""
        if self._run is not None and self._run.touches(row):
            self.close_run()
        self.emitter.store(value, self._row_lane(row, lane), 4)

    def _row_lane(self, row: int, lane: Value) -> str:
        """Pointer to one lane's dword of a row."""
        base = self.function.rows_base()
        self.emitter.lines = self.function.straight
        return self.emitter.offset(base, lane.zext(64).shl(2) + row * self.function.row_bytes)

    # Vector operands

    def row_of(self, operand: Operand) -> int:
        """Register row of a vector operand."""
        if operand.kind == "v":
            return operand.index
        if operand.kind == "a":
            return operand.index + self.options.acc_offset
        raise Unsupported(f"operand of kind {operand.kind!r}, not a vector register")

    def dword(self, operand: Operand, word: int = 0, as_float: bool = False, kind: str = "b32") -> Value:
        """One dword per lane of a vector source operand, without modifiers."""
        run = self.open_run()
        type = V_F32 if as_float else V_I32
        if operand.kind in ("v", "a"):
            return run.row(self.row_of(operand) + word, as_float)
        if operand.kind == "s" and self.is_null(operand.index):
            return self.emitter.const(type, 0)
        if operand.kind == "s":
            return run.splat_register(operand.index + word, 1, as_float)
        if operand.kind in ("imm", "simm"):
            bits = operand.bits(kind)
            return self.emitter.const(type, bits >> (32 * word) & 0xFFFFFFFF)
        if operand.kind == "special":
            run.in_preheader()
            value = self._special(operand.index)
            if value.type is I64:
                value = value.lshr(32 * word).trunc(32)
            elif word:
                value = self.emitter.const(I32, 0)
            value = self.emitter.splat(value).bitcast(type)
            run.in_body()
            return value
        raise Unsupported(f"source operand of kind {operand.kind!r}")

    def quad(self, operand: Operand, kind: str) -> Value:
        """64 bits per lane of a vector source operand, without modifiers."""
        run = self.open_run()
        as_float = kind == "f64"
        if operand.kind in ("v", "a"):
            return run.wide(self.row_of(operand), as_float)
        if operand.kind == "s" and self.is_null(operand.index):
            return self.emitter.const(V_F64 if as_float else V_I64, 0)
        if operand.kind == "s":
            return run.splat_register(operand.index, 2, as_float)
        if operand.kind in ("imm", "simm"):
            return self.emitter.const(V_F64 if as_float else V_I64, operand.bits(kind))
        value = join(self.dword(operand, 0, kind=kind), self.dword(operand, 1, kind=kind))
        return value.bitcast(V_F64 if as_float else V_I64)
