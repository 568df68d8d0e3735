"""C = A B of fp8 matrices with a scale for each row of A and column of B."""

from workbench.operators import Published
from workbench_kernels.families.gemm_rows import fp8_rows, inputs_by, scaled

BLOG = "ROCm blog, FP8 GEMM Optimization on AMD CDNA4, table 5"
AITER = "ROCm/aiter e4048607, aiter/configs/a8w8_tuned_gemm.csv"

spec = scaled(
    "gemm/fp8",
    "A B scaled by rows of A and columns of B: A is M x K or K x M and B is N x K or K x N, both of fp8 "
    "(e4m3; OCP on gfx950, fnuz on gfx942) with float scales; activation(... + bias) * gate + beta residual "
    "of bf16; sums in float.",
    "fp8e4m3",
    inputs=inputs_by(fp8_rows),
    four_waves_on=("gfx950",),
    hard_inputs={"large magnitudes": inputs_by(fp8_rows, 1e15)},
    published=[
        *Published.times(
            {"m": 4096, "n": 4096, "k": 4096},
            "MI355X",
            BLOG,
            {"8-wave ping-pong (HIP)": 51.2, "hipBLASLt": 49.97},
        ),
        Published({"m": 8192, "n": 8192, "k": 8192}, 343.0, "us", "MI355X", "8-wave ping-pong (HIP)", BLOG),
        Published({"m": 4096, "n": 7424, "k": 8192}, 232.766, "us", "MI350X or MI355X", "AITER (CK)", AITER),
    ],
    tensors={
        "a": "fp8[..., m, k] | fp8[..., k, m]",
        "b": "fp8[..., n, k] | fp8[..., k, n]",
        "scale_a": "fp32[..., m]",
        "scale_b": "fp32[..., n]",
        "bias": "bf16[n] | bf16[batch, 1, n]",
        "gate residual": "bf16[..., m, n]",
        "c": "bf16[..., m, n]",
    },
)
