"""The two layers of experts: a gated projection with silu, and the projection back, by a list of blocks."""

from __future__ import annotations

import torch

from workbench.operators import Index, KernelSpec, Tolerance
from workbench_kernels.families import expert_layers as family
from workbench_kernels.families import experts, experts_backward
from workbench_kernels.references.experts import mlp

spec = KernelSpec(
    name="moe_gemm/end_to_end",
    doc="weight (silu(A G) * (A U)) W2 for rows of tokens and their experts, by a list of ids in blocks of "
    "one expert each; row i of C belongs to the token-expert pair with id i. w1 is N x K for each expert, "
    "G's rows before U's; w2 is K x N / 2. bf16, between the layers too; sums in float.",
    source=experts.SOURCE,
    parameters=experts.SORTED,
    shapes=[{"tokens": 60, "top_k": 2, "experts": 5, "n": 160, "k": 96, "weighted": 1}],
    inputs=family.inputs,
    outputs=lambda shape, tensors: {"c": ((experts.entries(shape), shape["k"]), torch.bfloat16)},
    workspace=lambda shape, tensors: {"hidden": ((experts.entries(shape), shape["n"] // 2), torch.bfloat16)},
    reference=mlp,
    backward=experts_backward.OF_LAYERS,
    shape_of=family.shape_of,
    steps=(
        family.step("gate and up", family.first, a="a", b="w1", c="hidden"),
        family.step("down", family.second, a="hidden", b="w2", c="c", weights="weights"),
    ),
    check=experts.check,
    flops=lambda shape: 3 * experts.entries(shape) * shape["n"] * shape["k"],
    bytes=lambda shape: (
        2 * (shape["tokens"] + experts.entries(shape)) * shape["k"]
        + 3 * min(shape["experts"], experts.entries(shape)) * shape["n"] * shape["k"]
    ),
    # Numbers are rounded to bf16 between the layers, and where sums cancel, that error remains.
    tolerances={"c": Tolerance(1.6e-2, 5e-2)},
    hard_inputs={
        "all entries belong to one expert": lambda shape, generator: family.inputs(
            shape, generator, skewed=True
        )
    },
    tensors={
        "a": "bf16[tokens, k]",
        "w1": "bf16[experts, n, k]",
        "w2": "bf16[experts, k, n/2]",
        "sorted_token_ids": "int32[ids]",
        "expert_ids": "int32[blocks]",
        "num_tokens_post_padded": "int32[1]",
        "weights": "fp32[tokens*top_k]",
        "c": "bf16[tokens*top_k, k]",
    },
    indexes={
        "expert_ids": Index("experts", below=0, read=experts.used_blocks),
        "num_tokens_post_padded": Index("ids+1"),
    },
    notes={
        "w1": "for each expert, the gate's rows, then the others",
        "w2": "a matrix for each expert",
    },
)
