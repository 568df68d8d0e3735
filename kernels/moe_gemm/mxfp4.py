"""Rows of tokens times the matrices of their experts, of mxfp4, by a list of padded blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.operators import Choice, Index
from workbench_kernels.families import expert_fp4, experts, experts_quantized_backward
from workbench_kernels.references.experts import mxfp4


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    sizes = expert_fp4.sizes_of(arguments)
    return {
        **sizes,
        **experts.list_shape(sizes, arguments),
        **{"activation": arguments["activation"], "scales": experts.scales_of(sizes, arguments)},
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False) -> dict[str, Any]:
    tensors = {
        **expert_fp4.numbers(shape, generator),
        **experts.sorted_inputs(shape, generator, skewed=skewed),
        "activation": shape["activation"],
    }
    if shape["scales"]:
        tensors["scale_a"] = torch.rand(1, generator=generator) + 0.5
        tensors["scale_b"] = torch.rand(shape["experts"], generator=generator) + 0.5
    return tensors


spec = experts.spec(
    "mxfp4",
    "activation(weight scale_a scale_b[e] A B_e) for rows of tokens and their experts, by a list of ids in "
    "blocks of one expert each, of fp4 (e2m1) with a power-of-two scale for each 32 along K. B_e is K / 2 x "
    "N bytes. Uses scaled matrix instructions on gfx950, and bf16 on gfx942; sums in float.",
    ("fp4", "fp4"),
    parameters={
        **experts.SORTED,
        "activation": Choice(
            experts.ACTIVATIONS, doc="activation of the sums; silu_and_mul takes their halves"
        ),
        "scales": Choice((0, 1), doc="whether A has a scale, and B one for each expert"),
    },
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 160, "scales": 1},
        {
            "tokens": 60,
            "top_k": 2,
            "experts": 3,
            "n": 160,
            "k": 96,
            "weighted": 1,
            "activation": "silu_and_mul",
        },
    ],
    inputs=inputs,
    reference=mxfp4,
    backward=experts_quantized_backward.FP4_LIST,
    shape_of=shape_of,
    tensors={
        "a": "uint8[tokens, k/2]",
        "b": "uint8[experts, k/2, n]",
        "powers_a": "uint8[tokens, ceil(k/32)]",
        "powers_b": "uint8[experts, ceil(k/32), n]",
        "sorted_token_ids": "int32[ids]",
        "expert_ids": "int32[blocks]",
        "num_tokens_post_padded": "int32[1]",
        "weights": "fp32[tokens*top_k]",
        "scale_a": "fp32[1]",
        "scale_b": "fp32[experts]",
        "c": "bf16[tokens*top_k, n] | bf16[tokens*top_k, n/2]",
    },
    indexes={
        "expert_ids": Index("experts", below=0, read=experts.used_blocks),
        "num_tokens_post_padded": Index("ids+1"),
    },
    notes={
        "b": "a matrix for each expert",
        "scale_a": "scale of A; if None, it is 1",
        "scale_b": "a scale for each expert's matrix; if None, it is 1",
    },
)
