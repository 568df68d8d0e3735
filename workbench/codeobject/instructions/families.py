"""Families of opcodes: one row for each, and the records of opcodes that follow from it.

Nothing outside this package looks at the letters of an opcode. Patterns match a whole opcode. Sources are the
CDNA3 and CDNA4 ISA guides' descriptions of instructions; that rows and execution agree is tested for every
opcode (tests/emulator/semantics/test_records.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TypeVar

from workbench.codeobject.instructions.matrix import matrix_of
from workbench.codeobject.instructions.record import (
    Access,
    Arithmetic,
    Combines,
    Control,
    Entry,
    Flow,
    Keeps,
    Lanes,
    Memory,
    Record,
    Registers,
    Space,
    Trait,
)

T = TypeVar("T")
Rows = tuple[tuple[str, T], ...]

_KEEPS: Rows[Keeps] = (
    (r"s_(addk|mulk)_i32|s_bitset.*|s_cmovk?_.*", Keeps.VALUE),
    (r"v_(pk_)?f?mac_.*|v_dot\d(c|acc)_.*|v_smfmac_.*|v_cvt_pkaccum_u8_f32", Keeps.VALUE),
    (r"v_swap_b32|v_permlane.*", Keeps.VALUE),
    (r"v_writelane_b32", Keeps.LANES),
    # Among the 16-bit instructions, those introduced with gfx9 preserve the high half; the others clear it.
    (r"v_(add|sub)_i16|v_mad_[fiu]16|v_mad[am]k_f16|v_fma_f16|v_div_fixup_f16", Keeps.PART),
    (r"v_(min|max|med)3_[fiu]16|v_(fma|mad)_mix(lo|hi)_f16|v_ashr_pk_[iu]8_i32|v_bitop3_b16", Keeps.PART),
    (r"v_cvt_(pk|sr)_(fp8|bf8)_f32|v_cvt_sr_(f16|bf16)_f32", Keeps.PART),
    (r"v_cvt_scalef32_((sr_)?pk_fp4|(sr_|pk_)(fp8|bf8)|f16)_.*", Keeps.PART),
)

_READS: Rows[Registers] = (
    (r"s_cselect_.*|s_addc_u32|s_subb_u32|s_cmovk?_.*|s_cbranch_scc[01]", Registers.SCC),
    (r"v_div_fmas_.*|s_cbranch_vccn?z", Registers.VCC),
    (r"s_.*_(save|wr)exec_b(32|64)|s_cbranch_execn?z", Registers.EXEC),
    (r"s_movrel.*|s_sendmsg.*|s_ttracedata|s_set_gpr_idx_(on|idx|mode)", Registers.M0),
    (r"ds_.*_addtid_b32|ds_gws_.*|ds_append|ds_consume|.*_load_lds_.*", Registers.M0),
    # Fields of MODE that a floating-point instruction reads: rounding, denormals, NaN with clamp, overflow to
    # 8 bits, and whether output modifiers work (CDNA3 ISA guide, "Mode register"). v_cmp_class reads its
    # source unchanged (LLVM's has no implicit $mode). An instruction that writes one field leaves the others.
    (r"v_(?!s?mfma|smfmac|cmpx?_class_)\w*_b?f(16|32|64)(_\w+)?", Registers.MODE),
    (r"v_mfma_f32_\d+x\d+x\d+_?(\d+b_)?x?f32", Registers.MODE),
    (r"ds_(pk_)?(add|min|max|cmpst|cmpstore)_(rtn_)?b?f(16|32)", Registers.MODE),
    (r"s_[gs]etreg_.*|s_set_gpr_idx_(on|off)|s_setvskip", Registers.MODE),
)
_LANEWISE = re.compile(r"VOP.*|DS|FLAT|GLOBAL|SCRATCH|M[TU]BUF|VBUFFER")
_WHOLE_WAVE = re.compile(
    r"v_s?mfma.*|v_s?wmma.*|v_swmmac.*|v_(read|write)lane_b32|v_nop|v_clrexcp|ds_gws_.*|ds_nop|buffer_(inv|wb).*"
)

_WRITES: Rows[Registers] = (
    (r"v_cmpx_.*|s_.*_(save|wr)exec_b(32|64)", Registers.EXEC),
    (r"s_set_gpr_idx_(on|idx|mode)", Registers.M0),
    # s_set_gpr_idx_*: the bit that enables index mode.
    (r"s_setreg_.*|s_set_gpr_idx_(on|off)|s_setvskip", Registers.MODE),
)
# Scalar ALU instructions that do not write SCC; all others do.
_LEAVES_SCC = re.compile(
    r"s_(mov|cmov|cselect|mul|mulk|mul_hi|sext|brev|bfm|pack|ff0|ff1|flbit|bitset[01]|bitreplicate|getpc|setpc|"
    r"swappc|call|getreg|setreg|rfe|movk|cmovk|movrels|movreld|setvskip)_.*|s_set_gpr_idx_.*|s_cbranch_.*|"
    r"s_rfe_.*|s_wrexec_.*|s_setvskip|s_barrier_(signal|init|join)|s_sleep_var|"
    r"s_(add|sub|mul|min_num|max_num|minimum|maximum|fma[ac][ck]?|fmamk|ceil|floor|trunc|rndne|cvt_\w+)_f(16|32)|"
    r"s_cvt_.*|s_(add_nc|sub_nc|mul)_u64"
)

_FLOW: Rows[Flow] = (
    (r"s_branch", Flow.BRANCH),
    (r"s_cbranch_.*", Flow.CONDITIONAL),
    (r"s_call_b64", Flow.CALL),
    (r"s_setpc_b64", Flow.JUMP),
    (r"s_swappc_b64", Flow.INDIRECT_CALL),
    (r"s_trap", Flow.TRAP),
    (r"s_endpgm.*", Flow.END),
)
_BRANCHES = (Flow.BRANCH, Flow.CONDITIONAL, Flow.CALL, Flow.JUMP, Flow.INDIRECT_CALL)

_CONTROL: Rows[Control] = (
    (r"s_waitcnt(_(vm|exp|lgkm|vs)cnt)?|s_wait_\w+cnt|s_wait_idle", Control.WAIT),
    (r"s_nop", Control.IDLE),
    (r"s_sleep", Control.SLEEP),
    (r"s_barrier|s_barrier_wait", Control.BARRIER),
    (r"s_barrier_signal(_isfirst)?", Control.SIGNAL),
    (r"s_setprio", Control.PRIORITY),
    (r"s_setreg_.*", Control.REGISTER),
    (r"s_setvskip", Control.SKIP),
    (r"s_set_vgpr_msb", Control.BANKS),
)

_COMBINES: Rows[Combines] = (
    (r"s_(and|nand|andn1|and_not0)(_saveexec|_wrexec)?_b(32|64)", Combines.AND),
    (r"s_(or|nor|orn1|or_not0)(_saveexec|_wrexec)?_b(32|64)", Combines.OR),
    (r"s_(andn2|and_not1)(_saveexec|_wrexec)?_b(32|64)", Combines.AND_NOT),
    (r"s_cselect_b(32|64)", Combines.CHOICE),
    (r"s_(xor|xnor|orn2|or_not1|not|mov|cmov)(_saveexec|_wrexec)?_b(32|64)", Combines.BITS),
    (r"v_mad_u64_u32|v_mad_i64_i32|v_lshl_add_u64|v_lshlrev_b64|s_lshl_b64", Combines.UPWARDS),
    (r"v_lshrrev_b64|v_ashrrev_i64|s_lshr_b64|s_ashr_i64", Combines.DOWNWARDS),
    (r"v_mov_b64|v_pk_(fma|mul|add)_f32", Combines.DWORDS),
    # The instruction that reads its destination has no parts other than the bytes that exist.
    (r"v_cvt_pkaccum_.*", Combines.ALL),
    (r"v_cndmask_.*|v_perm_.*|v_align.*|v_bfi_.*|v_pack_.*|v_pk_mov_.*", Combines.PARTS),
    (r"v_cvt_(pk|sr|scalef32).*", Combines.PARTS),
)

_LANES: Rows[Lanes] = (
    (r"v_read(first)?lane_b32", Lanes.READ),
    (r"v_writelane_b32", Lanes.WRITE),
    (r"ds_bpermute_b32", Lanes.GATHER),
    (r"ds_permute_b32", Lanes.SCATTER),
    (r"ds_swizzle_b32", Lanes.SWIZZLE),
    (r"v_permlane.*", Lanes.PERMUTE),
)

_SWAP_DISTANCES: Rows[int] = ((r"v_permlane16_swap_b32", 16), (r"v_permlane32_swap_b32", 32))

_WIDE_PRODUCTS = r"mul_(lo|hi)_[ui]32|mad_[ui]64_[ui]32"

_TRAITS: Rows[Trait] = (
    (r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_.*", Trait.TRANSCENDENTAL),
    (r"v_dot.*", Trait.DOT),
    (r"v_swap_b(16|32)|v_permlane(16|32)_swap_b32", Trait.EXCHANGES),
    (r"v_cvt_sr_.*|v_cvt_scalef32_sr_.*|v_cvt_scalef32_pk_fp4_.*", Trait.BYTE_PLACED),
    # LLVM 21 and 22 insert a wait state after these whatever the byte, and after others if it is not the
    # first.
    (r"v_cvt_scalef32_sr_pk_fp4_.*", Trait.FP4_RESULT),
    (r"v_(addc|subb|subbrev)_co_u32", Trait.CARRY_IN),
    (r"v_(addc|subb|subbrev)_co_u32|v_cndmask_.*|v_div_fmas_.*", Trait.MASK_SOURCE),
    (r"s_xor_b.*|s_sub_[iu]32|s_andn2_b.*|s_cmp_.*|v_xor_.*|v_sub_(u|i|co_u)\d+", Trait.CANCELS),
    (r"s_set_gpr_idx_.*", Trait.INDEXES),
    (
        r"s_movrel.*|s_sendmsg.*|s_ttracedata|ds_.*_addtid_b32|ds_gws_.*|.*_load_lds_.*",
        Trait.M0_NOT_INTERLOCKED,
    ),
    (r"buffer_wbl2|global_wb", Trait.WRITES_BACK),
    (r"buffer_inv|buffer_wbinvl1(_vol)?|buffer_gl1_inv", Trait.INVALIDATES),
    (r"v_cvt_.*", Trait.CONVERTS),
    (rf"v_({_WIDE_PRODUCTS})|v_lshl_add_u64", Trait.WIDE_INTEGER),
    (r".*_async_(to|from)_lds_.*|ds_atomic_async_barrier_.*", Trait.ASYNCHRONOUS),
    (r"tensor_(load_to|store_from)_lds", Trait.COPIES_TILES),
)

# Quarter rate: the transcendental unit (CDNA3 ISA guide, "Transcendental") and full 32-bit integer products.
_QUARTER_RATE = re.compile(
    rf"v_((exp|log|rcp|rsq|sqrt|sin|cos)(_iflag|_legacy)?_(f16|f32|f64)|{_WIDE_PRODUCTS})"
)
_MESSAGE = re.compile(r"s_(sendmsg\w*|endpgm\w*)")

_ARITHMETIC = re.compile(
    r"v_(?P<packed>pk_)?(?P<name>add|sub|subrev|mul|fma|fmac|mad|mac|fmamk|fmaak|madmk|madak)(_legacy)?"
    r"_f(?P<bits>16|32|64)"
)
_TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)\w*_f(?P<bits>16|32|64)")
_ADDITIONS = {"add": "ADD", "sub": "ADD", "subrev": "ADD", "mul": "MUL"}

_SPACES: Rows[Space] = (
    (r"ds_(bpermute|permute|swizzle)_b32", Space.LANES),
    (r"ds_gws_.*", Space.GWS),
    (r"ds_.*", Space.LDS),
    (r"global_.*", Space.GLOBAL),
    (r"flat_.*", Space.FLAT),
    (r"scratch_.*", Space.SCRATCH),
    (r"t?buffer_.*", Space.BUFFER),
    (r"s_buffer_.*", Space.SCALAR_BUFFER),
    (r"s_.*", Space.SCALAR),
)
_ACCESSES: Rows[Access] = (
    (r"ds_(bpermute|permute|swizzle)_b32|ds_gws_.*|ds_nop", Access.NONE),
    (r"ds_read.*|ds_load_tr.*|(?!ds_).*_load_.*", Access.LOAD),
    (r"ds_write.*|(?!ds_).*_store_.*", Access.STORE),
    (r"ds_.*|.*_atomic_.*", Access.ATOMIC),
)
_BYTES: Rows[int] = (
    (r"t?buffer_.*_format_.*", 0),
    (r".*_dwordx16", 64),
    (r".*_dwordx8", 32),
    (r".*_dwordx4|ds_(read|write)_b128|.*(_load_tr16|_async_(to|from)_lds)_b128", 16),
    (r".*_dwordx3|ds_(read|write)_b96(_tr_b6)?|.*_load_tr6_b96", 12),
    (r".*_dwordx2|ds_(read|write).*_b64(_tr_b\d+)?|.*(_load_tr[48]|_async_(to|from)_lds)_b64", 8),
    (r".*_[us]?byte(_d16(_hi)?)?|ds_(read|write)_[uib]8(_d16(_hi)?)?|.*_async_(to|from)_lds_b8", 1),
    (r".*_[us]?short(_d16(_hi)?)?|ds_(read|write)_[uib]16(_d16(_hi)?)?", 2),
    (r".*_atomic_.*(_x2|_f64)|ds_.*_[biuf]64", 8),
    (r".*", 4),
)

_NOT_COMPUTE: Rows[str] = (
    (r"ds_gws_.*", "global wave sync, which the driver hands out to whole processes, not to kernels"),
    (r"s_rfe(_restore)?_b64", "return from a trap handler; privileged"),
    (r"s_cbranch_(g_fork|i_fork|join)", "forked branches of older graphics shaders; no compiler emits them"),
    (r"s_(setkill|endpgm_ordered_ps_done)", "pixel shaders"),
    (r"s_atc_probe.*", "address translation probes of the driver"),
    (r"v_screen_partition_.*", "graphics: partition of the screen"),
    (r"s_scratch_(load|store)_.*", "scalar access to scratch memory; no compiler emits it"),
)


_TYPE = re.compile(r"_(?:b?f|[biu])(8|16|32|64)(?=_|$)")


def _has_half_result(opcode: str) -> bool:
    """True if a vector instruction's result, whose type comes first in the name, has 16 bits."""
    types = _TYPE.findall(opcode)
    return bool(types) and types[0] == "16" and "pk" not in opcode


