"""Expert GEMMs of mxfp4: operands with two elements per byte, and their powers of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench_kernels.families import experts

BYTES = (torch.uint8,)


def sizes_of(arguments: Mapping[str, Any]) -> dict[str, int]:
    """Sizes of operands with two elements along K per byte, and of their scales."""
    sizes = experts.fits(
        "expert GEMM",
        a=(arguments["a"], BYTES, ("tokens", "K / 2")),
        b=(arguments["b"], BYTES, ("experts", "K / 2", "n")),
    )
    half = sizes.pop("K / 2")
    experts.fits(
        "expert GEMM",
        powers_a=(arguments["powers_a"], BYTES, (sizes["tokens"], half // 16)),
        powers_b=(arguments["powers_b"], BYTES, (sizes["experts"], half // 16, sizes["n"])),
    )
    return {**sizes, "k": 2 * half}


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    sizes = sizes_of(arguments)
    return {
        **sizes,
        **experts.list_shape(sizes, arguments),
        "swiglu": int(arguments["swiglu"]),
    }


def numbers(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Elements of every code, with powers of two from 2^-6 to 1."""

    def draw(low: int, high: int, *dims: int) -> torch.Tensor:
        return torch.randint(low, high, dims, generator=generator).to(torch.uint8)

    tokens, count, n, k = (shape[name] for name in ("tokens", "experts", "n", "k"))
    return {
        "a": draw(0, 256, tokens, k // 2),
        "b": draw(0, 256, count, k // 2, n),
        "powers_a": draw(121, 128, tokens, k // 32),
        "powers_b": draw(121, 128, count, k // 32, n),
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False) -> dict[str, Any]:
    return {
        **numbers(shape, generator),
        **experts.ragged_inputs(shape, generator, skewed=skewed),
        **{"swiglu": bool(shape["swiglu"]), "alpha": 0.125},
    }
