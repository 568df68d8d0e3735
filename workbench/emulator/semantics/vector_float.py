"""Lane-wise and packed floating-point arithmetic: sums, products, fused multiply-add.

Results are rounded once, to nearest even; the operations are LLVM instructions.
"""

from __future__ import annotations

from typing import Any

from workbench.emulator.semantics.float_patterns import FLOATS
from workbench.emulator.semantics.registry import lanes, packed, packed_floats
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.operands import flush, flush_result


def fma(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """a * b + c rounded once."""
    if a.type.bits == 16 and "avx512fp16" not in block.options.host and not block.mode.round64:
        return _fma_f16(block, a, b, c)
    return block.emitter.intrinsic("fma", a, b, c)


def _fma_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """Without half-precision hardware: the product is exact in single precision."""
    return sum_to_odd((a.fpext(32) * b.fpext(32)).fpext(64), c.fpext(64)).fptrunc(16)


def sum_to_odd(product: Value, addend: Value) -> Value:
    """The sum of two f64 in single precision, rounded to odd: it rounds to 16 bits as the exact sum would."""
    total = product + addend
    # The rounding error of the sum (Knuth), exact.
    part = total - product
    error = (product - (total - part)) + (addend - part)
    bits = total.bits()
    # Where the sum was inexact and its last bit is even, step towards the exact sum.
    inexact = error.cmp("one", 0.0) & (bits & 1).eq(0)
    towards_zero = (error.bits() ^ bits).cmp("slt", 0)
    stepped = towards_zero.select(bits - 1, bits + 1)
    odd = inexact.select(stepped, bits).bitcast(total.type)
    # Single precision has enough bits left to stay odd-rounded: the truncated ones are joined to the last.
    pattern = odd.bits()
    truncated = pattern & ~0x1FFFFFFF
    sticky = (pattern & 0x1FFFFFFF).ne(0).zext(64).shl(29)
    return (truncated | sticky).bitcast(total.type).fptrunc(32)


_ARITHMETIC: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "subrev": lambda a, b: b - a,
    "mul": lambda a, b: a * b,
}
for _kind in FLOATS:
    for _name, _meaning in _ARITHMETIC.items():
        if _kind == "f64" and _name in ("sub", "subrev"):
            continue

        @lanes(f"v_{_name}_{_kind}", f"{_kind} <- {_kind} {_kind}")
        def arithmetic(block: BlockTranslator, a: Value, b: Value, meaning: Any = _meaning) -> Value:
            return meaning(a, b)  # type: ignore[no-any-return]

    @lanes(f"v_fma_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", keep_high=True)
    def fma_lanes(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
        return fma(block, a, b, c)

    @lanes(f"v_fmac_{_kind}", f"{_kind} <- {_kind} {_kind} old", keep_high=True)
    def fmac(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
        return fma(block, a, b, c)


@lanes("v_fmaak_f32", "f32 <- f32 f32 f32")
def fmaak(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


@lanes("v_fmamk_f32", "f32 <- f32 f32 f32")
def fmamk(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


@lanes("v_fmaak_f16 v_fmamk_f16", "f16 <- f16 f16 f16")
def fma_constant_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


@lanes("v_fma_legacy_f16", "f16 <- f16 f16 f16")
def fma_legacy_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


def _mad_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """Multiply, round, add, round, with denormals flushed everywhere: this unit of gfx90a has none."""
    return flush(flush(flush(a) * flush(b)) + flush(c))


@lanes("v_mad_f32 v_madak_f32 v_madmk_f32", "f32 <- f32 f32 f32")
def mad_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _mad_f32(block, a, b, c)


@lanes("v_mac_f32", "f32 <- f32 f32 old")
def mac_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _mad_f32(block, a, b, c)


@lanes("v_mad_legacy_f32", "f32 <- f32 f32 f32")
def mad_legacy_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    zero = flush(a).eq(0.0) | flush(b).eq(0.0)
    return zero.select(flush(c), _mad_f32(block, a, b, c))


@lanes("v_mad_f16", "f16 <- f16 f16 f16", keep_high=True)
def mad_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return flush_result(block, a * b) + c


@lanes("v_mad_legacy_f16", "f16 <- f16 f16 f16")
def mad_legacy_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return flush_result(block, a * b) + c


@lanes("v_mac_f16", "f16 <- f16 f16 old", keep_high=True)
def mac_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return flush_result(block, a * b) + c


@lanes("v_madak_f16 v_madmk_f16", "f16 <- f16 f16 f16", keep_high=True)
def mad_constant_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return flush_result(block, a * b) + c


@lanes("v_mul_legacy_f32", "f32 <- f32 f32")
def mul_legacy(block: BlockTranslator, a: Value, b: Value) -> Value:
    zero = a.eq(0.0) | b.eq(0.0)
    return zero.select(0.0, a * b)


@lanes("v_fmac_dx9_zero_f32", "f32 <- f32 f32 old")
@lanes("v_fma_dx9_zero_f32", "f32 <- f32 f32 f32")
def fma_dx9_zero(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    zero = a.eq(0.0) | b.eq(0.0)
    return zero.select(c, fma(block, a, b, c))


@lanes("v_mullit_f32", "f32 <- f32 f32 f32")
def mullit(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """The product, or the most negative number where b is that or less, or c is not positive, or a NaN is
    either."""
    least = float.fromhex("-0x1.fffffep+127")
    is_product = b.cmp("ogt", least) & c.cmp("ogt", 0.0)
    return is_product.select(a * b, least)


@packed_floats("v_pk_add_f32")
def pk_add_f32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a + b


@packed_floats("v_pk_mul_f32")
def pk_mul_f32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


@packed_floats("v_pk_fma_f32")
def pk_fma_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


@packed("v_pk_add_f16", "f16 <- f16 f16")
def pk_add_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a + b


@packed("v_pk_mul_f16", "f16 <- f16 f16")
def pk_mul_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


@packed("v_pk_fma_f16", "f16 <- f16 f16 f16")
def pk_fma_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)
