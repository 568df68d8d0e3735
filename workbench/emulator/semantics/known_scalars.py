"""Scalar registers whose values follow from the code alone."""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction, Operand


class KnownScalars:
    """Scalar registers whose values are known in straight code: enough to find the target of a call that the
    compiler computed from the program counter and a distance."""

    def __init__(self) -> None:
        self._values: dict[int, int] = {}
        self._carry: int | None = None

    def pair(self, operand: Operand) -> int | None:
        """A 64-bit register pair, None if it is not known."""
        low, high = (self._values.get(operand.index + n) for n in (0, 1))
        return low | high << 32 if operand.kind == "s" and low is not None and high is not None else None

    def _value(self, operand: Operand) -> int | None:
        if operand.kind in ("imm", "simm"):
            return operand.bits("b32")
        return self._values.get(operand.index) if operand.kind == "s" else None

    def follow(self, instruction: Instruction) -> None:
        """Account for an instruction."""
        opcode = instruction.opcode
        results: list[int | None] = []
        carry = self._carry if not instruction.form.is_scalar else None
        if opcode == "s_getpc_b64":
            after = instruction.address + instruction.size
            results = [after & 0xFFFFFFFF, after >> 32]
            carry = self._carry
        elif opcode == "s_mov_b32":
            results = [self._value(instruction.src[0])]
            carry = self._carry
        elif opcode == "s_mov_b64" and (value := self.pair(instruction.src[0])) is not None:
            results = [value & 0xFFFFFFFF, value >> 32]
            carry = self._carry
        elif opcode in ("s_add_u32", "s_addc_u32"):
            a, b = (self._value(operand) for operand in instruction.src)
            start = 0 if opcode == "s_add_u32" else self._carry
            if a is not None and b is not None and start is not None:
                total = a + b + start
                results, carry = [total & 0xFFFFFFFF], total >> 32
        for operand in instruction.dst:
            if operand.kind == "s":
                for register in range(operand.index, operand.index + operand.width):
                    self._values.pop(register, None)
        if results:
            first = instruction.dst[0].index
            self._values.update({first + n: value for n, value in enumerate(results) if value is not None})
        self._carry = carry
