"""Corrections: their dependence on the state before a chunk (w), and the part from values alone (u)."""

from __future__ import annotations

from workbench_kernels.families import delta_chunks as family
from workbench_kernels.references.delta_chunks import representation

spec = family.spec(
    "chunk_representation",
    doc="w = A (beta exp(g) k) and u = A (beta v) of each chunk, where A is the result of `chunk_inverse`.",
    takes=("k", "v", "beta", "inverse", "g"),
    gives=("w", "u"),
    named={"inverse": "a"},
    steps=(family.REPRESENTATION.step("products"),),
    reference=representation,
    shapes=[
        {"tokens": 130, "keys": 64, "values": 48, "dtype": "bf16"},
        {"batch": 2, "sequences": 2, "tokens": 33, "chunk": 32, "values": 64, "dtype": "fp32"},
        {"tokens": 70, "sequences": 5, "chunk": 16, "keys": 64, "values": 32, "dtype": "fp16"},
    ],
    multiplications=lambda shape: shape["chunk"] * (shape["keys"] + shape["values"]),
)
