"""Routing of a mixture of experts in PyTorch, by stable sorts, so that results are equal, not just close."""

from __future__ import annotations

from collections.abc import Callable

import torch


def align(
    topk_ids: torch.Tensor, experts: int, block: int, length: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids by expert, with each expert's ids padded to whole blocks; and the expert of each block.

    Args:
        topk_ids: an expert for each id, of any shape.
        length: length of the list; the unused end is padding, and its blocks have expert -1.

    Returns:
        ids, experts of blocks, and the number of ids including the experts' padding.
    """
    assignment = topk_ids.flatten().long()
    sizes = torch.bincount(assignment, minlength=experts)
    padded = -(-sizes // block) * block
    ends, first = padded.cumsum(0), padded.cumsum(0) - padded
    order = assignment.argsort(stable=True)
    among = (
        torch.arange(len(assignment), device=assignment.device) - (sizes.cumsum(0) - sizes)[assignment[order]]
    )
    total = int(ends[-1])
    ids = assignment.new_full((max(total, length),), len(assignment))
    ids[first[assignment[order]] + among] = order
    owners = torch.full((-(-max(total, length) // block),), -1, device=assignment.device)
    owners[: total // block] = torch.arange(experts, device=assignment.device).repeat_interleave(
        padded // block
    )
    return ids[:length].int(), owners[: -(-length // block)].int(), ends[-1:].int()


def tiles(hist: torch.Tensor, tile_log2: int, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """First tokens and first tiles of experts, each followed by the total; and expert | index << 16 of tiles.

    Args:
        hist: tokens of each expert.
        tile_log2: binary logarithm of a tile's tokens.
        length: length of the list of tiles; -1 after the last.
    """
    zero = hist.new_zeros(1)
    counts = torch.where(hist > 0, (hist - 1 >> tile_log2) + 1, 0)
    token_start = torch.cat([zero, hist.cumsum(0).int()])
    tile_start = torch.cat([zero, counts.cumsum(0).int()])
    owner = torch.arange(len(hist), device=hist.device).repeat_interleave(counts.long())
    number = torch.arange(len(owner), device=hist.device) - tile_start[owner]
    info = hist.new_full((max(length, len(owner)),), -1)
    info[: len(owner)] = (number << 16 | owner).int()
    return token_start, tile_start, info[:length]


def bit_sums(bits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Set bits of each column of rows x words of 32, and those of the rows before each tile of 128 rows."""
    places = torch.arange(32, device=bits.device)
    set_bits = (bits.long()[:, :, None] >> places & 1).flatten(1)
    before = torch.cat([set_bits.new_zeros(1, set_bits.shape[1]), set_bits.cumsum(0)])
    return before[-1].int(), before[:-1:128].int()


SCORES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "none": lambda values: values,
    "softmax": lambda values: values.softmax(-1),
    "sigmoid": torch.sigmoid,
}
"""Functions of the values that are selected, by name."""


def top_k(
    x: torch.Tensor, k: int, score: str = "none", shared: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The k largest elements of each row in descending order, the first of equal ones first; columns; bitmap.

    Args:
        score: one of `SCORES`: the elements ("none"), their "softmax" over the k, or the "sigmoid" of each.
        shared: additional experts of every row, with a value of 1: columns after the last.

    Returns:
        values, columns, and bits of words x rows.
    """
    order = x.argsort(stable=True, dim=-1, descending=True)[:, :k]
    values = SCORES[score](x.gather(1, order))
    mask = torch.zeros(x.shape, dtype=torch.int64, device=x.device).scatter_(1, order, 1)
    mask = torch.nn.functional.pad(mask, (0, -x.shape[1] % 32)).unflatten(1, (-1, 32))
    words = (mask << torch.arange(32, device=x.device)).sum(-1)
    words = torch.where(words >= 1 << 31, words - (1 << 32), words)
    rows = len(x)
    more = torch.arange(x.shape[1], x.shape[1] + shared, device=x.device).expand(rows, shared)
    return (
        torch.cat([values, values.new_ones(rows, shared)], 1),
        torch.cat([order, more], 1).int(),
        words.T.int(),
    )


def sum_of_experts(rows: torch.Tensor, top_k: int, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Sums of the rows of each token's experts, `top_k` consecutive rows per token, optionally weighted."""
    if weights is not None:
        rows = rows * weights.flatten()[:, None]
    of_tokens: torch.Tensor = rows.unflatten(0, (-1, top_k))
    return of_tokens.sum(1)
