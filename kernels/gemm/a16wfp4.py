"""C = A Bᵀ of bf16 A and microscaled fp4 weights."""

from workbench.operators import Range
from workbench_kernels.families import gemm_backward
from workbench_kernels.families.gemm_quantized import quantized

spec = quantized(
    "gemm/a16wfp4",
    "A Bᵀ of bf16 A and B of fp4 (e2m1, two per byte) with a power-of-two scale (e8m0, uint8) for each 32 "
    "columns of a row; or of bf16 with such values and float scales, stored K / 32 x N. B is converted to "
    "bf16 in registers, exactly, and A is not rounded to fp4. Sums in float.",
    a=("bf16",),
    b=("fp4", "bf16"),
    scale_b=("powers", "columns_32"),
    k=Range(128, 1 << 20, step=128, default=512, doc="columns of A, along which products are summed"),
    shapes=[
        {"m": 256, "n": 256, "k": 512},
        {"m": 130, "n": 301, "k": 384, "batch": 2},
        {"m": 130, "n": 300, "k": 256, "b": "bf16", "scale_b": "columns_32"},
    ],
    backward=gemm_backward.quantized("gemm/a16wfp4"),
    tensors={
        "a": "bf16[..., m, k]",
        "b": "uint8[..., n, k/2] | bf16[..., n, k]",
        "scale_a": "fp32[..., m, ceil(k/128)]",
        "scale_b": "uint8[..., n, ceil(k/32)] | fp32[..., ceil(k/32), n]",
        "bias": "bf16[n] | bf16[batch, 1, n]",
        "gate residual": "bf16[..., m, n]",
        "c": "bf16[..., m, n]",
    },
    notes={
        "scale_b": "bytes s of powers 2^(s - 127), for each 32 columns of a row; or floats, stored by "
        "columns; not None",
    },
)
