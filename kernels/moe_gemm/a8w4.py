"""Rows of int8 times matrices of 4-bit integers with factors and zero points of groups, by a ragged list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.spec import Choice, Range
from workbench_kernels.families import experts
from workbench_kernels.references.experts import a8w4


def shape_of(
    a: torch.Tensor,
    b: torch.Tensor,
    blocks_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None = None,
    top_k: int = 1,
    group_k: int = 128,
    zero: torch.Tensor | None = None,
    scale_a: torch.Tensor | None = None,
) -> dict[str, Any]:
    """Shape of a call."""
    sizes = experts.fits(
        "expert GEMM",
        a=(a, (torch.int8,), ("tokens", "k")),
        b=(b, (torch.uint8,), ("experts", a.shape[-1] // 2 if a.dim() else 0, "n")),
    )
    deep = -(-sizes["k"] // max(group_k, 1))
    groups = (sizes["experts"], deep, sizes["n"])
    experts.fits(
        "expert GEMM",
        blocks_b=(blocks_b, (torch.float32,), groups),
        zero=(zero, (torch.float32,), groups),
    )
    return {
        **sizes,
        **experts.ragged_shape("expert GEMM", sizes, offsets, gather, top_k, scale_a),
        **{"group_k": group_k, "zero": int(zero is not None)},
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


spec = experts.spec(
    "a8w4",
    "scale_a A ((B_e - zero) * factors) for entries of a ragged list of tokens: A of int8, B_e of integers "
    "from 0 to 15, two of neighbours along K in a byte, less a zero point (8 where there is none) and times"
    " a factor for each group_k of a column. Multiplied as int8 or, with zero points, as bf16: exactly.",
    ("int8", "int4_{zero}"),
    parameters={
        **experts.RAGGED,
        "group_k": Range(32, 1024, step=32, default=128, doc="numbers along K that share a factor"),
        "zero": Choice((0, 1), doc="whether there are zero points"),
    },
    define=experts.instance("int8", "int4_{zero}", listing="ragged", factors=True),
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 288, "zero": 1},
        {"tokens": 60, "top_k": 2, "experts": 3, "n": 160, "k": 160, "group_k": 32},
    ],
    inputs=inputs,
    reference=a8w4,
    shape_of=shape_of,
)
