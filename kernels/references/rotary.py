"""Rotary position embeddings in PyTorch."""

from __future__ import annotations

import torch


def rotate(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None = None,
    interleaved: bool = False,
) -> torch.Tensor:
    """Rotates pairs of elements of heads.

    Args:
        x: batch x heads x tokens x dim.
        cos, sin: positions x turned / 2; the first `turned` elements of a head are rotated.
        positions: the tables' rows for batch x tokens or tokens; token s is at position s where it is None.
        interleaved: whether elements 2 i and 2 i + 1 make a pair (GPT-J), or i and i + turned / 2 (NeoX).
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    half = cos.shape[-1]
    places = torch.arange(x.shape[-2], device=x.device) if positions is None else positions
    # batch x 1 x tokens x half, or 1 x tokens x half.
    c, s = (table.to(wide)[places].unsqueeze(-3) for table in (cos, sin))
    turned = x[..., : 2 * half].to(wide)
    if interleaved:
        a, b = turned.unflatten(-1, (half, 2)).unbind(-1)
        out = torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)
    else:
        a, b = turned.chunk(2, -1)
        out = torch.cat((a * c - b * s, b * c + a * s), -1)
    return torch.cat((out.to(x.dtype), x[..., 2 * half :]), -1)


def split(
    qkv: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    heads: int,
    positions: torch.Tensor | None = None,
    interleaved: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values of tokens x (queries + keys + values) x dim, the first two rotated.

    Args:
        heads: heads of queries; the others are equal numbers of heads of keys and of values.
        positions: tokens.
    """
    keys = (qkv.shape[1] - heads) // 2
    q, k, v = qkv.split((heads, keys, keys), 1)
    q, k = (rotate(part.transpose(0, 1), cos, sin, positions, interleaved).transpose(0, 1) for part in (q, k))
    return q, k, v
