"""RMSNorm of a sum into longer rows, padded with zeros."""

from __future__ import annotations

import torch

from workbench_kernels.families import normalization
from workbench_kernels.references.normalization import rms_norm


def reference(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, out_cols: int, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor]:
    """RMSNorm of x + residual into rows of `out_cols` columns, padded with zeros, and the sum."""
    h = x + residual
    return torch.nn.functional.pad(rms_norm(h, weight, eps), (0, out_cols - x.shape[-1])), h


spec = normalization.padded("fused_add_rmsnorm_pad", reference=reference, summed=True)
