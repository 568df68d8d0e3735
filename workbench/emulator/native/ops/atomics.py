"""Atomic instructions as calls of native/ops/atomics.c.

One table for memory and one for LDS give each name its number in abi.h's `HkAtomic`.
"""

from __future__ import annotations

from functools import partial

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.buffer import address_fields
from workbench.emulator.native.ops.lds import lds_offset, two_lds_offsets
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, scalar

_INTEGER = {
    "swap": abi.SWAP,
    "cmpswap": abi.CMPSWAP,
    "add": abi.ADD,
    "sub": abi.SUB,
    "smin": abi.SMIN,
    "umin": abi.UMIN,
    "smax": abi.SMAX,
    "umax": abi.UMAX,
    "and": abi.AND,
    "or": abi.OR,
    "xor": abi.XOR,
    "inc": abi.INC,
    "dec": abi.DEC,
}
MEMORY_ATOMICS: dict[str, int] = {
    **_INTEGER,
    **{f"{name}_x2": kind | abi.ATOMIC_64 for name, kind in _INTEGER.items()},
    "add_f32": abi.ADD_FLOAT,
    "pk_add_f16": abi.PK_ADD_F16,
    "pk_add_bf16": abi.PK_ADD_BF16,
    "add_f64": abi.ADD_FLOAT | abi.ATOMIC_64,
    "min_f64": abi.MIN_FLOAT | abi.ATOMIC_64,
    "max_f64": abi.MAX_FLOAT | abi.ATOMIC_64,
}
_LATER = {
    "min_num_f32": abi.MIN_NUMBER,
    "max_num_f32": abi.MAX_NUMBER,
    "cond_sub_u32": abi.COND_SUB,
    "sub_clamp_u32": abi.SUB_CLAMP,
    "min_num_f64": abi.MIN_NUMBER | abi.ATOMIC_64,
    "max_num_f64": abi.MAX_NUMBER | abi.ATOMIC_64,
}
"""Those that later targets have in addition, in memory and in LDS."""
_LATER_MEMORY = {
    **_LATER,
    "min_f32": abi.MIN_FLOAT,
    "max_f32": abi.MAX_FLOAT,
    "cmpswap_f32": abi.CMPSWAP_FLOAT,
    "csub_u32": abi.SUB_CLAMP,
}
"""Those of memory; the last four are RDNA 3's."""

# (name without ds_, kind, has a returning form named ..._rtn_...)
_LDS_NAMES = (
    ("add_u32", abi.ADD),
    ("sub_u32", abi.SUB),
    ("rsub_u32", abi.RSUB),
    ("inc_u32", abi.INC),
    ("dec_u32", abi.DEC),
    ("min_i32", abi.SMIN),
    ("max_i32", abi.SMAX),
    ("min_u32", abi.UMIN),
    ("max_u32", abi.UMAX),
    ("and_b32", abi.AND),
    ("or_b32", abi.OR),
    ("xor_b32", abi.XOR),
    ("mskor_b32", abi.MSKOR),
    ("cmpst_b32", abi.CMPSWAP),
    ("cmpst_f32", abi.CMPSWAP_FLOAT),
    ("min_f32", abi.MIN_FLOAT),
    ("max_f32", abi.MAX_FLOAT),
    ("add_f32", abi.ADD_FLOAT),
    ("pk_add_f16", abi.PK_ADD_F16),
    ("pk_add_bf16", abi.PK_ADD_BF16),
)
_LDS_WIDE_NAMES = (
    ("add_u64", abi.ADD),
    ("sub_u64", abi.SUB),
    ("rsub_u64", abi.RSUB),
    ("inc_u64", abi.INC),
    ("dec_u64", abi.DEC),
    ("min_i64", abi.SMIN),
    ("max_i64", abi.SMAX),
    ("min_u64", abi.UMIN),
    ("max_u64", abi.UMAX),
    ("and_b64", abi.AND),
    ("or_b64", abi.OR),
    ("xor_b64", abi.XOR),
    ("mskor_b64", abi.MSKOR),
    ("cmpst_b64", abi.CMPSWAP),
    ("cmpst_f64", abi.CMPSWAP_FLOAT),
    ("min_f64", abi.MIN_FLOAT),
    ("max_f64", abi.MAX_FLOAT),
    ("add_f64", abi.ADD_FLOAT),
)


def _returning(name: str) -> str:
    head, _, tail = name.rpartition("_")
    return f"{head}_rtn_{tail}"


