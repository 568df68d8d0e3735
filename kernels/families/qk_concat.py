"""Concatenation of rows of two parts: sizes, inputs and reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import elementwise, scalars

NAME = "feed_forward/qk_concat"

SOURCE = """#include "families/elementwise.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void
qk_concat(const ELEMENT *q1, const ELEMENT *q2, const ELEMENT *k1, const ELEMENT *k2, ELEMENT *q, ELEMENT *k,
          int q_rows, int k_rows, int left, int right) {
    const elementwise::concatenation<ELEMENT> of_q{q1, q2, q, q_rows, left, right};
    const elementwise::concatenation<ELEMENT> of_k{k1, k2, k, k_rows, left, right};
    const size_t at = elementwise::index();
    if (at < of_q.count())
        of_q.run(at);
    else if (at - of_q.count() < of_k.count())
        of_k.run(at - of_q.count());
}
"""


def reference(
    q1: torch.Tensor, q2: torch.Tensor, k1: torch.Tensor, k2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Concatenation of each (..., D1) and (..., D2)."""
    return torch.cat((q1, q2), -1), torch.cat((k1, k2), -1)


def shape_of(**arguments: Any) -> dict[str, Any]:
    q1, q2, k1, k2 = (arguments[name] for name in ("q1", "q2", "k1", "k2"))
    dtype = elementwise.dtype_of(NAME, "q1", q1)
    if q1.dim() < 2 or q2.dim() < 2 or k1.dim() < 2:
        low = next(name for name in ("q1", "q2", "k1") if arguments[name].dim() < 2)
        raise ShapeError(f"{NAME}: {low} is {tuple(arguments[low].shape)}; expected rows of heads")
    left, right = q1.shape[-1], q2.shape[-1]
    elementwise.like(NAME, "q2", q2, (*q1.shape[:-1], right), q1.dtype)
    elementwise.like(NAME, "k1", k1, (*k1.shape[:-1], left), q1.dtype)
    elementwise.like(NAME, "k2", k2, (*k1.shape[:-1], right), q1.dtype)
    rows = {"q_rows": q1.numel() // left, "k_rows": k1.numel() // left}
    return {**rows, "left": left, "right": right, "dtype": dtype}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """A row for each token and head."""
    dims = {
        f"{of}{n + 1}": (shape[f"{of}_rows"], shape[p])
        for of in "qk"
        for n, p in enumerate(("left", "right"))
    }
    return {
        n: torch.randn(d, generator=generator).to(scalars.HALVES[shape["dtype"]]) for n, d in dims.items()
    }


def elements(shape: Mapping[str, Any]) -> int:
    """Elements of both results."""
    return int((shape["q_rows"] + shape["k_rows"]) * (shape["left"] + shape["right"]))
