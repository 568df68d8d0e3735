"""Any number of keys: the last block is not full."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.exercises import attention as base
from workbench.operators import Shape


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """Logits far below 0, beside which that of an empty key is the largest."""
    tensors = base.inputs(shape, generator)
    return {**tensors, "q": tensors["q"] / 2 + 1, "k": tensors["k"] - 1}


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    return base.attended(q, k, v)


def padded(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    """With keys and values of zero up to a whole block."""
    more = -k.shape[-2] % base.BLOCK
    room = k.new_zeros(*k.shape[:-2], more, k.shape[-1])
    return base.attended(q, torch.cat([k, room], -2), torch.cat([v, room], -2))


def whole_blocks(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    keys = k.shape[-2] // base.BLOCK * base.BLOCK
    return base.attended(q, k[:, :, :keys], v[:, :, :keys])


def one_more(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    room = k.new_zeros(*k.shape[:-2], 1, k.shape[-1])
    return base.attended(q, torch.cat([k, room], -2), torch.cat([v, room], -2))


def one_less(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    return base.attended(q, k[:, :, :-1], v[:, :, :-1])


exercise = Exercise(
    name="04.4",
    title="Any number of keys",
    task=(
        "Let `attend` take any number of keys, 50 or 100 as well as 96, and any number of queries: rows\n"
        "past the end read as zero, and are not written. The arguments are still q, k, v, out, scale."
    ),
    hints=(
        "Count the blocks: 100 keys are three whole blocks and 4 keys. `load` gives zeros for the rows past "
        "the end. What is the logit of a key of zeros, and what does it add to the denominator?",
        "A logit of 0 adds 2 to the power of -m, which is not nothing. Only a logit of minus infinity adds "
        "nothing.",
        "Loop over `ceil_div(g.k.rows(), BLOCK)` blocks. `mask_map(s, s, -INFINITY, [&](int row, int col) "
        "{ ... })` sets the logits at which the function of row and column is true; a row is a key.",
    ),
    inputs=inputs,
    outputs=base.outputs,
    launch=base.launch,
    reference=reference,
    shapes=[base.problem(32, 50), base.problem(64, 64), base.problem(50, 100, heads=3, batch=2)],
    mistakes=[
        Mistake("The last block is left out: keys that do not fill a block are never read.", whole_blocks),
        Mistake(
            "The last block is not full, and its empty keys count: each has a logit of 0.",
            padded,
        ),
        Mistake("The edge is one key too far: one empty key counts.", one_more),
        Mistake("The edge is one key too near: the last key is hidden.", one_less),
    ],
    kernel="attend",
    axes=base.AXES,
    tiles=base.TILES,
)
