"""Rows of tokens times the matrices of their experts, of int8 or fp8, by a ragged list."""

from __future__ import annotations

from workbench.operators import Choice, Index
from workbench_kernels.families import expert_bytes as family
from workbench_kernels.families import experts, experts_quantized_backward
from workbench_kernels.references.experts import a8w8

spec = experts.spec(
    "a8w8",
    "scale_a scale_b[e] A B_e + bias[e] for the entries of a ragged list of tokens, sorted by expert; "
    "optionally x sigmoid(alpha x) (y + 1) of adjacent columns. int8, summed exactly, or fp8, summed in "
    "float, without conversion. B_e is K x N.",
    ("{element}", "{element}"),
    parameters={
        **experts.RAGGED,
        "element": Choice(("int8", "fp8"), doc="element type"),
        "bias": Choice((0, 1), doc="whether a bias of each expert is added"),
        "swiglu": Choice((0, 1), doc="whether adjacent columns x and y become one"),
    },
    shapes=[
        {"tokens": 50, "top_k": 2, "experts": 6, "n": 144, "k": 160, "bias": 1},
        {"tokens": 30, "top_k": 4, "experts": 3, "n": 160, "k": 96, "element": "fp8", "swiglu": 1},
    ],
    inputs=family.inputs,
    reference=a8w8,
    backward=experts_quantized_backward.BYTES,
    shape_of=family.shape_of,
    tensors={
        "a": "element[tokens, k]",
        "b": "element[experts, k, n]",
        "offsets": "int32[experts+1]",
        "gather": "int32[entries]",
        "scale_a": "fp32[1]",
        "scale_b": "fp32[experts]",
        "bias": "fp32[experts, n]",
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
        "bias": "added to each row of an expert; if None, nothing is added",
    },
)
