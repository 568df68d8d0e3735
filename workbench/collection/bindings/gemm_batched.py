"""Products of batches: B is K x N as the port has it, or N x K as AITER has it."""

from __future__ import annotations

from typing import Any

from workbench.collection.convert import integers, is_fp8, powers_of_one
from workbench.collection.record import Function, Given, PortModule, Use


def _layout(given: Given) -> str:
    """Of B; a square one is the port's K x N."""
    return "nn" if given["B"].shape[-2] == given["A"].shape[-1] else "nt"


def _a8w8(operator: str, fp8: bool) -> Use:
    return Use(
        operator,
        {
            "a": lambda given: integers("A", given),
            "b": lambda given: integers("B", given),
            "scale_a": lambda given: given["sa"].flatten(1),
            "scale_b": lambda given: given["sb"].flatten(1),
            "bias": "bias",
            "layout": _layout,
        },
        {"c": "C"},
        when=lambda given: is_fp8(given["A"]) == fp8,
    )


def _is_packed(given: Given) -> bool:
    return bool(given["B"].dtype.itemsize == 1)


def _plain(given: Given) -> bool:
    return not _is_packed(given)


_BF16: dict[str, Any] = {"a": "A", "b": "B", "layout": _layout}
_PACKED = "bf16 [G K N] or u8 [G N K/2]"
_DIFFERS = (
    "Takes packed fp4, N x K, with e8m0 scales as a further argument, besides bf16 that holds such numbers."
)

_BATCHED_BF16 = Function(
    name="dispatch",
    arguments={
        "A": "bf16|fp16 [G M K]",
        "B": "bf16|fp16 [G K N] or bf16|fp16 [G N K]",
        "C": "real [G M N]",
        "bias": "bf16|fp16 [G 1 N] or none",
    },
    defaults={"bias": None},
    uses=[Use("gemm/bf16", {**_BF16, "bias": "bias"}, {"c": "C"})],
    differs="Takes B as N x K too; a square B is K x N.",
)

_BATCHED_A8W8 = Function(
    name="dispatch",
    arguments={
        "A": "i8|bf16|fp8 [G M K]",
        "B": "i8|bf16|fp8 [G K N] or i8|bf16|fp8 [G N K]",
        "sa": "fp32 [G M 1] or fp32 [G M]",
        "sb": "fp32 [G 1 N] or fp32 [G N]",
        "C": "bf16 [G M N]",
        "bias": "bf16 [G 1 N] or none",
    },
    defaults={"bias": None},
    uses=[_a8w8("gemm/int8", fp8=False), _a8w8("gemm/fp8", fp8=True)],
    differs="Takes int8 and fp8 besides bf16 that holds whole numbers, and B as N x K too.",
)

_BATCHED_A16WFP4 = Function(
    name="dispatch",
    arguments={"A": "bf16 [G M K]", "B": _PACKED, "C": "bf16 [G M N]", "b_scale": "u8 [G N K/32] or none"},
    defaults={"b_scale": None},
    uses=[
        Use("gemm/bf16", _BF16, {"c": "C"}, when=_plain),
        Use(
            "gemm/a16wfp4",
            {"a": "A", "b": "B", "scale_b": lambda given: powers_of_one(given["b_scale"], given["B"])},
            {"c": "C"},
            when=_is_packed,
        ),
    ],
    differs=_DIFFERS,
)

_BATCHED_AFP4WFP4 = Function(
    name="dispatch",
    arguments={
        "A": "bf16 [G M K] or u8 [G M K/2]",
        "B": _PACKED,
        "C": "bf16 [G M N]",
        "a_scale": "u8 [G M K/32] or none",
        "b_scale": "u8 [G N K/32] or none",
    },
    defaults={"a_scale": None, "b_scale": None},
    uses=[
        Use("gemm/bf16", _BF16, {"c": "C"}, when=_plain),
        Use(
            "gemm/mx",
            {
                "a": "A",
                "b": "B",
                "scale_a": lambda given: powers_of_one(given["a_scale"], given["A"]),
                "scale_b": lambda given: powers_of_one(given["b_scale"], given["B"]),
            },
            {"c": "C"},
            when=_is_packed,
        ),
    ],
    differs=_DIFFERS,
)

MODULES = (
    PortModule(row=20, name="batched_gemm_bf16_tk", functions=[_BATCHED_BF16], doc="A B + bias of bf16."),
    PortModule(
        row=21,
        name="batched_gemm_a8w8_tk",
        functions=[_BATCHED_A8W8],
        doc="A B of 8 bits, times scales of rows and columns, plus a bias.",
    ),
    PortModule(
        row=22, name="batched_gemm_a16wfp4_tk", functions=[_BATCHED_A16WFP4], doc="bf16 by fp4 weights."
    ),
    PortModule(row=23, name="batched_gemm_afp4wfp4_tk", functions=[_BATCHED_AFP4WFP4], doc="A B of fp4."),
)
