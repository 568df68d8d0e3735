"""Attention with the signature of PyTorch's own."""

from __future__ import annotations

import torch

from workbench.errors import UsageError
from workbench.operators.registry import kernels


def sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """`torch.nn.functional.scaled_dot_product_attention` with the kernel `flash_attention`.

    softmax(scale query keyᵀ + mask) value, with sums in float; tensors are read without a copy.

    Args:
        query: [batch, heads, queries, dim] of bf16 or fp16; any number of dimensions may replace batch.
        key: [batch, heads_kv, keys, dim].
        value: [batch, heads_kv, keys, dim_v].
        attn_mask: None; the kernel supports only the causal mask.
        dropout_p: 0; the kernel has no dropout.
        is_causal: True if query i attends to keys 0 to i only, as in PyTorch: the first query is aligned with
            the first key. The numbers of queries and keys must then be equal.
        scale: factor of the products; 1 / sqrt(dim) if None.
        enable_gqa: True if a key head may serve several query heads; otherwise their numbers must be equal.

    Returns:
        [batch, heads, queries, dim_v], in the dtype of query.

    Gradients:
        by the kernel `flash_attention_backward`.

    Raises:
        UsageError: a mask or dropout, which the kernel does not support; is_causal with fewer or more keys
            than queries; fewer heads of keys without enable_gqa.
        ShapeError: tensors that do not fit together, or sizes that `flash_attention` does not support.
    """
    if attn_mask is not None:
        raise UsageError(
            "sdpa: attn_mask is given; expected None, the kernel masks by is_causal only; for sequences of "
            "different lengths see ops.flash_attention_varlen"
        )
    if dropout_p:
        raise UsageError(f"sdpa: dropout_p is {dropout_p}; expected 0, the kernel drops nothing")
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() < 3:
            raise UsageError(f"sdpa: {name} is {tuple(tensor.shape)}; expected [batch, heads, tokens, dim]")
    heads, heads_kv = query.shape[-3], key.shape[-3]
    if heads != heads_kv and not enable_gqa:
        raise UsageError(
            f"sdpa: query has {heads} heads, key has {heads_kv}; expected as many, or enable_gqa=True"
        )
    if is_causal and query.shape[-2] != key.shape[-2]:
        raise UsageError(
            f"sdpa: is_causal with {query.shape[-2]} queries and {key.shape[-2]} keys; expected as many: "
            "PyTorch puts the first query at the first key, the kernel the last at the last, as "
            "ops.flash_attention(causal=True) does"
        )
    front = query.shape[:-3]
    q, k, v = (tensor.reshape(-1, *tensor.shape[-3:]).transpose(1, 2) for tensor in (query, key, value))
    results = kernels["attention/forward"](q, k, v, causal=is_causal, scale=scale)
    out: torch.Tensor = results["out"]
    return out.transpose(1, 2).reshape(*front, heads, query.shape[-2], value.shape[-1])
