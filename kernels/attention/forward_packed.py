"""Attention of sequences of different lengths, packed without gaps."""

from __future__ import annotations

import dataclasses

from workbench.operators import Index, Range
from workbench_kernels.attention import forward
from workbench_kernels.families import attention_packed as family
from workbench_kernels.references.attention import attention_packed

spec = dataclasses.replace(
    forward.spec,
    name="attention/forward_packed",
    doc="attention/forward for sequences of different lengths, packed back to back (varlen).",
    parameters={
        **forward.spec.parameters,
        "batch": Range(1, 1 << 16, default=3, doc="sequences"),
        "queries": Range(1, 1 << 20, default=1024, doc="queries of all sequences"),
        "keys": Range(1, 1 << 20, default=1024, doc="keys of all sequences"),
    },
    shapes=[{"batch": 3, "queries": 400, "keys": 500, "heads": 2, "heads_kv": 1, "causal": 1}],
    inputs=family.inputs,
    outputs=family.outputs,
    reference=attention_packed,
    shape_of=family.shape_of,
    strided=("q", "k", "v"),
    arguments=family.arguments,
    # The work depends on the length of each sequence.
    flops=None,
    bytes=None,
    hard_inputs={},
    published=(),
    backward="attention/backward_packed",
    tensors={
        "q": "dtype[queries, heads, dim]",
        "k": "dtype[keys, heads_kv, dim]",
        "v": "dtype[keys, heads_kv, dim_v]",
        "cu_seqlens_q cu_seqlens_k": "int32[batch+1]",
        "sinks": "fp32/bf16/fp16[heads]",
        "out": "dtype[queries, heads, dim_v]",
        "lse": "fp32[heads, queries]",
    },
    indexes={
        "cu_seqlens_q": Index("queries+1"),
        "cu_seqlens_k": Index("keys+1"),
    },
)
