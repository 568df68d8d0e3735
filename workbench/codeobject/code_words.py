"""Code as dwords: the steps that decoders of all generations share."""

from __future__ import annotations

import struct
from collections.abc import Callable

from workbench.codeobject.instruction import Instruction
from workbench.errors import CodeObjectError

DecodeAt = Callable[[tuple[int, ...], int, int], Instruction]
"""The instruction that begins at an index of dwords, and has an address."""


def one(code: bytes, offset: int, address: int, target: str, decode_at: DecodeAt) -> Instruction:
    """The instruction at byte `offset` of `code`, whose own address is `address`.

    Raises:
        CodeObjectError: the bytes are not an instruction of the target, or are cut short.
    """
    available = min(4, (len(code) - offset) // 4)
    if offset < 0 or available < 1:
        raise CodeObjectError(f"no {target} instruction at address {address:#x}: the code ends there.")
    return decode_at(struct.unpack_from(f"<{available}I", code, offset), 0, address)


def each(code: bytes, address: int, target: str, decode_at: DecodeAt) -> list[Instruction]:
    """All instructions of `code` in order; the first is at `address`.

    Raises:
        CodeObjectError: some bytes are not an instruction; the message has their address.
    """
    words = struct.unpack_from(f"<{len(code) // 4}I", code)
    result = []
    index = 0
    while index < len(words):
        instruction = decode_at(words, index, address + 4 * index)
        result.append(instruction)
        index += instruction.size // 4
    if len(code) % 4:
        place = address + 4 * index
        raise CodeObjectError(
            f"no {target} instruction at address {place:#x}: only {len(code) % 4} bytes are left."
        )
    return result
