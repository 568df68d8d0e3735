"""The two layers of experts: operands, and a step for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.operators import Step
from workbench_kernels.families import experts

BF16 = (torch.bfloat16,)


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    half = arguments["w1"].shape[1] // 2 if arguments["w1"].dim() == 3 else "N / 2"
    sizes = experts.fits(
        "expert GEMM",
        a=(arguments["a"], BF16, ("tokens", "k")),
        w1=(arguments["w1"], BF16, ("experts", "n", "k")),
        w2=(arguments["w2"], BF16, ("experts", "k", half)),
    )
    return {**sizes, **experts.list_shape(sizes, arguments)}


def first(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of the first layer, by `moe_gemm/bf16`'s parameters."""
    return {**shape, "activation": "silu_and_mul", "layout": "nt"}


def second(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of the second layer: its rows are those of the first layer's result, one for each id."""
    return {
        **{**shape, "tokens": experts.entries(shape), "top_k": 1, "n": shape["k"], "k": shape["n"] // 2},
        **{"activation": "none", "layout": "nt"},
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False) -> dict[str, Any]:
    """Random numbers whose sums are about one."""
    count, n, k = (shape[name] for name in ("experts", "n", "k"))

    def draw(*dims: int) -> torch.Tensor:
        return torch.randn(dims, generator=generator)

    return {
        "a": draw(shape["tokens"], k).bfloat16(),
        "w1": (draw(count, n, k) / k**0.5).bfloat16(),
        "w2": (draw(count, k, n // 2) / (n / 2) ** 0.5).bfloat16(),
        **experts.sorted_inputs(shape, generator, skewed=skewed),
    }


def step(name: str, of: Any, **names: str) -> Step:
    """A layer, by the names of the tensors that are its a, b, c and weights, and its top_k."""
    defines = experts.instance("bf16", "bf16", listing="sorted_blocks")
    launch = experts.launch(("bf16", "bf16"))
    return Step(
        name=name,
        entry="expert_gemm",
        launch=lambda shape, arch: launch(of(shape), arch),
        define=lambda shape, arch: defines(of(shape), arch),
        arguments=lambda shape, tensors: experts.arguments(
            of(shape),
            {
                **{each: tensors[each] for each in LISTS},
                **{to: tensors.get(of_name) for to, of_name in names.items()},
                "top_k": of(shape)["top_k"],
            },
        ),
    )


LISTS = ("sorted_token_ids", "expert_ids", "num_tokens_post_padded")
