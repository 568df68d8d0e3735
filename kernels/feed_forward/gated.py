"""A gated feed-forward layer: ((X Wgᵀ) * activation(X Wuᵀ)) W2."""

import torch

from workbench_kernels.families import feed_forward
from workbench_kernels.references.gemm import gated_gemm


def reference(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, activation: str = "silu") -> torch.Tensor:
    """x (M, K), w1 = [Wg; Wu] (2 N, K), w2 (N, K)."""
    return gated_gemm(x, w1, activation) @ w2


spec = feed_forward.layer(
    "feed_forward/gated",
    "((X Wgᵀ) * activation(X Wuᵀ)) W2 of bf16 or fp16, with w1 = [Wg; Wu]: one kernel computes both "
    "products of the first layer and the gate; the hidden columns are rounded to the element type.",
    reference,
    gated=True,
    activations=feed_forward.GATES,
)
