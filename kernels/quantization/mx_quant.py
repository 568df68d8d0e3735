"""Rows to the microscaled formats: fp4, fp6 or fp8 with a power of two for each 32 columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench_kernels.families import quantization as family
from workbench_kernels.families import rowwise
from workbench_kernels.references.quantization import quantize_mx

NAME = "mx_quant"


def reference(
    x: torch.Tensor, format: str = "e2m1", rounding: str = "even"
) -> tuple[torch.Tensor, torch.Tensor]:
    """x / 2^(s - 127) to fp4 (two per byte), fp6 (four per three bytes) or fp8; a byte s for each 32 columns.

    The power of two is the exponent of a block's largest magnitude minus that of the format's largest number.
    `rounding` takes the exponent of the magnitude itself (down), of the magnitude rounded to the format's
    mantissa (even, as AITER's mxfp4), or the smallest exponent for which nothing saturates (up, as AITER's
    MoE weights).
    """
    return quantize_mx(x, format, rounding)


def inputs(shape: Mapping[str, Any], x: torch.Tensor) -> dict[str, Any]:
    return {"x": x, "format": shape["format"], "rounding": shape["rounding"]}


spec = family.quantizer(
    NAME,
    scales=family.POWERS,
    reference=reference,
    shape_of=lambda x, format="e2m1", rounding="even": family.shape_of(
        NAME, x, format, family.POWERS, rounding=rounding
    ),
    inputs=lambda shape, generator: inputs(shape, rowwise.random(shape, generator, scale=3)),
    hard_inputs={"edges": lambda shape, generator: inputs(shape, family.edges(shape, generator))},
    shapes=[
        {"rows": 256, "cols": 4096},
        {"rows": 33, "cols": 96, "dtype": "fp32", "format": "e2m3", "rounding": "up"},
        {"rows": 9, "cols": 2080, "dtype": "fp16", "format": "e3m2", "rounding": "down"},
    ],
)
