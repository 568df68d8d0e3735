"""Causal convolution of each channel with a few weights of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec, Launch, Range
from workbench_kernels.families import convolution, rowwise, scalars
from workbench_kernels.references.convolution import causal_conv

NAME = "causal_conv1d"


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, activation: str = "none"
) -> torch.Tensor:
    """activation(bias + the sum over j of weight[d, j] x[b, d, t - K + 1 + j]), of x B x D x L, weight D x K.

    x counts as zero before its first column; the activation is "none" or "silu"; sums are in float32 at
    least.
    """
    return causal_conv(x, weight, bias, activation).to(x.dtype)


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    x = arguments["x"]
    if x.dim() != 3:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)} {x.dtype}; expected batch x channels x length, real")
    batch, channels, length = x.shape
    sizes = {"batch": batch, "channels": channels, "length": length}
    return {**sizes, **convolution.shape_of(NAME, arguments, channels)}


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    runs = shape["batch"] * shape["channels"] * -(-shape["length"] // convolution.RUN)
    return Launch(grid=-(-runs // 256), block=256)


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    x = convolution.random(shape, generator, shape["batch"], shape["channels"], shape["length"])
    return {"x": x, **convolution.weights(shape, generator, shape["channels"])}


spec = KernelSpec(
    name=f"activations/{NAME}",
    doc="Convolution of each channel with its own weights over the preceding columns, optionally with a "
    "bias and silu: the short convolution of state-space and delta-rule layers.",
    source=convolution.source(NAME, NAME.removesuffix("1d")),
    entry=NAME,
    parameters={
        "batch": Range(1, 65536, default=1),
        "channels": Range(1, 1 << 16, default=4096),
        "length": Range(1, 1 << 20, default=1024, doc="columns of a channel: tokens"),
        **convolution.PARAMETERS,
    },
    shapes=[
        {"batch": 2, "channels": 64, "length": 512, "bias": 1, "activation": "silu"},
        {"batch": 1, "channels": 33, "length": 77, "width": 3, "dtype": "fp32"},
    ],
    inputs=inputs,
    outputs=lambda shape, tensors: {"out": (tensors["x"].shape, tensors["x"].dtype)},
    reference=reference,
    backward="activations/causal_conv1d_backward",
    shape_of=shape_of,
    define=convolution.define,
    launch=launch,
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "out"),
        **{"weight": tensors["weight"], "bias": tensors["bias"], "channels": shape["channels"]},
    },
    flops=lambda shape: 2 * shape["batch"] * shape["channels"] * shape["length"] * shape["width"],
    bytes=lambda shape: (
        scalars.FLOATS[shape["dtype"]].itemsize
        * shape["channels"]
        * (2 * shape["batch"] * shape["length"] + shape["width"] + shape["bias"])
    ),
    tensors={
        "x out": "dtype[batch, channels, length]",
        "weight": "dtype[channels, width]",
        "bias": "dtype[channels]",
    },
)
