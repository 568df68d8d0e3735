"""Convolutions of packed sequences, split into q, k and v: arguments and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Strided
from workbench_kernels.families import convolution
from workbench_kernels.families.attention import check_starts

NAME = "gated_delta/causal_conv1d_split"


def shape_of(**arguments: Any) -> dict[str, Any]:
    x, starts = arguments["x"], arguments["starts"]
    if x.dim() != 2:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)}; expected (D, tokens)")
    check_starts("starts", starts)
    sizes = {"tokens": x.shape[1], "sequences": starts.numel() - 1}
    weights = convolution.shape_of(NAME, arguments, x.shape[0])
    return {**sizes, **convolution.split_of(NAME, arguments, x.shape[0]), **weights}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Sequences of random lengths, which may be empty."""
    inner = torch.randint(0, shape["tokens"] + 1, (shape["sequences"] - 1,), generator=generator).sort()[0]
    return {
        "x": convolution.random(shape, generator, convolution.channels(shape), shape["tokens"]),
        "starts": torch.tensor([0, *inner.tolist(), shape["tokens"]], dtype=torch.int32),
        "key_dim": shape["keys"],
        **convolution.weights(shape, generator, convolution.channels(shape)),
    }


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    x = tensors["x"]
    return {
        **{"x": Strided(x), "channel_stride": x.stride(0), "token_stride": x.stride(1)},
        **{name: tensors[name] for name in ("weight", "bias", "starts", "q", "k", "v")},
        **{name: shape[name] for name in ("keys", "values", "tokens", "sequences")},
    }
