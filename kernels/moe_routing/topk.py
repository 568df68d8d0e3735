"""The best experts of each token, with their scores and a matrix of bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Range
from workbench_kernels.references.routing import top_k

TYPES = {"bf16": (torch.bfloat16, "bf16"), "fp32": (torch.float32, "float")}


def shape_of(x: torch.Tensor, k: int, score: str = "none", shared: int = 0) -> dict[str, Any]:
    """Shape of a call."""
    names = {dtype: name for name, (dtype, _) in TYPES.items()}
    if x.dim() != 2 or x.dtype not in names:
        raise ShapeError(
            f"topk: x is {tuple(x.shape)} {x.dtype}; expected rows x experts of bfloat16 or float32"
        )
    rows, experts = x.shape
    return {
        "rows": rows,
        "experts": experts,
        "k": k,
        "score": score,
        "shared": shared,
        "dtype": names[x.dtype],
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses to choose more than there are."""
    if shape["k"] > shape["experts"]:
        raise ShapeError(f"topk: k is {shape['k']}; x has {shape['experts']} columns")


SOURCE = """#include "families/routing.cuh"
using namespace kittens;
using namespace kittens::families::routing;
__global__ __launch_bounds__(256) void best(const top_arguments<TOP_T> g) {
    top<TOP_T, TOP_PER, TOP_K, score::TOP_SCORE>(g);
}
"""


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    return {
        "TOP_T": TYPES[shape["dtype"]][1],
        "TOP_PER": -(-shape["experts"] // 64),
        "TOP_K": shape["k"],
        "TOP_SCORE": shape["score"],
    }


spec = KernelSpec(
    name="moe_routing/topk",
    doc="The k greatest of each row in order, of equal ones those in front; their scores and columns, and "
    "a bit for each chosen column, words of 32 by rows. Experts that all rows share may follow, with a "
    "score of 1.",
    source=SOURCE,
    entry="best",
    launch=lambda shape, arch: Launch(-(-shape["rows"] // 4), 256),
    define=define,
    check=check,
    parameters={
        "rows": Range(1, 1 << 22, default=4096, doc="tokens"),
        "experts": Range(1, 1024, default=256, doc="columns"),
        "k": Range(1, 32, default=8, doc="columns that are chosen"),
        "shared": Range(0, 8, default=0, doc="experts that all rows share"),
        "score": Choice(("none", "softmax", "sigmoid"), doc="what values become"),
        "dtype": Choice(tuple(TYPES), doc="element type of x"),
    },
    shapes=[
        {"rows": 333, "experts": 256, "k": 8, "score": "softmax"},
        {"rows": 50, "experts": 61, "k": 1, "score": "sigmoid", "shared": 1, "dtype": "fp32"},
    ],
    inputs=lambda shape, generator: {
        # In bf16 many are equal.
        "x": torch.randn(shape["rows"], shape["experts"], generator=generator).to(TYPES[shape["dtype"]][0]),
        **{name: shape[name] for name in ("k", "score", "shared")},
    },
    outputs=lambda shape, tensors: {
        "values": ((shape["rows"], shape["k"] + shape["shared"]), torch.bfloat16),
        "indices": ((shape["rows"], shape["k"] + shape["shared"]), torch.int32),
        "bits": ((-(-shape["experts"] // 32), shape["rows"]), torch.int32),
    },
    reference=top_k,
    shape_of=shape_of,
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in ("x", "values", "indices", "bits")},
        "shared": shape["shared"],
    },
    bytes=lambda shape: (
        shape["rows"]
        * (TYPES[shape["dtype"]][0].itemsize * shape["experts"] + 6 * shape["k"] + shape["experts"] // 8)
    ),
    hard_inputs={
        "all equal": lambda shape, generator: {
            "x": torch.full((shape["rows"], shape["experts"]), -2.0, dtype=TYPES[shape["dtype"]][0]),
            **{name: shape[name] for name in ("k", "score", "shared")},
        }
    },
)
