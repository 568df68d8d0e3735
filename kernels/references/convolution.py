"""Causal convolution of channels with a few weights each, in plain PyTorch."""

from __future__ import annotations

from itertools import pairwise

import torch


def causal_conv(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, activation: str, *, padded: bool = False
) -> torch.Tensor:
    """activation(bias + the sum over j of weight[d, j] x[b, d, t - K + 1 + j]): x is B x D x L, weight D x K.

    x counts as zero before its first column; with `padded`, it starts with those K - 1 columns. The
    activation is "none" or "silu"; the sums, and the result, are in float32 at least.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    x = x.to(wide) if padded else torch.nn.functional.pad(x.to(wide), (weight.shape[1] - 1, 0))
    # PyTorch's conv1d goes through thousands of groups one by one.
    columns = x.shape[-1] - weight.shape[1] + 1
    parts = (w[:, None] * x[..., j : j + columns] for j, w in enumerate(weight.to(wide).unbind(1)))
    sums = sum(parts, torch.zeros((), dtype=wide) if bias is None else bias.to(wide)[:, None])
    return torch.nn.functional.silu(sums) if activation == "silu" else sums


def split(made: torch.Tensor, keys: int, dim: int) -> tuple[torch.Tensor, ...]:
    """The first `keys` channels, the next `keys`, and the rest."""
    return tuple(made.split((keys, keys, made.shape[dim] - 2 * keys), dim))


def conv_update(
    x: torch.Tensor,
    weight: torch.Tensor,
    conv_state: torch.Tensor,
    key_dim: int,
    bias: torch.Tensor | None = None,
    indices: torch.Tensor | None = None,
    activation: str = "silu",
) -> tuple[torch.Tensor, ...]:
    """q, k (B, key_dim, S) and v of x (B, D, S), which continues the columns of conv_state; and conv_state's
    new value.

    Args:
        weight: (D, K).
        conv_state: (lines, D, K - 1), the last columns of each sequence.
        indices: (B), the line of each batch; negative for padding, whose results are zeros. None: batch n has
            line n.
    """
    lines = torch.arange(len(x)) if indices is None else indices
    there = lines >= 0
    columns = torch.cat((conv_state[lines.clamp(min=0)], x), -1)
    out = causal_conv(columns, weight, bias, activation, padded=True) * there[:, None, None]
    state = conv_state.clone()
    state[lines[there]] = columns[there][..., -conv_state.shape[-1] :]
    return (*split(out.to(x.dtype), key_dim, 1), state)


def conv_split(
    x: torch.Tensor,
    weight: torch.Tensor,
    starts: torch.Tensor,
    key_dim: int,
    bias: torch.Tensor | None = None,
    activation: str = "silu",
) -> tuple[torch.Tensor, ...]:
    """q, k (tokens, key_dim) and v of x (D, tokens); sequences begin at `starts`, whose last element is the
    end."""
    spans = [x[None, :, first:end] for first, end in pairwise(starts.tolist()) if end > first]
    out = torch.cat([causal_conv(span, weight, bias, activation)[0] for span in spans], -1).T
    return split(out.to(x.dtype), key_dim, 1)
