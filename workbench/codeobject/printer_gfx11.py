"""Writes an instruction of gfx11, gfx12 or gfx1250 as LLVM's disassembler does with true 16-bit registers:
v1.l and v1.h are the halves of v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.codeobject import immediates_gfx11
from workbench.codeobject.decoder_gfx11 import halves
from workbench.codeobject.encodings_gfx11 import PLAIN_OFFSETS, generation
from workbench.codeobject.instruction import LITERAL64, Instruction, Operand
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
    wide_literal_text,
)

_NAMED = {**SCALAR_NAMES, 124: ("m0", "m0")}
_SPECIAL = {**SPECIAL_NAMES, 230: "src_flat_scratch_base_lo", 231: "src_flat_scratch_base_hi"}
_OMOD = ("", "mul:2", "mul:4", "div:2")
_DPP_ROWS = {
    0x100: "row_shl",
    0x110: "row_shr",
    0x120: "row_ror",
    0x150: "row_share",
    0x160: "row_xmask",
}
_DPP_FIXED = {0x140: "row_mirror", 0x141: "row_half_mirror"}
_SCOPES = ("", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS")
_HINTS = ("", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB")
"""Names of the temporal hint of loads and stores; 3 depends on the scope, 7 is for stores only."""

_SYSTEM = 3
_NON_TEMPORAL, _CASCADE = 2, 4
"""Bits of the temporal hint of atomics; the lowest says that they return."""

_NUMBER_FORMATS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT")
_DATA_FORMATS = (
    ("8", "0 1 2 3 4 5"),
    ("16", "0 1 2 3 4 5 6"),
    ("8_8", "0 1 2 3 4 5"),
    ("32", "4 5 6"),
    ("16_16", "0 1 2 3 4 5 6"),
    ("10_11_11", "6"),
    ("11_11_10", "6"),
    ("10_10_10_2", "0 1 4 5"),
    ("2_10_10_10", "0 1 2 3 4 5"),
    ("8_8_8_8", "0 1 2 3 4 5"),
    ("32_32", "4 5 6"),
    ("16_16_16_16", "0 1 2 3 4 5 6"),
    ("32_32_32", "4 5 6"),
    ("32_32_32_32", "4 5 6"),
)
_BUFFER_FORMATS = (
    "INVALID",
    *(f"{data}_{_NUMBER_FORMATS[int(n)]}" for data, numbers in _DATA_FORMATS for n in numbers.split()),
)


def _register(operand: Operand) -> str:
    index, width = operand.index, operand.width
    if operand.kind == "v":
        suffix = "" if operand.half is None else ".h" if operand.half else ".l"
        return range_text("v", index, width) + suffix
    if index in _NAMED and (width <= 2 or index >= 124):
        return _NAMED[index][min(width, 2) - 1] or range_text("s", index, width)
    if 108 <= index <= 123:
        return range_text("ttmp", index - 108, width)
    return range_text("s", index, width)


def operand_text(operand: Operand, type_: str = "b32") -> str:
    """One operand with its modifiers; `type_` says how to write a constant (isa/enumerate.py)."""
    kind = operand.kind
    if kind in ("v", "s"):
        text = _register(operand)
    elif kind == "imm" and operand.index == LITERAL64:
        text = wide_literal_text(int(operand.value or 0), type_ == "f64", is_source=True)
    elif kind == "imm":
        text = constant_text(operand, type_)
    elif kind == "special":
        text = _SPECIAL[operand.index]
    elif kind in ("simm", "label", "hwreg"):
        text = number_text(int(operand.value or 0))
    else:
        text = "off"
    if operand.abs:
        text = f"|{text}|"
    if operand.neg:
        # A minus before a number would read as a negative constant.
        is_number = kind == "imm" and not operand.abs and not text.startswith("lit(")
        text = f"neg({text})" if is_number else f"-{text}"
    return text


def _hexadecimal(value: int) -> str:
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


_IMMEDIATES: Mapping[str, Callable[[int], str]] = {
    "optional": str,
    "length": number_text,
    "count": number_text,
    "simm": _hexadecimal,
    "event": _hexadecimal,
    "smem_offset": _hexadecimal,
    "waitcnt": immediates_gfx11.waitcnt_text,
    "delay": immediates_gfx11.delay_text,
    "depctr": immediates_gfx11.dependencies_text,
    "version": immediates_gfx11.version_text,
}


def _printed(operand: Operand, entry: Entry, instruction: Instruction) -> str:
    kind = entry.kind
    value = int(operand.value or 0) if operand.kind in ("simm", "hwreg", "label", "imm") else 0
    if kind in _IMMEDIATES:
        return _IMMEDIATES[kind](value)
    if entry.field == "literal" and entry.width == 2:
        return wide_literal_text(value, is_float=True, is_source=False)
    if entry.field == "literal":
        return immediate_text(value) if instruction.format == "SOPK" else f"{value:#x}"
    if kind == "label":
        return str((value - instruction.address - 4) // 4 & 0xFFFF)
    if kind == "hwreg":
        return immediates_gfx11.register_text(value, generation(instruction.form.target))
    if kind == "sendmsg":
        return immediates_gfx11.message_text(value, generation(instruction.form.target))
    if kind == "smem" and operand.kind == "simm":
        return _hexadecimal(value)
    return operand_text(operand, entry.type)


def _in_printed_order(instruction: Instruction) -> list[tuple[Operand, Entry]]:
    """The operands with their table entries, in the order of the table."""
    dst, src = iter(instruction.dst), iter(instruction.src)
    modifiers = instruction.modifiers
    returns = bool(modifiers.get("th", 0) & 1 or modifiers.get("glc", 0))
    ordered: list[tuple[Operand, Entry]] = []
    for entry in instruction.form.entries:
        if entry.returning and not returns:
            continue
        if entry.role == "=":
            ordered.append((next(dst), entry))
            continue
        if entry.role == "+" and returns:
            next(dst)
        operand = next(src, None)
        # Optional registers that are null have no operand.
        if operand is not None:
            ordered.append((operand, entry))
    return ordered


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


def _dpp_control(code: int) -> str:
    if code <= 0xFF:
        return "quad_perm:[" + ",".join(str(code >> 2 * lane & 3) for lane in range(4)) + "]"
    if code in _DPP_FIXED:
        return _DPP_FIXED[code]
    name = _DPP_ROWS.get(code & ~15)
    if name and (code & 15 or code >= 0x150):
        return f"{name}:{code & 15}"
    return "/* Invalid dpp_ctrl value */"


_DPP_FLAGS = ("bound_ctrl", "fi")
_FORMATS = {1: "MATRIX_FMT_BF8", 2: "MATRIX_FMT_FP6", 3: "MATRIX_FMT_BF6", 4: "MATRIX_FMT_FP4"}
_SCALE_FORMATS = {1: "MATRIX_SCALE_FMT_E5M3", 2: "MATRIX_SCALE_FMT_E4M3"}
_MATRIX_VALUES = {
    f"matrix_{operand}_{name}": values
    for name, values in (
        ("fmt", _FORMATS),
        ("scale", {1: "MATRIX_SCALE_ROW1"}),
        ("scale_fmt", _SCALE_FORMATS),
    )
    for operand in "ab"
}
"""Names of values in the order in which LLVM prints the modifiers."""


def _named_bits(instruction: Instruction) -> list[str]:
    """Modifiers that bits of op_sel and op_sel_hi add to."""
    parts = []
    names = dict.fromkeys(key.partition("=")[2] for key in instruction.form.modifiers if "=" in key)
    for name in sorted(names, key=lambda n: list(_MATRIX_VALUES).index(n) if n in _MATRIX_VALUES else 9):
        value = instruction.modifiers.get(name, 0)
        if not value or name in _DPP_FLAGS:
            continue
        if name.endswith("_reuse"):
            parts.append(name)
        elif name in _MATRIX_VALUES and value in _MATRIX_VALUES[name]:
            parts.append(f"{name}:{_MATRIX_VALUES[name][value]}")
        else:
            parts.append(f"{name}:{value}")
    return parts


def _vector_suffixes(instruction: Instruction) -> list[str]:
    """Modifiers of VOP forms."""
    modifiers, form = instruction.modifiers, instruction.form
    table = modifiers.get("bitop3", 0)
    parts = [f"bitop3:{table}" if table <= 10 else f"bitop3:{table:#x}"] if table else []
    parts += _op_sel(modifiers, form)
    for name, shape in form.modifiers.items():
        if name in ("neg_lo", "neg_hi") and shape.isdigit() and modifiers.get(name):
            parts.append(f"{name}:{bits_text(modifiers[name], int(shape))}")
    parts.sort(key=lambda part: part.startswith("neg_hi"))
    if modifiers.get("clamp"):
        parts.append("clamp")
    parts.append(_OMOD[modifiers.get("omod", 0)])
    parts += _named_bits(instruction)
    if form.format == "VINTERP":
        parts.append(f"wait_exp:{modifiers.get('wait_exp', 0)}")
    if "dpp_ctrl" in modifiers:
        parts.append(_dpp_control(modifiers["dpp_ctrl"]))
        parts.append(f"row_mask:{modifiers['row_mask']:#x} bank_mask:{modifiers['bank_mask']:#x}")
    if "dpp8" in modifiers:
        lanes = ",".join(str(modifiers["dpp8"] >> 3 * lane & 7) for lane in range(8))
        parts.append(f"dpp8:[{lanes}]")
    parts += [f"{name}:1" for name in _DPP_FLAGS if modifiers.get(name)]
    return parts


def _hint(value: int, scope: int, kind: str) -> str:
    """The temporal hint of a memory instruction."""
    if not value:
        return ""
    if kind == "atomic":
        if value & _CASCADE:
            if scope < _SCOPES.index("SCOPE_DEV"):
                return f"th:TH_ATOMIC_{value:#x}"
            return "th:TH_ATOMIC_CASCADE_" + ("NT" if value & _NON_TEMPORAL else "RT")
        names = [name for bit, name in ((_NON_TEMPORAL, "NT"), (1, "RETURN")) if value & bit]
        return f"th:TH_ATOMIC_{'_'.join(names)}"
    if value == 7 and kind != "store":
        return f"th:{value:#x}"
    if value == 3:
        name = "BYPASS" if scope == _SYSTEM else "WB" if kind == "store" else "LU"
    else:
        name = _HINTS[value]
    return f"th:TH_{kind.upper()}_{name}"


def _memory_suffixes(instruction: Instruction) -> list[str]:
    """Modifiers of memory and LDS forms."""
    modifiers, form = instruction.modifiers, instruction.form
    parts = []
    if "format" in modifiers and modifiers["format"] != 1:
        code = modifiers["format"]
        named = code < len(_BUFFER_FORMATS)
        parts.append(f"format:[BUF_FMT_{_BUFFER_FORMATS[code]}]" if named else f"format:{code}")
    parts += [name for name in ("idxen", "offen") if modifiers.get(name)]
    if "offset0" in form.modifiers:
        parts += [f"{name}:{modifiers[name]}" for name in ("offset0", "offset1") if modifiers.get(name)]
    elif instruction.record.lanes is Lanes.SWIZZLE:
        parts.append(swizzle_text(modifiers.get("offset", 0)))
    elif form.format == "SMEM":
        # A constant beside a register is printed even if it is zero.
        is_offset = [entry.kind == "smem" for entry in form.entries]
        offset = modifiers.get("offset", 0)
        is_new = generation(form.target) not in PLAIN_OFFSETS
        if any(is_offset) and instruction.src[-1].kind == "s" and (offset or is_new):
            parts.append(f"offset:{_hexadecimal(modifiers.get('offset', 0))}")
    elif modifiers.get("offset"):
        parts.append(f"offset:{modifiers['offset']}")
    if modifiers.get("gds"):
        parts.append("gds")
    parts += [name for name in ("glc", "slc", "dlc", "scale_offset") if modifiers.get(name)]
    scope = modifiers.get("scope", 0)
    parts.append(_hint(modifiers.get("th", 0), scope, form.modifiers.get("th", "")))
    if scope:
        parts.append(f"scope:{_SCOPES[scope]}")
    parts += [name for name in ("nv", "tfe") if modifiers.get(name)]
    return parts


def text(instruction: Instruction) -> str:
    """The instruction as llvm-objdump prints it with `--mattr=+real-true16`."""
    parts = halves(instruction)
    if len(parts) == 2:
        return " :: ".join(text(part) for part in parts)
    operands = _in_printed_order(instruction)
    if operands and operands[0][1].kind == "optional" and not operands[0][0].value:
        operands = []
    words = [_printed(operand, entry, instruction) for operand, entry in operands]
    head = instruction.mnemonic + (" " + ", ".join(words) if words else "")
    vector = instruction.form.is_vector or instruction.form.format == "VINTERP"
    suffixes = _vector_suffixes(instruction) if vector else _memory_suffixes(instruction)
    return " ".join([head, *(suffix for suffix in suffixes if suffix)])
