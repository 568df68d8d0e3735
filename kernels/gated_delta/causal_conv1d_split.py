"""Prefill's convolution before the delta rule: packed sequences, split into q, k and v."""

from __future__ import annotations

from workbench.operators import Index, KernelSpec, Launch, Range
from workbench_kernels.families import convolution, rowwise
from workbench_kernels.families import convolution_packed as family
from workbench_kernels.references.convolution import conv_split

spec = KernelSpec(
    name="gated_delta/causal_conv1d_split",
    doc="Convolution of packed sequences (channels x tokens) with weights of each channel, optionally with "
    "a bias and silu, split into q, k and v (tokens x channels).",
    source=convolution.source("conv_split", "causal_conv_split"),
    entry="conv_split",
    parameters={
        "tokens": Range(1, 1 << 19, default=1024, doc="tokens of all sequences"),
        "sequences": Range(1, 1 << 16, default=4, doc="sequences"),
        **convolution.SPLIT,
        **convolution.PARAMETERS,
    },
    shapes=[
        {"tokens": 77, "sequences": 6, "keys": 64, "values": 133, "bias": 1, "activation": "silu"},
        {"tokens": 19, "sequences": 1, "keys": 33, "values": 20, "width": 3, "dtype": "fp32"},
    ],
    inputs=family.inputs,
    outputs=lambda shape, tensors: {
        name: ((shape["tokens"], shape[size]), tensors["x"].dtype)
        for name, size in (("q", "keys"), ("k", "keys"), ("v", "values"))
    },
    reference=conv_split,
    shape_of=family.shape_of,
    strided=("x",),
    define=convolution.define,
    launch=lambda shape, arch: Launch(
        grid=(-(-convolution.channels(shape) // 256), -(-shape["tokens"] // convolution.RUN)), block=256
    ),
    arguments=family.arguments,
    flops=lambda shape: 2 * convolution.channels(shape) * shape["tokens"] * shape["width"],
    bytes=lambda shape: (
        rowwise.size_of(shape)
        * convolution.channels(shape)
        * (2 * shape["tokens"] + shape["width"] + shape["bias"])
    ),
    tensors={
        "x": "dtype[2*keys+values, tokens]",
        "weight": "dtype[2*keys+values, width]",
        "starts": "int32[sequences+1]",
        "bias": "dtype[2*keys+values]",
        "q k": "dtype[tokens, keys]",
        "v": "dtype[tokens, values]",
    },
    indexes={
        "starts": Index("tokens+1"),
    },
    notes={
        "q": "the first `key_dim` channels",
        "k": "the next `key_dim` channels",
        "v": "the remaining channels",
    },
)
