"""The inverse of each chunk's triangular matrix."""

from __future__ import annotations

from workbench_kernels.families import delta_chunks as family
from workbench_kernels.references.delta_chunks import inverse

spec = family.spec(
    "chunk_inverse",
    doc="(1 + tril(A, -1))^-1 of each chunk: 16x16 blocks on the diagonal by substitution, the others by "
    "matrix products in float. A has a row for each token, and as many columns as a chunk has tokens.",
    takes=("a",),
    gives=("inverse",),
    steps=(family.INVERSE.step("inverse"),),
    reference=inverse,
    shapes=[
        {"tokens": 130, "heads": 2},
        {"tokens": 70, "sequences": 5, "chunk": 16, "heads": 3},
        {"batch": 2, "sequences": 2, "tokens": 33, "heads": 2, "chunk": 32},
    ],
    multiplications=lambda shape: shape["chunk"] ** 2 // 6,
)
