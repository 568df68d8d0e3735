"""The gradients of SwiGLU: a product of two inputs, one of them through a function."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    tensors = {name: torch.randn(shape["n"], generator=generator) for name in ("gate", "up", "dout")}
    return {**tensors, "n": shape["n"]}


def reference(gate: torch.Tensor, up: torch.Tensor, dout: torch.Tensor) -> dict[str, torch.Tensor]:
    sigmoid = torch.sigmoid(gate)
    return {
        "dgate": dout * up * sigmoid * (1 + gate * (1 - sigmoid)),
        "dup": dout * gate * sigmoid,
    }


def swapped(gate: torch.Tensor, up: torch.Tensor, dout: torch.Tensor) -> dict[str, torch.Tensor]:
    right = reference(gate, up, dout)
    return {"dgate": right["dup"], "dup": right["dgate"]}


exercise = Exercise(
    name="08.2",
    title="The gradients of SwiGLU",
    task=(
        "out = silu(gate) up, element by element, with silu(g) = g / (1 + exp(-g)). Write\n"
        "`swiglu_backward(const float *gate, const float *up, const float *dout, float *dgate, float *dup,\n"
        "int n)` for n elements, 256 threads a work-group. n is any number."
    ),
    hints=(
        "out is a product. What is the derivative of a product by its second factor? By its first, "
        "which is a function of gate?",
        "dup is dout silu(gate). dgate is dout up silu'(gate), and silu(g) = g s with s = 1 / (1 + "
        "exp(-g)) is "
        "a product again, in which g stands twice. The derivative of s is s (1 - s).",
        "silu'(g) = s + g s (1 - s). With `const float s = 1 / (1 + expf(-gate[i]));` dgate[i] is dout[i] * "
        "up[i] times that, and dup[i] is dout[i] * gate[i] * s.",
    ),
    inputs=inputs,
    outputs=lambda shape: {name: torch.empty(shape["n"]) for name in ("dgate", "dup")},
    launch=lambda shape: (-(-shape["n"] // 256), 256),
    reference=reference,
    shapes=[{"n": 512}, {"n": 1000}],
    mistakes=[
        Mistake("dgate and dup are in each other's place.", swapped),
        Mistake(
            "dgate takes the sigmoid for a constant: it depends on gate as well.",
            lambda gate, up, dout: {"dgate": dout * up * torch.sigmoid(gate)},
        ),
        Mistake(
            "dgate is dout up silu(gate); it needs the derivative of silu, not silu.",
            lambda gate, up, dout: {"dgate": dout * up * gate * torch.sigmoid(gate)},
        ),
        Mistake(
            "dgate lacks the factor up.",
            lambda gate, up, dout: {"dgate": reference(gate, torch.ones_like(up), dout)["dgate"]},
        ),
        Mistake(
            "dup lacks the sigmoid: up is multiplied by silu(gate), not by gate.",
            lambda gate, up, dout: {"dup": dout * gate},
        ),
    ],
    kernel="swiglu_backward",
    axes={"dgate": ("element",), "dup": ("element",)},
    tiles={"element": 256},
)
