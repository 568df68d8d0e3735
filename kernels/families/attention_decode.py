"""Attention of a few queries per sequence over a paged cache: common parts of its operators."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Launch, Parameter, Range, Step
from workbench.targets import WAVE
from workbench_kernels.families import scalars
from workbench_kernels.families.attention import (
    ROOM,
    band,
    check_distances,
    check_settings,
    check_starts,
    dtype_of,
)

ROWS = 16
"""Rows per wave: queries, times the heads that share keys."""

KEYS = 32
"""Keys per block."""

ENOUGH = 1024
"""Number of work-groups that keeps a GPU busy; it determines the number of splits."""

LATENT = 576
"""Head dimension of latent attention: 512 columns that are values too, and 64 for positions."""


def source(place: str, turned: str = "none") -> str:
    """The two kernels, by the place of keys and whether q is rotated."""
    return f"""#include "families/attention_decode.cuh"

using namespace kittens;
using namespace kittens::families::attention;
using globals = decode_globals<ELEMENT, CACHE, DIM, DIM_V, {place}>;

__global__ __launch_bounds__(WAVES *WARP_THREADS) void attention_decode(const globals g) {{
    decode<ELEMENT, CACHE, DIM, DIM_V, {place}, WAVES, LATENT, CAPPED, turn::{turned}>(g);
}}
__global__ __launch_bounds__(WARP_THREADS) void attention_merge(const globals g) {{ merge(g); }}
"""


def width_of(shape: Mapping[str, Any]) -> int:
    """Columns of the caches."""
    return int(shape["dim"] + (0 if shape["values"] == "keys" else shape["dim_v"]))


def rows_of(shape: Mapping[str, Any]) -> int:
    """Largest number of rows of a sequence that share a head of keys."""
    return int(shape["longest"] * (shape["heads"] // shape["heads_kv"]))


def waves_of(shape: Mapping[str, Any]) -> int:
    """Waves of a work-group, 16 rows each: 4 where enough rows share keys."""
    return 4 if rows_of(shape) > ROWS else 1


def groups_of(shape: Mapping[str, Any]) -> int:
    """Work-groups per sequence and split."""
    return int(shape["heads_kv"] * -(-rows_of(shape) // (waves_of(shape) * ROWS)))


def splits_of(shape: Mapping[str, Any]) -> int:
    """Number of splits that gives a GPU enough work-groups, each with at least four blocks of keys."""
    splits = -(-ENOUGH // (shape["batch"] * groups_of(shape)))
    return int(max(1, min(splits, shape["pages"] * shape["page"] // (4 * KEYS), 64)))


def check_caches(q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor | None) -> None:
    """Refuses caches that do not match q."""
    if q.dim() != 3 or k_cache.dim() != 4 or q.shape[-1] != k_cache.shape[-1]:
        raise ShapeError(
            f"attention: q is {tuple(q.shape)}, k_cache {tuple(k_cache.shape)}; expected (tokens, H, D) and "
            "(pages, rows of a page, H_kv, D)"
        )
    if v_cache is not None and (v_cache.dim() != 4 or v_cache.shape[:3] != k_cache.shape[:3]):
        raise ShapeError(
            f"attention: v_cache is {tuple(v_cache.shape)}; expected "
            f"{(*k_cache.shape[:3], 'D_v')}, as k_cache"
        )
    check_distances(q=q, k_cache=k_cache, v_cache=v_cache)
    fp8 = k_cache.dtype in scalars.FP8
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        if cache is not None and (cache.dtype not in scalars.FP8 if fp8 else cache.dtype != q.dtype):
            raise ShapeError(f"attention: {name} is {cache.dtype}; expected {q.dtype}, as q, or float8_e4m3")


def check_scales(scale: float | None, **scales: float) -> None:
    """Refuses numbers that cannot be scales."""
    if not all(0 < x < float("inf") for x in (1.0 if scale is None else scale, *scales.values())):
        others = "".join(f", {name} {value}" for name, value in scales.items())
        raise ShapeError(f"attention: scale is {scale}{others}; expected positive numbers")


def shape_of(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor | None,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    scale: float | None = None,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
    cu_seqlens_q: torch.Tensor | None = None,
    max_queries: int = 0,
    causal: bool = True,
    window: int = 0,
    softcap: float = 0.0,
    sinks: torch.Tensor | None = None,
) -> dict[str, Any]:
    """Shape of a call: q (tokens, H, D), caches (pages, page, H_kv, D and D_v), table (B, pages).

    Without `v_cache`, the values are the first 512 columns of the keys (multi-head latent attention).
    """
    check_caches(q, k_cache, v_cache)
    batch = q.shape[0]
    if cu_seqlens_q is not None:
        check_starts("cu_seqlens_q", cu_seqlens_q)
        batch = cu_seqlens_q.numel() - 1
    lengths = seq_lens.shape[0] if seq_lens.dim() == 1 else -1
    tables = block_table.shape[0] if block_table.dim() == 2 else -1
    if not block_table.dtype == seq_lens.dtype == torch.int32 or not lengths == tables == batch:
        raise ShapeError(
            f"attention: block_table is {block_table.dtype} {tuple(block_table.shape)}, seq_lens "
            f"{seq_lens.dtype} {tuple(seq_lens.shape)}; expected "
            f"int32 ({batch}, pages) and int32 ({batch},)"
        )
    check_scales(scale, k_scale=k_scale, v_scale=v_scale)
    check_settings(None, window, softcap, q.shape[1], sinks)
    if max_queries < 0:
        raise ShapeError(
            f"attention: max_queries is {max_queries}; expected the largest number of queries "
            "in a sequence, or 0"
        )
    longest = 1 if cu_seqlens_q is None else max_queries or q.shape[0]
    return {
        "batch": batch,
        "queries": q.shape[0],
        "longest": min(longest, q.shape[0]),
        "pages": block_table.shape[1],
        "page": k_cache.shape[1],
        "heads": q.shape[1],
        "heads_kv": k_cache.shape[2],
        "dim": q.shape[2],
        "dim_v": 512 if v_cache is None else v_cache.shape[3],
        "values": "keys" if v_cache is None else "own",
        "dtype": dtype_of(q=q),
        "cache": "fp8" if k_cache.dtype in scalars.FP8 else "as q",
        "capped": int(softcap > 0),
    }


def check_heads(shape: Mapping[str, Any]) -> None:
    """Refuses head counts that do not match, and sizes beyond the limits of offsets and launches."""
    if shape["heads"] % shape["heads_kv"]:
        raise ShapeError(
            f"attention: {shape['heads']} heads of q and {shape['heads_kv']} of the caches; expected a "
            "multiple"
        )
    if splits_of(shape) * shape["queries"] * shape["heads"] * shape["dim_v"] * 4 >= 1 << 32:
        raise ShapeError(
            f"attention: {shape['queries']} queries of {shape['heads']} heads in {splits_of(shape)} splits "
            "have 4 GiB of sums or more; expected less, since offsets have 32 bits; split the call"
        )


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses head dimensions, head counts and numbers of queries that do not match."""
    if (shape["dim"], shape["dim_v"]) not in ((64, 64), (128, 128), (LATENT, 512)):
        raise ShapeError(
            f"attention: head dimensions are {shape['dim']} and {shape['dim_v']}; supported are 64 and 64, "
            "128 and 128, 576 and 512"
        )
    if shape["values"] == "keys" and shape["dim"] != LATENT:
        raise ShapeError(
            f"attention: there is no v_cache, and keys have {shape['dim']} columns; expected a v_cache, or "
            f"keys of {LATENT} columns whose first 512 are the values"
        )
    check_heads(shape)
    if shape["queries"] > shape["batch"] * shape["longest"]:
        raise ShapeError(
            f"attention: {shape['queries']} queries of {shape['batch']} sequences with at most "
            f"{shape['longest']}; expected at most {shape['batch'] * shape['longest']}"
        )


