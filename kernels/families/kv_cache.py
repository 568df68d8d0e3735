"""Writes of keys and values to a paged cache: arguments and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import elementwise, scalars

NAME = "feed_forward/kv_cache"

SOURCE = """#include "families/elementwise.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void
kv_cache(const ELEMENT *k, const ELEMENT *v, CACHE *key_cache, CACHE *value_cache, const int *slots,
         float k_scale, float v_scale, int tokens, int heads, int dim, int block) {
    const size_t at = elementwise::index();
    if (at >= size_t{1} * tokens * heads * (dim / elementwise::LENGTH)) return;
    elementwise::cache_rows<ELEMENT, CACHE>{k, key_cache, k_scale}.run(at, slots, heads, dim, block);
    elementwise::cache_rows<ELEMENT, CACHE>{v, value_cache, v_scale}.run(at, slots, heads, dim, block);
}
"""


def shape_of(**arguments: Any) -> dict[str, Any]:
    k, cache, slots = arguments["k"], arguments["key_cache"], arguments["slots"]
    dtype = elementwise.dtype_of(NAME, "k", k)
    if k.dim() != 4 or k.shape[2] != 1:
        raise ShapeError(f"{NAME}: k is {tuple(k.shape)}; expected (tokens, heads, 1, dim)")
    tokens, heads, _, dim = k.shape
    elementwise.like(NAME, "v", arguments["v"], tuple(k.shape), k.dtype)
    if (
        cache.dim() != 4
        or (cache.shape[1], cache.shape[3]) != (heads, dim)
        or cache.dtype not in (k.dtype, *scalars.FP8)
    ):
        raise ShapeError(
            f"{NAME}: key_cache is {tuple(cache.shape)} {cache.dtype}; expected (blocks, {heads}, block, "
            f"{dim}) {k.dtype} or fp8"
        )
    elementwise.like(NAME, "value_cache", arguments["value_cache"], tuple(cache.shape), cache.dtype)
    wide = slots.dtype == torch.int64
    elementwise.like(NAME, "slots", slots, (tokens,), torch.int64 if wide else torch.int32)
    sizes = {"tokens": tokens, "heads": heads, "dim": dim, "blocks": cache.shape[0], "block": cache.shape[2]}
    return {**sizes, "dtype": dtype, "cache": "fp8" if cache.dtype in scalars.FP8 else "same"}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Random slots of the cache, each for one token; one token in eight has none."""
    dtype = scalars.HALVES[shape["dtype"]]
    rows = (shape["tokens"], shape["heads"], 1, shape["dim"])
    places = (shape["blocks"], shape["heads"], shape["block"], shape["dim"])
    tensors = {name: torch.randn(rows, generator=generator).to(dtype) for name in ("k", "v")}
    for name in ("key_cache", "value_cache"):
        tensors[name] = torch.randn(places, generator=generator).to(
            scalars.FP8[0] if shape["cache"] == "fp8" else dtype
        )
    slots = torch.randperm(shape["blocks"] * shape["block"], generator=generator)[: shape["tokens"]]
    skipped = torch.rand(shape["tokens"], generator=generator) < 0.125
    tensors["slots"] = torch.where(skipped, -1, slots).to(torch.int32)
    return {**tensors, "k_scale": 0.5, "v_scale": 2.0}


def check(shape: Mapping[str, Any], arch: str) -> None:
    if shape["tokens"] > shape["blocks"] * shape["block"]:
        raise ShapeError(
            f"{NAME}: {shape['tokens']} tokens, {shape['blocks']} blocks of {shape['block']}; "
            "expected a slot for each"
        )


def elements(shape: Mapping[str, Any]) -> int:
    """Elements of k; v has the same number."""
    return int(shape["tokens"] * shape["heads"] * shape["dim"])
