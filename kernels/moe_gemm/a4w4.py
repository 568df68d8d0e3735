"""Rows of mxfp4 times the matrices of their experts, of mxfp4, by a ragged list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.spec import Choice
from workbench_kernels.families import experts
from workbench_kernels.references.experts import a4w4

BYTES = (torch.uint8,)


def sizes_of(
    a: torch.Tensor, b: torch.Tensor, powers_a: torch.Tensor, powers_b: torch.Tensor
) -> dict[str, int]:
    """Sizes of operands of which a byte has two numbers along K, and of their scales."""
    sizes = experts.fits(
        "expert GEMM", a=(a, BYTES, ("tokens", "K / 2")), b=(b, BYTES, ("experts", "K / 2", "n"))
    )
    half = sizes.pop("K / 2")
    experts.fits(
        "expert GEMM",
        powers_a=(powers_a, BYTES, (sizes["tokens"], half // 16)),
        powers_b=(powers_b, BYTES, (sizes["experts"], half // 16, sizes["n"])),
    )
    return {**sizes, "k": 2 * half}


def shape_of(
    a: torch.Tensor,
    b: torch.Tensor,
    powers_a: torch.Tensor,
    powers_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None = None,
    top_k: int = 1,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    swiglu: bool = False,
    alpha: float = 1.0,
) -> dict[str, Any]:
    """Shape of a call."""
    sizes = sizes_of(a, b, powers_a, powers_b)
    return {
        **sizes,
        **experts.ragged_shape("expert GEMM", sizes, offsets, gather, top_k, scale_a, scale_b),
        "swiglu": int(swiglu),
    }


def numbers(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Numbers of every code, with powers of two from 2^-6 to 1."""

    def draw(low: int, high: int, *dims: int) -> torch.Tensor:
        return torch.randint(low, high, dims, generator=generator).to(torch.uint8)

    tokens, count, n, k = (shape[name] for name in ("tokens", "experts", "n", "k"))
    return {
        "a": draw(0, 256, tokens, k // 2),
        "b": draw(0, 256, count, k // 2, n),
        "powers_a": draw(121, 128, tokens, k // 32),
        "powers_b": draw(121, 128, count, k // 32, n),
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, one: bool = False) -> dict[str, Any]:
    return {
        **numbers(shape, generator),
        **experts.ragged_inputs(shape, generator, one=one),
        **{"swiglu": bool(shape["swiglu"]), "alpha": 0.125},
    }


spec = experts.spec(
    "a4w4",
    "scale_a scale_b[e] A B_e for entries of a ragged list of tokens, of e2m1 numbers with a power of two "
    "for each 32 along K; perhaps x sigmoid(alpha x) (y + 1) of neighbouring columns. B_e is K / 2 x N "
    "bytes. By the scaled matrix instructions on gfx950, as bf16 on gfx942; sums in float.",
    ("fp4", "fp4"),
    parameters={
        **experts.RAGGED,
        "swiglu": Choice((0, 1), doc="whether neighbouring columns become one"),
    },
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 160},
        {"tokens": 60, "top_k": 2, "experts": 3, "n": 160, "k": 96, "swiglu": 1},
    ],
    inputs=inputs,
    reference=a4w4,
    shape_of=shape_of,
)
