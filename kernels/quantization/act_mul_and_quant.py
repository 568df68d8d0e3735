"""activation(gate) * up to int8 or fp8 with a float for each block of columns."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import Choice
from workbench_kernels.families import quantization as family
from workbench_kernels.families import rowwise
from workbench_kernels.references.quantization import gated, quantize

NAME = "act_mul_and_quant"


def reference(
    x: torch.Tensor, activation: str = "silu", format: str = "int8", block: int = 128
) -> tuple[torch.Tensor, torch.Tensor]:
    """activation(gate) * up of rows [gate, up], to int8 or fp8 with a scale for each `block` columns."""
    return quantize(gated(x, activation), format, block)


def shape_of(
    x: torch.Tensor, activation: str = "silu", format: str = "int8", block: int = 128
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    return {**family.shape_of(NAME, x, format, family.BLOCKS, block, halves=2), "activation": activation}


spec = family.quantizer(
    NAME,
    scales=family.BLOCKS,
    source="gated<families::activation::{activation}>",
    halves=2,
    exact=False,
    reference=reference,
    shape_of=shape_of,
    more={"activation": Choice(family.ACTIVATIONS, doc="activation of the first half of a row")},
    inputs=lambda shape, generator: {
        "x": rowwise.random(shape, generator, wide=2, scale=2),
        **{name: shape[name] for name in ("activation", "format", "block")},
    },
    shapes=[{"rows": 256, "cols": 2048}, {"rows": 33, "cols": 200, "dtype": "fp32", "activation": "gelu"}],
)
