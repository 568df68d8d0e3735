"""The part of a prefill that is independent for each chunk."""

from __future__ import annotations

from workbench_kernels.families import delta_chunks as family
from workbench_kernels.references.delta_chunks import prepared

spec = family.spec(
    "chunk_prepare",
    doc="For each chunk: the sums of decays, the inverse of 1 + tril(beta_i k_i k_j exp(sum_i - sum_j), "
    "-1), w and u. `chunk_summed_products`, `chunk_inverse` and `chunk_representation` in one call.",
    takes=("k", "v", "beta", "g"),
    gives=("sums", "inverse", "w", "u"),
    between=("a",),
    inputs=family.raw,
    steps=(
        family.SUMMED_PRODUCTS.step("products"),
        family.INVERSE.step("inverse"),
        family.REPRESENTATION.step("representation", A="inverse", g="sums"),
    ),
    reference=prepared,
    shapes=[
        {"tokens": 130, "keys": 64, "values": 48, "dtype": "bf16"},
        {"tokens": 70, "sequences": 5, "chunk": 16, "keys": 64, "values": 32, "dtype": "fp32"},
    ],
    multiplications=lambda shape: shape["chunk"] * (2 * shape["keys"] + shape["values"]),
)
