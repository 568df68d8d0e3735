"""Queries and keys put together of two parts each: cat((q1, q2), -1), cat((k1, k2), -1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Range
from workbench_kernels.families import pieces

NAME = "feed_forward/qk_concat"
SOURCE = """#include "families/pieces.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void
qk_concat(const ELEMENT *q1, const ELEMENT *q2, const ELEMENT *k1, const ELEMENT *k2, ELEMENT *q, ELEMENT *k,
          int q_rows, int k_rows, int left, int right) {
    const pieces::concatenation<ELEMENT> of_q{q1, q2, q, q_rows, left, right};
    const pieces::concatenation<ELEMENT> of_k{k1, k2, k, k_rows, left, right};
    const size_t at = pieces::index();
    if (at < of_q.count())
        of_q.run(at);
    else if (at - of_q.count() < of_k.count())
        of_k.run(at - of_q.count());
}
"""


def reference(
    q1: torch.Tensor, q2: torch.Tensor, k1: torch.Tensor, k2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Each (..., D1) and (..., D2)."""
    return torch.cat((q1, q2), -1), torch.cat((k1, k2), -1)


def shape_of(**given: Any) -> dict[str, Any]:
    q1, q2, k1, k2 = (given[name] for name in ("q1", "q2", "k1", "k2"))
    dtype = pieces.dtype_of(NAME, "q1", q1)
    if q1.dim() < 2 or q2.dim() < 2 or k1.dim() < 2:
        low = next(name for name in ("q1", "q2", "k1") if given[name].dim() < 2)
        raise ShapeError(f"{NAME}: {low} is {tuple(given[low].shape)}; expected rows of heads")
    left, right = q1.shape[-1], q2.shape[-1]
    pieces.like(NAME, "q2", q2, (*q1.shape[:-1], right), q1.dtype)
    pieces.like(NAME, "k1", k1, (*k1.shape[:-1], left), q1.dtype)
    pieces.like(NAME, "k2", k2, (*k1.shape[:-1], right), q1.dtype)
    rows = {"q_rows": q1.numel() // left, "k_rows": k1.numel() // left}
    return {**rows, "left": left, "right": right, "dtype": dtype}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """A row for each token and head."""
    dims = {
        f"{of}{n + 1}": (shape[f"{of}_rows"], shape[p])
        for of in "qk"
        for n, p in enumerate(("left", "right"))
    }
    return {n: torch.randn(d, generator=generator).to(pieces.DTYPES[shape["dtype"]]) for n, d in dims.items()}


def elements(shape: Mapping[str, Any]) -> int:
    """Of both results."""
    return int((shape["q_rows"] + shape["k_rows"]) * (shape["left"] + shape["right"]))


spec = KernelSpec(
    name=NAME,
    doc="cat((q1, q2), -1) and cat((k1, k2), -1) in one launch, such as the parts of heads with and without "
    "rotary embedding; bf16 or fp16.",
    source=SOURCE,
    entry="qk_concat",
    parameters={
        "q_rows": Range(1, 1 << 24, default=64, doc="tokens times heads of queries"),
        "k_rows": Range(1, 1 << 24, default=16, doc="tokens times heads of keys"),
        "left": Range(8, 1024, step=8, default=128, doc="columns of q1 and k1"),
        "right": Range(8, 1024, step=8, default=64, doc="columns of q2 and k2"),
        "dtype": Choice(tuple(pieces.DTYPES), doc="element type"),
    },
    shapes=[{"q_rows": 64, "k_rows": 16, "left": 64, "right": 128}],
    inputs=inputs,
    outputs=lambda shape, tensors: {
        of: ((*tensors[f"{of}1"].shape[:-1], shape["left"] + shape["right"]), tensors["q1"].dtype)
        for of in "qk"
    },
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {"ELEMENT": pieces.ELEMENTS[shape["dtype"]]},
    launch=lambda shape, arch: pieces.launch(elements(shape)),
    arguments=lambda shape, tensors: {
        **tensors,
        **{name: shape[name] for name in ("q_rows", "k_rows", "left", "right")},
    },
    bytes=lambda shape: 4 * elements(shape),
)
