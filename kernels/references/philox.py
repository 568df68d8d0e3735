"""Philox4x32-10 in PyTorch, and the dropout mask that the tile library derives from it."""

from __future__ import annotations

import torch

MASK = 0xFFFFFFFF


def philox(counter: torch.Tensor, key: int) -> torch.Tensor:
    """Four random words for each counter.

    Args:
        counter: int64 tensor ... x 4 of words below 2^32.
        key: 64 bits.

    Returns:
        int64 tensor of the same shape, words below 2^32.
    """
    c0, c1, c2, c3 = counter.unbind(-1)
    low, high = key & MASK, key >> 32 & MASK
    for _ in range(10):
        (h0, l0), (h1, l1) = _product(0xD2511F53, c0), _product(0xCD9E8D57, c2)
        c0, c1, c2, c3 = h1 ^ c1 ^ low, l1, h0 ^ c3 ^ high, l0
        low, high = low + 0x9E3779B9 & MASK, high + 0xBB67AE85 & MASK
    return torch.stack((c0, c1, c2, c3), -1)


def _product(a: int, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Upper and lower word of a product of words, computed in two halves, since it may exceed int64."""
    lower, upper = (a & 0xFFFF) * b, (a >> 16) * b
    middle = (lower >> 16) + (upper & 0xFFFF)
    return (upper >> 16) + (middle >> 16), (middle << 16 | lower & 0xFFFF) & MASK


def keep_mask(rows: int, cols: int, p: float, seed: int) -> torch.Tensor:
    """Mask of the matrix elements that dropout keeps: those with a random word of at least p * 2^32."""
    fours = -(-cols // 4)
    counter = torch.zeros(rows, fours, 4, dtype=torch.int64)
    counter[..., 0] = torch.arange(fours)
    counter[..., 1] = torch.arange(rows)[:, None]
    threshold = int(torch.tensor(p, dtype=torch.float32).double() * 2**32)
    return (philox(counter, seed) >= threshold).reshape(rows, -1)[:, :cols]


def dropout(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """x / (1 - p) where an element is kept, else zero; every dimension but the last counts as rows."""
    keep = keep_mask(x.numel() // x.shape[-1], x.shape[-1], p, seed).to(x.device)
    return torch.where(keep.view(x.shape), x / (1 - p), 0)
