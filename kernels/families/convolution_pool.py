"""Convolutions that continue from a pool of states, split into q, k and v: arguments and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import convolution

NAME = "gated_delta/causal_conv1d_update"


def shape_of(**arguments: Any) -> dict[str, Any]:
    x, state, indices = arguments["x"], arguments["conv_state"], arguments["indices"]
    if x.dim() != 3:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)}; expected (B, D, S)")
    batch, dim, tokens = x.shape
    weights = convolution.shape_of(NAME, arguments, dim)
    behind = (dim, weights["width"] - 1)
    if state.dim() != 3 or tuple(state.shape[1:]) != behind or state.dtype != x.dtype:
        raise ShapeError(
            f"{NAME}: conv_state is {tuple(state.shape)} {state.dtype}; expected (lines, *{behind}) {x.dtype}"
        )
    if indices is None and state.shape[0] < batch:
        raise ShapeError(
            f"{NAME}: conv_state has {state.shape[0]} lines for {batch} batches; expected indices"
        )
    if indices is not None and (tuple(indices.shape) != (batch,) or indices.dtype != torch.int64):
        raise ShapeError(
            f"{NAME}: indices is {tuple(indices.shape)} {indices.dtype}; expected ({batch},) torch.int64"
        )
    sizes = {"batch": batch, "tokens": tokens, "lines": state.shape[0]}
    return {**sizes, **convolution.split_of(NAME, arguments, dim), **weights}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Random lines of the pool, none for the last batch; no indices if there are as many lines as batches."""
    batch, lines, dim = shape["batch"], shape["lines"], convolution.channels(shape)
    tensors = {
        "x": convolution.random(shape, generator, batch, dim, shape["tokens"]),
        "conv_state": convolution.random(shape, generator, lines, dim, shape["width"] - 1),
        "key_dim": shape["keys"],
        **convolution.weights(shape, generator, dim),
    }
    if lines > batch:
        tensors["indices"] = torch.randperm(lines, generator=generator)[:batch]
        tensors["indices"][-1] = -1
    return tensors


def check(shape: Mapping[str, Any], arch: str) -> None:
    if shape["lines"] < shape["batch"]:
        raise ShapeError(
            f"{NAME}: {shape['lines']} lines for {shape['batch']} batches; expected at least one for each"
        )
