"""Latent attention of each query over the keys selected for it, with or without a table of pages."""

from __future__ import annotations

from workbench.operators import Choice, Index, KernelSpec, Range
from workbench_kernels.families import attention_by_index as listed
from workbench_kernels.families import attention_decode as decode
from workbench_kernels.families import attention_sparse as family
from workbench_kernels.families.attention import used_pages
from workbench_kernels.references.attention import sparse_mla

spec = KernelSpec(
    name="attention_paged/unified_attn_sparse_mla",
    doc="Latent attention of each query over the keys selected for it (sparse attention), which are given "
    "by their positions in the sequence and a table of pages, or by their rows in the cache. Split along "
    "the keys and merged.",
    source=decode.source("in_list"),
    steps=listed.steps(family.arguments),
    workspace=listed.workspace,
    parameters={
        **listed.PARAMETERS,
        "rows": Range(1, 1 << 20, default=16, doc="pages of the cache"),
        "page": Range(1, 1 << 12, default=16, doc="rows of a page"),
        "table": Choice(
            (1, 0), doc="whether keys are given by position in the sequence, or by row of the cache"
        ),
    },
    shapes=[
        {"queries": 5, "keys": 100, "rows": 9, "page": 16, "heads": 16},
        {"queries": 3, "keys": 40, "rows": 30, "page": 1, "heads": 20, "table": 0, "cache": "fp8"},
    ],
    inputs=family.inputs,
    outputs=listed.outputs,
    reference=sparse_mla,
    shape_of=family.shape_of,
    define=listed.define,
    check=listed.check,
    flops=listed.flops,
    bytes=lambda shape: listed.bytes_moved({**shape, "rows": shape["rows"] * shape["page"]}),
    tensors={
        "q": "dtype[queries, heads, 576]",
        "kv_cache": "dtype/fp8[rows, page, 1, 576]",
        "topk_indices": "int32[queries, keys]",
        "block_table": "int32[sequences, pages]",
        "seq_lens": "int32[sequences]",
        "cu_seqlens_q": "int32[sequences+1]",
        "v_cache": "dtype/fp8[rows, page, 1, 512]",
        "out": "dtype[queries, heads, 512]",
        "lse": "fp32[queries, heads]",
    },
    indexes={
        "seq_lens": Index("pages*page+1"),
        "block_table": Index("rows", read=used_pages("kv_cache")),
        "cu_seqlens_q": Index("queries+1"),
    },
    notes={
        "block_table": "the pages of each sequence in order; if None, `topk_indices` are rows of the cache",
        "seq_lens": "number of keys of each sequence; None without a table",
        "cu_seqlens_q": "where each sequence's queries begin, and where the last sequence ends; if None, "
        "each sequence has one query",
    },
)
