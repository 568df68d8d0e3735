"""C = A Bᵀ of 8-bit A with a scale for each row, and microscaled fp4 weights."""

from workbench.operators import Range
from workbench_kernels.families import gemm_backward
from workbench_kernels.families.gemm_quantized import inputs, quantized

spec = quantized(
    "gemm/a8wfp4",
    "A Bᵀ of fp8 (e4m3; OCP on gfx950, fnuz on gfx942) or int8 A with a float scale for each row, and fp4 B "
    "(e2m1, two per byte) with a power-of-two scale (e8m0, uint8) for each 32 columns of a row. fp8 A uses "
    "the scaled matrix instructions on gfx950; otherwise both operands are converted to bf16 in registers, "
    "exactly. Sums in float.",
    a=("fp8", "int8"),
    b=("fp4",),
    scale_a=("row",),
    scale_b=("powers",),
    k=Range(128, 1 << 20, step=128, default=512, doc="columns of A, along which products are summed"),
    shapes=[{"m": 256, "n": 256, "k": 512}, {"m": 130, "n": 301, "k": 384, "a": "int8", "batch": 2}],
    hard_inputs={"large magnitudes": lambda shape, generator: inputs(shape, generator, 1e12)},
    backward=gemm_backward.quantized("gemm/a8wfp4"),
    tensors={
        "a": "fp8/int8[..., m, k]",
        "b": "uint8[..., n, k/2]",
        "scale_a": "fp32[..., m]",
        "scale_b": "uint8[..., n, ceil(k/32)]",
        "bias": "bf16[n] | bf16[batch, 1, n]",
        "gate residual": "bf16[..., m, n]",
        "c": "bf16[..., m, n]",
    },
    notes={
        "scale_b": "bytes s of powers 2^(s - 127), for each 32 columns of a row; not None",
        "scale_a": "scales of rows; not None",
    },
)
