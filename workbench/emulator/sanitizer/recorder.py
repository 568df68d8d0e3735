"""Passes records of each instruction (`describe`), and of tracked pairs, to the sanitizer.

Only code that is translated for sanitizing has these records. They are handed to native/observe/sanitizer in
runs: a run ends before an instruction whose addresses or lanes must be looked up in registers, before EXEC
changes, and at the end of its block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Control
from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.native.ops import Rows
from workbench.emulator.sanitizer.analysis import Analysis
from workbench.emulator.sanitizer.describe import describe
from workbench.emulator.sanitizer.hazards import Hazards
from workbench.emulator.semantics import ENDS_BLOCK
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.options import Unsupported
from workbench.errors import UnsupportedInstruction


class Recorder:
    """Collects a block's records and puts the calls that hand them over into its code."""

    def __init__(self, translator: BlockTranslator, rows: Rows, analysis: Analysis) -> None:
        self._translator = translator
        self._rows = rows
        self._hazards = analysis.hazards
        self._flag_loads = analysis.flag_loads
        self._lane_stores = analysis.lane_stores
        self._objects = analysis.objects
        self._pending: list[bytes] = []

    def before(self, instruction: Instruction, operations: Iterable[Instruction]) -> None:
        """Record an instruction, as the operations that it is, before its own code is made."""
        if self._hazards.pairs:
            self._pending += hazard_records(instruction, self._hazards)
        for operation in operations:
            self._translator.begin(operation)
            self._operation(operation)

    def _operation(self, instruction: Instruction) -> None:
        try:
            record = describe(instruction, self._rows)
        except (Unsupported, UnsupportedInstruction):
            return  # the translation is about to be refused for the same reason
        if record is not None and instruction.address in self._flag_loads.polls:
            record.flags |= abi.SAN_POLLS
        if record is not None and instruction.address in self._flag_loads.expected:
            record.flags |= abi.SAN_EXPECTS
        if (
            record is not None
            and record.kind == abi.SAN_READ_LANE
            and instruction.src[0] in self._lane_stores
        ):
            record.flags |= abi.SAN_SPILLS
        if record is not None and record.kind == abi.SAN_MEMORY:
            record.imm = self._objects.get(instruction.address, 0)
        if record is not None:
            self._pending.append(bytes(ffi.buffer(record)))
        if record is None:
            # ops/barriers.c tells the sanitizer of such a signal, which covers the waits before it.
            needs_state = instruction.record.control is Control.SIGNAL
        else:
            needs_state = _needs_state(instruction, record)
        if needs_state or instruction.opcode in ENDS_BLOCK:
            self.hand_over()

    def hand_over(self) -> None:
        """Call the sanitizer with what has been recorded."""
        if not self._pending:
            return
        block = self._translator
        block.close_run()
        block.scalars.flush()
        name = block.function.constant("san", b"".join(self._pending))
        block.emitter.call(
            "declare void @hk_san_run(ptr, ptr, i32)",
            None,
            "@hk_san_run",
            f"ptr %wave, ptr {name}, i32 {len(self._pending)}",
        )
        self._pending.clear()


def hazard_records(instruction: Instruction, hazards: Hazards) -> Iterator[bytes]:
    """Records that track the pairs of `hazards` at run time: checks first, then pairs that begin here."""
    address = instruction.address
    offset = hazards.offsets.get(address, 0)
    for number in hazards.by_consumer.get(address, ()):
        hazard = hazards.pairs[number]
        op = {"pc": address, "imm": (hazard.producer, hazard.unit)}
        yield _record(
            op=op, kind=abi.SAN_HAZARD, imm=number, flags=offset, reserved=hazard.rule, bytes=hazard.required
        )
    for number in hazards.by_clearing.get(address, ()):
        yield _record(kind=abi.SAN_CLEAR, imm=number)
    for number in hazards.by_producer.get(address, ()):
        yield _record(kind=abi.SAN_MARK, imm=number, flags=offset + hazards.states[address])
    if address in hazards.lengths:
        yield _record(kind=abi.SAN_STATES, imm=hazards.lengths[address])


def _record(**fields: Any) -> bytes:
    return bytes(ffi.buffer(ffi.new("SanOp *", fields)))


def _needs_state(instruction: Instruction, record: CData) -> bool:
    """True if the record needs the state right before its instruction."""
    if record.kind == abi.SAN_MEMORY or record.flags & abi.SAN_TO_EXEC:
        return True
    if record.kind in (abi.SAN_READ_LANE, abi.SAN_WRITE_LANE) and record.imm == abi.SAN_IN_REGISTER:
        return True
    return any(o.kind == "s" and o.index >= abi.EXEC - 1 for o in instruction.dst)
