"""A gated delta layer's two projections taken apart: q, k, v behind one another, z, b and a."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Range
from workbench_kernels.families import pieces

NAME = "gated_delta/qkvzba_split"
SOURCE = """#include "families/pieces.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void
qkvzba_split(const ELEMENT *qkvz, const ELEMENT *ba, ELEMENT *qkv, ELEMENT *z, ELEMENT *b, ELEMENT *a,
             int batch, int heads, int groups, int keys, int values) {
    const pieces::take_apart<ELEMENT> parts{batch, heads, groups, keys, values};
    parts.run(pieces::index(), qkvz, ba, qkv, z, b, a);
}
"""


def reference(
    mixed_qkvz: torch.Tensor, mixed_ba: torch.Tensor, heads: int, groups: int, key_dim: int
) -> tuple[torch.Tensor, ...]:
    """Of tokens x heads x [q, k, groups x v, groups x z] and tokens x heads x [groups x b, groups x a].

    Gives [all q, all k, all v] (tokens, ..), z (tokens, heads * groups, V), b and a (tokens, heads * groups).
    """
    tokens = len(mixed_qkvz)
    by_head = mixed_qkvz.view(tokens, heads, -1)
    values = (by_head.shape[2] - 2 * key_dim) // 2
    q, k, v, z = by_head.split((key_dim, key_dim, values, values), 2)
    b, a = mixed_ba.view(tokens, heads, 2, groups).unbind(2)
    qkv = torch.cat([part.reshape(tokens, -1) for part in (q, k, v)], 1)
    return qkv, z.reshape(tokens, heads * groups, -1), b.reshape(tokens, -1), a.reshape(tokens, -1)


def shape_of(**given: Any) -> dict[str, Any]:
    qkvz, heads, groups, keys = (given[name] for name in ("mixed_qkvz", "heads", "groups", "key_dim"))
    dtype = pieces.dtype_of(NAME, "mixed_qkvz", qkvz)
    rest = qkvz.shape[-1] - 2 * heads * keys if qkvz.dim() == 2 else 0
    if min(heads, groups, keys, rest) < 1 or rest % (2 * heads * groups):
        raise ShapeError(
            f"{NAME}: mixed_qkvz is {tuple(qkvz.shape)} with {heads} heads of {keys} and {groups} of v for "
            "each; expected (tokens, heads * (2 key_dim + 2 groups V))"
        )
    pieces.like(NAME, "mixed_ba", given["mixed_ba"], (len(qkvz), 2 * heads * groups), qkvz.dtype)
    values = rest // (2 * heads * groups)
    sizes = {"batch": len(qkvz), "heads": heads, "groups": groups, "keys": keys, "values": values}
    return {**sizes, "dtype": dtype}


def columns(shape: Mapping[str, Any]) -> int:
    """Of a row of qkvz."""
    return int(shape["heads"] * 2 * (shape["keys"] + shape["groups"] * shape["values"]))


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    heads, groups = shape["heads"], shape["groups"]
    dims = {"mixed_qkvz": columns(shape), "mixed_ba": 2 * heads * groups}
    made = {
        name: torch.randn(shape["batch"], cols, generator=generator).to(pieces.DTYPES[shape["dtype"]])
        for name, cols in dims.items()
    }
    return {**made, "heads": heads, "groups": groups, "key_dim": shape["keys"]}


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    batch, of_values, dtype = shape["batch"], shape["heads"] * shape["groups"], tensors["mixed_qkvz"].dtype
    flat = 2 * shape["heads"] * shape["keys"] + of_values * shape["values"]
    dims = {"mixed_qkv": (flat,), "z": (of_values, shape["values"]), "b": (of_values,), "a": (of_values,)}
    return {name: ((batch, *of), dtype) for name, of in dims.items()}


spec = KernelSpec(
    name=NAME,
    doc="tokens x heads x [q, k, v, z] and [b, a] of a gated delta layer's projections as [all q, all k, "
    "all v], z, b and a; bf16 or fp16.",
    source=SOURCE,
    entry="qkvzba_split",
    parameters={
        "batch": Range(1, 1 << 20, default=16, doc="tokens"),
        "heads": Range(1, 256, default=4, doc="heads of q and k"),
        "groups": Range(1, 64, default=2, doc="heads of v for each of q and k"),
        "keys": Range(8, 1024, step=8, default=128, doc="columns of a head of q and k"),
        "values": Range(8, 1024, step=8, default=128, doc="columns of a head of v and z"),
        "dtype": Choice(tuple(pieces.DTYPES), doc="element type"),
    },
    shapes=[{"batch": 5, "heads": 2, "groups": 3, "keys": 24, "values": 40}, {"batch": 16, "dtype": "fp16"}],
    inputs=inputs,
    outputs=outputs,
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {"ELEMENT": pieces.ELEMENTS[shape["dtype"]]},
    launch=lambda shape, arch: pieces.launch(shape["batch"] * columns(shape)),
    arguments=lambda shape, tensors: {
        **{"qkvz": tensors["mixed_qkvz"], "ba": tensors["mixed_ba"], "qkv": tensors["mixed_qkv"]},
        **{name: tensors[name] for name in ("z", "b", "a")},
        **{name: shape[name] for name in ("batch", "heads", "groups", "keys", "values")},
    },
    bytes=lambda shape: 4 * shape["batch"] * (columns(shape) + 2 * shape["heads"] * shape["groups"]),
)
