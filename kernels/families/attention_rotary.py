"""Latent attention over listed rows that rotates its query: arguments and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import attention_by_index as listed
from workbench_kernels.families.attention import check_settings, check_starts

TURNED = 64
"""Columns that hold positions."""


def shape_of(
    q: torch.Tensor,
    kv_cache: torch.Tensor,
    kv_indptr: torch.Tensor,
    kv_indices: torch.Tensor,
    cos_sin_cache: torch.Tensor | None = None,
    positions: torch.Tensor | None = None,
    scale: float | None = None,
    kv_scale: float = 1.0,
    softcap: float = 0.0,
    interleaved: bool = False,
    v_cache: torch.Tensor | None = None,
) -> dict[str, Any]:
    """Shape of a call: q (B, H, 576), cache (rows, 576), B + 1 starts, and rows of the cache."""
    listed.check_query(q)
    if kv_cache.dim() != 2:
        raise ShapeError(f"mla_decode_rope: kv_cache is {tuple(kv_cache.shape)}; expected (rows, 576)")
    if kv_indices.dim() != 1 or kv_indices.dtype != torch.int32:
        raise ShapeError(
            f"mla_decode_rope: kv_indices is {kv_indices.dtype} {tuple(kv_indices.shape)}; expected "
            "int32, the row of each key"
        )
    keys = -(-kv_indices.numel() // max(q.shape[0], 1))
    shape = listed.shape_of(q, kv_cache, v_cache, keys, scale=scale, kv_scale=kv_scale)
    check_settings(None, 0, softcap, q.shape[1], None)
    check_starts("kv_indptr", kv_indptr)
    if kv_indptr.numel() != q.shape[0] + 1:
        raise ShapeError(
            f"mla_decode_rope: kv_indptr has {kv_indptr.numel()} values; expected {q.shape[0] + 1}: where "
            "the keys of each sequence begin, and where the last end"
        )
    if (cos_sin_cache is None) != (positions is None):
        raise ShapeError("mla_decode_rope: expected both cos_sin_cache and positions, or neither")
    if cos_sin_cache is not None and positions is not None:
        fits = cos_sin_cache.dim() == 2 and cos_sin_cache.shape[1] == TURNED
        if not fits or cos_sin_cache.dtype != q.dtype:
            raise ShapeError(
                f"mla_decode_rope: cos_sin_cache is {cos_sin_cache.dtype} {tuple(cos_sin_cache.shape)}; "
                f"expected {q.dtype} (positions, {TURNED}), cosines and sines"
            )
        if positions.shape != q.shape[:1] or positions.dtype != torch.int64:
            raise ShapeError(
                f"mla_decode_rope: positions is {positions.dtype} {tuple(positions.shape)}; expected int64 "
                f"({q.shape[0]},)"
            )
    turned = "none" if positions is None else "neighbours" if interleaved else "halves"
    return {**shape, "turned": turned, "capped": int(softcap > 0)}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Rows in random order, sequences of random lengths, empty ones too, and random positions."""
    total = shape["queries"] * shape["keys"]
    inner = torch.randint(0, total + 1, (shape["queries"] - 1,), generator=generator).sort().values
    indptr = torch.cat((torch.tensor([0]), inner, torch.tensor([total]))).to(torch.int32)
    tensors: dict[str, Any] = {
        **listed.tensors(shape, generator, shape["rows"]),
        "kv_indptr": indptr,
        "kv_indices": torch.randint(0, shape["rows"], (total,), generator=generator).to(torch.int32),
        **({"softcap": 5.0} if shape["capped"] else {}),
    }
    if shape["turned"] != "none":
        angles = torch.rand(50, TURNED // 2, generator=generator) * 6
        tensors |= {
            "cos_sin_cache": torch.cat((angles.cos(), angles.sin()), dim=1).to(tensors["q"].dtype),
            "positions": torch.randint(0, 50, (shape["queries"],), generator=generator),
            "interleaved": shape["turned"] == "neighbours",
        }
    return tensors


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    where = {"indices": tensors["kv_indices"], "starts": tensors["kv_indptr"]}
    return {
        **listed.arguments(shape, tensors, where),
        "angles": tensors["cos_sin_cache"],
        "positions": tensors["positions"],
    }
