"""RMSNorm of rows, optionally of x + residual, to fp4, fp6 or fp8 with power-of-two scales."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import Choice
from workbench_kernels.families import quantization as family
from workbench_kernels.families import rowwise
from workbench_kernels.references.normalization import rms_norm
from workbench_kernels.references.quantization import quantize_mx

NAME = "fused_rmsnorm_mx_quant"


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    residual: torch.Tensor | None = None,
    eps: float = 1e-5,
    format: str = "e2m1",
    rounding: str = "even",
) -> tuple[torch.Tensor, ...]:
    """rms_norm(x + residual) * weight, in float, to fp4, fp6 or fp8 with a power of two for each 32 columns.

    Results are the elements, the bytes s of the scales 2^(s - 127), and x + residual, empty without a
    residual; `rounding` as in `mx_quant`.
    """
    h = x.double() if residual is None else x.double() + residual.double()
    quantized = quantize_mx(rms_norm(h, weight, eps), format, rounding)
    return *quantized, h.to(x.dtype) if residual is not None else x.new_empty(0)


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    x, residual = arguments["x"], arguments["residual"]
    shape = family.shape_of(
        NAME, x, arguments["format"], family.POWERS, rounding=arguments["rounding"], residual=residual
    )
    rowwise.check_columns(NAME, x, weight=arguments["weight"])
    return {**shape, "residual": int(residual is not None)}


spec = family.quantizer(
    NAME,
    scales=family.POWERS,
    source="rms_norm",
    exact=False,
    reference=reference,
    shape_of=shape_of,
    more={"residual": Choice((0, 1), doc="whether there is a residual")},
    inputs=lambda shape, generator: {
        "x": rowwise.random(shape, generator),
        "weight": rowwise.near_one(shape, generator),
        **({"residual": rowwise.random(shape, generator)} if shape["residual"] else {}),
        **{name: shape[name] for name in ("format", "rounding")},
    },
    shapes=[{"rows": 256, "cols": 4096}, {"rows": 33, "cols": 224, "dtype": "fp32", "residual": 1}],
)