def _first(rows: Rows[T], opcode: str, default: T) -> T:
    return next((value for pattern, value in rows if re.fullmatch(pattern, opcode)), default)


def _every(rows: Rows[T], opcode: str, nothing: T) -> T:
    values: Sequence[T] = [value for pattern, value in rows if re.fullmatch(pattern, opcode)]
    return reduce(or_, values, nothing)


def _memory(format_: str, opcode: str) -> Memory | None:
    if format_ not in ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "VBUFFER", "SMEM"):
        return None
    space, access = _first(_SPACES, opcode, Space.GLOBAL), _first(_ACCESSES, opcode, Access.NONE)
    size = _first(_BYTES, opcode, 4)
    addresses = 1
    if re.fullmatch(r"ds_(read|write|wrxchg)2.*", opcode):
        addresses = 2
    elif re.fullmatch(r"ds_.*_addtid_b32|ds_append|ds_consume", opcode) or access is Access.NONE:
        addresses = 0
    return Memory(
        space=space,
        access=access,
        bytes=0 if access is Access.NONE else size,
        addresses=addresses,
        stride=(64 if "st64" in opcode else 1) * size if addresses == 2 else 1,
        to_lds="_load_lds_" in opcode,
        transposed=re.search(r"_tr\d*_", opcode) is not None,
        exchanges=access is Access.ATOMIC and "swap" in opcode,
        compares=access is Access.ATOMIC and ("cmpswap" in opcode or "cmpst" in opcode),
    )


