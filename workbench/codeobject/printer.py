"""Writes an instruction as LLVM's disassembler does, so that people and other tools read the same text."""

from __future__ import annotations

from collections.abc import Mapping

from workbench import targets
from workbench.codeobject import decoder_gfx11, printer_gfx11
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Entry, Form, Lanes
from workbench.codeobject.text_parts import (
    SCALAR_NAMES,
    SPECIAL_NAMES,
    bits_text,
    constant_text,
    immediate_text,
    number_text,
    range_text,
    swizzle_text,
)
from workbench.codeobject.waits import NO_WAIT, waits

_NAMED = {
    **SCALAR_NAMES,
    102: ("flat_scratch_lo", "flat_scratch"),
    103: ("flat_scratch_hi", ""),
    104: ("xnack_mask_lo", "xnack_mask"),
    105: ("xnack_mask_hi", ""),
}
_MESSAGES = {
    1: "MSG_INTERRUPT",
    2: "MSG_GS",
    3: "MSG_GS_DONE",
    4: "MSG_SAVEWAVE",
    5: "MSG_STALL_WAVE_GEN",
    6: "MSG_HALT_WAVES",
    7: "MSG_ORDERED_PS_DONE",
    8: "MSG_EARLY_PRIM_DEALLOC",
    9: "MSG_GS_ALLOC_REQ",
    10: "MSG_GET_DOORBELL",
    15: "MSG_SYSMSG",
}
_GS_OPERATIONS = ("GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT")
_SYSTEM_OPERATIONS = {
    1: "SYSMSG_OP_ECC_ERR_INTERRUPT",
    2: "SYSMSG_OP_REG_RD",
    3: "SYSMSG_OP_HOST_TRAP_ACK",
    4: "SYSMSG_OP_TTRACE_PC",
}
_GPR_INDEX_MODES = ("SRC0", "SRC1", "SRC2", "DST")
_SDWA_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "")
_SDWA_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_PAD")
_OMOD = ("", "mul:2", "mul:4", "div:2")
_DATA_FORMATS = (
    *("INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10"),
    *("8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"),
)
_NUMBER_FORMATS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT")
_DPP_ROWS = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror", 0x150: "row_newbcast"}
_DPP_FIXED = {
    0x130: "wave_shl:1",
    0x134: "wave_rol:1",
    0x138: "wave_shr:1",
    0x13C: "wave_ror:1",
    0x140: "row_mirror",
    0x141: "row_half_mirror",
    0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}
_REGISTER_AND_CONSTANT = 1 << 14 | 1 << 17
"""soffset_en and imm of a scalar memory instruction."""

# Cache policy bits in the order in which LLVM prints them, which depends on the target's names for them.
_CACHE_POLICY = ("glc", "slc", "sc0", "nt", "sc1", "scc")


def _scalar(index: int, width: int) -> str:
    if index == 124 and width > 1:
        return "null"
    if index in _NAMED and width <= 2:
        return _NAMED[index][width - 1] or range_text("s", index, width)
    if 108 <= index <= 123:
        return range_text("ttmp", index - 108, width)
    return range_text("s", index, width)


def operand_text(operand: Operand, type_: str = "b32") -> str:
    """One operand with its modifiers; `type_` says how to write a constant (isa/enumerate.py)."""
    kind = operand.kind
    if kind in ("v", "a"):
        text = range_text(kind, operand.index, operand.width)
    elif kind == "s":
        text = _scalar(operand.index, operand.width)
    elif kind == "imm":
        text = constant_text(operand, type_)
    elif kind == "special":
        text = SPECIAL_NAMES.get(operand.index, str(operand.index))
    elif kind in ("simm", "label", "hwreg"):
        text = number_text(int(operand.value or 0))
    else:
        text = "off"
    if operand.sext:
        text = f"sext({text})"
    if operand.abs:
        text = f"|{text}|"
    if operand.neg:
        # A minus before a number would read as a negative constant.
        text = f"neg({text})" if kind == "imm" and not operand.abs else f"-{text}"
    return text


def _hwreg(code: int, target: str) -> str:
    number, offset, size = code & 63, code >> 6 & 31, (code >> 11 & 31) + 1
    name = targets.target(target).hardware_registers.get(number, str(number))
    return f"hwreg({name})" if (offset, size) == (0, 32) else f"hwreg({name}, {offset}, {size})"


def _waitcnt(code: int) -> str:
    counts = {name: count for name, count in waits(code)._asdict().items() if count is not None}
    return " ".join(f"{name}({count})" for name, count in (counts or NO_WAIT).items())


