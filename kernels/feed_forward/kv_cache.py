"""Keys and values of new tokens into a paged cache, in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Range
from workbench_kernels.families import pieces

NAME = "feed_forward/kv_cache"
SOURCE = """#include "families/pieces.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void
kv_cache(const ELEMENT *k, const ELEMENT *v, CACHE *key_cache, CACHE *value_cache, const int *slots,
         float k_scale, float v_scale, int tokens, int heads, int dim, int block) {
    const size_t at = pieces::index();
    if (at >= size_t{1} * tokens * heads * (dim / pieces::LENGTH)) return;
    pieces::cache_rows<ELEMENT, CACHE>{k, key_cache, k_scale}.run(at, slots, heads, dim, block);
    pieces::cache_rows<ELEMENT, CACHE>{v, value_cache, v_scale}.run(at, slots, heads, dim, block);
}
"""
FP8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)


def written(rows: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor, scale: float) -> torch.Tensor:
    """The cache with rows (tokens, heads, 1, dim) over a number in their slots; slots below 0 are none."""
    made, block = cache.clone(), cache.shape[2]
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            made[slot // block, :, slot % block] = (rows[token, :, 0] / scale).to(cache.dtype)
    return made


def reference(
    k: torch.Tensor,
    v: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slots: torch.Tensor,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the caches (blocks, heads, block, dim) become."""
    return written(k, key_cache, slots, k_scale), written(v, value_cache, slots, v_scale)


def shape_of(**given: Any) -> dict[str, Any]:
    k, cache, slots = given["k"], given["key_cache"], given["slots"]
    dtype = pieces.dtype_of(NAME, "k", k)
    if k.dim() != 4 or k.shape[2] != 1:
        raise ShapeError(f"{NAME}: k is {tuple(k.shape)}; expected (tokens, heads, 1, dim)")
    tokens, heads, _, dim = k.shape
    pieces.like(NAME, "v", given["v"], tuple(k.shape), k.dtype)
    if (
        cache.dim() != 4
        or (cache.shape[1], cache.shape[3]) != (heads, dim)
        or cache.dtype not in (k.dtype, *FP8)
    ):
        raise ShapeError(
            f"{NAME}: key_cache is {tuple(cache.shape)} {cache.dtype}; expected (blocks, {heads}, block, "
            f"{dim}) {k.dtype} or fp8"
        )
    pieces.like(NAME, "value_cache", given["value_cache"], tuple(cache.shape), cache.dtype)
    pieces.like(NAME, "slots", slots, (tokens,), torch.int32)
    sizes = {"tokens": tokens, "heads": heads, "dim": dim, "blocks": cache.shape[0], "block": cache.shape[2]}
    return {**sizes, "dtype": dtype, "cache": "fp8" if cache.dtype in FP8 else "same"}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Slots all over the cache, each for one token, one in eight for none."""
    dtype = pieces.DTYPES[shape["dtype"]]
    rows = (shape["tokens"], shape["heads"], 1, shape["dim"])
    places = (shape["blocks"], shape["heads"], shape["block"], shape["dim"])
    made = {name: torch.randn(rows, generator=generator).to(dtype) for name in ("k", "v")}
    for name in ("key_cache", "value_cache"):
        made[name] = torch.randn(places, generator=generator).to(FP8[0] if shape["cache"] == "fp8" else dtype)
    slots = torch.randperm(shape["blocks"] * shape["block"], generator=generator)[: shape["tokens"]]
    skipped = torch.rand(shape["tokens"], generator=generator) < 0.125
    made["slots"] = torch.where(skipped, -1, slots).to(torch.int32)
    return {**made, "k_scale": 0.5, "v_scale": 2.0}


def check(shape: Mapping[str, Any], arch: str) -> None:
    if shape["tokens"] > shape["blocks"] * shape["block"]:
        raise ShapeError(
            f"{NAME}: {shape['tokens']} tokens, {shape['blocks']} blocks of {shape['block']}; "
            "expected a slot for each"
        )


def elements(shape: Mapping[str, Any]) -> int:
    """Of k, and of v."""
    return int(shape["tokens"] * shape["heads"] * shape["dim"])


spec = KernelSpec(
    name=NAME,
    doc="Rows of k and v, divided by k_scale and v_scale, into the slots of their tokens of a paged cache "
    "(blocks, heads, block, dim), in place; a slot below 0 is no place. bf16 or fp16, the cache "
    "likewise or fp8 (e4m3, rounded to nearest, saturating).",
    source=SOURCE,
    entry="kv_cache",
    parameters={
        "tokens": Range(1, 1 << 20, default=16, doc="new tokens"),
        "heads": Range(1, 256, default=8, doc="heads of keys and values"),
        "dim": Range(8, 1024, step=8, default=128, doc="columns of a head"),
        "blocks": Range(1, 1 << 20, default=8, doc="blocks of the cache"),
        "block": Range(1, 1024, default=16, doc="tokens of a block"),
        "dtype": Choice(tuple(pieces.DTYPES), doc="element type of k and v"),
        "cache": Choice(("same", "fp8"), doc="element type of the cache"),
    },
    shapes=[{"tokens": 16, "heads": 3}, {"tokens": 9, "heads": 2, "dim": 64, "block": 32, "cache": "fp8"}],
    inputs=inputs,
    outputs=lambda shape, tensors: {},
    mutates=("key_cache", "value_cache"),
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {
        "ELEMENT": pieces.ELEMENTS[shape["dtype"]],
        "CACHE": pieces.ELEMENTS["fp8" if shape["cache"] == "fp8" else shape["dtype"]],
    },
    check=check,
    launch=lambda shape, arch: pieces.launch(elements(shape)),
    arguments=lambda shape, tensors: {
        **tensors,
        **{name: shape[name] for name in ("tokens", "heads", "dim", "block")},
    },
    flops=lambda shape: 2 * elements(shape),
    bytes=lambda shape: 2 * elements(shape) * (3 if shape["cache"] == "fp8" else 4),
)
