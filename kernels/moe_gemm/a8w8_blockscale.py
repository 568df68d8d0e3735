"""Rows of tokens times the matrices of their experts, of 8 bits with factors of blocks, by a ragged list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.spec import Choice, Range
from workbench_kernels.families import experts
from workbench_kernels.moe_gemm import a8w8 as plain
from workbench_kernels.references.experts import a8w8_blockscale


def shape_of(
    a: torch.Tensor,
    b: torch.Tensor,
    blocks_a: torch.Tensor,
    blocks_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None = None,
    top_k: int = 1,
    group_k: int = 128,
    group_n: int = 128,
    bias: torch.Tensor | None = None,
) -> dict[str, Any]:
    """Shape of a call."""
    shape = plain.shape_of(a, b, offsets, gather, top_k, None, None, bias)
    deep, wide = -(-shape["k"] // max(group_k, 1)), -(-shape["n"] // max(group_n, 1))
    experts.fits(
        "expert GEMM",
        blocks_a=(blocks_a, (torch.float32,), (shape["tokens"], deep)),
        blocks_b=(blocks_b, (torch.float32,), (shape["experts"], deep, wide)),
    )
    kept = {name: value for name, value in shape.items() if name not in ("scales", "swiglu")}
    return {**kept, "group_k": group_k, "group_n": group_n}


def inputs(shape: Mapping[str, Any], generator: torch.Generator, one: bool = False) -> dict[str, Any]:
    """Random codes, and factors of differing size."""
    made = plain.inputs({**shape, "scales": 0, "swiglu": 0}, generator, one)
    deep, wide = -(-shape["k"] // shape["group_k"]), -(-shape["n"] // shape["group_n"])
    unit = 1 / 128 if shape["element"] == "int8" else 1.0
    return {
        **{name: value for name, value in made.items() if name not in ("swiglu", "alpha")},
        "blocks_a": unit * (torch.rand(shape["tokens"], deep, generator=generator) + 0.5),
        "blocks_b": unit * (torch.rand(shape["experts"], deep, wide, generator=generator) + 0.5),
        **{name: shape[name] for name in ("group_k", "group_n")},
    }


PARAMETERS = {name: p for name, p in experts.RAGGED.items() if name != "scales"}

spec = experts.spec(
    "a8w8_blockscale",
    "A B_e + bias[e] for entries of a ragged list of tokens, where products of group_k numbers are "
    "multiplied by a factor of their row of A and one of their group_n columns of B_e. int8 or fp8, "
    "multiplied as they are; B_e is K x N; sums in float.",
    ("{element}", "{element}"),
    parameters={
        **PARAMETERS,
        "group_k": Range(32, 1024, step=32, default=128, doc="numbers along K of a block"),
        "group_n": Range(1, 1024, default=128, doc="columns of a block of B"),
        "element": Choice(("int8", "fp8"), doc="type of the numbers"),
        "bias": Choice((0, 1), doc="whether a row for each expert is added"),
    },
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 288},
        {
            "tokens": 60,
            "top_k": 2,
            "experts": 3,
            "n": 160,
            "k": 160,
            "element": "fp8",
            "group_k": 32,
            "group_n": 64,
        },
    ],
    inputs=inputs,
    reference=a8w8_blockscale,
    shape_of=shape_of,
)
