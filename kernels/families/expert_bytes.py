"""Expert GEMMs of int8 and fp8: operands, and scales of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench_kernels.families import experts, scalars

ELEMENTS = {"int8": (torch.int8,), "fp8": scalars.FP8}


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    element = "int8" if arguments["a"].dtype == torch.int8 else "fp8"
    sizes = experts.fits(
        "expert GEMM",
        a=(arguments["a"], ELEMENTS[element], ("tokens", "k")),
        b=(arguments["b"], ELEMENTS[element], ("experts", "k", "n")),
        bias=(arguments["bias"], (torch.float32,), ("experts", "n")),
    )
    return {
        **sizes,
        **experts.list_shape(sizes, arguments),
        **{"element": element, "bias": int(arguments["bias"] is not None)},
        **({"swiglu": int(arguments["swiglu"])} if "swiglu" in arguments else {}),
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False) -> dict[str, Any]:
    """Random codes, or normally distributed numbers as fp8."""
    tensors: dict[str, Any] = {}
    for name, dims in (("a", (shape["tokens"],)), ("b", (shape["experts"],))):
        wide = (*dims, shape["k"], shape["n"])[: 3 if name == "b" else 2]
        tensors[name] = (
            torch.randint(-128, 128, wide, generator=generator).to(torch.int8)
            if shape["element"] == "int8"
            else torch.randn(wide, generator=generator).to(torch.float8_e4m3fn)
        )
    tensors |= experts.ragged_inputs(shape, generator, skewed=skewed)
    if shape["scales"] and shape["element"] == "int8":
        tensors["scale_a"] = tensors["scale_a"] / 16384
    if shape["bias"]:
        tensors["bias"] = torch.randn(shape["experts"], shape["n"], generator=generator)
    return {**tensors, "swiglu": bool(shape["swiglu"]), "alpha": 1.5}


def blocks_shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call with scales of blocks."""
    shape = shape_of(**arguments)
    group_k, group_n = arguments["group_k"], arguments["group_n"]
    deep, wide = -(-shape["k"] // max(group_k, 1)), -(-shape["n"] // max(group_n, 1))
    experts.fits(
        "expert GEMM",
        blocks_a=(arguments["blocks_a"], (torch.float32,), (shape["tokens"], deep)),
        blocks_b=(arguments["blocks_b"], (torch.float32,), (shape["experts"], deep, wide)),
    )
    return {**shape, "group_k": group_k, "group_n": group_n}


def blocks_inputs(
    shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False
) -> dict[str, Any]:
    """Random codes, and scales of different sizes."""
    tensors = inputs({**shape, "scales": 0, "swiglu": 0}, generator, skewed)
    deep, wide = -(-shape["k"] // shape["group_k"]), -(-shape["n"] // shape["group_n"])
    unit = 1 / 128 if shape["element"] == "int8" else 1.0
    return {
        **{name: value for name, value in tensors.items() if name not in ("swiglu", "alpha")},
        "blocks_a": unit * (torch.rand(shape["tokens"], deep, generator=generator) + 0.5),
        "blocks_b": unit * (torch.rand(shape["experts"], deep, wide, generator=generator) + 0.5),
        **{name: shape[name] for name in ("group_k", "group_n")},
    }
