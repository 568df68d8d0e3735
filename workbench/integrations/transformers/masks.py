"""Masks that the attention kernels support: causal or not, a window, sequences packed one after the other.

transformers describes a mask by functions that it combines, or by a matrix. Here its meaning is derived from
the keys that it shows to each query, so a causal, padded, windowed or packed mask is recognised however it is
written, and one that the kernels do not support is rejected, never approximated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from workbench.errors import UsageError

Visible = Callable[[int, torch.Tensor, torch.Tensor], torch.Tensor]
"""Visibility: (sequence, query places [queries], key places [keys]) to bool [queries, keys]."""

CHUNK = 1 << 22
"""Number of elements of a mask to examine at a time."""


@dataclass(frozen=True)
class Packed:
    """Sequences of different lengths, one after the other.

    Attributes:
        queries, keys: int64 [tokens]: indices of those that take part, among [batch * queries] and [batch *
            keys].
        cu_seqlens_q, cu_seqlens_k: int32 [sequences + 1]: where each begins, and where the last ends.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    cu_seqlens_q: torch.Tensor
    cu_seqlens_k: torch.Tensor


@dataclass(frozen=True)
class Mask:
    """Arguments for `ops.flash_attention` that describe a mask.

    Attributes:
        causal: True if keys after a query are hidden; the last query is aligned with the last key.
        window: keys at this distance or more are hidden; 0 for none.
        packed: the sequences, if they differ from those of the batch.
    """

    causal: bool
    window: int = 0
    packed: Packed | None = None


def recognised(visible: Visible, queries: torch.Tensor, keys: torch.Tensor) -> Mask:
    """The mask that shows the keys which `visible` selects.

    Args:
        queries, keys: bool [batch, queries], [batch, keys]: the tokens that take part; others are padding.

    Raises:
        UsageError: a query sees keys that no causal, windowed or packed mask would show it.
    """
    square = queries.shape == keys.shape
    # By query, over all sequences of the batch: the first and last + 1 key that it sees, the key at its own
    # position, and the keys of its sequence; keys are numbered over all sequences.
    parts: list[list[torch.Tensor]] = [[], [], [], [], []]
    lengths_q, lengths_k, chosen_q, chosen_k, behind = [], [], [], [], 0
    whole = bool(queries.all() and keys.all())
    for b in range(len(queries)):
        at_q, at_k = queries[b].nonzero().flatten(), keys[b].nonzero().flatten()
        if not len(at_q):
            continue
        lo, hi = _ranges(visible, b, at_q, at_k)
        if square:
            start = _starts(lo, hi)
            bounds = torch.cat([start.nonzero().flatten(), torch.tensor([len(lo)], device=lo.device)])
            sequence = start.cumsum(0) - 1
            positions, begins, ends = (
                torch.arange(len(lo), device=lo.device),
                bounds[sequence],
                bounds[sequence + 1],
            )
            lengths_q.append(bounds.diff())
            lengths_k.append(bounds.diff())
            whole = whole and len(bounds) == 2
        else:
            # Keys that no query sees, such as unused places of a cache.
            least, most = int(lo.min()), int(hi.max())
            whole = whole and (least, most) == (0, len(at_k))
            at_k, lo, hi = at_k[least:most], lo - least, hi - least
            positions = torch.arange(len(lo), device=lo.device) + len(at_k) - len(lo)
            begins, ends = torch.zeros_like(lo), torch.full_like(lo, len(at_k))
            lengths_q.append(torch.tensor([len(lo)], device=lo.device))
            lengths_k.append(torch.tensor([len(at_k)], device=lo.device))
        for of_all, part in zip(parts, (lo, hi, positions, begins, ends), strict=True):
            of_all.append(part + behind)
        chosen_q.append(at_q + b * queries.shape[1])
        chosen_k.append(at_k + b * keys.shape[1])
        behind += len(at_k)
    if not parts[0]:
        raise UsageError("attention mask: no token takes part; expected at least one that is not padding")
    causal, window = _form(*map(torch.cat, parts))
    if whole:
        return Mask(causal, window)
    packed = Packed(
        torch.cat(chosen_q), torch.cat(chosen_k), _sums(torch.cat(lengths_q)), _sums(torch.cat(lengths_k))
    )
    return Mask(causal, window, packed)


