"""Matrix multiplication in PyTorch, in the precision of the tensors that it is given."""

from __future__ import annotations

from collections.abc import Callable

import torch

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}
"""By name, what may be done to each element."""


def finish(
    sums: torch.Tensor,
    alpha: float,
    bias: torch.Tensor | None,
    activation: str,
    gate: torch.Tensor | None,
    residual: torch.Tensor | None,
    beta: float,
) -> torch.Tensor:
    """activation(alpha sums + bias) * gate + beta residual; what is None is left out."""
    made = alpha * sums
    if bias is not None:
        made = made + bias
    made = ACTIVATIONS[activation](made)
    if gate is not None:
        made = made * gate
    return made if residual is None else made + beta * residual


def gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    layout: str = "nt",
    alpha: float = 1.0,
    bias: torch.Tensor | None = None,
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
) -> torch.Tensor:
    """activation(alpha A B + bias) * gate + beta residual, of a matrix or of each of a batch.

    a is M x K ("n") or K x M ("t"), b is K x N ("n") or N x K ("t"), as `layout` says of each. Bias has N
    elements; gate and residual are M x N.
    """
    left = a.mT if layout[0] == "t" else a
    right = b.mT if layout[1] == "t" else b
    return finish(left @ right, alpha, bias, activation, gate, residual, beta)


def scaled_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
) -> torch.Tensor:
    """A Bᵀ with a scale for each row of a (M x K) and of b (N x K), finished as `gemm` does.

    PyTorch's CPU has no product of fp8 matrices, so that those are widened to the type of the scales first.
    """
    wide = scale_a.dtype
    sums = (a.to(wide) @ b.to(wide).mT) * scale_a[..., :, None] * scale_b[..., None, :]
    return finish(sums, 1.0, bias, activation, gate, residual, beta)


def grouped_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    layout: str = "nt",
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
) -> torch.Tensor:
    """Rows offsets[g] to offsets[g + 1] of a by matrix g of b, finished as `gemm` does."""
    right = b.mT if layout[1] == "t" else b
    runs = offsets.tolist()
    sums = torch.cat([a[runs[g] : runs[g + 1]] @ right[g] for g in range(len(b))])
    return finish(sums, 1.0, None, activation, gate, residual, beta)
