"""Embeddings whose gradients are summed in float32.

A row's gradient is the sum of those of all tokens that used it: for BERT's token type 0, of all tokens. On a
CPU, PyTorch sums them in the gradient's own dtype, one after the other; in bf16 such a sum soon stops
growing. The cosine of that row's gradient with float64's was 0.9989, and is 0.99998 if summed in float32.
"""

from __future__ import annotations

from typing import Any

import torch


class _Embedding(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, ids: torch.Tensor, weight: torch.Tensor, padding: int) -> torch.Tensor:
        ctx.save_for_backward(ids)
        ctx.rows, ctx.dtype, ctx.padding = len(weight), weight.dtype, padding
        return torch.nn.functional.embedding(ids, weight)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[None, torch.Tensor, None]:
        (ids,) = ctx.saved_tensors
        wide = grad.to(torch.promote_types(grad.dtype, torch.float32))
        summed = torch.ops.aten.embedding_dense_backward(wide, ids, ctx.rows, ctx.padding, False)
        return None, summed.to(ctx.dtype), None


def embedding(ids: torch.Tensor, weight: torch.Tensor, padding: int | None = None) -> torch.Tensor:
    """`torch.nn.functional.embedding`, with its gradient summed in float32, or in its own dtype if that is
    wider.

    Args:
        ids: int64 of any shape.
        weight: [rows, dim].
        padding: index of the row without a gradient.

    Returns:
        [*ids, dim].
    """
    rows: torch.Tensor = _Embedding.apply(ids, weight, -1 if padding is None else padding)  # type: ignore[no-untyped-call]
    return rows