def _arithmetic(opcode: str) -> Arithmetic | None:
    if match := _ARITHMETIC.fullmatch(opcode):
        kind = _ADDITIONS.get(match["name"], "FMA")
        operations = (2 if kind == "FMA" else 1) * (2 if match["packed"] else 1)
        return Arithmetic(kind, f"F{match['bits']}", operations)
    if match := _TRANSCENDENTAL.fullmatch(opcode):
        return Arithmetic("TRANS", f"F{match['bits']}", 1)
    return None


def _pipeline(format_: str, opcode: str, flow: Flow, memory: Memory | None, is_matrix: bool) -> str:
    if memory is None:
        if format_.startswith("VOP"):
            return "mfma" if is_matrix else "trans" if _QUARTER_RATE.fullmatch(opcode) else "valu"
        if flow in _BRANCHES:
            return "branch"
        if format_ != "SOPP":
            return "salu"
        return "message" if _MESSAGE.fullmatch(opcode) else "internal"
    if format_ in ("SMEM", "DS"):
        return "smem" if format_ == "SMEM" else "lds"
    kind = "other" if memory.access is Access.NONE else memory.access.name.lower()
    return f"{'flat' if format_ == 'FLAT' else 'vmem'}_{kind}"


def of_one_address(opcode: str) -> str:
    """The instruction for one address of ds_read2_* or ds_write2_*; any other opcode unchanged."""
    return re.sub(r"^(ds_read|ds_write)2(st64)?_", r"\1_", opcode)


