"""Causal attention with more keys than queries."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Mistake
from workbench.exercises import attention as base


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    return base.attended(q, k, v, lambda query, key, more: key <= query + more)


def from_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    return base.attended(q, k, v, lambda query, key, more: key <= query)


def without_own(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    return base.attended(q, k, v, lambda query, key, more: key < query + more)


def whole_blocks(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    def seen(query: torch.Tensor, key: torch.Tensor, more: int) -> torch.Tensor:
        return key // base.BLOCK <= (query + more) // base.BLOCK

    return base.attended(q, k, v, seen)


def without_last_block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    def seen(query: torch.Tensor, key: torch.Tensor, more: int) -> torch.Tensor:
        return key // base.BLOCK < (query + more) // base.BLOCK

    return base.attended(q, k, v, seen)


def other_triangle(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    def seen(query: torch.Tensor, key: torch.Tensor, more: int) -> torch.Tensor:
        diagonal = query + more
        return (key // base.BLOCK < diagonal // base.BLOCK) | (
            key // base.BLOCK == diagonal // base.BLOCK
        ) & (key >= diagonal)

    return base.attended(q, k, v, seen)


exercise = Exercise(
    name="04.2",
    title="Causal, with more keys than queries",
    task=(
        "While a model writes, its last tokens are queries and all tokens so far are keys. Let query i see\n"
        "the keys 0 to i + (keys - queries). The arguments are those of `attend`: q, k, v, out, scale.\n"
        "keys and queries are multiples of 32, and there are at least as many keys as queries."
    ),
    hints=(
        "Section 5 compares a key's number with a query's number. Both count from the first token of their "
        "own tensor. Which token is query 0?",
        "Query 0 is token keys - queries. That number moves the diagonal, in the mask and in the last block "
        "that a tile needs.",
        "`const int more = g.k.rows() - g.q.rows();` gives the number. A tile's last block is the one that "
        "holds the token of its last query; with multiples of 32, that block is `tile + more / BLOCK`.",
    ),
    inputs=base.inputs,
    outputs=base.outputs,
    launch=base.launch,
    reference=reference,
    shapes=[base.problem(64, 128), base.problem(96, 96), base.problem(32, 160, heads=3, batch=2)],
    mistakes=[
        Mistake(
            "The diagonal begins at key 0: query 0 is taken for the first token, but there are more keys "
            "than queries.",
            from_first,
        ),
        Mistake("A query does not see its own token: the mask hides one key too many.", without_own),
        Mistake(
            "The last block of each tile is not masked: queries see keys behind their own token, to "
            "the block's end.",
            whole_blocks,
        ),
        Mistake(
            "The last block of each tile is missing: the loop ends one block too early.", without_last_block
        ),
        Mistake(
            "In the last block the wrong triangle is masked: the rows of `s` are keys, its columns queries.",
            other_triangle,
        ),
        Mistake("Nothing is masked: queries see the keys behind them.", base.attended),
    ],
    kernel="attend",
    axes=base.AXES,
    tiles=base.TILES,
)
