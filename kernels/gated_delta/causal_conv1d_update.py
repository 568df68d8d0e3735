"""Decode's convolution before the delta rule: continues from a pool of states, split into q, k and v."""

from __future__ import annotations

from workbench.operators import Index, KernelSpec, Launch, Range
from workbench_kernels.families import convolution, rowwise
from workbench_kernels.families import convolution_pool as family
from workbench_kernels.references.convolution import conv_update

spec = KernelSpec(
    name="gated_delta/causal_conv1d_update",
    doc="Convolution of each channel with its own weights over the last columns of a pool of states and new "
    "tokens, optionally with a bias and silu, split into q, k and v; the states are updated in place.",
    source=convolution.source("conv_update", "causal_conv_update"),
    entry="conv_update",
    parameters={
        "batch": Range(1, 65535, default=16, doc="sequences"),
        "tokens": Range(1, 1 << 16, default=1, doc="new tokens of each sequence"),
        **convolution.SPLIT,
        "lines": Range(1, 1 << 20, default=64, doc="states in the pool"),
        **convolution.PARAMETERS,
    },
    shapes=[
        {"batch": 3, "keys": 64, "values": 133, "lines": 5, "bias": 1, "activation": "silu"},
        {"batch": 2, "tokens": 3, "keys": 33, "values": 20, "lines": 2, "width": 3, "dtype": "fp32"},
    ],
    inputs=family.inputs,
    outputs=lambda shape, tensors: {
        name: ((shape["batch"], shape[size], shape["tokens"]), tensors["x"].dtype)
        for name, size in (("q", "keys"), ("k", "keys"), ("v", "values"))
    },
    mutates=("conv_state",),
    reference=conv_update,
    shape_of=family.shape_of,
    check=family.check,
    define=convolution.define,
    launch=lambda shape, arch: Launch(
        grid=(-(-convolution.channels(shape) // 256), shape["batch"]), block=256
    ),
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in ("x", "weight", "bias", "q", "k", "v")},
        **{"state": tensors["conv_state"], "lines": tensors["indices"]},
        **{name: shape[name] for name in ("keys", "values", "tokens")},
    },
    flops=lambda shape: 2 * shape["batch"] * convolution.channels(shape) * shape["tokens"] * shape["width"],
    bytes=lambda shape: (
        rowwise.size_of(shape)
        * convolution.channels(shape)
        * (2 * shape["batch"] * (shape["tokens"] + shape["width"] - 1) + shape["width"] + shape["bias"])
    ),
    tensors={
        "x": "dtype[batch, 2*keys+values, tokens]",
        "weight": "dtype[2*keys+values, width]",
        "conv_state": "dtype[lines, 2*keys+values, width-1]",
        "bias": "dtype[2*keys+values]",
        "indices": "int64[batch]",
        "q k": "dtype[batch, keys, tokens]",
        "v": "dtype[batch, values, tokens]",
    },
    indexes={
        "indices": Index("lines", below=0),
    },
    notes={
        "indices": "the state of each sequence, negative for none; if None, sequence i has state i",
        "q": "the first `key_dim` channels",
        "k": "the next `key_dim` channels",
        "v": "the remaining channels",
    },
)
