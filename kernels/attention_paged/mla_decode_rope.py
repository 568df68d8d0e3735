"""Latent attention of one query per sequence, which the kernel rotates, over the rows in a list."""

from __future__ import annotations

from workbench.operators import Choice, Index, KernelSpec, Tolerance
from workbench_kernels.families import attention_by_index as listed
from workbench_kernels.families import attention_decode as decode
from workbench_kernels.families import attention_rotary as family
from workbench_kernels.references.attention import mla_decode_rope

spec = KernelSpec(
    name="attention_paged/mla_decode_rope",
    doc="Latent attention of one query per sequence over the rows in a list; the kernel rotates the "
    "positional part of the query. Split along the keys and merged.",
    source=decode.source("in_list", "TURN"),
    steps=listed.steps(family.arguments),
    workspace=listed.workspace,
    parameters={
        **listed.PARAMETERS,
        "capped": Choice((0, 1), doc="whether logits are soft-capped"),
        "turned": Choice(
            ("none", "halves", "neighbours"), doc="which columns form the pairs that are rotated"
        ),
    },
    shapes=[
        {"queries": 3, "keys": 200, "heads": 16, "turned": "halves"},
        {"queries": 2, "keys": 70, "heads": 20, "turned": "neighbours", "cache": "fp8"},
        {"queries": 2, "keys": 50, "heads": 16, "values": "own"},
    ],
    inputs=family.inputs,
    outputs=listed.outputs,
    reference=mla_decode_rope,
    shape_of=family.shape_of,
    define=lambda shape, arch: {**listed.define(shape, arch), "TURN": shape["turned"]},
    check=listed.check,
    # Rotated columns are rounded to the operands' type, which changes logits by 2^-9 of their contribution.
    tolerances={"lse": Tolerance(1e-3, 2e-3)},
    flops=listed.flops,
    bytes=listed.bytes_moved,
    tensors={
        "q": "dtype[queries, heads, 576]",
        "kv_cache": "dtype/fp8[rows, 576]",
        "kv_indptr": "int32[queries+1]",
        "kv_indices": "int32[entries]",
        "cos_sin_cache": "bf16/fp16/fp32[places, 64]",
        "positions": "int64[queries]",
        "v_cache": "dtype/fp8[rows, 512]",
        "out": "dtype[queries, heads, 512]",
        "lse": "fp32[queries, heads]",
    },
    indexes={
        "kv_indptr": Index("entries+1"),
        "kv_indices": Index("rows", none=-1),
        "positions": Index("places"),
    },
    notes={
        "positions": "positions of the queries in their sequences; if None, q is not rotated",
    },
)
