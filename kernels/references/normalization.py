"""RMSNorm and LayerNorm in PyTorch, with sums in float32 at least, as in PyTorch's own."""

from __future__ import annotations

import torch


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension."""
    wide = torch.promote_types(x.dtype, torch.float32)
    out = x.to(wide) * torch.rsqrt(x.to(wide).square().mean(-1, keepdim=True) + eps)
    return (out if weight is None else out * weight.to(wide)).to(x.dtype)


def layer_norm(
    x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float
) -> torch.Tensor:
    """(x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last dimension."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
