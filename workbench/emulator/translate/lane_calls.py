"""Calls from the body of a run to C functions that work on the 16 lanes of a chunk, in memory."""

from __future__ import annotations

from workbench.codeobject.instruction import Operand
from workbench.emulator.native import abi
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_I32
from workbench.emulator.translate.ir import I16, LANES, Type, Value


def call_lanes(block: BlockTranslator, name: str, result: Type, *arguments: Value) -> Value:
    """Call a C function (result, arguments...)."""
    function, emitter = block.function, block.emitter
    pointers = [function.buffer(0)]
    for number, argument in enumerate(arguments, 1):
        pointer = function.buffer(number)
        emitter.store(argument, pointer, 64)
        pointers.append(pointer)
    parameters = ", ".join(["ptr"] * len(pointers))
    emitter.call(
        f"declare void @{name}({parameters})",
        None,
        f"@{name}",
        ", ".join(f"ptr {pointer}" for pointer in pointers),
    )
    return emitter.load(result, pointers[0], 64)


def approximate(
    block: BlockTranslator, function: int, kind: int, ulps: float, argument: Value, result: Value
) -> Value:
    """A result with an error below this many units in the last place, drawn when it runs (hk_approximate).

    Args:
        function, kind: abi.h's HK_RECIPROCAL, ... and HK_HALF, ...; half precision is passed as V_F32.
    """
    emitter = block.emitter
    pointers = [block.function.buffer(0), block.function.buffer(1)]
    for value, pointer in zip((result, argument), pointers, strict=True):
        emitter.store(value, pointer, 64)
    selector = function | kind << abi.HK_APPROXIMATE_KIND
    emitter.call(
        "declare void @hk_approximate(ptr, ptr, ptr, i64, i32, double)",
        None,
        "@hk_approximate",
        f"ptr {pointers[0]}, ptr {pointers[1]}, ptr %wave, i64 {block.instruction.address}, i32 {selector}, "
        f"double {ulps!r}",
    )
    return emitter.load(result.type, pointers[0], 64)


def call_lanes_with_mask(
    block: BlockTranslator, name: str, result: Type, *arguments: Value
) -> tuple[Value, Value]:
    """The same for a function that also writes 16 numbers after its result: a lane mask, set where they
    are not zero."""
    value = call_lanes(block, name, result, *arguments)
    place = block.emitter.offset(block.function.buffer(0), result.bits * LANES // 8)
    return value, block.emitter.load(V_I32, place, 64).ne(0)


def row_address(block: BlockTranslator, operand: Operand) -> str:
    """Pointer to the chunk of a register's first row, for C functions; its content is up to date."""
    return block.open_run().row_address(block.row_of(operand), operand.width)


def lane_rows(block: BlockTranslator, values: list[Value]) -> str:
    """Pointer to values laid out as a chunk of consecutive rows."""
    row_bytes = block.function.row_bytes
    pointer = block.function.new_buffer(row_bytes * (len(values) - 1) + 4 * LANES)
    for number, value in enumerate(values):
        place = block.emitter.offset(pointer, row_bytes * number) if number else pointer
        block.emitter.store(value, place, 64)
    return pointer


def call_on_rows(
    block: BlockTranslator, name: str, result: Operand, pointers: list[str], constant: int
) -> None:
    """Call a C function (result rows, pointers..., constant, EXEC mask) that writes whole registers."""
    run = block.open_run()
    target = row_address(block, result)
    mask = run.exec.bitcast(I16).zext(32)
    parameters = ", ".join(["ptr"] * (len(pointers) + 1))
    arguments = ", ".join(f"ptr {pointer}" for pointer in (target, *pointers))
    block.emitter.call(
        f"declare void @{name}({parameters}, i32, i32)",
        None,
        f"@{name}",
        f"{arguments}, i32 {constant}, i32 {mask.name}",
    )
    run.rows_written_outside(block.row_of(result), result.width)
