"""Plain matrix products C = A Bᵀ: bf16, 8 bits, 4 bits, and mixed ones."""

from __future__ import annotations

from workbench.collection.convert import blocks_of_weights, integers, is_fp8, ones, powers_of_one
from workbench.collection.record import Function, PortModule, Use

_SCALED = {
    "A": "i8|bf16 [M K] or fp8 [M K]",
    "B": "i8|bf16 [N K] or fp8 [N K]",
    "scale_a": "fp32 [M] or fp32 [M 1]",
    "scale_b": "fp32 [N] or fp32 [N 1] or fp32 [1 N]",
    "C": "bf16 [M N]",
}


def _scaled(operator: str, a: str, b: str, *, fp8: bool) -> Use:
    """A Bᵀ with a scale per row, for one type of elements."""
    return Use(
        operator,
        {
            "a": lambda call: integers("A", call),
            "b": lambda call: integers("B", call),
            "scale_a": lambda call: call[a].flatten(),
            "scale_b": lambda call: call[b].flatten(),
        },
        {"c": "C"},
        when=lambda call: is_fp8(call["A"]) == fp8,
    )


_A16W16 = Function(
    name="dispatch",
    arguments={"A": "bf16|fp16 [M K]", "B": "bf16|fp16 [N K]", "C": "real [M N]"},
    uses=[Use("gemm/bf16", {"a": "A", "b": "B"}, {"c": "C"})],
)

_A8W8 = Function(
    name="dispatch",
    arguments=_SCALED,
    orders=["A B C scale_a scale_b"],
    uses=[
        _scaled("gemm/int8", "scale_a", "scale_b", fp8=False),
        _scaled("gemm/fp8", "scale_a", "scale_b", fp8=True),
    ],
    differs="Takes int8 and fp8 besides bf16 that holds whole numbers, and sums them exactly.",
)

_A8W8_PER_TOKEN = Function(
    name="dispatch",
    arguments={
        **{"A": _SCALED["A"], "B": _SCALED["B"], "C": _SCALED["C"]},
        **{"a_scale": _SCALED["scale_a"], "b_scale": _SCALED["scale_b"]},
    },
    uses=[
        _scaled("gemm/int8", "a_scale", "b_scale", fp8=False),
        _scaled("gemm/fp8", "a_scale", "b_scale", fp8=True),
    ],
    differs=_A8W8.differs,
)

_ATOMIC = Function(
    name="dispatch",
    arguments={"A": "bf16|fp16 [M K]", "B": "bf16|fp16 [N K]", "C": "bf16|fp32 [M N]"},
    uses=[Use("gemm/bf16_accumulate", {"a": "A", "b": "B", "c": lambda call: call["C"].zero_()})],
)

_GATED = Function(
    name="dispatch",
    arguments={"A": "bf16|fp16 [M K]", "B": "bf16|fp16 [2*N K]", "C": "real [M N]"},
    uses=[Use("gemm/bf16_gated", {"a": "A", "b": "B"}, {"c": "C"})],
)

_A16W8 = Function(
    name="dispatch",
    arguments={
        "A": "bf16 [M K]",
        "B": "i8|bf16|fp8 [N K]",
        "C": "bf16 [M N]",
        "b_scale": "fp32 [N K/128] or fp32 [N/128 K/128]",
    },
    uses=[
        Use(
            "gemm/a16w8_block",
            {"a": "A", "b": "B", "scale_b": lambda call: blocks_of_weights(call["b_scale"], call["B"])},
            {"c": "C"},
        )
    ],
    differs="Takes int8 and fp8 besides bf16 that holds such numbers, and a scale for each 128 rows of B.",
)

_A16WFP4 = Function(
    name="dispatch",
    arguments={
        "A": "bf16 [M K]",
        "B": "bf16 [N K] or u8 [N K/2]",
        "C": "bf16 [M N]",
        "b_scales": "fp32 [N K/32] or u8 [N K/32]",
    },
    uses=[
        Use(
            "gemm/a16wfp4",
            {
                "a": "A",
                "b": "B",
                "scale_b": lambda call: blocks_of_weights(call["b_scales"], call["B"], 32),
            },
            {"c": "C"},
        )
    ],
    differs="Takes packed fp4 with e8m0 scales besides bf16 and floats; A is not rounded to fp4.",
)

