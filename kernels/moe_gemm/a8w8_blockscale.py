"""Rows of tokens times the matrices of their experts, of 8 bits with block scales, by a ragged list."""

from __future__ import annotations

from workbench.operators import Choice, Index, Range
from workbench_kernels.families import expert_bytes as family
from workbench_kernels.families import experts, experts_quantized_backward
from workbench_kernels.references.experts import a8w8_blockscale

PARAMETERS = {name: p for name, p in experts.RAGGED.items() if name != "scales"}

spec = experts.spec(
    "a8w8_blockscale",
    "A B_e + bias[e] for the entries of a ragged list of tokens, where sums over group_k elements are "
    "scaled by a factor of their row of A and a factor of their group_n columns of B_e. int8 or fp8, "
    "without conversion; B_e is K x N; sums in float.",
    ("{element}", "{element}"),
    parameters={
        **PARAMETERS,
        "group_k": Range(32, 1024, step=32, default=128, doc="elements along K of a block"),
        "group_n": Range(1, 1024, default=128, doc="columns of a block of B"),
        "element": Choice(("int8", "fp8"), doc="element type"),
        "bias": Choice((0, 1), doc="whether a bias of each expert is added"),
    },
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 288},
        {
            "tokens": 60,
            "top_k": 2,
            "experts": 3,
            "n": 160,
            "k": 160,
            "element": "fp8",
            "group_k": 32,
            "group_n": 64,
        },
    ],
    inputs=family.blocks_inputs,
    reference=a8w8_blockscale,
    backward=experts_quantized_backward.BLOCKS,
    shape_of=family.blocks_shape_of,
    tensors={
        "a": "element[tokens, k]",
        "b": "element[experts, k, n]",
        "blocks_a": "fp32[tokens, ceil(k/group_k)]",
        "blocks_b": "fp32[experts, ceil(k/group_k), ceil(n/group_n)]",
        "offsets": "int32[experts+1]",
        "gather": "int32[entries]",
        "bias": "fp32[experts, n]",
        "c": "bf16[entries, n]",
    },
    indexes={
        "offsets": Index("tokens*top_k+1"),
        "gather": Index("tokens*top_k"),
    },
    notes={
        "b": "a matrix for each expert",
        "bias": "added to each row of an expert; if None, nothing is added",
    },
)
