"""Products fused with a second one, or with a multiplication and an addition."""

from __future__ import annotations

from collections.abc import Callable

from workbench.collection.convert import powers_of_one, single, with_scales
from workbench.collection.record import Call, Function, PortModule, Use, Value

_EIGHT = "i8|bf16|fp8"
_SCALES_A8 = "fp32 [M K/128]"
_SCALES_FP4 = "u8 [{0} K/32] or fp32 [{0} K/32] or none"
_ADDED = "bf16 [M N] or bf16 [1 N] or float"
_DIFFERS_8 = "Takes int8 and fp8 besides bf16 that holds such numbers."
_DIFFERS_4 = "Takes packed fp4 with e8m0 scales besides bf16 that holds such numbers, times floats, in bf16."


def _packed(name: str) -> Value:
    """Scales of packed fp4."""
    return lambda call: powers_of_one(call[f"s{name}"], call[name])


def _mul_add(a: Value, b: Value, scale_a: Value, scale_b: Value) -> dict[str, Value]:
    return {
        **{"a": a, "b": b, "scale_a": scale_a, "scale_b": scale_b},
        "c_a": lambda call: single(call["c_a"], call["a"]),
        "c_b": lambda call: single(call["c_b"], call["a"]),
    }


def _scaled(name: str) -> Value:
    """bf16 numbers with their floats."""
    return lambda call: with_scales(call[name], call[f"s{name}"])


def _is_packed(name: str, packed: bool = True) -> Callable[[Call], bool]:
    return lambda call: bool((call[name].dtype.itemsize == 1) == packed)


_TWO_8 = Function(
    name="dispatch",
    arguments={
        "a8": f"{_EIGHT} [M K]",
        "b8": f"{_EIGHT} [N K]",
        "c8": "bf16 [M N]",
        "sa": _SCALES_A8,
        "sb": "fp32 [K/128 N] or fp32 [N/128 K/128]",
        **{"a16": "bf16 [M K]", "b16": "bf16 [P K]", "c16": "bf16 [M P]"},
    },
    uses=[
        Use(
            "gemm/two_products",
            {"a": "a8", "b": "b8", "scale_a": "sa", "scale_b": "sb", "a16": "a16", "b16": "b16"},
            {"c": "c8", "c16": "c16"},
        )
    ],
    differs=_DIFFERS_8,
)

_MUL_ADD_8 = Function(
    name="dispatch",
    arguments={
        "a": f"{_EIGHT} [M K]",
        "b": f"{_EIGHT} [N K]",
        "c": "bf16 [M N]",
        "sa": _SCALES_A8,
        "sb": "fp32 [K/128 N] or fp32 [N/128 K/128]",
        "c_a": _ADDED,
        "c_b": _ADDED,
    },
    uses=[Use("gemm/mul_add", _mul_add("a", "b", "sa", "sb"), {"c": "c"})],
    differs=_DIFFERS_8,
)

_TWO_4 = Function(
    name="dispatch",
    arguments={
        "a4": "bf16 [M K] or u8 [M K/2]",
        "b4": "bf16 [N K] or u8 [N K/2]",
        "c4": "bf16 [M N]",
        "sa4": _SCALES_FP4.format("M"),
        "sb4": _SCALES_FP4.format("N"),
        **{"a16": "bf16 [M K]", "b16": "bf16 [P K]", "c16": "bf16 [M P]"},
    },
    uses=[
        Use(
            "gemm/two_products",
            {
                **{"a": "a4", "b": "b4", "scale_a": _packed("a4"), "scale_b": _packed("b4")},
                **{"a16": "a16", "b16": "b16"},
            },
            {"c": "c4", "c16": "c16"},
            when=_is_packed("a4"),
        ),
        Use("gemm/bf16", {"a": _scaled("a4"), "b": _scaled("b4")}, {"c": "c4"}, when=_is_packed("a4", False)),
        Use("gemm/bf16", {"a": "a16", "b": "b16"}, {"c": "c16"}, when=_is_packed("a4", False)),
    ],
    differs=f"{_DIFFERS_4} One launch with packed fp4, two with bf16.",
)


def _times(call: Call) -> object:
    value = single(call["c_a"], call["a"])
    return value.to(call["c"].dtype).expand(call["c"].shape).contiguous()


def _plus(call: Call) -> object:
    value = single(call["c_b"], call["a"])
    return value.to(call["c"].dtype).expand(call["c"].shape).contiguous()


_MUL_ADD_4 = Function(
    name="dispatch",
    arguments={
        "a": "bf16 [M K] or u8 [M K/2]",
        "b": "bf16 [N K] or u8 [N K/2]",
        "c": "bf16 [M N]",
        "sa": _SCALES_FP4.format("M"),
        "sb": _SCALES_FP4.format("N"),
        "c_a": _ADDED,
        "c_b": _ADDED,
    },
    uses=[
        Use(
            "gemm/mul_add",
            _mul_add("a", "b", _packed("a"), _packed("b")),
            {"c": "c"},
            when=_is_packed("a"),
        ),
        Use(
            "gemm/bf16",
            {"a": _scaled("a"), "b": _scaled("b"), "gate": _times, "residual": _plus},
            {"c": "c"},
            when=_is_packed("a", False),
        ),
    ],
    differs=_DIFFERS_4,
)

MODULES = (
    PortModule(
        row=24,
        name="fused_gemm_a8w8_blockscale_a16w16_tk",
        functions=[_TWO_8],
        doc="A product of 8 bits with block scales and one of bf16, in one launch.",
    ),
    PortModule(
        row=25,
        name="fused_gemm_a8w8_blockscale_mul_add_tk",
        functions=[_MUL_ADD_8],
        doc="c_a times a product of 8 bits with block scales, plus c_b.",
    ),
    PortModule(
        row=26,
        name="fused_gemm_afp4wfp4_a16w16_tk",
        functions=[_TWO_4],
        doc="A product of fp4 and one of bf16.",
    ),
    PortModule(
        row=27,
        name="fused_gemm_afp4wfp4_mul_add_tk",
        functions=[_MUL_ADD_4],
        doc="c_a times a product of fp4, plus c_b.",
    ),
)
