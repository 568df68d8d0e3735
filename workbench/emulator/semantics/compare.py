"""Lane-wise comparisons: v_cmp_* and v_cmpx_*, whose results are lane masks."""

from __future__ import annotations

from workbench.emulator.semantics.registry import SEMANTICS, compare, register
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import LANES, Value, integer

# Ordered and unordered float predicates under the ISA's names.
FLOAT_PREDICATES = {
    "f": "false",
    "lt": "olt",
    "eq": "oeq",
    "le": "ole",
    "gt": "ogt",
    "lg": "one",
    "ge": "oge",
    "o": "ord",
    "u": "uno",
    "nge": "ult",
    "nlg": "ueq",
    "ngt": "ule",
    "nle": "ugt",
    "neq": "une",
    "nlt": "uge",
    "tru": "true",
}
CONSTANT = ("f", "t", "tru")
_INTEGER = ("f", "lt", "eq", "le", "gt", "ne", "ge", "t")


def _constant(block: BlockTranslator, value: bool) -> Value:
    return block.emitter.const(integer(1, LANES), int(value))


for _kind in ("f16", "f32", "f64"):
    for _name, _predicate in FLOAT_PREDICATES.items():
        # RDNA 3 has another name for it.
        _later = f"v_cmpx_t_{_kind}" if _name == "tru" else None

        @compare(f"{_name}_{_kind}", _kind, later=_later)
        def compare_floats(block: BlockTranslator, a: Value, b: Value, predicate: str = _predicate) -> Value:
            return a.cmp(predicate, b)

    register(f"v_cmp_t_{_kind}", SEMANTICS[f"v_cmp_tru_{_kind}"])


for _bits in (16, 32, 64):
    for _letter, _sign in (("i", "s"), ("u", "u")):
        _kind = f"{_letter}{_bits}"
        for _name in _INTEGER:
            # Later targets have no constant comparisons of 16 bits.
            _later = "" if _bits == 16 and _name in CONSTANT else None

            @compare(f"{_name}_{_kind}", _kind, later=_later)
            def compare_integers(
                block: BlockTranslator, a: Value, b: Value, name: str = _name, sign: str = _sign
            ) -> Value:
                if name in ("f", "t"):
                    return _constant(block, name == "t")
                return a.cmp(name if name in ("eq", "ne") else sign + name, b)


# Bits of a v_cmp_class mask: signalling NaN, quiet NaN, then -inf, -normal, -denormal, -0 and, the other way
# round, +0, +denormal, +normal, +inf.
_CLASSES = {16: (5, 10), 32: (8, 23), 64: (11, 52)}


def _classify(block: BlockTranslator, bits: Value, mask: Value) -> Value:
    """True in lanes where the class of a float, given as its pattern, is in the mask (32-bit lanes)."""
    width = bits.type.bits
    exponent_bits, mantissa_bits = _CLASSES[width]
    largest = ((1 << exponent_bits) - 1) << mantissa_bits
    quiet = largest | 1 << (mantissa_bits - 1)
    magnitude = bits & ((1 << (width - 1)) - 1)
    negative = bits.cmp("slt", 0)

    def chosen(positive_bit: int, negative_bit: int) -> Value:
        return negative.select((mask & (1 << negative_bit)).ne(0), (mask & (1 << positive_bit)).ne(0))

    result = chosen(6, 5)
    result = magnitude.cmp("ugt", 0).select(chosen(7, 4), result)
    result = magnitude.cmp("uge", 1 << mantissa_bits).select(chosen(8, 3), result)
    result = magnitude.cmp("uge", largest).select(chosen(9, 2), result)
    result = magnitude.cmp("ugt", largest).select((mask & 1).ne(0), result)
    return magnitude.cmp("uge", quiet).select((mask & 2).ne(0), result)


for _bits in (16, 32, 64):

    @compare(f"class_f{_bits}", f"f{_bits}", "b32")
    def compare_class(block: BlockTranslator, a: Value, mask: Value) -> Value:
        return _classify(block, a.bits(), mask)
