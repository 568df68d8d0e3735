"""Products of batches: B is K x N, or N x K as AITER has it, and the port's kernels.

Their tensors have a dimension of 1 in front, as HipKittens' global layouts have four.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.collection.convert import integers, is_fp8, powers_of_one
from workbench.collection.record import Call, Function, PortModule, Use

if TYPE_CHECKING:
    import torch


def _layout(call: Call) -> str:
    """Layout of B: with four dimensions it is N x K; a square one of three dimensions is K x N."""
    b = call["B"]
    return "nn" if b.dim() == 3 and b.shape[-2] == call["A"].shape[-1] else "nt"


def _in_batches(tensor: torch.Tensor) -> torch.Tensor:
    """Removes a dimension in front of the batch's."""
    return tensor[0] if tensor.dim() == 4 else tensor


def _batch(name: str) -> Callable[[Call], torch.Tensor | None]:
    """An argument, or None."""
    return lambda call: None if call[name] is None else _in_batches(call[name])


def _both(dtypes: str, dims: str) -> str:
    """Kinds of a tensor of three dimensions, and of one with a 1 in front."""
    return f"{dtypes} [{dims}] or {dtypes} [1 {dims}]"


def _a8w8(operator: str, fp8: bool) -> Use:
    return Use(
        operator,
        {
            "a": lambda call: _in_batches(integers("A", call)),
            "b": lambda call: _in_batches(integers("B", call)),
            "scale_a": lambda call: _in_batches(call["sa"]).flatten(1),
            "scale_b": lambda call: _in_batches(call["sb"]).flatten(1),
            "bias": _batch("bias"),
            "layout": _layout,
        },
        {"c": _batch("C")},
        when=lambda call: is_fp8(call["A"]) == fp8,
    )


def _is_packed(call: Call) -> bool:
    return bool(call["B"].dtype.itemsize == 1)


def _plain(call: Call) -> bool:
    return not _is_packed(call)


_BF16: dict[str, Any] = {"a": _batch("A"), "b": _batch("B"), "layout": _layout}
_PACKED = "bf16 [G K N] or bf16 [1 G N K] or u8 [G N K/2]"
_SHAPES = " With a leading dimension of 1, as in the port's tests, B is N x K."
_DIFFERS = (
    "Takes packed fp4, N x K, with e8m0 scales as a further argument, besides bf16 that holds such numbers."
    + _SHAPES
)

_BATCHED_BF16 = Function(
    name="dispatch",
    arguments={
        "A": _both("bf16|fp16", "G M K"),
        "B": "bf16|fp16 [G K N] or bf16|fp16 [G N K] or bf16|fp16 [1 G N K]",
        "C": _both("real", "G M N"),
        "bias": f"{_both('bf16|fp16', 'G 1 N')} or none",
    },
    defaults={"bias": None},
    uses=[Use("gemm/bf16", {**_BF16, "bias": _batch("bias")}, {"c": _batch("C")})],
    differs="Takes B as N x K too; a square B of three dimensions is K x N." + _SHAPES,
)

_BATCHED_A8W8 = Function(
    name="dispatch",
    arguments={
        "A": _both("i8|bf16|fp8", "G M K"),
        "B": "i8|bf16|fp8 [G K N] or i8|bf16|fp8 [G N K] or i8|bf16|fp8 [1 G N K]",
        "sa": "fp32 [G M 1] or fp32 [G M] or fp32 [1 G 1 M]",
        "sb": "fp32 [G 1 N] or fp32 [G N] or fp32 [1 G 1 N]",
        "C": _both("bf16", "G M N"),
        "bias": f"{_both('bf16', 'G 1 N')} or none",
    },
    defaults={"bias": None},
    uses=[_a8w8("gemm/int8", fp8=False), _a8w8("gemm/fp8", fp8=True)],
    differs="Takes int8 and fp8 besides bf16 that holds whole numbers, and B as N x K too." + _SHAPES,
)

_BATCHED_A16WFP4 = Function(
    name="dispatch",
    arguments={
        **{"A": _both("bf16", "G M K"), "B": _PACKED, "C": _both("bf16", "G M N")},
        "b_scale": "u8 [G N K/32] or none",
    },
    defaults={"b_scale": None},
    uses=[
        Use("gemm/bf16", _BF16, {"c": _batch("C")}, when=_plain),
        Use(
            "gemm/a16wfp4",
            {
                "a": _batch("A"),
                "b": "B",
                "scale_b": lambda call: powers_of_one(call["b_scale"], call["B"]),
            },
            {"c": _batch("C")},
            when=_is_packed,
        ),
    ],
    differs=_DIFFERS,
)

_BATCHED_AFP4WFP4 = Function(
    name="dispatch",
    arguments={
        "A": f"{_both('bf16', 'G M K')} or u8 [G M K/2]",
        "B": _PACKED,
        "C": _both("bf16", "G M N"),
        "a_scale": "u8 [G M K/32] or none",
        "b_scale": "u8 [G N K/32] or none",
    },
    defaults={"a_scale": None, "b_scale": None},
    uses=[
        Use("gemm/bf16", _BF16, {"c": _batch("C")}, when=_plain),
        Use(
            "gemm/mx",
            {
                "a": "A",
                "b": "B",
                "scale_a": lambda call: powers_of_one(call["a_scale"], call["A"]),
                "scale_b": lambda call: powers_of_one(call["b_scale"], call["B"]),
            },
            {"c": _batch("C")},
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
