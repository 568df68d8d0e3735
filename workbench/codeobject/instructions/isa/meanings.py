"""Which opcodes of gfx11 and later do what an opcode of gfx9 does under another name or in another encoding.

A meaning is gfx9's name, under which the emulated device has the operation. Equal operations have equal
pseudocode in AMD's ISA guides, up to what every instruction of these targets has of its own: waves of 32
lanes, and 16-bit results that leave the other half of their register as it was.

Without a meaning are new operations, and those that changed: v_min_num_f32 and its kin return a number beside
a signaling NaN, where gfx9's v_min_f32 returns a NaN.
"""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

# Whole opcode, and gfx9's name for it.
_NAMES: tuple[tuple[str, str], ...] = (
    # Scalar ALU.
    (r"s_(add|sub)_co_([iu]32)", r"s_\1_\2"),
    (r"s_add_co_ci_u32", "s_addc_u32"),
    (r"s_sub_co_ci_u32", "s_subb_u32"),
    (r"s_addk_co_i32", "s_addk_i32"),
    (r"s_(and|or)_not1_(b32|b64|saveexec_b64|wrexec_b64)", r"s_\1n2_\2"),
    (r"s_(and|or)_not0_(saveexec_b64|wrexec_b64)", r"s_\1n1_\2"),
    (r"s_ctz_i32_b(32|64)", r"s_ff1_i32_b\1"),
    (r"s_clz_i32_u(32|64)", r"s_flbit_i32_b\1"),
    (r"s_cls_i32", "s_flbit_i32"),
    (r"s_(get|set|swap)_pc_i64", r"s_\1pc_b64"),
    (r"s_(call|rfe)_i64", r"s_\1_b64"),
    (r"s_cls_i32_i64", "s_flbit_i32_i64"),
    # Scalar memory.
    (r"s_(buffer_)?load_b32", r"s_\1load_dword"),
    # Vector ALU.
    (r"v_(add|sub|subrev)_nc_([iu](?:16|32))", r"v_\1_\2"),
    (r"v_add_co_ci_u32", "v_addc_co_u32"),
    (r"v_sub(rev)?_co_ci_u32", r"v_subb\1_co_u32"),
    (r"v_mad_co_([iu]64_[iu]32)", r"v_mad_\1"),
    (r"v_mul_dx9_zero_f32", "v_mul_legacy_f32"),
    (r"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"),
    (r"v_cvt_pk_norm_([iu]16_f(?:16|32))", r"v_cvt_pknorm_\1"),
    (r"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"),
    (r"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"),
    (r"v_clz_i32_u32", "v_ffbh_u32"),
    (r"v_ctz_i32_b32", "v_ffbl_b32"),
    (r"v_cls_i32", "v_ffbh_i32"),
    # LDS.
    (r"ds_load_(\w+)", r"ds_read_\1"),
    (r"ds_store_(\w+)", r"ds_write_\1"),
    (r"ds_storexchg_(\w+)", r"ds_wrxchg_\1"),
    # Vector memory.
    # A load that also has memory monitored, for S_MONITOR_SLEEP; one that may serve other work-groups too.
    (r"(global|flat)_load_monitor_b32", r"\1_load_dword"),
    (r"(global|flat)_load_monitor_b64", r"\1_load_dwordx2"),
    (r"(global|flat)_load_monitor_b128", r"\1_load_dwordx4"),
    (r"cluster_load_b32", "global_load_dword"),
    (r"cluster_load_b64", "global_load_dwordx2"),
    (r"cluster_load_b128", "global_load_dwordx4"),
    (r"global_inv", "buffer_inv"),
    (r"global_wb", "buffer_wbl2"),
)
_TWO_ADDRESSES = re.compile(r"(ds_(?:read|write|wrxchg))_2addr(_stride64)?_(\w+)")
_MEMORY = re.compile(r"(flat|global|scratch|t?buffer)_(load|store|atomic)_(\w+)")
_ELEMENTS = {
    **{"u8": "ubyte", "i8": "sbyte", "u16": "ushort", "i16": "sshort", "b8": "byte", "b16": "short"},
    **{"b32": "dword", "b64": "dwordx2", "b96": "dwordx3", "b128": "dwordx4", "b256": "dwordx8"},
    "b512": "dwordx16",
}
_ATOMICS = {
    **{f"{name}_b32": name for name in ("swap", "cmpswap", "and", "or", "xor")},
    **{f"{name}_u32": name for name in ("add", "sub", "inc", "dec")},
    **{f"{name}_b64": f"{name}_x2" for name in ("swap", "cmpswap", "and", "or", "xor")},
    **{f"{name}_u64": f"{name}_x2" for name in ("add", "sub", "inc", "dec")},
    **{
        f"{name}_{sign}{bits}": f"{kind}{name}{suffix}"
        for name in ("min", "max")
        for sign, kind in (("i", "s"), ("u", "u"))
        for bits, suffix in ((32, ""), (64, "_x2"))
    },
}

_CHANGED = re.compile(
    # Writes EXEC alone; gfx9's writes VCC or a named pair too.
    r"v_cmpx_\w+|"
    # Other registers, messages and counters by the same numbers.
    r"s_[gs]etreg_\w+|s_sendmsg\w*|s_waitcnt|s_barrier|"
    # Compares the second data register and stores the first; gfx9's ds_cmpst has them the other way round.
    r"ds_cmpstore_\w+|"
    # Other bits select the byte; adds in another order.
    r"v_cvt_(pk_)?f32_(fp8|bf8)|v_dot2_f32_bf16"
)


def _memory(space: str, access: str, rest: str) -> str:
    if access == "atomic":
        return f"{space}_atomic_{_ATOMICS.get(rest, rest)}"
    # load_d16_hi_u8 is load_ubyte_d16_hi, load_d16_format_x is load_format_d16_x.
    placed = re.fullmatch(r"(d16(?:_hi)?)_(\w+)", rest)
    place, element = (placed[1], placed[2]) if placed else ("", rest)
    if element.startswith("format_"):
        head, _, channels = element.partition("_")
        return "_".join(part for part in (space, access, head, place, channels) if part)
    if place and element == "b16":
        element = "short"
    return "_".join(part for part in (space, access, _ELEMENTS.get(element, element), place) if part)


def _gfx9_name(opcode: str) -> str:
    if (match := _MEMORY.fullmatch(opcode)) and not match[3].startswith("monitor_"):
        return _memory(*match.groups())
    if match := re.fullmatch(r"s_(buffer_)?load_(b\d+)", opcode):
        return f"s_{match[1] or ''}load_{_ELEMENTS[match[2]]}"
    name = next((re.sub(p, r, opcode) for p, r in _NAMES if re.fullmatch(p, opcode)), opcode)
    if match := _TWO_ADDRESSES.fullmatch(name):
        return f"{match[1]}2{'st64' if match[2] else ''}_{match[3]}"
    return name


@cache
def _gfx9_opcodes() -> frozenset[str]:
    with Path(__file__).with_name("opcodes.csv").open(encoding="utf-8", newline="") as file:
        return frozenset(re.sub(r"_(e32|e64|dpp|sdwa)$", "", row["mnemonic"]) for row in csv.DictReader(file))


def meaning_of(mnemonic: str) -> str:
    """gfx9's name of the operation that an opcode does; "" if gfx9 has none."""
    opcode = re.sub(r"_(e32|e64)$", "", mnemonic)
    if _CHANGED.fullmatch(opcode):
        return ""
    name = _gfx9_name(opcode)
    return name if name in _gfx9_opcodes() else ""