def of_matrix(mask: torch.Tensor, batch: int, queries: int, keys: int) -> Mask:
    """The mask described by a matrix: bool, or numbers that are added to scores.

    Args:
        mask: [batch or 1, 1, queries, keys].

    Raises:
        UsageError: the kernels do not support the mask.
    """
    expected = f"expected [{batch} or 1, 1, {queries}, {keys}], one mask for all heads"
    if mask.dim() != 4 or mask.shape[1] != 1 or mask.shape[2:] != (queries, keys):
        raise UsageError(f"attention mask has the shape {tuple(mask.shape)}; {expected}")
    seen = mask[:, 0]
    if mask.dtype is not torch.bool:
        seen = seen > torch.finfo(mask.dtype).min / 2
        if bool((mask[:, 0][seen] != 0).any()):
            raise UsageError(
                "attention mask adds numbers to scores; expected 0 and minus infinity: the kernel has no bias"
            )
    seen = seen.expand(batch, -1, -1)
    of_keys = seen.any(1)
    of_queries = of_keys if queries == keys else seen.any(2)
    return recognised(lambda b, q, k: seen[b][q][:, k], of_queries, of_keys)


def _ranges(
    visible: Visible, b: int, queries: torch.Tensor, keys: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The first key that each query sees, and the last + 1.

    Raises:
        UsageError: a query sees no key, or not all keys between the two.
    """
    lows, highs = [], []
    for some in queries.split(max(1, CHUNK // max(1, len(keys)))):
        seen = visible(b, some, keys).expand(len(some), len(keys)).to(torch.uint8)
        low, high = seen.argmax(1), len(keys) - seen.flip(1).argmax(1)
        count = seen.sum(1)
        wrong = ((count == 0) | (count != high - low)).nonzero().flatten()
        if len(wrong):
            where = int(wrong[0])
            sees = "no key" if not int(count[where]) else "keys with gaps between them"
            raise UsageError(
                f"attention mask: query {int(some[where])} of sequence {b} sees {sees}; expected one range: "
                'causal, padding, a window or packed sequences; use attn_implementation="eager" for this one'
            )
        lows.append(low)
        highs.append(high)
    return torch.cat(lows), torch.cat(highs)


def _starts(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Mask of the tokens that begin a sequence: no attention crosses the boundary before them."""
    place = torch.arange(len(low), device=low.device)
    reached = torch.cat([high.new_zeros(1), high.cummax(0).values[:-1]])
    needed = low.flip(0).cummin(0).values.flip(0)
    return (reached <= place) & (needed >= place)


def _form(
    low: torch.Tensor, high: torch.Tensor, place: torch.Tensor, first: torch.Tensor, end: torch.Tensor
) -> tuple[bool, int]:
    """True if the mask is causal, and its window.

    Raises:
        UsageError: it is neither causal nor unmasked.
    """
    causal = bool((high == place + 1).all())
    last = place + 1 if causal else end
    window = 0
    if not (torch.equal(low, first) and torch.equal(high, last)):
        window = int((torch.maximum(place - low + 1, high - place)).max())
        if not causal:
            last = torch.minimum(end, place + window)
        if not (torch.equal(low, torch.maximum(first, place - window + 1)) and torch.equal(high, last)):
            raise UsageError(
                "attention mask is neither causal nor the same on both sides of each query; expected causal, "
                'padding, a window or packed sequences; use attn_implementation="eager" for this one'
            )
    return causal, window


def _sums(lengths: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
