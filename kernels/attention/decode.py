"""Attention of a few queries per sequence over a paged cache of keys and values."""

from __future__ import annotations

from workbench.operators import Index, KernelSpec
from workbench_kernels.families import attention_decode as family
from workbench_kernels.families.attention import used_pages
from workbench_kernels.references.attention import attention_paged

spec = KernelSpec(
    name="attention/decode",
    doc="Attention of a few queries per sequence over a paged cache, split along the keys and merged; GQA, "
    "MLA, fp8 caches, speculative decoding and chunked prefill, sliding window, soft cap and sinks.",
    source=family.source("in_pages<RUN>"),
    steps=family.steps(family.arguments),
    workspace=family.workspace,
    parameters=family.PARAMETERS,
    shapes=[
        {"batch": 3, "queries": 3, "pages": 20, "page": 16, "heads": 8, "heads_kv": 2},
        {
            "batch": 2,
            "queries": 2,
            "pages": 3,
            "page": 64,
            "heads": 4,
            "heads_kv": 1,
            "dim": 64,
            "dim_v": 64,
            "cache": "fp8",
        },
        {"batch": 2, "queries": 2, "pages": 3, "page": 64, "heads": 40, **family.MLA},
        {"batch": 3, "queries": 9, "longest": 5, "pages": 3, "page": 32, "heads": 8, "heads_kv": 2},
    ],
    inputs=family.inputs,
    outputs=family.outputs,
    reference=attention_paged,
    shape_of=family.shape_of,
    strided=("q", "k_cache", "v_cache"),
    define=lambda shape, arch: {
        **family.define(shape, arch),
        "RUN": 16 if shape["page"] % family.KEYS else family.KEYS,
    },
    check=family.check,
    flops=family.flops,
    bytes=family.bytes_moved,
    tensors={
        "q": "dtype[queries, heads, dim]",
        "k_cache": "dtype/fp8[blocks, page, heads_kv, dim]",
        "v_cache": "dtype/fp8[blocks, page, heads_kv, dim_v]",
        "block_table": "int32[batch, pages]",
        "seq_lens": "int32[batch]",
        "cu_seqlens_q": "int32[batch+1]",
        "sinks": "fp32/bf16/fp16[heads]",
        "out": "dtype[queries, heads, dim_v]",
        "lse": "fp32[queries, heads]",
    },
    indexes={
        "seq_lens": Index("pages*page+1"),
        "block_table": Index("blocks", read=used_pages("k_cache")),
        "cu_seqlens_q": Index("queries+1"),
    },
    notes={
        "v_cache": "values divided by `v_scale`; if None, they are the first 512 columns of the keys "
        "(latent attention, dim 576)",
        "cu_seqlens_q": "where each sequence's queries begin, and where the last sequence ends; if None, "
        "each sequence has one query",
    },
)
