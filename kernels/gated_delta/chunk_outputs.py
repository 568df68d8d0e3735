"""Outputs of all tokens from the states at the beginning of their chunks."""

from __future__ import annotations

from workbench_kernels.families import delta_chunks as family
from workbench_kernels.references.delta_chunks import outputs

spec = family.spec(
    "chunk_outputs",
    doc="o = scale (exp(g) q h + tril(q_i k_j exp(g_i - g_j)) v) of each chunk, where v are the corrections "
    "and h the states of `chunk_states`.",
    takes=("q", "k", "corrections", "h", "g"),
    gives=("o",),
    named={"corrections": "v"},
    steps=(family.OUTPUTS.step("outputs"),),
    reference=outputs,
    shapes=[
        {"tokens": 130, "keys": 64, "values": 48, "dtype": "bf16"},
        {"batch": 2, "sequences": 2, "tokens": 33, "chunk": 32, "values": 64, "dtype": "fp32"},
        {"tokens": 70, "sequences": 5, "chunk": 16, "keys": 64, "values": 32, "dtype": "fp16"},
    ],
    multiplications=lambda shape: (
        shape["keys"] * shape["values"] + shape["chunk"] * (shape["keys"] + shape["values"])
    ),
)
