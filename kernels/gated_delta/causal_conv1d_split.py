"""Prefill's convolution in front of the delta rule: sequences behind one another, split into q, k and v."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import KernelSpec, Launch, Range, Strided
from workbench_kernels.families import convolution, rowwise
from workbench_kernels.families.attention import check_starts
from workbench_kernels.references.convolution import conv_split

NAME = "gated_delta/causal_conv1d_split"


def channels(shape: Mapping[str, Any]) -> int:
    return int(2 * shape["keys"] + shape["values"])


def shape_of(**given: Any) -> dict[str, Any]:
    x, starts = given["x"], given["starts"]
    if x.dim() != 2:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)}; expected (D, tokens)")
    check_starts("starts", starts)
    sizes = {"tokens": x.shape[1], "sequences": starts.numel() - 1}
    found = convolution.shape_of(NAME, given, len(x))
    return {**sizes, **convolution.split_of(NAME, given, len(x)), **found}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Sequences of any lengths, zero among them."""
    inner = torch.randint(0, shape["tokens"] + 1, (shape["sequences"] - 1,), generator=generator).sort()[0]
    return {
        "x": convolution.random(shape, generator, channels(shape), shape["tokens"]),
        "starts": torch.tensor([0, *inner.tolist(), shape["tokens"]], dtype=torch.int32),
        "key_dim": shape["keys"],
        **convolution.weights(shape, generator, channels(shape)),
    }


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    x = tensors["x"]
    return {
        **{"x": Strided(x), "channel_stride": x.stride(0), "token_stride": x.stride(1)},
        **{name: tensors[name] for name in ("weight", "bias", "starts", "q", "k", "v")},
        **{name: shape[name] for name in ("keys", "values", "tokens", "sequences")},
    }


spec = KernelSpec(
    name=NAME,
    doc="Channels x tokens of sequences behind one another, convolved with weights of each channel, perhaps "
    "with a bias and silu, and split into q, k and v of tokens x channels.",
    source=convolution.source("conv_split", "causal_conv_split"),
    entry="conv_split",
    parameters={
        "tokens": Range(1, 1 << 19, default=1024, doc="tokens of all sequences"),
        "sequences": Range(1, 1 << 16, default=4, doc="sequences"),
        "keys": Range(1, 1 << 16, default=2048, doc="channels of q, and of k"),
        "values": Range(1, 1 << 16, default=4096, doc="channels of v"),
        **convolution.PARAMETERS,
    },
    shapes=[
        {"tokens": 77, "sequences": 6, "keys": 64, "values": 133, "bias": 1, "activation": "silu"},
        {"tokens": 19, "sequences": 1, "keys": 33, "values": 20, "width": 3, "dtype": "fp32"},
    ],
    inputs=inputs,
    outputs=lambda shape, given: {
        name: ((shape["tokens"], shape[size]), given["x"].dtype)
        for name, size in (("q", "keys"), ("k", "keys"), ("v", "values"))
    },
    reference=conv_split,
    shape_of=shape_of,
    define=convolution.define,
    launch=lambda shape, arch: Launch(
        grid=(-(-channels(shape) // 256), -(-shape["tokens"] // convolution.RUN)), block=256
    ),
    arguments=arguments,
    flops=lambda shape: 2 * channels(shape) * shape["tokens"] * shape["width"],
    bytes=lambda shape: (
        rowwise.size_of(shape) * channels(shape) * (2 * shape["tokens"] + shape["width"] + shape["bias"])
    ),
)
