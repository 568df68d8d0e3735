"""Floating-point operations in the rounding modes other than to nearest: calls to C."""

from __future__ import annotations

from workbench.emulator.native import abi
from workbench.emulator.translate.function import Function
from workbench.emulator.translate.ir import Type, Value
from workbench.emulator.translate.options import Mode

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


def rounded(
    function: Function, mode: Mode, operation: str, type: Type, operands: tuple[Value, ...]
) -> Value | None:
    """The operation's result; None if LLVM's own instruction rounds as the mode requires."""
    number = _ROUNDING.get(operation)
    how = mode.round32 if type.bits == 32 else mode.round64
    if number is None or not how:
        return None
    emitter = function.emitter
    # The instructions of the conversion itself must not be rounded again.
    hook, emitter.rounding = emitter.rounding, None
    kinds = {16: abi.HALF, 32: abi.SINGLE, 64: abi.DOUBLE}
    request = (
        number
        | kinds[type.bits] << abi.ROUND_RESULT
        | kinds.get(operands[0].type.bits, 0) << abi.ROUND_SOURCE
        | how << abi.ROUND_MODE
        | type.lanes << abi.ROUND_COUNT
    )
    pointers = [function.buffer(0)]
    for place in range(3):
        pointers.append(function.buffer(place + 1))
        if place < len(operands):
            emitter.store(operands[place], pointers[-1], 64)
    arguments = ", ".join(f"ptr {pointer}" for pointer in pointers)
    declaration = "declare void @hk_rounded(ptr, ptr, ptr, ptr, i32)"
    emitter.call(declaration, None, "@hk_rounded", f"{arguments}, i32 {request}")
    result = emitter.load(type, pointers[0], 64)
    emitter.rounding = hook
    return result
