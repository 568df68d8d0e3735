"""Backward of the causal convolution of channels with weights of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec, Launch, Step, Tolerance
from workbench.targets import WAVE
from workbench_kernels.activations import causal_conv1d as forward
from workbench_kernels.families import convolution, normalization, rowwise, scalars
from workbench_kernels.references.convolution import causal_conv

NAME = "causal_conv1d_backward"
SOURCE = (
    convolution.source(NAME, "causal_conv_backward").replace("causal_conv.cuh", "causal_conv_backward.cuh")
    + """using summing = families::column_sums<ROW_T, -1>;
__global__ __launch_bounds__(summing::threads) void column_sums(const summing::arguments g) {
    summing::run(g);
}
"""
)


def reference(
    dout: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str = "none",
) -> tuple[torch.Tensor, ...]:
    """Gradients of x (B, D, L), weight (D, K) and bias (D) from the gradient of the result; empty for a
    missing bias."""
    zero = weight.new_zeros(len(weight)) if bias is None else bias
    dx, dweight, dbias = normalization.gradients(
        lambda x, weight, bias: causal_conv(x, weight, bias, activation), dout, x, weight, zero
    )
    return dx, dweight, weight.new_empty(0) if bias is None else dbias


def shape_of(**arguments: Any) -> dict[str, Any]:
    dout, x = arguments.pop("dout"), arguments["x"]
    shape = forward.shape_of(**arguments)
    if dout.shape != x.shape or dout.dtype != x.dtype:
        raise ShapeError(
            f"{NAME}: dout is {tuple(dout.shape)} {dout.dtype}; expected x's {tuple(x.shape)} {x.dtype}"
        )
    return shape


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    tensors = forward.inputs(shape, generator)
    return {"dout": convolution.random(shape, generator, *tensors["x"].shape), **tensors}


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    dtype = tensors["x"].dtype
    return {
        "dx": (tensors["x"].shape, dtype),
        "dweight": (tensors["weight"].shape, dtype),
        "dbias": ((shape["channels"] if shape["bias"] else 0,), dtype),
    }


def workspace(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Workspace for each row's share of the gradients, one row per sequence."""
    wide = {"weight": shape["channels"] * shape["width"], "bias": shape["channels"]}
    return {f"{name}_parts": ((shape["batch"], cols), torch.float32) for name, cols in wide.items()}


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **rowwise.flat(tensors, "x", "dout", "dx"),
        **{name: tensors[name] for name in ("weight", "bias")},
        **{f"d{name}": tensors[f"{name}_parts"] for name in ("weight", "bias")},
        "channels": shape["channels"],
    }


def sums(which: str, per_channel: str) -> Step:
    """The step that adds up the partial gradients of all sequences for `d<which>`."""

    def launch(shape: Mapping[str, Any], arch: str) -> Launch:
        cols = shape["channels"] * shape.get(per_channel, 1)
        return Launch(grid=-(-cols // 64), block=8 * WAVE)

    return Step(
        which,
        "column_sums",
        launch,
        arguments=lambda shape, tensors: {
            "parts": tensors[f"{which}_parts"],
            "out": tensors[f"d{which}"].flatten(),
        },
        when=lambda shape, arch: which == "weight" or bool(shape["bias"]),
    )


def summed(shape: Mapping[str, Any]) -> Tolerance:
    """Bounds of a sum over all columns of a channel."""
    bounds = normalization.summed({**shape, "rows": shape["batch"] * shape["length"]})
    return replace(bounds, atol=2 * bounds.atol)


spec = KernelSpec(
    name=f"activations/{NAME}",
    doc="Gradients of x, weight and bias of the causal convolution; sums in float, bit-identical from run "
    "to run.",
    source=SOURCE,
    parameters=forward.spec.parameters,
    shapes=forward.spec.shapes,
    inputs=inputs,
    outputs=outputs,
    workspace=workspace,
    reference=reference,
    shape_of=shape_of,
    define=convolution.define,
    tensors={
        "dout x dx": "dtype[batch, channels, length]",
        "weight dweight": "dtype[channels, width]",
        "bias": "dtype[channels]",
        "dbias": "dtype[channels] | dtype[none]",
    },
    steps=(
        Step(
            "rows",
            NAME,
            lambda shape, arch: Launch(grid=-(-shape["batch"] * shape["channels"] // 4), block=4 * WAVE),
            arguments,
        ),
        sums("weight", "width"),
        sums("bias", ""),
    ),
    tolerances={"dweight": summed, "dbias": summed},
    flops=lambda shape: 6 * shape["batch"] * shape["channels"] * shape["length"] * shape["width"],
    bytes=lambda shape: (
        scalars.FLOATS[shape["dtype"]].itemsize
        * shape["channels"]
        * (3 * shape["batch"] * shape["length"] + 2 * (shape["width"] + shape["bias"]))
    ),
)
