"""Rows of tokens times the matrices of their experts, of bf16, by a list of padded blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.operators import Choice, Index
from workbench_kernels.families import experts, experts_backward
from workbench_kernels.references.experts import sorted_gemm


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    of_b = ("experts", "n", "k") if arguments["layout"] == "nt" else ("experts", "k", "n")
    sizes = experts.fits(
        "expert GEMM", a=(arguments["a"], BF16, ("tokens", "k")), b=(arguments["b"], BF16, of_b)
    )
    return {
        **sizes,
        **experts.list_shape(sizes, arguments),
        **{name: arguments[name] for name in ("activation", "layout")},
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False) -> dict[str, Any]:
    """Normally distributed numbers, and a list of random experts."""
    k, n = shape["k"], shape["n"]
    of_b = (n, k) if shape["layout"] == "nt" else (k, n)
    return {
        "a": torch.randn(shape["tokens"], k, generator=generator).bfloat16(),
        "b": torch.randn(shape["experts"], *of_b, generator=generator).bfloat16(),
        **experts.sorted_inputs(shape, generator, skewed=skewed),
        **{name: shape[name] for name in ("activation", "layout")},
    }


BF16 = (torch.bfloat16,)

spec = experts.spec(
    "bf16",
    "activation(weight A B_e) for rows of tokens and their experts, by a list of ids in blocks of one "
    "expert each; row i of C belongs to the token-expert pair with id i. B_e is K x N (nn) or N x K (nt). "
    "bf16; sums in float.",
    ("bf16", "bf16"),
    parameters={
        **experts.SORTED,
        "activation": Choice(
            experts.ACTIVATIONS, doc="activation of the sums; silu_and_mul takes their halves"
        ),
        "layout": Choice(("nn", "nt"), doc="whether B is K x N (n) or N x K (t)"),
    },
    shapes=[
        {"tokens": 100, "top_k": 2, "experts": 5, "n": 272, "k": 160},
        {"tokens": 40, "top_k": 3, "experts": 7, "n": 96, "k": 96, "block": 16, "activation": "silu_and_mul"},
    ],
    inputs=inputs,
    reference=sorted_gemm,
    backward=experts_backward.OF_LIST,
    shape_of=shape_of,
    tensors={
        "a": "bf16[tokens, k]",
        "b": "bf16[experts, k, n] | bf16[experts, n, k]",
        "sorted_token_ids": "int32[ids]",
        "expert_ids": "int32[blocks]",
        "num_tokens_post_padded": "int32[1]",
        "weights": "fp32[tokens*top_k]",
        "c": "bf16[tokens*top_k, n] | bf16[tokens*top_k, n/2]",
    },
    indexes={
        "expert_ids": Index("experts", below=0, read=experts.used_blocks),
        "num_tokens_post_padded": Index("ids+1"),
    },
    notes={
        "b": "a matrix for each expert",
    },
)
