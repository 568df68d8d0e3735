"""Causal convolution of each channel with a few weights of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Range
from workbench_kernels.families import rowwise

NAME = "causal_conv1d"
RUN = 8
"""Columns that a thread makes."""


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, activation: str = "none"
) -> torch.Tensor:
    """activation(bias + the sum over j of weight[d, j] x[b, d, t - K + 1 + j]), of x B x D x L, weight D x K.

    x is zero before its first column; the activation is "none" or "silu"; sums are in float32 at least.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    padded = torch.nn.functional.pad(x.to(wide), (weight.shape[1] - 1, 0))
    made = torch.nn.functional.conv1d(
        padded, weight.to(wide)[:, None], None if bias is None else bias.to(wide), groups=len(weight)
    )
    return (torch.nn.functional.silu(made) if activation == "silu" else made).to(x.dtype)


def shape_of(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, activation: str = "none"
) -> dict[str, Any]:
    """Shape of a call."""
    names = {dtype: name for name, dtype in rowwise.DTYPES.items()}
    if x.dim() != 3 or x.dtype not in names or x.numel() == 0:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)} {x.dtype}; expected batch x channels x length, real")
    batch, channels, length = x.shape
    if weight.dim() != 2 or weight.shape[0] != channels or weight.dtype != x.dtype:
        raise ShapeError(
            f"{NAME}: weight is {tuple(weight.shape)} {weight.dtype}; expected ({channels}, K) {x.dtype}"
        )
    if bias is not None and (tuple(bias.shape) != (channels,) or bias.dtype != x.dtype):
        raise ShapeError(
            f"{NAME}: bias is {tuple(bias.shape)} {bias.dtype}; expected ({channels},) {x.dtype}"
        )
    return {
        **{"batch": batch, "channels": channels, "length": length, "width": weight.shape[1]},
        **{"dtype": names[x.dtype], "bias": int(bias is not None), "activation": activation},
    }


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    runs = shape["batch"] * shape["channels"] * -(-shape["length"] // RUN)
    return Launch(grid=-(-runs // 256), block=256)


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    def random(*dims: int) -> torch.Tensor:
        return torch.randn(*dims, generator=generator).to(rowwise.DTYPES[shape["dtype"]])

    made = {
        "x": random(shape["batch"], shape["channels"], shape["length"]),
        "weight": random(shape["channels"], shape["width"]),
        "activation": shape["activation"],
    }
    return {**made, "bias": random(shape["channels"])} if shape["bias"] else made


spec = KernelSpec(
    name=f"activations/{NAME}",
    doc="Each channel convolved with weights of its own over the columns before, perhaps with a bias and "
    "silu; the short convolution of state-space and delta-rule layers.",
    source="""#include "families/causal_conv.cuh"
using namespace kittens;
using operation = families::causal_conv<ROW_T, CONV_WIDTH, CONV_BIAS, CONV_SILU>;
__global__ __launch_bounds__(operation::threads) void causal_conv1d(const operation::arguments g) {
    operation::make(g);
}
""",
    entry=NAME,
    parameters={
        "batch": Range(1, 65536, default=1),
        "channels": Range(1, 1 << 16, default=4096),
        "length": Range(1, 1 << 20, default=1024, doc="columns of a channel, tokens"),
        "width": Range(2, RUN + 1, default=4, doc="weights of a channel"),
        "dtype": Choice(tuple(rowwise.DTYPES), doc="element type"),
        "bias": Choice((0, 1), doc="whether there is a bias"),
        "activation": Choice(("none", "silu"), doc="of the sums"),
    },
    shapes=[
        {"batch": 2, "channels": 64, "length": 512, "bias": 1, "activation": "silu"},
        {"batch": 1, "channels": 33, "length": 77, "width": 3, "dtype": "fp32"},
    ],
    inputs=inputs,
    outputs=lambda shape, given: {"out": (given["x"].shape, given["x"].dtype)},
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {
        "ROW_T": rowwise.C_TYPES[shape["dtype"]],
        "CONV_WIDTH": shape["width"],
        "CONV_BIAS": "true" if shape["bias"] else "false",
        "CONV_SILU": "true" if shape["activation"] == "silu" else "false",
    },
    launch=launch,
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "out"),
        **{"weight": tensors["weight"], "bias": tensors["bias"], "channels": shape["channels"]},
    },
    flops=lambda shape: 2 * shape["batch"] * shape["channels"] * shape["length"] * shape["width"],
    bytes=lambda shape: (
        rowwise.DTYPES[shape["dtype"]].itemsize
        * shape["channels"]
        * (2 * shape["batch"] * shape["length"] + shape["width"] + shape["bias"])
    ),
)
