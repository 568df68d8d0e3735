"""Expert GEMMs of int8 times 4-bit integers: operands, factors and zero points of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench_kernels.families import experts


def shape_of(**given: Any) -> dict[str, Any]:
    """Shape of a call."""
    half = given["a"].shape[-1] // 2 if given["a"].dim() else 0
    sizes = experts.fits(
        "expert GEMM",
        a=(given["a"], (torch.int8,), ("tokens", "k")),
        b=(given["b"], (torch.uint8,), ("experts", half, "n")),
    )
    deep = -(-sizes["k"] // max(given["group_k"], 1))
    groups = (sizes["experts"], deep, sizes["n"])
    experts.fits(
        "expert GEMM",
        blocks_b=(given["blocks_b"], (torch.float32,), groups),
        zero=(given["zero"], (torch.float32,), groups),
    )
    return {
        **sizes,
        **experts.list_shape(sizes, given),
        **{"group_k": given["group_k"], "zero": int(given["zero"] is not None)},
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, one: bool = False) -> dict[str, Any]:
    """Random codes; zero points are whole, as quantization to integers makes them."""
    k, n = shape["k"], shape["n"]
    groups = (shape["experts"], -(-k // shape["group_k"]), n)
    made = {
        "a": torch.randint(-128, 128, (shape["tokens"], k), generator=generator).to(torch.int8),
        "b": torch.randint(0, 256, (shape["experts"], k // 2, n), generator=generator).to(torch.uint8),
        "blocks_b": (torch.rand(groups, generator=generator) + 0.5) / 512,
        **experts.ragged_inputs(shape, generator, one=one),
        "group_k": shape["group_k"],
    }
    if shape["zero"]:
        made["zero"] = torch.randint(0, 16, groups, generator=generator).float()
    return {name: value for name, value in made.items() if name != "scale_b"}
