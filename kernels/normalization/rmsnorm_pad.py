"""RMSNorm of rows into longer rows, padded with zeros."""

from __future__ import annotations

import torch

from workbench_kernels.families import normalization
from workbench_kernels.references.normalization import rms_norm


def reference(x: torch.Tensor, weight: torch.Tensor, out_cols: int, eps: float = 1e-5) -> torch.Tensor:
    """RMSNorm of the rows of x into rows of `out_cols` columns, padded with zeros."""
    return torch.nn.functional.pad(rms_norm(x, weight, eps), (0, out_cols - x.shape[-1]))


spec = normalization.padded("rmsnorm_pad", reference=reference, summed=False)
