"""Scalar memory: loads, stores, atomics, through addresses and buffer resources, and the clocks, as calls of
native/ops/scalar_memory.c."""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native.abi import NO_REGISTER, WIDE_RESOURCE
from workbench.emulator.native.ops.operation import OpFields, scale_flags
from workbench.emulator.semantics.registry import register
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.options import Unsupported
from workbench.targets import target as target_record


def _address(instruction: Instruction, first: int) -> tuple[int, int]:
    """(scalar register with an offset or NO_REGISTER, constant offset in bytes)."""
    offset = instruction.modifiers.get("offset", 0)
    index = NO_REGISTER
    for operand in instruction.src[first:]:
        if operand.kind in ("imm", "simm"):
            offset += int(operand.value or 0)
        elif operand.kind == "s":
            index = operand.index
        elif operand.kind != "off":
            raise Unsupported(f"operand of kind {operand.kind!r} in a scalar address")
    return index, offset


def _form(block: BlockTranslator) -> int:
    """Bits of `OpFields.flags` for the form of the target's buffer resources."""
    return WIDE_RESOURCE if target_record(block.options.target).has_wide_resources else 0


def _load(function: str, dwords: int) -> None:
    stem = "s_load_" if function == "hk_s_load" else "s_buffer_load_"

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        base = instruction.src[0]
        if base.kind != "s":
            raise Unsupported(f"operand of kind {base.kind!r} as the base of a scalar load")
        index, offset = _address(instruction, 1)
        destination = instruction.dst[0].index
        if destination <= 127 < destination + dwords - 1 or destination + dwords > 128:
            raise Unsupported(f"a scalar load of {dwords} dwords to register {destination}")
        fields = OpFields(
            function=function,
            sdst=destination,
            ssrc0=base.index,
            ssrc1=index,
            offset=offset,
            flags=scale_flags(instruction, 4 * dwords) | _form(block),
            imm=(dwords,),
        )
        through = "hk_late_scalar" if block.options.scheduled else ""
        block.native(function, fields.record(instruction.address), can_fault=True, through=through)

    # Three dwords are new with gfx12, whose names count bits.
    register(stem + ("b96" if dwords == 3 else f"dwordx{dwords}" if dwords > 1 else "dword"), handle)


for _function in ("hk_s_load", "hk_s_buffer_load"):
    for _dwords in (1, 2, 3, 4, 8, 16):
        _load(_function, _dwords)


def _load_part(stem: str, size: int, signed: bool) -> None:
    function = f"hk_{stem}_part"

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        base = instruction.src[0]
        if base.kind != "s":
            raise Unsupported(f"operand of kind {base.kind!r} as the base of a scalar load")
        index, offset = _address(instruction, 1)
        fields = OpFields(
            function=function,
            sdst=instruction.dst[0].index,
            ssrc0=base.index,
            ssrc1=index,
            offset=offset,
            flags=scale_flags(instruction, size) | _form(block),
            imm=(size, signed),
        )
        block.native(function, fields.record(instruction.address), can_fault=True)

    register(f"{stem}_{'i' if signed else 'u'}{8 * size}", handle)


for _stem in ("s_load", "s_buffer_load"):
    for _size in (1, 2):
        for _signed in (False, True):
            _load_part(_stem, _size, _signed)


def _store(function: str, dwords: int) -> None:
    stem = "s_store_dword" if function == "hk_s_store" else "s_buffer_store_dword"

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        data, base = instruction.src[0], instruction.src[1]
        if data.kind != "s" or base.kind != "s" or data.index + dwords > 128:
            raise Unsupported("a scalar store of or through something else than scalar registers")
        index, offset = _address(instruction, 2)
        fields = OpFields(
            function=function, ssrc2=data.index, ssrc0=base.index, ssrc1=index, offset=offset, imm=(dwords,)
        )
        block.native(function, fields.record(instruction.address), can_fault=True)

    register(stem + (f"x{dwords}" if dwords > 1 else ""), handle)


for _function in ("hk_s_store", "hk_s_buffer_store"):
    for _dwords in (1, 2, 4):
        _store(_function, _dwords)


# Numbers of the operations in native/ops/scalar_memory.c.
_ATOMICS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")


def _atomic(name: str, number: int, wide: bool, buffer: bool) -> None:
    dwords = (2 if wide else 1) * (2 if name == "cmpswap" else 1)

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        data, base = instruction.src[0], instruction.src[1]
        if data.kind != "s" or base.kind != "s" or data.index + dwords > 128:
            raise Unsupported("a scalar atomic of or through something else than scalar registers")
        index, offset = _address(instruction, 2)
        fields = OpFields(
            function="hk_s_atomic",
            ssrc2=data.index,
            ssrc0=base.index,
            ssrc1=index,
            offset=offset,
            imm=(number, wide, buffer, instruction.modifiers.get("glc", 0)),
        )
        block.native("hk_s_atomic", fields.record(instruction.address), can_fault=True)

    register(f"s_{'buffer_' if buffer else ''}atomic_{name}{'_x2' if wide else ''}", handle)


for _number, _name in enumerate(_ATOMICS):
    for _wide in (False, True):
        for _buffer in (False, True):
            _atomic(_name, _number, _wide, _buffer)


def _clock(opcode: str, function: str) -> None:
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        fields = OpFields(function=function, sdst=instruction.dst[0].index)
        block.native(function, fields.record(instruction.address), can_fault=False)

    register(opcode, handle)


_clock("s_memtime", "hk_s_memtime")
_clock("s_memrealtime", "hk_s_memrealtime")

_REAL_TIME = 131
"""Message MSG_RTN_GET_REALTIME."""


def _message(block: BlockTranslator, instruction: Instruction) -> None:
    message = int(instruction.src[0].value or 0)
    if message != _REAL_TIME or instruction.dst[0].width != 2:
        raise Unsupported(f"message {message}, which asks for something else than the time")
    fields = OpFields(function="hk_s_memrealtime", sdst=instruction.dst[0].index)
    block.native(fields.function, fields.record(instruction.address), can_fault=False)


register("s_sendmsg_rtn_b64", _message)
