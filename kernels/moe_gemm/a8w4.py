"""Rows of int8 times matrices of 4-bit integers with scales and zero points of groups, by a ragged list."""

from __future__ import annotations

from workbench.operators import Choice, Index, Range
from workbench_kernels.families import expert_nibbles as family
from workbench_kernels.families import experts, experts_quantized_backward
from workbench_kernels.references.experts import a8w4

spec = experts.spec(
    "a8w4",
    "scale_a A ((B_e - zero) * factors) for the entries of a ragged list of tokens: A of int8; B_e of "
    "integers from 0 to 15, two (adjacent along K) per byte, minus a zero point (8 by default) and times a "
    "factor for each group_k of a column. Multiplied as int8 or, with zero points, as bf16; both are exact.",
    ("int8", "int4_{zero}"),
    parameters={
        **experts.RAGGED,
        "group_k": Range(32, 1024, step=32, default=128, doc="elements along K that share a factor"),
        "zero": Choice((0, 1), doc="whether there are zero points"),
    },
    define=experts.instance("int8", "int4_{zero}", listing="ragged", factors=True),
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 288, "zero": 1},
        {"tokens": 60, "top_k": 2, "experts": 3, "n": 160, "k": 160, "group_k": 32},
    ],
    inputs=family.inputs,
    reference=a8w4,
    backward=experts_quantized_backward.NIBBLES,
    shape_of=family.shape_of,
    tensors={
        "a": "int8[tokens, k]",
        "b": "uint8[experts, k/2, n]",
        "blocks_b zero": "fp32[experts, ceil(k/group_k), n]",
        "offsets": "int32[experts+1]",
        "gather": "int32[entries]",
        "scale_a": "fp32[1]",
        "c": "bf16[entries, n]",
    },
    indexes={
        "offsets": Index("tokens*top_k+1"),
        "gather": Index("tokens*top_k"),
    },
    notes={
        "b": "a matrix for each expert",
        "scale_a": "scale of A; if None, it is 1",
    },
)