def record_of(target: str, format_: str, opcode: str, operands: tuple[Entry, ...]) -> Record:
    """The record of an opcode.

    Args:
        target: "gfx90a", "gfx942" or "gfx950".
        format_: the encoding's name without _DPP or _SDWA.
        opcode: the name without the encoding's suffix.
        operands: operands in the form of the target's table.
    """
    matrix, memory, flow = (
        matrix_of(target, opcode),
        _memory(format_, opcode),
        _first(_FLOW, opcode, Flow.NEXT),
    )
    reads, writes = _every(_READS, opcode, Registers.NONE), _every(_WRITES, opcode, Registers.NONE)
    if _LANEWISE.fullmatch(format_) and not _WHOLE_WAVE.fullmatch(opcode):
        reads |= Registers.EXEC
    if format_ in ("SOP1", "SOP2", "SOPC", "SOPK") and not _LEAVES_SCC.fullmatch(opcode):
        writes |= Registers.SCC
    traits = _every(_TRAITS, opcode, Trait.NONE)
    if format_.startswith("VOP") and _has_half_result(opcode):
        traits |= Trait.HALF_RESULT
    return Record(
        opcode=opcode,
        pipeline=_pipeline(format_, opcode, flow, memory, opcode.startswith(("v_mfma", "v_smfmac"))),
        operands=operands,
        keeps=_first(_KEEPS, opcode, Keeps.NOTHING),
        reads=reads,
        writes=writes,
        flow=flow,
        control=_first(_CONTROL, opcode, Control.NONE),
        lanes=_first(_LANES, opcode, Lanes.NONE),
        swap_distance=_first(_SWAP_DISTANCES, opcode, 0),
        combines=_first(_COMBINES, opcode, Combines.ALL),
        traits=traits,
        memory=memory,
        matrix=matrix,
        arithmetic=_arithmetic(opcode),
        not_compute=_first(_NOT_COMPUTE, opcode, ""),
    )
