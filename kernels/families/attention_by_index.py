"""Latent attention of one query over the keys in a list: common parts of the operators that use `in_list`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Launch, Parameter, Range, Step
from workbench_kernels.families import attention_decode as decode
from workbench_kernels.families import scalars
from workbench_kernels.families.attention import check_distances, dtype_of

PARAMETERS: dict[str, Parameter] = {
    "queries": Range(1, 65535, default=2, doc="queries"),
    "keys": Range(1, 1 << 20, default=256, doc="keys per query, on average"),
    "rows": Range(1, 1 << 24, default=512, doc="rows of the cache"),
    "heads": Range(1, 1024, default=16, doc="heads of queries"),
    "dtype": Choice(tuple(scalars.HALVES), doc="element type of q and O"),
    "cache": Choice(("as q", "fp8"), doc="element type of the cache"),
    "values": Choice(
        ("keys", "own"), doc="whether values are the first columns of the keys, or have a cache"
    ),
}

NO_TABLE: dict[str, Any] = {"table": None, "lengths": None, "queries": None, "width": 0, "sequences": 0}


def whole(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The shape in terms of `attention/decode`: each query is a sequence, pages have one row."""
    paging = {"batch": shape["queries"], "longest": 1, "pages": shape["keys"], "page": 1, "capped": 0}
    return {**paging, **decode.MLA, **shape}  # operators with separate values set it in `shape`


def check_query(q: torch.Tensor) -> None:
    """Refuses q unless it can be a query of latent attention."""
    if q.dim() != 3 or q.shape[-1] != decode.LATENT or q.dtype not in scalars.HALVES.values():
        raise ShapeError(
            f"attention: q is {q.dtype} {tuple(q.shape)}; expected torch.bfloat16 or torch.float16 "
            f"(queries, H, {decode.LATENT})"
        )


def shape_of(
    q: torch.Tensor,
    kv_cache: torch.Tensor,
    v_cache: torch.Tensor | None,
    keys: int,
    scale: float | None,
    kv_scale: float,
) -> dict[str, Any]:
    """Shape of q (queries, H, 576) over a cache with the same last dimension, and optionally one of 512.

    Raises:
        ShapeError: the dimensions or dtypes are wrong, or the rows of a cache are not equally far apart.
    """
    check_query(q)
    if kv_cache.shape[-1:] != q.shape[-1:]:
        raise ShapeError(f"attention: kv_cache is {tuple(kv_cache.shape)}; expected rows of {decode.LATENT}")
    if v_cache is not None and (
        v_cache.shape != (*kv_cache.shape[:-1], 512) or v_cache.dtype != kv_cache.dtype
    ):
        raise ShapeError(
            f"attention: v_cache is {v_cache.dtype} {tuple(v_cache.shape)}; expected {kv_cache.dtype} "
            f"{(*kv_cache.shape[:-1], 512)}, as kv_cache, or None"
        )
    fp8 = kv_cache.dtype in scalars.FP8
    if not fp8 and kv_cache.dtype != q.dtype:
        raise ShapeError(f"attention: kv_cache is {kv_cache.dtype}; expected {q.dtype}, as q, or float8_e4m3")
    check_distances(q=q, kv_cache=kv_cache, v_cache=v_cache)
    decode.check_scales(scale, kv_scale=kv_scale)
    for name, cache in (("kv_cache", kv_cache), ("v_cache", v_cache)):
        if cache is None:
            continue
        row = cache.stride(-3 if cache.dim() == 4 else 0)
        if cache.dim() == 4 and cache.shape[0] > 1 and cache.stride(0) != cache.shape[1] * row:
            raise ShapeError(
                f"attention: {name} {tuple(cache.shape)} has strides {tuple(cache.stride())}; expected "
                "contiguous pages"
            )
        if cache.numel() // cache.shape[-1] * row * cache.element_size() >= 1 << 32:
            raise ShapeError(
                f"attention: {name} {tuple(cache.shape)} has 4 GiB or more; expected less, since offsets "
                "have 32 bits"
            )
    rows = kv_cache.numel() // decode.LATENT
    return {
        "queries": q.shape[0],
        "keys": max(1, keys),
        "rows": rows,
        "heads": q.shape[1],
        "dtype": dtype_of(q=q),
        "cache": "fp8" if fp8 else "as q",
        "values": "keys" if v_cache is None else "own",
    }


def tensors(
    shape: Mapping[str, Any], generator: torch.Generator, *dims: int
) -> dict[str, torch.Tensor | float | None]:
    """Normally distributed q, and caches with the dimensions `dims` before the last."""
    dtype = scalars.HALVES[shape["dtype"]]
    stored = torch.float8_e4m3fn if shape["cache"] == "fp8" else dtype

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(*dims, generator=generator)

    return {
        "q": normal(shape["queries"], shape["heads"], decode.LATENT).to(dtype),
        "kv_cache": normal(*dims, decode.LATENT).to(stored),
        **({"v_cache": normal(*dims, 512).to(stored)} if shape["values"] == "own" else {}),
        **({"kv_scale": 0.5} if shape["cache"] == "fp8" else {}),
    }


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    return decode.outputs(whole(shape), tensors)


def workspace(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    return decode.workspace(whole(shape), tensors)


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    return decode.define(whole(shape), arch)


def check(shape: Mapping[str, Any], arch: str) -> None:
    decode.check_heads(whole(shape))


def steps(arguments: Any) -> list[Step]:
    """The launches of `attention/decode`."""
    return [Step(step.name, step.entry, _of_whole(step), arguments) for step in decode.steps(arguments)]


def _of_whole(step: Step) -> Callable[[Mapping[str, Any], str], Launch]:
    return lambda shape, arch: step.launch(whole(shape), arch)


def arguments(
    shape: Mapping[str, Any], tensors: Mapping[str, Any], where: Mapping[str, Any]
) -> dict[str, Any]:
    """The kernel's arguments for the place of keys, in addition to `NO_TABLE`."""

    def paged(cache: torch.Tensor | None) -> torch.Tensor | None:
        return cache if cache is None or cache.dim() == 4 else cache[:, None, None]

    scale = tensors["kv_scale"]
    caches = {"k_cache": paged(tensors["kv_cache"]), "v_cache": paged(tensors["v_cache"])}
    return {
        **decode.common(
            whole(shape), {"softcap": 0.0, **tensors, **caches, "k_scale": scale, "v_scale": scale}
        ),
        "where": {**NO_TABLE, "starts": None, "count": 0, **where},
        "starts": None,
        "angles": None,
        "positions": None,
    }


def flops(shape: Mapping[str, Any]) -> int:
    """2 (576 + 512) for each pair of a query and a key of its list."""
    return 2 * (decode.LATENT + 512) * int(shape["queries"] * shape["heads"] * shape["keys"])


def bytes_moved(shape: Mapping[str, Any]) -> int:
    """Bytes of each row of the caches that the lists may name, of q and of O, once each."""
    rows = min(shape["rows"], shape["queries"] * shape["keys"])
    size = 1 if shape["cache"] == "fp8" else 2
    return int(
        decode.width_of(whole(shape)) * size * rows
        + 2 * (decode.LATENT + 512) * shape["queries"] * shape["heads"]
    )
