"""A feed-forward layer: activation(X W1ᵀ) W2."""

import torch

from workbench_kernels.families import feed_forward
from workbench_kernels.references.gemm import ACTIVATIONS


def reference(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, activation: str = "none") -> torch.Tensor:
    """x (M, K), w1 (N, K), w2 (N, K)."""
    return ACTIVATIONS[activation](x @ w1.mT) @ w2


spec = feed_forward.layer(
    "feed_forward/ungated",
    "activation(X W1ᵀ) W2 of bf16 or fp16, in two launches; the hidden columns are rounded to the element "
    "type.",
    reference,
    gated=False,
    activations=tuple(ACTIVATIONS),
)
