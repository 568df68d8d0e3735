"""Splits of a gated delta layer's projections: sizes, inputs and reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import elementwise, scalars

NAME = "gated_delta/qkvzba_split"

SOURCE = """#include "families/elementwise.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void
qkvzba_split(const ELEMENT *qkvz, const ELEMENT *ba, ELEMENT *qkv, ELEMENT *z, ELEMENT *b, ELEMENT *a,
             int batch, int heads, int groups, int keys, int values) {
    const elementwise::take_apart<ELEMENT> parts{batch, heads, groups, keys, values};
    parts.run(elementwise::index(), qkvz, ba, qkv, z, b, a);
}
"""


def reference(
    mixed_qkvz: torch.Tensor, mixed_ba: torch.Tensor, heads: int, groups: int, key_dim: int
) -> tuple[torch.Tensor, ...]:
    """Splits tokens x heads x [q, k, groups x v, groups x z] and tokens x heads x [groups x b, groups x a].

    Returns [all q, all k, all v] (tokens, ..), z (tokens, heads * groups, V), b and a (tokens, heads *
    groups).
    """
    tokens = len(mixed_qkvz)
    by_head = mixed_qkvz.view(tokens, heads, -1)
    values = (by_head.shape[2] - 2 * key_dim) // 2
    q, k, v, z = by_head.split((key_dim, key_dim, values, values), 2)
    b, a = mixed_ba.view(tokens, heads, 2, groups).unbind(2)
    qkv = torch.cat([part.reshape(tokens, -1) for part in (q, k, v)], 1)
    return qkv, z.reshape(tokens, heads * groups, -1), b.reshape(tokens, -1), a.reshape(tokens, -1)


def shape_of(**arguments: Any) -> dict[str, Any]:
    qkvz, heads, groups, keys = (arguments[name] for name in ("mixed_qkvz", "heads", "groups", "key_dim"))
    dtype = elementwise.dtype_of(NAME, "mixed_qkvz", qkvz)
    rest = qkvz.shape[-1] - 2 * heads * keys if qkvz.dim() == 2 else 0
    if min(heads, groups, keys, rest) < 1 or rest % (2 * heads * groups):
        raise ShapeError(
            f"{NAME}: mixed_qkvz is {tuple(qkvz.shape)} with {heads} heads of {keys} and {groups} of v for "
            "each; expected (tokens, heads * (2 key_dim + 2 groups V))"
        )
    elementwise.like(NAME, "mixed_ba", arguments["mixed_ba"], (qkvz.shape[0], 2 * heads * groups), qkvz.dtype)
    values = rest // (2 * heads * groups)
    sizes = {"batch": qkvz.shape[0], "heads": heads, "groups": groups, "keys": keys, "values": values}
    return {**sizes, "dtype": dtype}


def columns(shape: Mapping[str, Any]) -> int:
    """Columns of a row of qkvz."""
    return int(shape["heads"] * 2 * (shape["keys"] + shape["groups"] * shape["values"]))


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    heads, groups = shape["heads"], shape["groups"]
    dims = {"mixed_qkvz": columns(shape), "mixed_ba": 2 * heads * groups}
    tensors = {
        name: torch.randn(shape["batch"], cols, generator=generator).to(scalars.HALVES[shape["dtype"]])
        for name, cols in dims.items()
    }
    return {**tensors, "heads": heads, "groups": groups, "key_dim": shape["keys"]}


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    batch, of_values, dtype = shape["batch"], shape["heads"] * shape["groups"], tensors["mixed_qkvz"].dtype
    flat = 2 * shape["heads"] * shape["keys"] + of_values * shape["values"]
    dims = {"mixed_qkv": (flat,), "z": (of_values, shape["values"]), "b": (of_values,), "a": (of_values,)}
    return {name: ((batch, *of), dtype) for name, of in dims.items()}
