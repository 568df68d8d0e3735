"""Gradients of attention of sequences of different lengths, bit-identical from run to run."""

from __future__ import annotations

import dataclasses

from workbench.operators import Index, Variant
from workbench_kernels.attention import backward, forward_packed
from workbench_kernels.families import attention_backward as dense
from workbench_kernels.families import attention_packed_backward as family
from workbench_kernels.references.attention import attention_packed_backward

spec = dataclasses.replace(
    backward.spec,
    name="attention/backward_packed",
    doc="Gradients of q, k, v and sinks of attention/forward_packed, bit-identical from run to run.",
    steps=family.of_packed(dense.SPLIT),
    variants={
        "split": Variant(),
        "atomics": Variant(
            dense.fits_whole,
            source=dense.ATOMICS_SOURCE,
            steps=family.of_packed(dense.BY_ATOMICS),
            workspace=family.workspace_by_atomics,
            check=dense.check_whole,
            nondeterministic="dq is summed by atomics, in no fixed order",
        ),
        "pinned": Variant(
            dense.fits_pinned,
            source=dense.PINNED_SOURCE,
            steps=family.of_packed(dense.BY_PINNED),
            workspace=family.workspace_by_atomics,
            check=dense.check_pinned,
            nondeterministic="dq is summed by atomics, in no fixed order",
        ),
    },
    workspace=family.workspace,
    parameters={
        **backward.spec.parameters,
        **{name: forward_packed.spec.parameters[name] for name in ("batch", "queries", "keys")},
    },
    shapes=[{"batch": 3, "queries": 200, "keys": 260, "heads": 2, "heads_kv": 1, "causal": 1}],
    inputs=family.inputs,
    hard_inputs={},
    reference=attention_packed_backward,
    shape_of=family.shape_of,
    # The work depends on the length of each sequence.
    flops=None,
    bytes=None,
    tensors={
        "q": "dtype[queries, heads, dim]",
        "k": "dtype[keys, heads_kv, dim]",
        "v": "dtype[keys, heads_kv, dim_v]",
        "cu_seqlens_q cu_seqlens_k": "int32[batch+1]",
        "out dout": "dtype[queries, heads, dim_v]",
        "lse dlse": "fp32[heads, queries]",
        "sinks": "fp32/bf16/fp16[heads]",
        "dq": "dtype[queries, heads, dim]",
        "dk": "dtype[keys, heads_kv, dim]",
        "dv": "dtype[keys, heads_kv, dim_v]",
        "dsinks": "fp32[heads] | fp32[0]",
    },
    indexes={
        "cu_seqlens_q": Index("queries+1"),
        "cu_seqlens_k": Index("keys+1"),
    },
)
