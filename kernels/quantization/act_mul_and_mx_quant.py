"""activation(gate) * up to fp4, fp6 or fp8 with a power of two for each 32 columns."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import Choice
from workbench_kernels.families import quantization as family
from workbench_kernels.families import rowwise
from workbench_kernels.references.quantization import gated, quantize_mx

NAME = "act_mul_and_mx_quant"


def reference(
    x: torch.Tensor, activation: str = "silu", format: str = "e2m1", rounding: str = "even"
) -> tuple[torch.Tensor, torch.Tensor]:
    """activation(gate) * up of rows [gate, up], to fp4, fp6 or fp8 with a power of two for each 32 columns.

    `rounding` and results as in `mx_quant`.
    """
    return quantize_mx(gated(x, activation), format, rounding)


def shape_of(
    x: torch.Tensor, activation: str = "silu", format: str = "e2m1", rounding: str = "even"
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    return {
        **family.shape_of(NAME, x, format, family.POWERS, rounding=rounding, halves=2),
        "activation": activation,
    }


spec = family.quantizer(
    NAME,
    scales=family.POWERS,
    source="gated<families::activation::{activation}>",
    halves=2,
    exact=False,
    reference=reference,
    shape_of=shape_of,
    more={"activation": Choice(family.ACTIVATIONS, doc="activation of the first half of a row")},
    inputs=lambda shape, generator: {
        "x": rowwise.random(shape, generator, wide=2, scale=2),
        **{name: shape[name] for name in ("activation", "format", "rounding")},
    },
    shapes=[{"rows": 256, "cols": 2048}, {"rows": 33, "cols": 224, "dtype": "fp32", "activation": "gelu"}],
)