def _sendmsg(code: int) -> str:
    message, operation, stream = code & 15, code >> 4 & 7, code >> 8 & 3
    name = _MESSAGES.get(message)
    if message == 15 and operation in _SYSTEM_OPERATIONS and not stream:
        return f"sendmsg({name}, {_SYSTEM_OPERATIONS[operation]})"
    if message in (2, 3) and operation < 4:
        if operation:
            return f"sendmsg({name}, {_GS_OPERATIONS[operation]}, {stream})"
        if message == 3 and not stream:
            return f"sendmsg({name}, {_GS_OPERATIONS[0]})"
    if name and message not in (2, 3, 15) and not operation and not stream:
        return f"sendmsg({name})"
    return str(code) if code & ~0x37F else f"sendmsg({message}, {operation}, {stream})"


def _gpr_index(code: int) -> str:
    if code > 15:
        return f"{code:#x}"
    return "gpr_idx(" + ",".join(mode for bit, mode in enumerate(_GPR_INDEX_MODES) if code >> bit & 1) + ")"


def _dpp_control(code: int) -> str:
    if code <= 0xFF:
        return f"quad_perm:[{code & 3},{code >> 2 & 3},{code >> 4 & 3},{code >> 6 & 3}]"
    if code in _DPP_FIXED:
        return _DPP_FIXED[code]
    name = _DPP_ROWS.get(code & ~15)
    if name and (code & 15 or name == "row_newbcast"):
        return f"{name}:{code & 15}"
    return "/* Invalid dpp_ctrl value */"


def _op_sel(modifiers: Mapping[str, int], form: Form) -> list[str]:
    parts = []
    shape = form.modifiers.get("op_sel", "")
    if shape and modifiers.get("op_sel"):
        bits = [modifiers["op_sel"] >> int(place) & 1 if place != "-" else 0 for place in shape]
        if any(bits):
            parts.append("op_sel:[" + ",".join(map(str, bits)) + "]")
    shape = form.modifiers.get("op_sel_hi", "")
    if shape:
        count = int(shape[0])
        mask = modifiers.get("op_sel_hi", 0) & (1 << count) - 1
        if mask != (0 if shape.endswith("mixed") else (1 << count) - 1):
            parts.append(f"op_sel_hi:{bits_text(mask, count)}")
    return parts


def _source_count(form: Form) -> int:
    return sum(entry.field in ("src0", "src1", "src2", "vsrc1") for entry in form.entries)


def _vector_suffixes(instruction: Instruction) -> list[str]:
    """Modifiers of VOP forms."""
    modifiers, form = instruction.modifiers, instruction.form
    parts = []
    if modifiers.get("bitop3"):
        table = modifiers["bitop3"]
        parts.append(f"bitop3:{table}" if table <= 10 else f"bitop3:{table:#x}")
    if instruction.size == 16:
        parts.append(f"op_sel:{bits_text(modifiers['op_sel'], 3)}" if modifiers["op_sel"] else "")
        parts.append(f"op_sel_hi:{bits_text(modifiers['op_sel_hi'], 3)}")
    else:
        parts += _op_sel(modifiers, form)
    for name in ("neg_lo", "neg_hi"):
        if name in modifiers:
            parts.append(f"{name}:{bits_text(modifiers[name], _source_count(form))}")
    if modifiers.get("clamp"):
        parts.append("clamp")
    parts.append(_OMOD[modifiers.get("omod", 0)])
    if "dpp_ctrl" in modifiers:
        parts.append(_dpp_control(modifiers["dpp_ctrl"]))
        parts.append(f"row_mask:{modifiers['row_mask']:#x} bank_mask:{modifiers['bank_mask']:#x}")
    for name in ("bound_ctrl", "fi"):
        if modifiers.get(name):
            parts.append(f"{name}:1")
    if "dst_sel" in modifiers:
        parts.append(f"dst_sel:{_SDWA_SELECTS[modifiers['dst_sel']]}")
        parts.append(f"dst_unused:{_SDWA_UNUSED[modifiers.get('dst_unused', 0)]}")
    for name in ("src0_sel", "src1_sel"):
        if name in modifiers:
            parts.append(f"{name}:{_SDWA_SELECTS[modifiers[name]]}")
    for name in ("cbsz", "abid"):
        if modifiers.get(name):
            parts.append(f"{name}:{modifiers[name]}")
    if modifiers.get("blgp"):
        is_neg = form.modifiers.get("blgp") == "neg"
        parts.append(f"neg:{bits_text(modifiers['blgp'], 3)}" if is_neg else f"blgp:{modifiers['blgp']}")
    return parts


