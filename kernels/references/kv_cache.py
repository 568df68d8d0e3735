"""Keys and values of new tokens in a paged cache."""

from __future__ import annotations

import torch


def written(rows: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor, scale: float) -> torch.Tensor:
    """The cache with rows (tokens, heads, 1, dim), divided by a number, in their slots; negative slots are
    skipped."""
    updated, block = cache.clone(), cache.shape[2]
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            updated[slot // block, :, slot % block] = (rows[token, :, 0] / scale).to(cache.dtype)
    return updated


def kv_cache(
    k: torch.Tensor,
    v: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slots: torch.Tensor,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both caches (blocks, heads, block, dim) with k and v in their slots."""
    return written(k, key_cache, slots, k_scale), written(v, value_cache, slots, v_scale)