LDS_ATOMICS: dict[str, int] = {
    **dict(_LDS_NAMES),
    **{_returning(name): kind for name, kind in _LDS_NAMES},
    **{name: kind | abi.ATOMIC_64 for name, kind in _LDS_WIDE_NAMES},
    **{_returning(name): kind | abi.ATOMIC_64 for name, kind in _LDS_WIDE_NAMES},
    "wrxchg_rtn_b32": abi.SWAP,
    "wrxchg_rtn_b64": abi.SWAP | abi.ATOMIC_64,
    "wrap_rtn_b32": abi.WRAP,
    "condxchg32_rtn_b64": abi.CONDXCHG32 | abi.ATOMIC_64,
}


def _encode_memory(function: str, kind: int, instruction: Instruction, rows: Rows) -> OpFields:
    address, data, *base = instruction.src
    return OpFields(
        function=function,
        dst=rows.row(instruction.dst[0]) if instruction.dst else NO_REGISTER,
        src0=rows.row(address),
        src1=rows.row(data),
        ssrc0=(scalar_base := scalar(base[0]) if base else NO_REGISTER),
        offset=instruction.modifiers.get("offset", 0),
        flags=rows.address_flags(instruction, scalar_base),
        imm=(0, kind),
    )


def _encode_buffer(kind: int, instruction: Instruction, rows: Rows) -> OpFields:
    # The data register also receives the old value, if that is returned.
    data = instruction.dst[0] if instruction.dst else instruction.src[0]
    returns = instruction.modifiers.get("sc0") or instruction.modifiers.get("glc")
    fields = address_fields(instruction, rows)
    constant = fields.pop("constant")
    return OpFields(
        function="hk_buffer_atomic",
        dst=rows.row(data) if returns else NO_REGISTER,
        src1=rows.row(data),
        imm=(constant, kind),
        **fields,
    )


def _encode_lds(kind: int, instruction: Instruction, rows: Rows, stores_first: bool = False) -> OpFields:
    address, *data = instruction.src
    if kind & ~abi.ATOMIC_64 in (abi.CMPSWAP, abi.CMPSWAP_FLOAT) and not stores_first:
        # The compare operand of ds_cmpst comes first, that of memory atomics last.
        data.reverse()
    return OpFields(
        function="hk_ds_atomic",
        dst=rows.row(instruction.dst[0]) if instruction.dst else NO_REGISTER,
        src0=rows.row(address),
        src1=rows.row(data[0]),
        src2=rows.row(data[1]) if len(data) > 1 else NO_REGISTER,
        offset=lds_offset(instruction),
        imm=(0, kind),
    )


def _encode_exchange2(kind: int, instruction: Instruction, rows: Rows) -> OpFields:
    first, second = two_lds_offsets(instruction)
    address, data0, data1 = instruction.src
    return OpFields(
        function="hk_ds_wrxchg2",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(address),
        src1=rows.row(data0),
        src2=rows.row(data1),
        offset=first,
        imm=(second, kind),
    )


def _encode_append(instruction: Instruction, rows: Rows) -> OpFields:
    return OpFields(
        function="hk_ds_append",
        dst=rows.row(instruction.dst[0]),
        offset=lds_offset(instruction),
        flags=int(instruction.opcode == "ds_consume"),
    )


NATIVE: dict[str, NativeOp] = {
    **{
        f"{space}_atomic_{name}": NativeOp(function, partial(_encode_memory, function, kind))
        for space in ("global", "flat")
        for function in (f"hk_{space}_atomic",)
        for name, kind in {**MEMORY_ATOMICS, **_LATER_MEMORY}.items()
    },
    **{
        f"buffer_atomic_{name}": NativeOp("hk_buffer_atomic", partial(_encode_buffer, kind))
        for name, kind in {**MEMORY_ATOMICS, **_LATER_MEMORY}.items()
    },
    **{
        f"ds_{name}": NativeOp("hk_ds_atomic", partial(_encode_lds, kind))
        for name, kind in {
            **LDS_ATOMICS,
            **_LATER,
            **{_returning(name): kind for name, kind in _LATER.items()},
        }.items()
    },
    # Later targets have the operands the other way round, and another name.
    **{
        f"ds_cmpstore{returning}_{letter}{bits}": NativeOp(
            "hk_ds_atomic", partial(_encode_lds, kind | wide, stores_first=True)
        )
        for letter, kind in (("b", abi.CMPSWAP), ("f", abi.CMPSWAP_FLOAT))
        for returning in ("", "_rtn")
        for bits, wide in ((32, 0), (64, abi.ATOMIC_64))
    },
    **{
        f"ds_wrxchg2{stride}_rtn_{data}": NativeOp("hk_ds_wrxchg2", partial(_encode_exchange2, kind))
        for stride in ("", "st64")
        for data, kind in (("b32", 0), ("b64", abi.ATOMIC_64))
    },
    "ds_append": NativeOp("hk_ds_append", _encode_append),
    "ds_consume": NativeOp("hk_ds_append", _encode_append),
}
