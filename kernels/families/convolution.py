"""Common parts of the causal convolutions of `causal_conv.cuh`: sources, parameters, checks of weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Parameter, Range
from workbench_kernels.families import scalars

RUN = 8
"""Tokens per thread, where a thread does not compute all tokens."""
MOST = RUN + 1
"""Weights of a channel."""

PARAMETERS: dict[str, Parameter] = {
    "width": Range(2, MOST, default=4, doc="weights of a channel"),
    "dtype": Choice(tuple(scalars.FLOATS), doc="element type"),
    "bias": Choice((0, 1), doc="whether there is a bias"),
    "activation": Choice(("none", "silu"), doc="activation of the sums"),
}

SPLIT = {
    "keys": Range(1, 1 << 16, default=2048, doc="channels of q, and of k"),
    "values": Range(1, 1 << 16, default=4096, doc="channels of v"),
}
"""Parameters of operators that split their output into q, k and v."""


def channels(shape: Mapping[str, Any]) -> int:
    """Channels of q, k and v together."""
    return int(2 * shape["keys"] + shape["values"])


def source(name: str, operator: str) -> str:
    """A kernel that runs an operator of the family, such as `"causal_conv"`."""
    return f"""#include "families/causal_conv.cuh"
using namespace kittens;
using operation = families::{operator}<ROW_T, CONV_WIDTH, CONV_BIAS, CONV_SILU>;
__global__ __launch_bounds__(operation::threads) void {name}(const operation::arguments g) {{
    operation::make(g);
}}
"""


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    return {
        "ROW_T": scalars.QUALIFIED[shape["dtype"]],
        "CONV_WIDTH": shape["width"],
        "CONV_BIAS": "true" if shape["bias"] else "false",
        "CONV_SILU": "true" if shape["activation"] == "silu" else "false",
    }


def random(shape: Mapping[str, Any], generator: torch.Generator, *dims: int) -> torch.Tensor:
    return torch.randn(*dims, generator=generator).to(scalars.FLOATS[shape["dtype"]])


def shape_of(name: str, arguments: Mapping[str, Any], channels: int) -> dict[str, Any]:
    """Shape parameters of the weights of a call, of x's dtype.

    Raises:
        ShapeError: the weights do not fit x's channels.
    """
    x, weight, bias = arguments["x"], arguments["weight"], arguments["bias"]
    names = {dtype: known for known, dtype in scalars.FLOATS.items()}
    if x.dtype not in names or x.numel() == 0:
        raise ShapeError(f"{name}: x is {tuple(x.shape)} {x.dtype}; expected {', '.join(map(str, names))}")
    if weight.dim() != 2 or weight.shape[0] != channels or weight.dtype != x.dtype:
        raise ShapeError(
            f"{name}: weight is {tuple(weight.shape)} {weight.dtype}; expected ({channels}, K) {x.dtype}"
        )
    if bias is not None and (tuple(bias.shape) != (channels,) or bias.dtype != x.dtype):
        raise ShapeError(
            f"{name}: bias is {tuple(bias.shape)} {bias.dtype}; expected ({channels},) {x.dtype}"
        )
    return {
        **{"width": weight.shape[1], "dtype": names[x.dtype]},
        **{"bias": int(bias is not None), "activation": arguments["activation"]},
    }


def split_of(name: str, arguments: Mapping[str, Any], channels: int) -> dict[str, int]:
    """Channels of q, of k (the same number), and of v."""
    keys = arguments["key_dim"]
    if not 0 < 2 * keys < channels:
        raise ShapeError(
            f"{name}: key_dim is {keys} of {channels} channels; expected room for q and k of this size, and "
            "for v"
        )
    return {"keys": keys, "values": channels - 2 * keys}


def weights(shape: Mapping[str, Any], generator: torch.Generator, channels: int) -> dict[str, Any]:
    """Weights, the activation, and a bias where the shape has one."""
    tensors = {
        "weight": random(shape, generator, channels, shape["width"]),
        "activation": shape["activation"],
    }
    return {**tensors, "bias": random(shape, generator, channels)} if shape["bias"] else tensors
