"""Random instruction streams: every opcode of a target, with operands that often reach valid memory."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Mapping
from functools import cache

from tests.codeobject.random_encodings import random_encoding
from workbench.codeobject.decoder import decode_one
from workbench.codeobject.encodings import ENCODINGS
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Form, forms
from workbench.codeobject.instructions.isa.enumerate import encode
from workbench.emulator.semantics import ENDS_BLOCK
from workbench.emulator.translate import emission
from workbench.emulator.translate.options import Mode, Options
from workbench.errors import CodeObjectError
from workbench.toolchain import cpu

S_ENDPGM = b"\x00\x00\x81\xbf"
# Registers that the prologue fills: pointers in s[8:11], a buffer resource in s[12:15], offsets in v0 to v3.
_POINTERS = (8, 10)
_RESOURCE = 12


@cache
def _by_mnemonic(target: str) -> Mapping[str, tuple[str, int, Form]]:
    return {form.mnemonic: (format_, number, form) for (format_, number), form in forms(target).items()}


@cache
def _by_format(target: str) -> Mapping[str, tuple[tuple[str, int, Form], ...]]:
    result: dict[str, list[tuple[str, int, Form]]] = {}
    for (format_, number), form in forms(target).items():
        result.setdefault(format_, []).append((format_, number, form))
    return {name: tuple(entries) for name, entries in result.items()}


def encoded(target: str, mnemonic: str, literal: int | None = None, **fields: int) -> bytes:
    """An instruction by its mnemonic and fields."""
    format_, number, _ = _by_mnemonic(target)[mnemonic]
    return encode(format_, number, fields, literal)


def prologue(target: str, size: int) -> bytes:
    """Loads the kernel's pointers and makes offsets and a buffer resource of `size` bytes."""
    return b"".join(
        (
            encoded(target, "s_load_dwordx4", sdata=8, sbase=0, imm=1, offset=0),
            encoded(target, "s_waitcnt", simm16=0),
            encoded(target, "s_mov_b32", sdst=12, ssrc0=8),
            encoded(target, "s_mov_b32", sdst=13, ssrc0=9),
            encoded(target, "s_mov_b32", size, sdst=14, ssrc0=255),
            encoded(target, "s_mov_b32", 0x27000, sdst=15, ssrc0=255),
            encoded(target, "s_mov_b32", sdst=124, ssrc0=193),
            encoded(target, "v_lshlrev_b32_e32", vdst=1, src0=128 + 4, vsrc1=0),
            encoded(target, "v_add_u32_e32", vdst=2, src0=8, vsrc1=1),
            encoded(target, "v_mov_b32_e32", vdst=3, src0=9),
            encoded(target, "v_lshlrev_b32_e32", vdst=4, src0=128 + 3, vsrc1=0),
            encoded(target, "v_mov_b32_e32", vdst=5, src0=242),
        )
    )


