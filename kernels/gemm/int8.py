"""C = A B of int8 matrices with a scale for each row of A and column of B."""

from workbench.operators import Published
from workbench_kernels.families.gemm_rows import inputs_by, int8_rows, scaled

spec = scaled(
    "gemm/int8",
    "A B scaled by rows of A and columns of B: A is M x K or K x M and B is N x K or K x N, both of int8 "
    "with float scales; activation(... + bias) * gate + beta residual of bf16. Sums in int32, which cannot "
    "overflow for K up to 131,071; where K is split, the parts are added in float.",
    "int8",
    inputs=inputs_by(int8_rows),
    most_k=131056,
    hard_inputs={"largest codes": inputs_by(int8_rows, True)},
    published=[
        Published(
            {"m": 1024, "n": 800, "k": 5120},
            15.524,
            "us",
            "MI350X or MI355X",
            "AITER (CK)",
            "ROCm/aiter e4048607, aiter/configs/a8w8_tuned_gemm.csv",
        )
    ],
    tensors={
        "a": "int8[..., m, k] | int8[..., k, m]",
        "b": "int8[..., n, k] | int8[..., k, n]",
        "scale_a": "fp32[..., m]",
        "scale_b": "fp32[..., n]",
        "bias": "bf16[n] | bf16[batch, 1, n]",
        "gate residual": "bf16[..., m, n]",
        "c": "bf16[..., m, n]",
    },
)
