"""Grouped queries: several heads of queries share one of keys and values."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Mistake
from workbench.exercises import attention as base


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    group = q.shape[1] // k.shape[1]
    return base.attended(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1))


def in_turn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    group = q.shape[1] // k.shape[1]
    return base.attended(q, k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1))


def first_only(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    return base.attended(q, k[:, :1].expand(-1, q.shape[1], -1, -1), v[:, :1].expand(-1, q.shape[1], -1, -1))


def values_in_turn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    group = q.shape[1] // k.shape[1]
    return base.attended(q, k.repeat_interleave(group, 1), v.repeat(1, group, 1, 1))


exercise = Exercise(
    name="04.3",
    title="Grouped queries",
    task=(
        "Let heads of queries share heads of keys and values (GQA): with 4 heads of q and 2 of k and v,\n"
        "heads 0 and 1 of q read head 0, and heads 2 and 3 read head 1. The arguments are those of\n"
        "`attend`; k and v have fewer heads, and q has a multiple of theirs."
    ),
    hints=(
        "Everything that a wave computes stays the same. What differs is where it reads K and V.",
        "The heads of q that share are neighbours: `repeat_interleave` in PyTorch, not `repeat`. How many "
        "are they?",
        "`g.q.depth()` and `g.k.depth()` are the numbers of heads. Their quotient is the size of a group, "
        "and `head` divided by that is the head of k and v; use it in both loads.",
    ),
    inputs=base.inputs,
    outputs=base.outputs,
    launch=base.launch,
    reference=reference,
    shapes=[base.problem(32, 64, 4, 2), base.problem(64, 64, 3, 3), base.problem(64, 96, 8, 2, batch=2)],
    mistakes=[
        Mistake(
            "Heads of q take the heads of k and v in turn (0, 1, 0, 1); neighbours share one (0, 0, 1, 1).",
            in_turn,
        ),
        Mistake("All heads of q read head 0 of k and v.", first_only),
        Mistake("K comes from the right head, V does not: its heads are taken in turn.", values_in_turn),
    ],
    kernel="attend",
    axes=base.AXES,
    tiles=base.TILES,
)
