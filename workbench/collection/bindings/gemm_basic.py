"""Plain matrix products C = A Bᵀ: bf16, 8 bits, 4 bits, and mixed ones."""

from __future__ import annotations

from workbench.collection.convert import integers
from workbench.collection.record import Function, Given, PortModule, Use

_SCALED = {
    "A": "i8|bf16 [M K] or fp8 [M K]",
    "B": "i8|bf16 [N K] or fp8 [N K]",
    "scale_a": "fp32 [M] or fp32 [M 1]",
    "scale_b": "fp32 [N] or fp32 [N 1] or fp32 [1 N]",
    "C": "bf16 [M N]",
}


def _is_fp8(given: Given) -> bool:
    return "float8" in str(given["A"].dtype)


def _scaled(operator: str, a: str, b: str, *, fp8: bool) -> Use:
    """A Bᵀ with scales of rows, of one type of elements."""
    return Use(
        operator,
        {
            "a": lambda given: integers("A", given),
            "b": lambda given: integers("B", given),
            "scale_a": lambda given: given[a].flatten(),
            "scale_b": lambda given: given[b].flatten(),
        },
        {"c": "C"},
        when=lambda given: _is_fp8(given) == fp8,
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

MODULES = (
    PortModule(row=10, name="gemm_a16w16_tk", functions=[_A16W16], doc="A Bᵀ of bf16."),
    PortModule(
        row=15,
        name="gemm_a8w8_tk",
        functions=[_A8W8],
        doc="A Bᵀ of int8 or fp8, times a scale for each row of A and of B.",
    ),
    PortModule(
        row=17,
        name="gemm_a8w8_per_token_scale_tk",
        functions=[_A8W8_PER_TOKEN],
        doc="As gemm_a8w8_tk, with C before the scales.",
    ),
)
