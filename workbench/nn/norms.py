"""Modules that normalize rows."""

from __future__ import annotations

import torch

from workbench import ops


class RMSNorm(torch.nn.RMSNorm):
    """`torch.nn.RMSNorm` with `ops.rms_norm`: its arguments and its state dict (`weight`), which is also
    Llama's.

    Input and weight: both bf16, fp16 or fp32. Sums in float32. `eps` None means that of the input dtype.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Rows [..., *normalized_shape] divided by their root mean squares, times the weight."""
        rows = x.flatten(x.dim() - len(self.normalized_shape))
        weight = rows.new_ones(rows.shape[-1]) if self.weight is None else self.weight.flatten()
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        result: torch.Tensor = ops.rms_norm(rows, weight, eps)
        return result.view(x.shape)


class LayerNorm(torch.nn.LayerNorm):
    """`torch.nn.LayerNorm` with `ops.layer_norm`: its arguments and its state dict (`weight`, `bias`).

    Input, weight and bias: all bf16, fp16 or fp32. Sums in float32.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Rows [..., *normalized_shape] minus their means, over their deviations, times weight, plus bias."""
        rows = x.flatten(x.dim() - len(self.normalized_shape))
        weight, bias = (
            None if parameter is None else parameter.flatten() for parameter in (self.weight, self.bias)
        )
        return ops.layer_norm(rows, weight, bias, self.eps).view(x.shape)
