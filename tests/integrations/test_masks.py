"""Recognised masks admit the same keys for each query as the original mask; others are refused."""

from __future__ import annotations

import itertools
import random
from typing import Any

import needs
import pytest
import torch

from workbench.errors import UsageError

pytestmark = needs.transformers
masks = needs.DeferredModule("workbench.integrations.transformers.masks")


def mask_matrix(mask: Any, batch: int, queries: int, keys: int) -> torch.Tensor:
    """The boolean matrix of a mask by the attention kernels' definition, [batch, queries, keys]."""
    matrix = torch.zeros(batch * queries, batch * keys, dtype=torch.bool)
    if mask.packed is None:
        bounds_q, bounds_k = torch.arange(batch + 1) * queries, torch.arange(batch + 1) * keys
        at_q, at_k = torch.arange(batch * queries), torch.arange(batch * keys)
    else:
        bounds_q, bounds_k = mask.packed.cu_seqlens_q, mask.packed.cu_seqlens_k
        at_q, at_k = mask.packed.queries, mask.packed.keys
    for b in range(len(bounds_q) - 1):
        of_q, of_k = at_q[bounds_q[b] : bounds_q[b + 1]], at_k[bounds_k[b] : bounds_k[b + 1]]
        distance = torch.arange(len(of_k)) - (torch.arange(len(of_q)) + len(of_k) - len(of_q))[:, None]
        hidden = distance > 0 if mask.causal else torch.zeros_like(distance, dtype=torch.bool)
        if mask.window:
            hidden |= distance.abs() >= mask.window
        matrix[of_q[:, None], of_k] = ~hidden
    return matrix.view(batch, queries, batch, keys)[torch.arange(batch), :, torch.arange(batch)]


def matrix(lengths: list[int], causal: bool, window: int) -> torch.Tensor:
    """The mask of packed sequences with these lengths, [tokens, tokens]."""
    sequence = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    distance = torch.arange(len(sequence)) - torch.arange(len(sequence))[:, None]
    seen = sequence == sequence[:, None]
    if causal:
        seen &= distance <= 0
    return seen & (distance.abs() < window) if window else seen


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [0, 1, 3, 50])
def test_packed_and_padded(causal: bool, window: int) -> None:
    drawn = random.Random(100 * window + causal)
    for _ in range(20):
        tokens = drawn.randint(2, 24)
        matrices, padding = [], []
        for _ in range(2):
            cuts = sorted({0, tokens, *(drawn.randint(0, tokens) for _ in range(drawn.randint(0, 2)))})
            matrices.append(matrix([b - a for a, b in itertools.pairwise(cuts)], causal, window))
            left, right = drawn.randint(0, tokens // 3), drawn.randint(0, tokens // 3)
            padding.append([left <= i < tokens - right for i in range(tokens)])
        keep = torch.tensor(padding)
        mask = masks.recognised(lambda b, q, k, matrices=matrices: matrices[b][q][:, k], keep, keep)
        expected = torch.stack(matrices) & keep[:, :, None] & keep[:, None, :]
        assert torch.equal(mask_matrix(mask, 2, tokens, tokens), expected), (tokens, padding)


def test_a_cache_with_room_left() -> None:
    """Two queries at positions 5 and 6 of a cache with room for 10."""
    seen = torch.arange(10) <= torch.tensor([[5], [6]])
    mask = masks.of_matrix(seen[None, None], 1, 2, 10)
    assert mask.causal
    assert torch.equal(mask_matrix(mask, 1, 2, 10)[0], seen)


def test_numbers_that_are_added() -> None:
    seen = matrix([5, 4], True, 0)
    added = torch.zeros(9, 9).masked_fill(~seen, float("-inf"))
    mask = masks.of_matrix(added[None, None], 1, 9, 9)
    assert torch.equal(mask_matrix(mask, 1, 9, 9)[0], seen)
    with pytest.raises(UsageError, match="adds numbers to scores"):
        masks.of_matrix(added[None, None] + 0.5, 1, 9, 9)


def test_what_no_kernel_has() -> None:
    every_other = matrix([8], True, 0)
    every_other[7, 3] = False
    with pytest.raises(UsageError, match="query 7 of sequence 0 sees keys with gaps"):
        masks.of_matrix(every_other[None, None], 1, 8, 8)
    # A prefix that all queries see, and a causal rest.
    prefix = matrix([8], True, 0)
    prefix[:, :3] = True
    with pytest.raises(UsageError, match="neither causal nor the same on both sides"):
        masks.of_matrix(prefix[None, None], 1, 8, 8)
    with pytest.raises(UsageError, match="one mask for all heads"):
        masks.of_matrix(torch.ones(1, 2, 8, 8, dtype=torch.bool), 1, 8, 8)
    with pytest.raises(UsageError, match="no token takes part"):
        masks.of_matrix(torch.zeros(1, 1, 8, 8, dtype=torch.bool), 1, 8, 8)