def _memory_suffixes(instruction: Instruction) -> list[str]:
    """Modifiers of memory and LDS forms."""
    modifiers, form = instruction.modifiers, instruction.form
    parts = []
    if form.format == "MTBUF":
        parts.append(_buffer_format(modifiers["dfmt"], modifiers["nfmt"]))
    parts += [name for name in ("idxen", "offen") if modifiers.get(name)]
    if "offset0" in form.modifiers:
        parts += [f"{name}:{modifiers[name]}" for name in ("offset0", "offset1") if modifiers.get(name)]
    elif instruction.record.lanes is Lanes.SWIZZLE:
        parts.append(swizzle_text(modifiers.get("offset", 0)))
    elif form.format == "SMEM":
        # Both address bits set: a constant beside the register, printed even if it is zero.
        if instruction.words[0] & _REGISTER_AND_CONSTANT == _REGISTER_AND_CONSTANT and form.entries:
            parts.append(f"offset:{modifiers.get('offset', 0):#x}")
    elif modifiers.get("offset"):
        parts.append(f"offset:{modifiers['offset']}")
    if modifiers.get("gds"):
        parts.append("gds")
    parts += [name for name in _CACHE_POLICY if modifiers.get(name)]
    if modifiers.get("lds"):
        parts.append("lds")
    return parts


def _buffer_format(data: int, number: int) -> str:
    if (data, number) == (1, 0):
        return ""
    names = []
    if data != 1:
        names.append(f"BUF_DATA_FORMAT_{_DATA_FORMATS[data]}")
    if number:
        names.append(f"BUF_NUM_FORMAT_{_NUMBER_FORMATS[number]}")
    return f"format:[{','.join(names)}]"


def _in_printed_order(instruction: Instruction) -> list[tuple[Operand, Entry]]:
    """The operands with their table entries, in the order of the table."""
    dst, src = iter(instruction.dst), iter(instruction.src)
    modifiers = instruction.modifiers
    returns = "sc0" in modifiers or "glc" in modifiers
    ordered: list[tuple[Operand, Entry]] = []
    for entry in instruction.form.entries:
        if (entry.returning and not returns) or (entry.is_loaded and "lds" in modifiers):
            continue
        if entry.role == "=":
            ordered.append((next(dst), entry))
            continue
        if entry.role == "+" and returns:
            next(dst)
        ordered.append((next(src), entry))
    return ordered


def _printed(operand: Operand, entry: Entry, instruction: Instruction) -> str:
    kind = entry.kind
    value = int(operand.value or 0) if operand.kind in ("simm", "hwreg", "label", "imm") else 0
    if kind == "optional":
        return str(value)
    if kind == "simm" and instruction.format == "SOPK":
        return f"{value:#x}"
    if entry.field == "literal":
        if instruction.format == "SOPK":
            return immediate_text(value)
        return f"{value:#x}"
    if kind == "label":
        return str((value - instruction.address - 4) // 4 & 0xFFFF)
    if kind == "hwreg":
        return _hwreg(value, instruction.form.target)
    if kind == "waitcnt":
        return _waitcnt(value)
    if kind == "sendmsg":
        return _sendmsg(value)
    if kind in ("gpr_idx", "set_gpr_idx_mode"):
        return _gpr_index(value)
    if kind == "smem" and operand.kind == "simm":
        return f"-{-value:#x}" if value < 0 else f"{value:#x}"
    return operand_text(operand, entry.type)


def text(instruction: Instruction) -> str:
    """The instruction as llvm-objdump prints it; on gfx11 and later, with the halves of registers.

    A branch shows its distance in dwords from the next instruction, modulo 65536, as the encoding has it; the
    operand has the absolute address.
    """
    if decoder_gfx11.decodes(instruction.form.target):
        return printer_gfx11.text(instruction)
    operands = _in_printed_order(instruction)
    if operands and operands[0][1].kind == "optional" and not operands[0][0].value:
        operands = []
    words = [_printed(operand, entry, instruction) for operand, entry in operands]
    head = instruction.mnemonic + (" " + ", ".join(words) if words else "")
    vector = instruction.form.is_vector
    suffixes = _vector_suffixes(instruction) if vector else _memory_suffixes(instruction)
    return " ".join([head, *(suffix for suffix in suffixes if suffix)])
