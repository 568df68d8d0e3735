"""C = A Bᵀ of bf16 A and 8-bit weights with a scale for each 128 columns, of a row or of 128 rows."""

from workbench.operators import Range
from workbench_kernels.families import gemm_backward
from workbench_kernels.families.gemm_quantized import inputs, quantized

spec = quantized(
    "gemm/a16w8_block",
    "A Bᵀ of bf16 A and B of fp8 (e4m3; OCP on gfx950, fnuz on gfx942), int8, or bf16 with values of these "
    "formats; B has a float scale for each 128 x 128 block or, stored K / 128 x N, for each 128 columns of "
    "a row. B is converted to bf16 in registers, exactly; a block's products are summed in float and then "
    "scaled.",
    a=("bf16",),
    b=("int8", "fp8", "bf16"),
    scale_b=("squares", "columns"),
    k=Range(16, 1 << 20, step=16, default=512, doc="columns of A; a row of B is a multiple of 16 bytes"),
    shapes=[
        {"m": 256, "n": 256, "k": 512},
        {"m": 130, "n": 301, "k": 336, "b": "fp8", "scale_b": "columns"},
    ],
    hard_inputs={"large magnitudes": lambda shape, generator: inputs(shape, generator, 1e12)},
    backward=gemm_backward.quantized("gemm/a16w8_block"),
    tensors={
        "a": "bf16[..., m, k]",
        "b": "fp8/int8/bf16[..., n, k]",
        "scale_a": "fp32[..., m, ceil(k/128)]",
        "scale_b": "fp32[..., ceil(n/128), ceil(k/128)] | fp32[..., ceil(k/128), n]",
        "bias": "bf16[n] | bf16[batch, 1, n]",
        "gate residual": "bf16[..., m, n]",
        "c": "bf16[..., m, n]",
    },
    notes={
        "scale_b": "scales of each 128 x 128 block, or of each 128 columns of a row, stored by columns; not "
        "None",
    },
)
