"""C = A Bᵀ of 8-bit A with a scale for each row by microscaled fp4 weights."""

from workbench.spec import Range
from workbench_kernels.families.gemm_quantized import inputs, quantized

spec = quantized(
    "gemm/a8wfp4",
    "A Bᵀ of A of fp8 (e4m3; OCP on gfx950, fnuz on gfx942) or int8 with a float scale for each row, by B "
    "of fp4 (e2m1, two in a byte) with a power of two (e8m0, uint8) for each 32 columns of a row. fp8 by "
    "scaled matrix instructions on gfx950; else both become bf16 in registers, exactly. Sums in float.",
    a=("fp8", "int8"),
    b=("fp4",),
    scale_a=("row",),
    scale_b=("powers",),
    k=Range(128, 1 << 20, step=128, default=512, doc="columns of A, along which products are summed"),
    shapes=[{"m": 256, "n": 256, "k": 512}, {"m": 130, "n": 301, "k": 384, "a": "int8", "batch": 2}],
    hard_inputs={"large magnitudes": lambda shape, generator: inputs(shape, generator, 1e12)},
)
