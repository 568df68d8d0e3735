"""Latent attention of each query over the keys chosen for it, through a table of pages or without."""

from __future__ import annotations

from workbench.spec import Choice, KernelSpec, Range
from workbench_kernels.families import attention_chosen as family
from workbench_kernels.families import attention_decode as decode
from workbench_kernels.families import attention_listed as listed
from workbench_kernels.references.attention import sparse_mla

spec = KernelSpec(
    name="attention_paged/unified_attn_sparse_mla",
    doc="Latent attention of each query over the keys chosen for it (sparse attention), by their places in "
    "the sequence and a table of pages, or by their rows in the cache; split along keys and merged.",
    source=decode.source("in_list"),
    steps=listed.steps(family.arguments),
    workspace=listed.workspace,
    parameters={
        **listed.PARAMETERS,
        "rows": Range(1, 1 << 20, default=16, doc="pages of the cache"),
        "page": Range(1, 1 << 12, default=16, doc="rows of a page"),
        "table": Choice((1, 0), doc="whether keys are places in a sequence, or rows of the cache"),
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
)
