"""Cumulative sums of decays within chunks, and `chunk_products` with them, in one launch."""

from __future__ import annotations

from workbench_kernels.families import delta_chunks as family
from workbench_kernels.references.delta_chunks import summed_products

spec = family.spec(
    "chunk_summed_products",
    doc="Cumulative sums of g within chunks, and A = tril(beta_i k_i k_j exp(sum_i - sum_j), -1) of each.",
    takes=("k", "beta", "g"),
    gives=("sums", "a"),
    inputs=family.raw,
    steps=(family.SUMMED_PRODUCTS.step("products"),),
    reference=summed_products,
    shapes=[
        {"tokens": 130, "keys": 64, "dtype": "bf16"},
        {"tokens": 70, "sequences": 5, "chunk": 16, "keys": 64, "dtype": "fp32"},
    ],
    multiplications=lambda shape: shape["chunk"] * shape["keys"],
)
