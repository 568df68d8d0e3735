"""C = A B of bf16 matrices with a scale for each row of A and column of B."""

import dataclasses

from workbench.spec import Variant
from workbench_kernels.gemm import fp8, int8

spec = dataclasses.replace(
    fp8.spec,
    name="gemm/bf16_scaled",
    doc="A B scaled by rows of A and columns of B: as gemm/int8 with A and B of bf16, such as whole numbers "
    "that were not made int8; sums in float, exact up to 2^24.",
    define=fp8.double_buffer("bf16"),
    variants={
        "few_rows": fp8.few_rows("bf16"),
        "ping_pong": fp8.ping_pong("bf16"),
        "double_buffer": Variant(),
    },
    inputs=lambda shape, generator: {
        name: value.bfloat16() if name in ("a", "b") else value
        for name, value in int8.inputs(shape, generator).items()
    },
    hard_inputs={},
    bytes=lambda shape: (
        fp8.spec.bytes(shape) + shape["batch"] * shape["k"] * (shape["m"] + shape["n"])
        if fp8.spec.bytes
        else 0
    ),
    published=(),
)
