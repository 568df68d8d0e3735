"""Expert GEMMs of int8 times 4-bit integers: operands, factors and zero points of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench_kernels.families import experts


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    half = arguments["a"].shape[-1] // 2 if arguments["a"].dim() else 0
    sizes = experts.fits(
        "expert GEMM",
        a=(arguments["a"], (torch.int8,), ("tokens", "k")),
        b=(arguments["b"], (torch.uint8,), ("experts", half, "n")),
    )
    deep = -(-sizes["k"] // max(arguments["group_k"], 1))
    groups = (sizes["experts"], deep, sizes["n"])
    experts.fits(
        "expert GEMM",
        blocks_b=(arguments["blocks_b"], (torch.float32,), groups),
        zero=(arguments["zero"], (torch.float32,), groups),
    )
    return {
        **sizes,
        **experts.list_shape(sizes, arguments),
        **{"group_k": arguments["group_k"], "zero": int(arguments["zero"] is not None)},
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False) -> dict[str, Any]:
    """Random codes; zero points are integers, as in integer quantization."""
    k, n = shape["k"], shape["n"]
    groups = (shape["experts"], -(-k // shape["group_k"]), n)
    tensors = {
        "a": torch.randint(-128, 128, (shape["tokens"], k), generator=generator).to(torch.int8),
        "b": torch.randint(0, 256, (shape["experts"], k // 2, n), generator=generator).to(torch.uint8),
        "blocks_b": (torch.rand(groups, generator=generator) + 0.5) / 512,
        **experts.ragged_inputs(shape, generator, skewed=skewed),
        "group_k": shape["group_k"],
    }
    if shape["zero"]:
        tensors["zero"] = torch.randint(0, 16, groups, generator=generator).float()
    return {name: value for name, value in tensors.items() if name != "scale_b"}
