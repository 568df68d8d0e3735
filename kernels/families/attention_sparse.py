"""Latent attention over keys selected for each query: arguments and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import attention_by_index as listed
from workbench_kernels.families.attention import check_starts


def check_table(
    queries: int,
    block_table: torch.Tensor | None,
    seq_lens: torch.Tensor | None,
    cu_seqlens_q: torch.Tensor | None,
) -> None:
    """Refuses a table without lengths, and either with the wrong number of sequences."""
    if block_table is None or seq_lens is None:
        if not block_table is seq_lens is cu_seqlens_q is None:
            raise ShapeError(
                "unified_attn_sparse_mla: expected block_table and seq_lens (and cu_seqlens_q for sequences "
                "of several queries), or none of the three"
            )
        return
    batch = queries
    if cu_seqlens_q is not None:
        check_starts("cu_seqlens_q", cu_seqlens_q)
        batch = cu_seqlens_q.numel() - 1
    fits = block_table.dim() == 2 and block_table.shape[0] == batch and tuple(seq_lens.shape) == (batch,)
    if not fits or not block_table.dtype == seq_lens.dtype == torch.int32:
        raise ShapeError(
            f"unified_attn_sparse_mla: block_table is {block_table.dtype} {tuple(block_table.shape)}, "
            f"seq_lens {seq_lens.dtype} {tuple(seq_lens.shape)}; expected int32 "
            f"({batch}, pages) and int32 ({batch},)"
        )


def shape_of(
    q: torch.Tensor,
    kv_cache: torch.Tensor,
    topk_indices: torch.Tensor,
    block_table: torch.Tensor | None = None,
    seq_lens: torch.Tensor | None = None,
    cu_seqlens_q: torch.Tensor | None = None,
    scale: float | None = None,
    kv_scale: float = 1.0,
    v_cache: torch.Tensor | None = None,
) -> dict[str, Any]:
    """Shape of a call: q (queries, H, 576), cache (pages, page, 1, 576), selected keys (queries, topk)."""
    listed.check_query(q)
    if kv_cache.dim() != 4 or kv_cache.shape[2] != 1:
        raise ShapeError(
            f"unified_attn_sparse_mla: kv_cache is {tuple(kv_cache.shape)}; expected "
            "(pages, rows of a page, 1, 576)"
        )
    if topk_indices.dtype != torch.int32 or topk_indices.dim() != 2 or topk_indices.shape[0] != q.shape[0]:
        raise ShapeError(
            f"unified_attn_sparse_mla: topk_indices is {topk_indices.dtype} {tuple(topk_indices.shape)}; "
            f"expected int32 ({q.shape[0]}, topk)"
        )
    shape = listed.shape_of(q, kv_cache, v_cache, topk_indices.shape[1], scale=scale, kv_scale=kv_scale)
    check_table(q.shape[0], block_table, seq_lens, cu_seqlens_q)
    return {
        **shape,
        "rows": kv_cache.shape[0],
        "page": kv_cache.shape[1],
        "table": int(block_table is not None),
    }


def starts_of(shape: Mapping[str, Any], generator: torch.Generator) -> torch.Tensor:
    """Offsets of up to four sequences, which may be empty."""
    batch = min(4, shape["queries"])
    inner = torch.randint(0, shape["queries"] + 1, (batch - 1,), generator=generator).sort().values
    return torch.cat((torch.tensor([0]), inner, torch.tensor([shape["queries"]]))).to(torch.int32)


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Random selected keys, a tenth of them missing; the first query has none."""
    pages, page = shape["rows"], shape["page"]
    tensors: dict[str, Any] = listed.tensors(shape, generator, pages, page, 1)
    keys = (shape["queries"], shape["keys"])
    indices = torch.randint(0, pages * page, keys, generator=generator)
    if shape["table"]:
        starts = starts_of(shape, generator)
        batch = starts.numel() - 1
        lengths = torch.randint(1, pages * page + 1, (batch,), generator=generator).to(torch.int32)
        tables = [torch.randperm(pages, generator=generator) for _ in range(batch)]
        tensors |= {
            "block_table": torch.stack(tables).to(torch.int32),
            "seq_lens": lengths,
            "cu_seqlens_q": starts,
        }
        # Indices of each sequence's keys, some of them past its end, where there is no key.
        limit = lengths.repeat_interleave(starts.diff(), output_size=shape["queries"])[:, None]
        indices = torch.where(torch.rand(keys, generator=generator) < 0.1, indices, indices % limit)
    none = torch.rand(keys, generator=generator) < 0.1
    none[0] = True
    return {**tensors, "topk_indices": indices.masked_fill(none, -1).to(torch.int32)}


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    where: dict[str, Any] = {"indices": tensors["topk_indices"], "count": shape["keys"]}
    if shape["table"]:
        where |= {"table": tensors["block_table"], "lengths": tensors["seq_lens"]}
        where |= {"queries": tensors["cu_seqlens_q"], "width": tensors["block_table"].shape[1]}
        where |= {"sequences": tensors["block_table"].shape[0]}
    return listed.arguments(shape, tensors, where)
