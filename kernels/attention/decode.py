"""Attention of a few queries a sequence over a paged cache of keys and values."""

from __future__ import annotations

from workbench.spec import KernelSpec
from workbench_kernels.families import attention_decode as family
from workbench_kernels.references.attention import attention_paged

spec = KernelSpec(
    name="attention/decode",
    doc="A few queries a sequence over a paged cache, split along keys and merged; GQA, MLA, fp8 caches, "
    "speculative decoding and chunked prefill, sliding window, soft cap and sinks.",
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
    define=lambda shape, arch: {
        **family.define(shape, arch),
        "RUN": 16 if shape["page"] % family.KEYS else family.KEYS,
    },
    check=family.check,
    flops=family.flops,
    bytes=family.bytes_moved,
)
