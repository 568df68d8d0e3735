"""The step before latent attention: its queries and its cache, in plain PyTorch."""

from __future__ import annotations

import torch

from workbench_kernels.references.gemm import quantized_gemm
from workbench_kernels.references.rotary import rotate


def bmm_rope_kv_cache(
    q_nope: torch.Tensor,
    w_k: torch.Tensor,
    q_pe: torch.Tensor,
    k_nope: torch.Tensor,
    k_rope: torch.Tensor,
    kv_cache: torch.Tensor,
    slots: torch.Tensor,
    positions: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    w_k_scale: torch.Tensor | None = None,
    k_scale: float = 1.0,
    interleaved: bool = True,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """[q_nope w_kᵀ, rotated q_pe], rotated k_rope, and the cache with [k_nope, rotated k_rope] / k_scale.

    Args:
        q_nope: (heads, B, P).
        w_k: (heads, rank, P) of bf16, or of fp8 with one scale (1,), or (heads, rank, P / 2) of fp4 with
            powers of two (heads, rank, P / 32).
        q_pe: (B, heads, D).
        k_nope, k_rope: (tokens, key heads, rank) and (.., D); the first B tokens are those of the queries.
        kv_cache: (places, key heads, rank + D).
        slots: (tokens,), the slot of each; negative for none.
        positions: (tokens,), rows of cos and sin, (.., D / 2).
    """
    if w_k.dtype == torch.uint8:
        plain = quantized_gemm(q_nope, w_k, scale_b=w_k_scale)
    else:
        plain = q_nope @ w_k.to(q_nope.dtype).mT
        plain = plain if w_k_scale is None else plain * w_k_scale.to(plain.dtype)

    def turned(x: torch.Tensor) -> torch.Tensor:
        at = positions[: len(x)]
        return rotate(x.transpose(0, 1)[None], cos[at], sin[at], None, interleaved)[0].transpose(0, 1)

    q_out = torch.cat((plain.transpose(0, 1), turned(q_pe).to(plain.dtype)), -1)
    k_pe, updated = turned(k_rope), kv_cache.clone()
    rows = torch.cat((k_nope.to(k_pe.dtype), k_pe), -1) / k_scale
    there = slots >= 0
    updated[slots[there]] = rows[there].to(updated.dtype)
    return q_out, k_pe, updated
