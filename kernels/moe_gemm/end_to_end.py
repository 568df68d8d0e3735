"""The experts' two layers: silu of a gate times a projection, and the way back, by a list of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.spec import KernelSpec, Step, Tolerance
from workbench_kernels.families import experts
from workbench_kernels.references.experts import mlp

BF16 = (torch.bfloat16,)


def shape_of(
    a: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    top_k: int,
    weights: torch.Tensor | None = None,
) -> dict[str, Any]:
    """Shape of a call."""
    half = w1.shape[1] // 2 if w1.dim() == 3 else "N / 2"
    sizes = experts.fits(
        "expert GEMM",
        a=(a, BF16, ("tokens", "k")),
        w1=(w1, BF16, ("experts", "n", "k")),
        w2=(w2, BF16, ("experts", "k", half)),
    )
    lists = (sorted_token_ids, expert_ids, num_tokens_post_padded, top_k, weights)
    return {**sizes, **experts.sorted_shape("expert GEMM", sizes, *lists)}


def first(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of the first layer, by `moe_gemm/bf16`'s parameters."""
    return {**shape, "activation": "silu_and_mul", "layout": "nt"}


def second(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of the second: rows are those of the first's result, one for each id."""
    return {
        **{**shape, "tokens": experts.entries(shape), "top_k": 1, "n": shape["k"], "k": shape["n"] // 2},
        **{"activation": "none", "layout": "nt"},
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, one: bool = False) -> dict[str, Any]:
    """Numbers of which sums are about one."""
    count, n, k = (shape[name] for name in ("experts", "n", "k"))

    def draw(*dims: int) -> torch.Tensor:
        return torch.randn(dims, generator=generator)

    return {
        "a": draw(shape["tokens"], k).bfloat16(),
        "w1": (draw(count, n, k) / k**0.5).bfloat16(),
        "w2": (draw(count, k, n // 2) / (n / 2) ** 0.5).bfloat16(),
        **experts.sorted_inputs(shape, generator, one=one),
    }


def step(name: str, of: Any, **names: str) -> Step:
    """A layer; names are the tensors that it takes as a, b, c and weights, and its top_k."""
    own = experts.instance("bf16", "bf16", listing="sorted_blocks")
    launch = experts.launch(("bf16", "bf16"))
    return Step(
        name=name,
        entry="expert_gemm",
        launch=lambda shape, arch: launch(of(shape), arch),
        define=lambda shape, arch: own(of(shape), arch),
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

spec = KernelSpec(
    name="moe_gemm/end_to_end",
    doc="weight (silu(A G) * (A U)) W2 for rows of tokens and their experts, by a list of ids in blocks of "
    "one expert each; row id of C is that of pair id. w1 is N x K of an expert, G's rows before U's; w2 is "
    "K x N / 2. bf16; sums in float; between the layers bf16.",
    source=experts.SOURCE,
    parameters=experts.SORTED,
    shapes=[{"tokens": 60, "top_k": 2, "experts": 5, "n": 160, "k": 96, "weighted": 1}],
    inputs=inputs,
    outputs=lambda shape, tensors: {"c": ((experts.entries(shape), shape["k"]), torch.bfloat16)},
    workspace=lambda shape, tensors: {"hidden": ((experts.entries(shape), shape["n"] // 2), torch.bfloat16)},
    reference=mlp,
    shape_of=shape_of,
    steps=(
        step("gate and up", first, a="a", b="w1", c="hidden"),
        step("down", second, a="hidden", b="w2", c="c", weights="weights"),
    ),
    check=experts.check,
    flops=lambda shape: 3 * experts.entries(shape) * shape["n"] * shape["k"],
    bytes=lambda shape: (
        2 * (shape["tokens"] + experts.entries(shape)) * shape["k"]
        + 3 * min(shape["experts"], experts.entries(shape)) * shape["n"] * shape["k"]
    ),
    # Between the layers numbers are rounded to bf16, and where sums cancel that error stays.
    tolerances={"c": Tolerance(1.6e-2, 5e-2)},
    hard_inputs={"one expert has all tokens": lambda shape, generator: inputs(shape, generator, one=True)},
)
