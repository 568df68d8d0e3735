"""The last step of a mixture of experts: the weighted sum of a token's rows."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    tokens, top_k, width = shape["tokens"], shape["top_k"], shape["width"]
    return {
        "rows": torch.randn(tokens * top_k, width, generator=generator),
        "weights": torch.randn(tokens, top_k, generator=generator).softmax(-1),
        "top_k": top_k,
        "width": width,
    }


def summed(values: torch.Tensor, weights: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": torch.einsum("tkw,tk->tw", values, weights)}


def reference(rows: torch.Tensor, weights: torch.Tensor) -> dict[str, torch.Tensor]:
    return summed(rows.unflatten(0, weights.shape), weights)


def by_choice(rows: torch.Tensor, weights: torch.Tensor) -> dict[str, torch.Tensor]:
    tokens, top_k = weights.shape
    return summed(rows.unflatten(0, (top_k, tokens)).transpose(0, 1), weights)


exercise = Exercise(
    name="10.1",
    title="The sum of a token's experts",
    task=(
        "Write `combine(const float *rows, const float *weights, float *out, int top_k, int width)`:\n"
        "out[token] = sum over j of weights[token][j] * rows[token * top_k + j], rows of `width` floats.\n"
        "A work-group of 64 lanes takes a token; width may be any number."
    ),
    hints=(
        "`blockIdx.x` is the token. What does one lane compute, and what does it do when there are more than "
        "64 columns?",
        "An id is token * top_k + which, so the rows of a token are neighbours, as are its weights.",
        "`for (int col = threadIdx.x; col < width; col += 64)` gives each lane its columns; inside it, a "
        "loop over j adds `weights[token * top_k + j] * rows[(token * top_k + j) * width + col]`.",
    ),
    inputs=inputs,
    outputs=lambda shape: {"out": torch.empty(shape["tokens"], shape["width"])},
    launch=lambda shape: (shape["tokens"], 64),
    reference=reference,
    shapes=[{"tokens": 5, "top_k": 2, "width": 64}, {"tokens": 7, "top_k": 3, "width": 100}],
    mistakes=[
        Mistake("A token's rows are taken a whole number of tokens apart; they are neighbours.", by_choice),
        Mistake(
            "The rows are added without their weights.",
            lambda rows, weights: {"out": rows.unflatten(0, weights.shape).sum(1)},
        ),
        Mistake(
            "Each token takes its first expert alone.",
            lambda rows, weights: {"out": rows.unflatten(0, weights.shape)[:, 0] * weights[:, :1]},
        ),
        Mistake(
            "Every token takes the weights of token 0.",
            lambda rows, weights: summed(rows.unflatten(0, weights.shape), weights[:1].expand_as(weights)),
        ),
    ],
    kernel="combine",
    axes={"out": ("token", "column")},
    tiles={"column": 64},
)
