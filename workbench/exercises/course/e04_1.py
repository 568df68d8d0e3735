"""The logarithm of the softmax's denominator, which the backward pass needs from the forward pass."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from workbench.exercises import Exercise, Mistake
from workbench.exercises import attention as base
from workbench.operators import Shape


def outputs(shape: Shape) -> dict[str, torch.Tensor]:
    room = torch.empty(shape["batch"], shape["heads"], 1, shape["queries"])
    return {**base.outputs(shape), "lse": room}


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
    lse = torch.logsumexp(base.logits(q, k).to(torch.promote_types(q.dtype, torch.float32)), -1)
    return {**base.attended(q, k, v), "lse": lse[:, :, None]}


@dataclass(frozen=True)
class Other:
    """The result with a further number for each query."""

    change: str

    def __call__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, torch.Tensor]:
        right = reference(q, k, v)
        lse, largest = right["lse"], base.logits(q, k).amax(-1)[:, :, None]
        changed = {
            "base 2": lse / math.log(2),
            "no maximum": lse - largest,
            "mixed": largest / math.log(2) + lse - largest,
            "sum": torch.exp(lse - largest),
        }
        return {"lse": changed[self.change]}


exercise = Exercise(
    name="04.1",
    title="The logarithm of the denominator",
    task=(
        "Let `attend` also write lse, the natural logarithm of the softmax's denominator:\n"
        "lse[b, h, 0, i] = log(sum over j of exp(q_i . k_j / sqrt(64))).\n"
        "Add `gl<float, -1, -1, 1, -1> lse` to the globals, after `out`."
    ),
    hints=(
        "After the loop each query has two numbers, m and l. Write down what they are in the formula of "
        "section 3, and solve it for the denominator.",
        "The denominator is l times 2 to the power of m, so its logarithm to base 2 is a sum of two terms. "
        "The kernel computes in powers of 2; the exercise asks for the natural logarithm.",
        "`log2(l, l)` gives one of the terms, `add(l, l, m)` the sum, `mul(l, l, 0.6931471805599453f)` "
        "changes the base. `store(g.lse, l, {batch, head, 0, tile})` writes a vector. Do all this after the "
        "division of O.",
    ),
    inputs=base.inputs,
    outputs=outputs,
    launch=base.launch,
    reference=reference,
    shapes=[base.problem(64, 64), base.problem(128, 96, heads=3, batch=2)],
    mistakes=[
        Mistake("lse is a logarithm to base 2; the natural one was asked for.", Other("base 2")),
        Mistake("lse lacks the maximum that was subtracted from the logits.", Other("no maximum")),
        Mistake("lse adds a logarithm to base 2 and one to base e.", Other("mixed")),
        Mistake("lse is the sum l itself, not a logarithm.", Other("sum")),
    ],
    kernel="attend",
    axes={**base.AXES, "lse": ("batch", "head", "row", "query")},
    tiles=base.TILES,
)
