"""Scalar registers whose values follow from the code alone."""

from __future__ import annotations

import operator
from dataclasses import replace

from workbench.codeobject.instruction import Instruction, Operand

_MASK = 0xFFFFFFFF
_COMPARISONS = {
    f"s_cmp_{name}_i32": compare
    for name, compare in {
        "eq": operator.eq,
        "lg": operator.ne,
        "gt": operator.gt,
        "ge": operator.ge,
        "lt": operator.lt,
        "le": operator.le,
    }.items()
}
_SUMS = {
    "s_add_u32": (1, 0, True),
    "s_add_i32": (1, 0, False),
    "s_addc_u32": (1, None, True),
    "s_sub_u32": (-1, 0, True),
    "s_sub_i32": (-1, 0, False),
    "s_subb_u32": (-1, None, True),
}
"""Sign of the second operand and of what is carried, what that is (None: SCC), whether SCC is the carry."""


class KnownScalars:
    """Scalar registers whose values are known in straight code.

    Enough to see where a call or a jump goes that is made from the program counter and a distance.
    """

    def __init__(self) -> None:
        self._values: dict[int, int] = {}
        self._scc: int | None = None
        self._addresses: set[int] = set()
        self._reads_counter = False

    def branched(self, branch: Instruction, taken: bool) -> KnownScalars:
        """The state behind a branch: the same if the program counter was read before, else nothing is known.

        Tensile's long branches test the sign of the distance between reading the program counter and adding.
        Nothing is known on the way that the wave does not go then: it would make another address.
        """
        successor = KnownScalars()
        goes = {"s_cbranch_scc0": self._scc == 0, "s_cbranch_scc1": self._scc == 1}.get(branch.opcode)
        impossible = self._scc is not None and goes is not None and goes != taken
        if self._reads_counter and not impossible:
            successor._values, successor._scc = dict(self._values), self._scc
            successor._addresses = set(self._addresses)
        return successor

    def pair(self, operand: Operand) -> int | None:
        """A 64-bit register pair, None if it is not known."""
        low, high = (self._values.get(operand.index + n) for n in (0, 1))
        return low | high << 32 if operand.kind == "s" and low is not None and high is not None else None

    def code_address(self, instruction: Instruction) -> int | None:
        """The address, made from the program counter, that an instruction completed; None if it did not."""
        if instruction.opcode not in ("s_addc_u32", "s_subb_u32"):
            return None
        low = replace(instruction.dst[0], index=instruction.dst[0].index - 1)
        return self.pair(low) if low.index in self._addresses else None

    def _value(self, operand: Operand) -> int | None:
        if operand.kind in ("imm", "simm"):
            return operand.bits("b32")
        return self._values.get(operand.index) if operand.kind == "s" else None

    def follow(self, instruction: Instruction) -> None:
        """Account for an instruction."""
        opcode = instruction.opcode
        results: list[int | None] = []
        scc = self._scc if not instruction.form.is_scalar else None
        if opcode == "s_getpc_b64":
            after = instruction.address + instruction.size
            results = [after & _MASK, after >> 32]
            scc = self._scc
            self._reads_counter = True
        elif opcode in ("s_mov_b32", "s_movk_i32"):
            results = [self._value(instruction.src[0])]
            scc = self._scc
        elif opcode == "s_mov_b64" and (value := self.pair(instruction.src[0])) is not None:
            results = [value & _MASK, value >> 32]
            scc = self._scc
        elif opcode == "s_abs_i32" and (value := self._value(instruction.src[0])) is not None:
            results = [min(value, -value & _MASK)]
        elif opcode in _COMPARISONS:
            a, b = (self._value(operand) for operand in instruction.src)
            if a is not None and b is not None:
                scc = int(_COMPARISONS[opcode](_signed(a), _signed(b)))
        elif opcode in _SUMS:
            sign, start, carries = _SUMS[opcode]
            a, b = (self._value(operand) for operand in instruction.src)
            carried = self._scc if start is None else start
            if a is not None and b is not None and carried is not None:
                total = a + sign * (b + carried)
                results = [total & _MASK]
                scc = int(not 0 <= total <= _MASK) if carries else None
        is_address = opcode == "s_getpc_b64" or any(
            operand.kind == "s" and operand.index in self._addresses for operand in instruction.src
        )
        for operand in instruction.dst:
            if operand.kind == "s":
                for register in range(operand.index, operand.index + operand.width):
                    self._values.pop(register, None)
                    self._addresses.discard(register)
        if results:
            first = instruction.dst[0].index
            self._values.update({first + n: value for n, value in enumerate(results) if value is not None})
            if is_address:
                self._addresses.add(first)
        self._scc = scc


def _signed(value: int) -> int:
    return value - ((value & 0x80000000) << 1)
