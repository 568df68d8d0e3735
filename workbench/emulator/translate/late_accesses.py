"""Memory instructions whose effect comes when the launch requests, instead of at once: native/run/late.c.

The code reports each of them, each wait, and the time between, by calls that code for other launches does not
have.
"""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Control
from workbench.emulator.native.abi import ffi
from workbench.emulator.native.ops import OpFields, Rows
from workbench.emulator.sanitizer.describe import describe
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.late_loads import follow_at_once, has_late_effect


class LateAccesses:
    """The accesses of one block."""

    def __init__(self, translator: BlockTranslator, rows: Rows) -> None:
        self._translator = translator
        self._rows = rows
        self._scheduled = translator.options.scheduled
        # With a schedule, a block begins where the last one has issued an access.
        self._issued = self._scheduled
        self._previous: Instruction | None = None

    def before(self, instruction: Instruction) -> None:
        """Code that runs before an instruction: a wait's effect, or time that passes after accesses."""
        waits = instruction.record.control is Control.WAIT
        passes = waits or not has_late_effect(instruction)
        if self._scheduled:
            # In the plain order an access is over before the next one, except for loads one after the other.
            passes = self._previous is None or not follow_at_once(self._previous, instruction)
            self._previous = instruction
        if self._issued and passes:
            self._call("hk_late_pass", instruction, OpFields("").record(instruction.address))
            self._issued = False
        self._issued |= self._scheduled and has_late_effect(instruction)
        if waits:
            self._call("hk_late_wait", instruction, self._record(instruction))

    def issue(self, instruction: Instruction, function: str) -> bool:
        """Delay an instruction's effect; False for one that does not access memory or LDS."""
        if not has_late_effect(instruction):
            return False
        self._translator.native(function, self._record(instruction), True, through="hk_late_native")
        self._issued = True
        return True

    def _record(self, instruction: Instruction) -> bytes:
        record = describe(instruction, self._rows)
        assert record is not None, instruction.mnemonic
        return bytes(ffi.buffer(record))

    def _call(self, function: str, instruction: Instruction, record: bytes) -> None:
        self._translator.begin(instruction)
        self._translator.native(function, record, True)