def _steer(generator: random.Random, format_: str, code: bytes, place: int, end: int) -> bytes:
    """Operands changed so that memory is often valid memory and branches often stay in the stream."""
    fields = ENCODINGS[format_].fields
    changed: dict[str, int] = {}
    if format_ == "SOPP" or format_ == "SOPK":
        changed["simm16"] = generator.randrange(end) - place
    elif format_ == "SMEM":
        changed.update(sbase=generator.choice(_POINTERS) // 2, offset=4 * generator.randrange(64))
        changed.update(imm=1, soffset_en=0)
    elif format_ == "GLOBAL":
        vector = generator.random() < 0.5
        changed.update(vaddr=2 if vector else generator.choice((1, 4)))
        changed.update(saddr=127 if vector else generator.choice(_POINTERS), offset=generator.randrange(256))
    elif format_ == "FLAT":
        changed.update(vaddr=2, offset=generator.randrange(256))
    elif format_ == "SCRATCH":
        changed.update(vaddr=4, saddr=127, offset=generator.randrange(64))
    elif format_ in ("MUBUF", "MTBUF"):
        changed.update(vaddr=generator.choice((0, 1)), srsrc=_RESOURCE // 4, soffset=128)
        changed.update(offset=generator.randrange(256))
    elif format_ == "DS":
        changed.update(addr=generator.choice((0, 1, 4)), gds=0)
    value = int.from_bytes(code, "little")
    for name, content in changed.items():
        if name in fields:
            low, width = fields[name]
            value = value & ~(((1 << width) - 1) << low) | (content & (1 << width) - 1) << low
    return value.to_bytes(len(code), "little")


@cache
def _translator(target: str) -> Options:
    return Options(target, 256, Mode.from_register(0x3F0), cpu.features(), 64)


def executable(instruction: Instruction, target: str) -> bool:
    """True if the emulated device executes an instruction in this form."""
    if instruction.opcode in ENDS_BLOCK:
        return True
    failures: list[emission.Failure] = []
    emission.emit([[instruction]], {0: 0}, _translator(target), failures.extend)
    return not failures


def stream(generator: random.Random, target: str, length: int) -> bytes:
    """Machine code of about `length` instructions that decodes from end to end."""
    parts: list[bytes] = []
    formats = _by_format(target)
    hostile = generator.random()
    # One refused instruction stops a whole kernel, so most streams avoid them.
    refused = generator.random() < 0.05
    format_names = list(formats) if generator.random() < 0.5 else generator.sample(list(formats), 4)
    dwords = 0
    while len(parts) < length:
        format_, number, form = generator.choice(formats[generator.choice(format_names)])
        if form.opcode.startswith("s_endpgm") and generator.random() < 0.9:
            continue
        code = random_encoding(generator, format_, number, form)
        if generator.random() < 0.2 * hostile:
            position = generator.randrange(len(code))
            code = code[:position] + generator.randbytes(1) + code[position + 1 :]
        elif generator.random() > 0.3 * hostile:
            code = _steer(generator, format_, code, dwords, max(dwords + 1, 2 * length))
        try:
            instruction = decode_one(code, 0, 0, target)
        except CodeObjectError:
            continue
        if not refused and not executable(instruction, target):
            continue
        parts.append(code[: instruction.size])
        dwords += instruction.size // 4
    return b"".join(parts)


# Registers that a dump of the register file needs: the address of memory, and counters.
_KEPT_SCALARS = frozenset(range(84, 102))
_KEPT_VECTORS = frozenset(range(60, 64))
DUMPED_ROWS = 60
_COMPUTES = re.compile(r"SOP[12CK]|VOP\w*|DS")
# Instructions that depend on the time, end the wave, or jump.
_REFUSED = re.compile(
    r"s_mem|s_setpc|s_swappc|s_call|s_cbranch|s_rfe|s_getpc|s_set_gpr_idx|ds_gws|ds_nop|v_nop"
)


def computing(generator: random.Random, target: str, length: int) -> bytes:
    """Instructions that compute in registers and LDS and touch no memory."""
    parts: list[bytes] = []
    choices = [
        entry
        for name, entries in _by_format(target).items()
        if _COMPUTES.fullmatch(name)
        for entry in entries
    ]
    while len(parts) < length:
        format_, number, form = generator.choice(choices)
        if _REFUSED.match(form.opcode):
            continue
        code = random_encoding(generator, format_, number, form)
        try:
            instruction = decode_one(code, 0, 0, target)
        except CodeObjectError:
            continue
        if not executable(instruction, target) or instruction.opcode in ENDS_BLOCK:
            continue
        if _touches_kept(instruction):
            continue
        parts.append(code[: instruction.size])
    return b"".join(parts)


def _touches_kept(instruction: Instruction) -> bool:
    # Scalar and vector registers that some instruction names as a source may be written too (v_swap).
    for operand in (*instruction.dst, *instruction.src):
        used = range(operand.index, operand.index + max(operand.width, 1))
        if operand.kind == "s" and _KEPT_SCALARS.intersection(used):
            return True
        if operand.kind == "v" and (_KEPT_VECTORS.intersection(used) or used.stop > 64):
            return True
    return False


def dump(target: str, first: bool) -> bytes:
    """Saves the address of the wave's part of memory (`first`), or stores every register there.

    The argument is a pointer; a work-group has 4 waves of DUMPED_ROWS registers of 256 bytes and one more
    for scalar registers.
    """
    parts: list[bytes] = []

    def add(mnemonic: str, literal: int | None = None, **fields: int) -> None:
        parts.append(encoded(target, mnemonic, literal, **fields))

    wave_bytes = 256 * (DUMPED_ROWS + 1)
    if first:
        add("s_load_dwordx2", sdata=84, sbase=0, imm=1, offset=0)
        add("s_waitcnt", simm16=0)
        # s2 is the work-group, v0 the work-item: v63 = (item / 64 + 4 * group) * wave_bytes + item % 64 * 4.
        add("v_lshrrev_b32_e32", vdst=61, src0=128 + 6, vsrc1=0)
        add("s_lshl_b32", sdst=86, ssrc0=2, ssrc1=128 + 2)
        add("v_add_u32_e32", vdst=61, src0=86, vsrc1=61)
        add("s_mov_b32", wave_bytes, sdst=86, ssrc0=255)
        add("v_mul_lo_u32", vdst=61, src0=256 + 61, src1=86)
        add("v_and_b32_e32", vdst=62, src0=128 + 63, vsrc1=0)
        add("v_lshlrev_b32_e32", vdst=62, src0=128 + 2, vsrc1=62)
        add("v_add_u32_e32", vdst=63, src0=256 + 62, vsrc1=61)
        for row in range(1, DUMPED_ROWS):
            add("v_mul_u32_u24_e32", vdst=row, src0=128 + row, vsrc1=0)
        return b"".join(parts)
    add("s_mov_b64", sdst=126, ssrc0=193)
    add("s_nop", simm16=7)
    add("s_waitcnt", simm16=0)
    add("s_mov_b32", 256, sdst=87, ssrc0=255)
    for row in range(DUMPED_ROWS):
        add("global_store_dword", vaddr=63, vdata=row, saddr=84)
        add("v_add_u32_e32", vdst=63, src0=87, vsrc1=63)
    # Scalar registers are combined into one, in a way that depends on their order.
    add("v_mov_b32_e32", vdst=62, src0=128)
    for register in range(84):
        add("v_lshlrev_b32_e32", vdst=61, src0=128 + 1, vsrc1=62)
        add("v_add_u32_e32", vdst=62, src0=register, vsrc1=61)
    add("global_store_dword", vaddr=63, vdata=62, saddr=84)
    return b"".join(parts) + S_ENDPGM


def words(code: bytes) -> str:
    """Code as hexadecimal dwords, for a report."""
    return " ".join(f"{word:08x}" for word in struct.unpack(f"<{len(code) // 4}I", code))
