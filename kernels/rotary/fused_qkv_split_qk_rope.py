"""Split of a fused QKV, with rotary position embedding of q and k: inputs, outputs, reference and launch."""

from __future__ import annotations

import torch

from workbench.operators import Index, KernelSpec, Range
from workbench_kernels.families import rotary, scalars
from workbench_kernels.families import rotary_split as family
from workbench_kernels.references.rotary import split

spec = KernelSpec(
    name="rotary/fused_qkv_split_qk_rope",
    doc="Splits a fused QKV, and applies rotary position embedding to queries and keys.",
    source=rotary.source("fused_qkv_split_qk_rope", "rope_of_fused<rotary, false>"),
    entry="fused_qkv_split_qk_rope",
    parameters={
        **rotary.PARAMETERS,
        "batch": Range(1, 1),
        "queries": Range(1, 4096, default=8, doc="heads of queries"),
    },
    shapes=[
        {"heads": 8, "queries": 4, "tokens": 33, "dim": 128, "turned": 128},
        {"heads": 11, "queries": 9, "tokens": 40, "dim": 64, "turned": 32, "interleaved": 1, "dtype": "fp16"},
    ],
    inputs=lambda shape, generator: {
        "qkv": torch.randn(shape["tokens"], shape["heads"], shape["dim"], generator=generator).to(
            scalars.FLOATS[shape["dtype"]]
        ),
        "heads": shape["queries"],
        **rotary.tables(shape, generator),
    },
    outputs=lambda shape, inputs: {
        name: ((shape["tokens"], count, shape["dim"]), inputs["qkv"].dtype)
        for name, count in zip(
            "qkv",
            (shape["queries"], *((shape["heads"] - shape["queries"]) // 2,) * 2),
            strict=True,
        )
    },
    reference=split,
    shape_of=family.shape_of,
    strided=("qkv",),
    define=rotary.define,
    check=family.check,
    launch=rotary.launch,
    tunables=rotary.TUNABLES,
    arguments=lambda shape, tensors: {
        **{name: rotary.heads(shape, family.as_heads(tensors[name])) for name in ("qkv", "q", "k", "v")},
        "places": rotary.places(shape, tensors),
    },
    flops=rotary.turns,
    bytes=rotary.moved,
    backward="rotary/fused_qkv_split_qk_rope_backward",
    tensors={
        "qkv": "dtype[tokens, queries+2*kv_heads, dim] | dtype[batch, tokens, queries+2*kv_heads, dim]",
        "cos sin": "table[places, turned/2]",
        "positions": "int64[tokens] | int64[batch, tokens]",
        "q": "dtype[tokens, queries, dim] | dtype[batch, tokens, queries, dim]",
        "k v": "dtype[tokens, kv_heads, dim] | dtype[batch, tokens, kv_heads, dim]",
    },
    indexes={
        "positions": Index("places"),
    },
    notes={
        "heads": "heads of queries, the axis `queries` of q; keys and values have `kv_heads`",
        "qkv": "heads of queries, then of keys, then of values",
    },
)
