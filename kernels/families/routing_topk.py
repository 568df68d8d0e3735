"""The experts of each token: arguments, checks and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench import dtypes
from workbench.errors import ShapeError
from workbench.targets import WAVE
from workbench_kernels.families import scalars

TYPES = {known.name: known.dtype for known in (dtypes.BF16, dtypes.FP32)}


def shape_of(x: torch.Tensor, k: int, score: str = "none", shared: int = 0) -> dict[str, Any]:
    """Shape of a call."""
    names = {dtype: name for name, dtype in TYPES.items()}
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
    """Refuses to select more experts than there are."""
    if shape["k"] > shape["experts"]:
        raise ShapeError(f"topk: k is {shape['k']}; x has {shape['experts']} columns")


SOURCE = """#include "families/routing.cuh"
using namespace kittens;
using namespace kittens::families::routing;
__global__ __launch_bounds__(256) void best(const top_arguments<TOP_T, TOP_VALUE> g) {
    top<TOP_T, TOP_PER, TOP_K, score::TOP_SCORE>(g);
}
"""


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    return {
        "TOP_T": scalars.C_TYPES[shape["dtype"]],
        "TOP_VALUE": scalars.C_TYPES[shape["dtype"]],
        "TOP_PER": -(-shape["experts"] // WAVE),
        "TOP_K": shape["k"],
        "TOP_SCORE": shape["score"],
    }
