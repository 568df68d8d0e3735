"""Products between the tokens of a chunk, which determine their corrections."""

from __future__ import annotations

from workbench_kernels.families import delta_chunks as family
from workbench_kernels.references.delta_chunks import products

spec = family.spec(
    "chunk_products",
    doc="A = tril(beta_i k_i k_j exp(g_i - g_j), -1) of the tokens of each chunk, one row per token; g are "
    "cumulative sums within chunks.",
    takes=("k", "beta", "g"),
    gives=("a",),
    steps=(family.PRODUCTS.step("products"),),
    reference=products,
    shapes=[
        {"tokens": 130, "keys": 64, "dtype": "bf16"},
        {"batch": 2, "sequences": 2, "tokens": 33, "chunk": 32, "dtype": "fp32"},
        {"tokens": 70, "sequences": 5, "chunk": 16, "keys": 64, "dtype": "fp16"},
    ],
    multiplications=lambda shape: shape["chunk"] * shape["keys"],
)
