"""Rows of tokens times the matrices of their experts, of mxfp4, by a ragged list."""

from __future__ import annotations

from workbench.operators import Choice, Index
from workbench_kernels.families import expert_fp4 as family
from workbench_kernels.families import experts, experts_quantized_backward
from workbench_kernels.references.experts import a4w4

spec = experts.spec(
    "a4w4",
    "scale_a scale_b[e] A B_e for the entries of a ragged list of tokens, of fp4 (e2m1) with a power-of-two "
    "scale for each 32 along K; optionally x sigmoid(alpha x) (y + 1) of adjacent columns. B_e is K / 2 x N "
    "bytes. Uses scaled matrix instructions on gfx950, and bf16 on gfx942; sums in float.",
    ("fp4", "fp4"),
    parameters={
        **experts.RAGGED,
        "swiglu": Choice((0, 1), doc="whether adjacent columns x and y become one"),
    },
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 160},
        {"tokens": 60, "top_k": 2, "experts": 3, "n": 160, "k": 96, "swiglu": 1},
    ],
    inputs=family.inputs,
    reference=a4w4,
    backward=experts_quantized_backward.FP4,
    shape_of=family.shape_of,
    tensors={
        "a": "uint8[tokens, k/2]",
        "b": "uint8[experts, k/2, n]",
        "powers_a": "uint8[tokens, ceil(k/32)]",
        "powers_b": "uint8[experts, ceil(k/32), n]",
        "offsets": "int32[experts+1]",
        "gather": "int32[entries]",
        "scale_a": "fp32[1]",
        "scale_b": "fp32[experts]",
        "c": "bf16[entries, n] | bf16[entries, n/2]",
    },
    indexes={
        "offsets": Index("tokens*top_k+1"),
        "gather": Index("tokens*top_k"),
    },
    notes={
        "b": "a matrix for each expert",
        "scale_a": "scale of A; if None, it is 1",
        "scale_b": "a scale for each expert's matrix; if None, it is 1",
        "alpha": "alpha in x sigmoid(alpha x) (y + 1)",
    },
)
