"""Rows to int8 or fp8 with a float for each block of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench_kernels.families import quantization as family
from workbench_kernels.families import rowwise
from workbench_kernels.references.quantization import quantize

NAME = "per_block_quant"


def reference(x: torch.Tensor, format: str = "int8", block: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """x / scale to int8 or fp8, ties to even, with a scale for each `block` columns of a row.

    A scale is max(|x|, 1e-10) / the format's largest number; the last block of a row may be shorter.
    """
    return quantize(x, format, block)


def inputs(shape: Mapping[str, Any], x: torch.Tensor) -> dict[str, Any]:
    return {"x": x, "format": shape["format"], "block": shape["block"]}


spec = family.quantizer(
    NAME,
    scales=family.BLOCKS,
    reference=reference,
    shape_of=lambda x, format="int8", block=128: family.shape_of(NAME, x, format, family.BLOCKS, block),
    inputs=lambda shape, generator: inputs(shape, rowwise.random(shape, generator, scale=3)),
    hard_inputs={"edges": lambda shape, generator: inputs(shape, family.edges(shape, generator))},
    shapes=[{"rows": 256, "cols": 4096}, {"rows": 33, "cols": 200, "dtype": "fp32", "block": 64}],
)
