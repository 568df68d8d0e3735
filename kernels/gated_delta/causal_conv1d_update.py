"""Decode's convolution in front of the delta rule: tokens behind a pool of states, split into q, k and v."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import KernelSpec, Launch, Range
from workbench_kernels.families import convolution, rowwise
from workbench_kernels.references.convolution import conv_update

NAME = "gated_delta/causal_conv1d_update"


def channels(shape: Mapping[str, Any]) -> int:
    return int(2 * shape["keys"] + shape["values"])


def shape_of(**given: Any) -> dict[str, Any]:
    x, state, indices = given["x"], given["conv_state"], given["indices"]
    if x.dim() != 3:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)}; expected (B, D, S)")
    batch, dim, tokens = x.shape
    found = convolution.shape_of(NAME, given, dim)
    behind = (dim, found["width"] - 1)
    if state.dim() != 3 or tuple(state.shape[1:]) != behind or state.dtype != x.dtype:
        raise ShapeError(
            f"{NAME}: conv_state is {tuple(state.shape)} {state.dtype}; expected (lines, *{behind}) {x.dtype}"
        )
    if indices is None and len(state) < batch:
        raise ShapeError(f"{NAME}: conv_state has {len(state)} lines for {batch} batches; expected indices")
    if indices is not None and (tuple(indices.shape) != (batch,) or indices.dtype != torch.int64):
        raise ShapeError(
            f"{NAME}: indices is {tuple(indices.shape)} {indices.dtype}; expected ({batch},) torch.int64"
        )
    sizes = {"batch": batch, "tokens": tokens, "lines": len(state)}
    return {**sizes, **convolution.split_of(NAME, given, dim), **found}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Lines all over the pool, the last batch's none; without indices where there are as many as batches."""
    batch, lines, dim = shape["batch"], shape["lines"], channels(shape)
    made = {
        "x": convolution.random(shape, generator, batch, dim, shape["tokens"]),
        "conv_state": convolution.random(shape, generator, lines, dim, shape["width"] - 1),
        "key_dim": shape["keys"],
        **convolution.weights(shape, generator, dim),
    }
    if lines > batch:
        made["indices"] = torch.randperm(lines, generator=generator)[:batch]
        made["indices"][-1] = -1
    return made


def check(shape: Mapping[str, Any], arch: str) -> None:
    if shape["lines"] < shape["batch"]:
        raise ShapeError(
            f"{NAME}: {shape['lines']} lines for {shape['batch']} batches; expected as many at least"
        )


spec = KernelSpec(
    name=NAME,
    doc="Channels convolved with weights of their own behind the columns that a pool of states keeps, "
    "perhaps with a bias and silu, split into q, k and v; the states move on in place.",
    source=convolution.source("conv_update", "causal_conv_update"),
    entry="conv_update",
    parameters={
        "batch": Range(1, 65535, default=16, doc="sequences"),
        "tokens": Range(1, 1 << 16, default=1, doc="new tokens of each"),
        "keys": Range(1, 1 << 16, default=2048, doc="channels of q, and of k"),
        "values": Range(1, 1 << 16, default=4096, doc="channels of v"),
        "lines": Range(1, 1 << 20, default=64, doc="states in the pool"),
        **convolution.PARAMETERS,
    },
    shapes=[
        {"batch": 3, "keys": 64, "values": 133, "lines": 5, "bias": 1, "activation": "silu"},
        {"batch": 2, "tokens": 3, "keys": 33, "values": 20, "lines": 2, "width": 3, "dtype": "fp32"},
    ],
    inputs=inputs,
    outputs=lambda shape, given: {
        name: ((shape["batch"], shape[size], shape["tokens"]), given["x"].dtype)
        for name, size in (("q", "keys"), ("k", "keys"), ("v", "values"))
    },
    mutates=("conv_state",),
    reference=conv_update,
    shape_of=shape_of,
    check=check,
    define=convolution.define,
    launch=lambda shape, arch: Launch(grid=(-(-channels(shape) // 256), shape["batch"]), block=256),
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in ("x", "weight", "bias", "q", "k", "v")},
        **{"state": tensors["conv_state"], "lines": tensors["indices"]},
        **{name: shape[name] for name in ("keys", "values", "tokens")},
    },
    flops=lambda shape: 2 * shape["batch"] * channels(shape) * shape["tokens"] * shape["width"],
    bytes=lambda shape: (
        rowwise.size_of(shape)
        * channels(shape)
        * (2 * shape["batch"] * (shape["tokens"] + shape["width"] - 1) + shape["width"] + shape["bias"])
    ),
)