_A8W8_BLOCKSCALE = Function(
    name="dispatch",
    arguments={
        "A": "i8|bf16|fp8 [M K]",
        "B": "i8|bf16|fp8 [N K]",
        "C": "bf16 [M N]",
        "a_scale": "fp32 [M K/128]",
        "b_scale": "fp32 [K/128 N] or fp32 [N/128 K/128]",
    },
    uses=[
        Use("gemm/fp8_block", {"a": "A", "b": "B", "scale_a": "a_scale", "scale_b": "b_scale"}, {"c": "C"})
    ],
    differs="Takes int8 and fp8 besides bf16 that holds such numbers, and a scale for each 128 rows of B.",
)

_A8WFP4 = Function(
    name="dispatch",
    arguments={
        "A": "i8|bf16|fp8 [M K]",
        "B": "bf16 [N K] or u8 [N K/2]",
        "a_scale": "fp32 [M] or fp32 [M 1]",
        "C": "bf16 [M N]",
        "b_scale": "u8 [N K/32] or none",
    },
    defaults={"b_scale": None},
    uses=[
        Use(
            "gemm/a8wfp4",
            {
                "a": lambda call: integers("A", call),
                "b": "B",
                "scale_a": lambda call: call["a_scale"].flatten(),
                "scale_b": lambda call: powers_of_one(call["b_scale"], call["B"]),
            },
            {"c": "C"},
            when=lambda call: call["B"].dtype.itemsize == 1,
        ),
        Use(
            "gemm/bf16_scaled",
            {
                "a": lambda call: call["A"].bfloat16(),
                "b": "B",
                "scale_a": lambda call: call["a_scale"].flatten(),
                "scale_b": lambda call: ones(call["B"]),
            },
            {"c": "C"},
            when=lambda call: call["B"].dtype.itemsize == 2,
        ),
    ],
    differs="Takes packed fp4, with e8m0 scales as a further argument, besides bf16 that holds such numbers.",
)

_AFP4WFP4 = Function(
    name="dispatch",
    arguments={
        "A": "bf16 [M K] or u8 [M K/2]",
        "B": "bf16 [N K] or u8 [N K/2]",
        "C": "bf16 [M N]",
        "a_scale": "u8 [M K/32] or none",
        "b_scale": "u8 [N K/32] or none",
    },
    defaults={"a_scale": None, "b_scale": None},
    uses=[
        Use("gemm/bf16", {"a": "A", "b": "B"}, {"c": "C"}, when=lambda g: g["A"].dtype.itemsize == 2),
        Use(
            "gemm/mx",
            {
                "a": "A",
                "b": "B",
                "scale_a": lambda call: powers_of_one(call["a_scale"], call["A"]),
                "scale_b": lambda call: powers_of_one(call["b_scale"], call["B"]),
            },
            {"c": "C"},
            when=lambda call: call["A"].dtype.itemsize == 1,
        ),
    ],
    differs=_A8WFP4.differs,
)

MODULES = (
    PortModule(row=10, name="gemm_a16w16_tk", functions=[_A16W16], doc="A Bᵀ of bf16."),
    PortModule(
        row=11,
        name="gemm_a16w16_atomic_tk",
        functions=[_ATOMIC],
        doc="A Bᵀ of bf16, parts of K added by atomic additions; C is zeroed first.",
    ),
    PortModule(
        row=12,
        name="gemm_a16w16_gated_tk",
        functions=[_GATED],
        doc="(A B0ᵀ) * silu(A B1ᵀ), B0 and B1 being the halves of B.",
    ),
    PortModule(
        row=13,
        name="gemm_a16w8_blockscale_tk",
        functions=[_A16W8],
        doc="bf16 by 8-bit weights with a scale for each 128 columns.",
    ),
    PortModule(
        row=14, name="gemm_a16wfp4_tk", functions=[_A16WFP4], doc="bf16 by fp4 weights with block scales."
    ),
    PortModule(
        row=15,
        name="gemm_a8w8_tk",
        functions=[_A8W8],
        doc="A Bᵀ of int8 or fp8, times a scale for each row of A and of B.",
    ),
    PortModule(
        row=16,
        name="gemm_a8w8_blockscale_tk",
        functions=[_A8W8_BLOCKSCALE],
        doc="8-bit products with a scale for each 128 columns of A and B.",
    ),
    PortModule(
        row=17,
        name="gemm_a8w8_per_token_scale_tk",
        functions=[_A8W8_PER_TOKEN],
        doc="Like gemm_a8w8_tk, with C before the scales.",
    ),
    PortModule(
        row=18, name="gemm_a8wfp4_tk", functions=[_A8WFP4], doc="8-bit A with row scales by fp4 weights."
    ),
    PortModule(row=19, name="gemm_afp4wfp4_tk", functions=[_AFP4WFP4], doc="A Bᵀ of fp4."),
)
