"""Lane-wise integers of 64 bits, and sums with an extreme, as gfx1250 has them.

Sources: LLVM's definitions of these instructions (VOP2Instructions.td, VOP3Instructions.td) and the generic
operations that it selects for them; AMD's pseudocode is not at hand.
"""

from __future__ import annotations

from workbench.emulator.semantics.registry import lanes, packed
from workbench.emulator.semantics.vector_float import fma
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import Value


@lanes("v_add_nc_u64", "u64 <- u64 u64")
def add_u64(block: BlockTranslator, a: Value, b: Value) -> Value:
    return block.emitter.intrinsic("uadd.sat", a, b) if block.clamp else a + b


@lanes("v_sub_nc_u64", "u64 <- u64 u64")
def sub_u64(block: BlockTranslator, a: Value, b: Value) -> Value:
    return block.emitter.intrinsic("usub.sat", a, b) if block.clamp else a - b


@lanes("v_mul_u64", "u64 <- u64 u64")
def mul_u64(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


@lanes("v_mad_u32", "u32 <- u32 u32 u32")
def mad_u32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return a * b + c


@lanes("v_mad_nc_u64_u32", "u64 <- u32 u32 u64")
def mad_nc_u64(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    product = a.zext(64) * b.zext(64)
    return block.emitter.intrinsic("uadd.sat", product, c) if block.clamp else product + c


@lanes("v_mad_nc_i64_i32", "i64 <- i32 i32 i64")
def mad_nc_i64(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    product = a.sext(64) * b.sext(64)
    return block.emitter.intrinsic("sadd.sat", product, c) if block.clamp else product + c


@lanes("v_fmaak_f64 v_fmamk_f64", "f64 <- f64 f64 f64")
def fma_constant_f64(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


for _name in ("min", "max"):
    for _letter, _sign in (("i", "s"), ("u", "u")):

        @lanes(f"v_{_name}_{_letter}64", f"{_letter}64 <- {_letter}64 {_letter}64")
        def extreme(block: BlockTranslator, a: Value, b: Value, name: str = f"{_sign}{_name}") -> Value:
            return block.emitter.intrinsic(name, a, b)

        # The sum saturates with clamp, and is compared afterwards.
        @lanes(f"v_add_{_name}_{_letter}32", f"{_letter}32 <- {_letter}32 {_letter}32 {_letter}32")
        @packed(f"v_pk_add_{_name}_{_letter}16", f"{_letter}16 <- {_letter}16 {_letter}16 {_letter}16")
        def sum_extreme(
            block: BlockTranslator, a: Value, b: Value, c: Value, sign: str = _sign, name: str = _name
        ) -> Value:
            total = block.emitter.intrinsic(f"{sign}add.sat", a, b) if block.clamp else a + b
            return block.emitter.intrinsic(f"{sign}{name}", total, c)

        @packed(f"v_pk_{_name}3_{_letter}16", f"{_letter}16 <- {_letter}16 {_letter}16 {_letter}16")
        def packed_extreme3(
            block: BlockTranslator, a: Value, b: Value, c: Value, name: str = f"{_sign}{_name}"
        ) -> Value:
            return block.emitter.intrinsic(name, block.emitter.intrinsic(name, a, b), c)
