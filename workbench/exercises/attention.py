"""Shared parts of the exercises on attention: inputs, and a reference whose parts mistakes leave out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from workbench.operators import Shape

DIM = 64
"""Numbers of a head."""

BLOCK = 32
"""Queries of a tile and keys of a block."""

SCALE = 1 / (math.sqrt(DIM) * math.log(2))
"""Factor of the logits in the kernels: 1 / sqrt(DIM), converted to base 2."""

AXES = {"out": ("batch", "head", "query", "dimension"), "lse": ("batch", "head", "query")}

TILES = {"query": BLOCK}


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """q, k and v of (batch, head, token, dimension), and the scale."""

    def normal(heads: str, tokens: str) -> torch.Tensor:
        size = (shape["batch"], shape[heads], shape[tokens], DIM)
        return torch.randn(size, generator=generator).to(torch.bfloat16)

    return {
        # Larger queries make a softmax that prefers some keys, in which mistakes show.
        "q": 2 * normal("heads", "queries"),
        "k": normal("heads_kv", "keys"),
        "v": normal("heads_kv", "keys"),
        "scale": SCALE,
    }


def outputs(shape: Shape) -> dict[str, torch.Tensor]:
    """An empty tensor for the result."""
    return {
        "out": torch.empty(shape["batch"], shape["heads"], shape["queries"], DIM, dtype=torch.bfloat16),
    }


def launch(shape: Shape) -> tuple[Any, Any]:
    """One wave for 32 queries of a head."""
    return (-(-shape["queries"] // BLOCK), shape["heads"], shape["batch"]), 64


def problem(queries: int, keys: int, heads: int = 2, heads_kv: int = 0, batch: int = 1) -> Shape:
    """A shape from its numbers."""
    return {
        "batch": batch,
        "heads": heads,
        "heads_kv": heads_kv or heads,
        "queries": queries,
        "keys": keys,
    }


def logits(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Scaled products, (batch, head, query, key)."""
    return q @ k.transpose(-1, -2) / math.sqrt(DIM)


def attended(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    seen: Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor] | None = None,
) -> dict[str, torch.Tensor]:
    """softmax(q kᵀ / sqrt(d)) v over the keys for which `seen(query, key, keys - queries)` is true."""
    scores = logits(q, k)
    if seen is not None:
        query = torch.arange(q.shape[-2])[:, None]
        key = torch.arange(k.shape[-2])[None, :]
        scores = scores.masked_fill(~seen(query, key, k.shape[-2] - q.shape[-2]), -math.inf)
    return {"out": torch.softmax(scores, -1) @ v}
