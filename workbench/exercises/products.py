"""Shared parts of the exercises on schedules: C = A Bᵀ of bf16 by tiles of 128 x 128, and its waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.waits import requests_left
from workbench.exercises.costs import executed
from workbench.operators import Shape
from workbench.targets import Request

SIDE = 128
"""Rows and columns of C that a work-group computes."""

STEP = 64
"""Columns of A and B that a step takes."""

STEP_BYTES = 2 * SIDE * STEP * 2
"""Bytes of a step's tiles of A and B in shared memory."""

AXES = {"c": ("row", "column")}

TILES = {"row": SIDE, "column": SIDE}


def problem(m: int, n: int, steps: int) -> Shape:
    """A shape from its sizes and its steps along K."""
    return {"m": m, "n": n, "k": steps * STEP}


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """a of (m, k) and b of (n, k)."""
    return {
        name: torch.randn(shape[rows], shape["k"], generator=generator).to(torch.bfloat16)
        for name, rows in (("a", "m"), ("b", "n"))
    }


def outputs(shape: Shape) -> dict[str, torch.Tensor]:
    """An empty tensor for the product."""
    return {"c": torch.empty(shape["m"], shape["n"], dtype=torch.bfloat16)}


def launch(waves: int, slots: int) -> Callable[[Shape], tuple[Any, ...]]:
    """One work-group per tile of C, with shared memory for some steps."""
    return lambda shape: ((shape["n"] // SIDE, shape["m"] // SIDE), 64 * waves, slots * STEP_BYTES)


def reference(a: torch.Tensor, b: torch.Tensor) -> dict[str, torch.Tensor]:
    """The product of `a` and `b`."""
    return {"c": a @ b.T}


def without_last(a: torch.Tensor, b: torch.Tensor) -> dict[str, torch.Tensor]:
    """The product without the last step."""
    return {"c": a[:, :-STEP] @ b[:, :-STEP].T}


def without_first(a: torch.Tensor, b: torch.Tensor) -> dict[str, torch.Tensor]:
    """The product without the first step."""
    return {"c": a[:, STEP:] @ b[:, STEP:].T}


def waits_for_most(left: int) -> Callable[..., float]:
    """Number of executed waits that leave fewer than `left` loads of a wave in flight."""

    def few(instruction: Instruction) -> bool:
        count = requests_left(instruction, Request.LOAD)
        return count is not None and count < left

    return executed(few)


def waves(shape: Shape, of_group: int) -> int:
    """Waves of a launch."""
    return int(shape["m"] // SIDE * (shape["n"] // SIDE) * of_group)