def starts_of(shape: Mapping[str, Any], draw: random.Random) -> torch.Tensor:
    """Offsets of sequences with `queries` queries in total, at most `longest` each."""
    ends = [0]
    for i in range(shape["batch"]):
        left = shape["queries"] - ends[-1]
        least = max(0, left - (shape["batch"] - i - 1) * shape["longest"])
        most = min(shape["longest"], left)
        ends.append(ends[-1] + draw.randint(least, most))
    return torch.tensor(ends, dtype=torch.int32)


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Normally distributed q and caches; pages in random order, sequences of random lengths up to the
    table's."""
    batch, pages, page = shape["batch"], shape["pages"], shape["page"]
    dtype = scalars.HALVES[shape["dtype"]]
    stored = torch.float8_e4m3fn if shape["cache"] == "fp8" else dtype

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(*dims, generator=generator)

    lengths = torch.randint(0, pages * page + 1, (batch,), generator=generator)
    lengths[0] = pages * page - 1
    rows = (batch * pages, page, shape["heads_kv"])
    tensors: dict[str, Any] = {
        "q": normal(shape["queries"], shape["heads"], shape["dim"]).to(dtype),
        "k_cache": normal(*rows, shape["dim"]).to(stored),
        "v_cache": None if shape["values"] == "keys" else normal(*rows, shape["dim_v"]).to(stored),
        "block_table": torch.randperm(batch * pages, generator=generator).view(batch, pages).to(torch.int32),
        "seq_lens": lengths.to(torch.int32),
        **({"k_scale": 0.5, "v_scale": 2.0} if shape["cache"] == "fp8" else {}),
        **({"softcap": 5.0} if shape["capped"] else {}),
    }
    # Only tensors are random by `generator`, the rest by the shape: fake tensors have no values.
    draw = random.Random(f"{sorted(shape.items())}")
    if draw.random() < 0.5:
        tensors["window"] = draw.randint(1, pages * page)
    if draw.random() < 0.5:
        tensors["sinks"] = normal(shape["heads"])
    if shape["longest"] > 1 or shape["queries"] != batch:
        tensors |= {"cu_seqlens_q": starts_of(shape, draw), "max_queries": shape["longest"]}
        tensors["causal"] = draw.random() < 0.75
    return tensors


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    dims = (shape["queries"], shape["heads"])
    return {"out": ((*dims, shape["dim_v"]), tensors["q"].dtype), "lse": (dims, torch.float32)}


