"""C = (A B0ᵀ) * activation(A B1ᵀ) of bf16 or fp16 matrices: the first half of a gated feed-forward layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Range, Variant
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward, scalars
from workbench_kernels.families.gemm_schedules import Product
from workbench_kernels.references.gemm import ACTIVATIONS, gated_gemm

GATES = tuple(name for name in ACTIVATIONS if name != "none")


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    a, b = arguments["a"], arguments["b"]
    sizes = family.sizes_of(a, b)
    if sizes["n"] % 2 or arguments["activation"] not in GATES:
        raise ShapeError(
            f"GEMM: b is {tuple(b.shape)}, activation is {arguments['activation']!r}; expected an even "
            f"number of rows, the second half the gate's, and one of {', '.join(GATES)}"
        )
    halves = {**sizes, "n": sizes["n"] // 2}
    return {**halves, "dtype": family.dtype_of(a), "activation": arguments["activation"]}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Normally distributed matrices, with B such that sums are of the order of one."""
    dtype, k = scalars.HALVES[shape["dtype"]], shape["k"]
    batch = family.batch_of(shape)
    return {
        "a": torch.randn(*batch, shape["m"], k, generator=generator).to(dtype),
        "b": (torch.randn(*batch, 2 * shape["n"], k, generator=generator) / k**0.5).to(dtype),
        "activation": shape["activation"],
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    family.whole_words(shape, {"k": 8})
    family.within_offsets(shape, 4)


PRODUCT = Product(
    element=lambda shape: scalars.C_TYPES[shape["dtype"]],
    result=lambda shape: scalars.C_TYPES[shape["dtype"]],
    epilogue=lambda shape: f"gated<base_ops::{shape['activation']}>",
    size=lambda shape: 2,
    check=check,
    side=lambda shape: 64 if shape["m"] <= 64 else 128,
    of_b=2,
)

spec = KernelSpec(
    **{**PRODUCT.plain(), "flops": lambda shape: 2 * family.flops(shape)},
    name="gemm/bf16_gated",
    doc="(A B0ᵀ) * activation(A B1ᵀ) of bf16 or fp16 matrices, or batches, where B is [B0; B1]; one kernel "
    "computes both products and the gate; sums in float.",
    parameters={
        **family.SIZES,
        "k": Range(
            8, 1 << 20, step=8, default=512, doc="columns of A and B; a row is a multiple of 16 bytes"
        ),
        "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
        "activation": Choice(GATES, default="silu", doc="function of the second product"),
    },
    shapes=[{"m": 256, "n": 256, "k": 256}, {"m": 60, "n": 131, "k": 136, "batch": 2}],
    inputs=inputs,
    outputs=lambda shape, tensors: {
        "c": ((*tensors["a"].shape[:-1], shape["n"]), tensors["a"].dtype),
    },
    reference=gated_gemm,
    backward=gemm_backward.GATED,
    shape_of=shape_of,
    variants={"ping_pong": PRODUCT.ping_pong([{"m": 300, "n": 264, "k": 200}]), "double_buffer": Variant()},
    bytes=lambda shape: (
        2 * shape["batch"] * (shape["k"] * (shape["m"] + 2 * shape["n"]) + shape["m"] * shape["n"])
    ),
    tensors={
        "a": "dtype[..., m, k]",
        "b": "dtype[..., 2*n, k]",
        "c": "dtype[..., m, n]",
    },
    notes={
        "b": "B0's rows, then B1's, which make the gate",
    },
)
