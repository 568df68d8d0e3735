"""Rows of tokens times the matrices of their experts, of int8 or fp8, by a ragged list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.spec import Choice
from workbench_kernels.families import experts
from workbench_kernels.references.experts import a8w8

ELEMENTS = {"int8": (torch.int8,), "fp8": experts.FP8}


def shape_of(
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None = None,
    top_k: int = 1,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    swiglu: bool = False,
    alpha: float = 1.0,
) -> dict[str, Any]:
    """Shape of a call."""
    dtypes = ELEMENTS["int8" if a.dtype == torch.int8 else "fp8"]
    sizes = experts.fits(
        "expert GEMM",
        a=(a, dtypes, ("tokens", "k")),
        b=(b, dtypes, ("experts", "k", "n")),
        bias=(bias, (torch.float32,), ("experts", "n")),
    )
    return {
        **sizes,
        **experts.ragged_shape("expert GEMM", sizes, offsets, gather, top_k, scale_a, scale_b),
        **{"bias": int(bias is not None), "swiglu": int(swiglu)},
        "element": "int8" if a.dtype == torch.int8 else "fp8",
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, one: bool = False) -> dict[str, Any]:
    """Random codes, or normal numbers as fp8."""
    made: dict[str, Any] = {}
    for name, dims in (("a", (shape["tokens"],)), ("b", (shape["experts"],))):
        wide = (*dims, shape["k"], shape["n"])[: 3 if name == "b" else 2]
        made[name] = (
            torch.randint(-128, 128, wide, generator=generator).to(torch.int8)
            if shape["element"] == "int8"
            else torch.randn(wide, generator=generator).to(torch.float8_e4m3fn)
        )
    made |= experts.ragged_inputs(shape, generator, one=one)
    if shape["scales"] and shape["element"] == "int8":
        made["scale_a"] = made["scale_a"] / 16384
    if shape["bias"]:
        made["bias"] = torch.randn(shape["experts"], shape["n"], generator=generator)
    return {**made, "swiglu": bool(shape["swiglu"]), "alpha": 1.5}


spec = experts.spec(
    "a8w8",
    "scale_a scale_b[e] A B_e + bias[e] for entries of a ragged list of tokens, an expert's one behind the "
    "other; perhaps x sigmoid(alpha x) (y + 1) of neighbouring columns. int8, summed "
    "exactly, or fp8, summed in float; multiplied as they are. B_e is K x N.",
    ("{element}", "{element}"),
    parameters={
        **experts.RAGGED,
        "element": Choice(("int8", "fp8"), doc="type of the numbers"),
        "bias": Choice((0, 1), doc="whether a row for each expert is added"),
        "swiglu": Choice((0, 1), doc="whether neighbouring columns become one"),
    },
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 160, "bias": 1},
        {"tokens": 30, "top_k": 4, "experts": 3, "n": 160, "k": 96, "element": "fp8", "swiglu": 1},
    ],
    inputs=inputs,
    reference=a8w8,
    shape_of=shape_of,
)