def workspace(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """O and logarithms of each split."""
    dims = (shape["queries"], splits_of(shape), shape["heads"])
    return {"partial": ((*dims, shape["dim_v"]), torch.float32), "partial_lse": (dims, torch.float32)}


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    """Macros of an instance: element types, sizes and options."""
    element = scalars.C_TYPES[shape["dtype"]]
    return {
        "ELEMENT": element,
        "CACHE": scalars.C_TYPES["fp8"] if shape["cache"] == "fp8" else element,
        "DIM": shape["dim"],
        "DIM_V": shape["dim_v"],
        "WAVES": waves_of(shape),
        "LATENT": "true" if shape["values"] == "keys" else "false",
        "CAPPED": "true" if shape["capped"] else "false",
    }


def launch_decode(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group for the rows that share keys, and a split."""
    row = KEYS * (1 if shape["cache"] == "fp8" else 2)
    block = row * width_of(shape)
    # Where keys and values do not fit at the same time, they take turns.
    shared = 2 * block if 2 * block <= ROOM[arch] else block if block <= ROOM[arch] else row * shape["dim"]
    grid = (groups_of(shape), splits_of(shape), shape["batch"])
    return Launch(grid=grid, block=WAVE * waves_of(shape), dynamic_shared=shared)


def launch_merge(shape: Mapping[str, Any], arch: str) -> Launch:
    """A wave for each head of a query."""
    return Launch(grid=(shape["heads"], shape["queries"], 1), block=WAVE)


def common(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that do not depend on the place of keys."""
    scale = shape["dim"] ** -0.5 if tensors["scale"] is None else tensors["scale"]
    sinks = tensors.get("sinks")
    return {
        "q": tensors["q"],
        "k": tensors["k_cache"],
        "v": tensors.get("v_cache"),
        "out": tensors["out"][:, :, None],
        **{name: tensors[name] for name in ("lse", "partial", "partial_lse")},
        "scale": scale * tensors.get("k_scale", 1.0),
        "scale_v": tensors.get("k_scale" if tensors.get("v_cache") is None else "v_scale", 1.0),
        "softcap": tensors["softcap"],
        "sinks": None if sinks is None else sinks.float(),
        **band(tensors.get("causal", False), tensors.get("window", 0)),
    }


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **common(shape, tensors),
        "where": {
            "table": tensors["block_table"],
            "lengths": tensors["seq_lens"],
            "width": shape["pages"],
        },
        "starts": tensors["cu_seqlens_q"],
        "angles": None,
        "positions": None,
    }


def steps(arguments: Any) -> list[Step]:
    """The two launches of a call."""
    return [
        Step("split", "attention_decode", launch_decode, arguments),
        Step("merge", "attention_merge", launch_merge, arguments),
    ]


def flops(shape: Mapping[str, Any]) -> int:
    """2 (D + D_v) for each pair of a query and a key of full tables; the real work depends on the lengths."""
    pairs = shape["queries"] * shape["heads"] * shape["pages"] * shape["page"]
    return int(2 * (shape["dim"] + shape["dim_v"]) * pairs)


def bytes_moved(shape: Mapping[str, Any]) -> int:
    """Caches of full tables, q and O once."""
    rows = shape["batch"] * shape["pages"] * shape["page"] * shape["heads_kv"]
    elements = shape["queries"] * shape["heads"] * (shape["dim"] + shape["dim_v"])
    return int(width_of(shape) * (1 if shape["cache"] == "fp8" else 2) * rows + 2 * elements)


PARAMETERS: dict[str, Parameter] = {
    "batch": Range(1, 1 << 16, default=2, doc="sequences"),
    "queries": Range(1, 65535, default=2, doc="queries, over all sequences"),
    "longest": Range(1, 1 << 16, default=1, doc="largest number of queries in a sequence"),
    "pages": Range(1, 1 << 16, default=16, doc="pages of the longest sequence"),
    "page": Range(16, 1 << 16, step=16, default=16, doc="rows of a page"),
    "heads": Range(1, 1024, default=32, doc="heads of queries"),
    "heads_kv": Range(1, 1024, default=8, doc="heads of keys and values; a divisor of heads"),
    "dim": Choice((64, 128, LATENT), default=128, doc="head dimension of queries and keys"),
    "dim_v": Choice((64, 128, 512), default=128, doc="head dimension of values"),
    "values": Choice(
        ("own", "keys"), doc="whether values have a cache, or are the first columns of the keys"
    ),
    "dtype": Choice(tuple(scalars.HALVES), doc="element type of q and O"),
    "cache": Choice(("as q", "fp8"), doc="element type of the caches"),
    "capped": Choice((0, 1), doc="whether logits are soft-capped"),
}

MLA = {"heads_kv": 1, "dim": LATENT, "dim_v": 512, "values": "keys"}
