"""Rows to int8 or fp8 with a scale for each row."""

from __future__ import annotations

import torch

from workbench_kernels.families import quantization as family
from workbench_kernels.families import rowwise
from workbench_kernels.references.quantization import quantize


def reference(x: torch.Tensor, format: str = "int8") -> tuple[torch.Tensor, torch.Tensor]:
    """x / scale to int8 or fp8, ties to even; a row's scale is max(|x|, 1e-10) / the format's largest."""
    return quantize(x, format, 0)


spec = family.quantizer(
    "per_token_quant",
    scales=family.ROWS,
    reference=reference,
    shape_of=lambda x, format="int8": family.shape_of("per_token_quant", x, format, family.ROWS),
    inputs=lambda shape, generator: {
        "x": rowwise.random(shape, generator, scale=3),
        "format": shape["format"],
    },
    hard_inputs={
        "edges": lambda shape, generator: {
            "x": family.edges(shape, generator),
            "format": shape["format"],
        }
    },
    shapes=[
        {"rows": 256, "cols": 4096},
        {"rows": 33, "cols": 77, "dtype": "fp32"},
        {"rows": 3, "cols": 8200, "dtype": "fp16"},
    ],
)
