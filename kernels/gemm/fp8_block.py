"""C = A B of fp8 or int8: a scale for each 128 columns of a row of A, and of a row or 128 rows of B."""

from workbench.operators import Published, Range
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward
from workbench_kernels.families.gemm_quantized import inputs, quantized
from workbench_kernels.references.gemm import block_scaled_gemm

spec = quantized(
    "gemm/fp8_block",
    "A B of fp8 (e4m3; OCP on gfx950, fnuz on gfx942), int8, or bf16 with values of these formats. A has a "
    "float scale for each 128 columns of a row; B has one for each 128 x 128 block or, stored K / 128 x N, "
    "for each 128 columns of a row. activation(... + bias) * gate + beta residual of bf16; a block is "
    "summed in float, int8 exactly. Two matrices of fp8 or int8 may also be stored transposed.",
    a=("fp8", "int8", "bf16"),
    b=("fp8", "int8", "bf16"),
    scale_a=("rows",),
    scale_b=("squares", "columns"),
    layouts=family.ALL_LAYOUTS,
    reference=block_scaled_gemm,
    k=Range(16, 1 << 20, step=16, default=512, doc="columns of A; a row is a multiple of 16 bytes"),
    finish={name: p for name, p in family.FINISH.items() if name != "alpha"},
    shapes=[
        {"m": 512, "n": 512, "k": 512},
        {"m": 130, "n": 301, "k": 336, "batch": 2},
        {"m": 130, "n": 301, "k": 336, "a": "int8", "b": "int8", "scale_b": "columns"},
        *({"m": 144, "n": 208, "k": 336, "layout": layout} for layout in ("nn", "tn", "tt")),
    ],
    many=[
        {"m": 512, "n": 512, "k": 512},
        {"m": 130, "n": 304, "k": 384, "batch": 2, "bias": 1, "activation": "relu"},
        {"m": 300, "n": 264, "k": 256, "a": "int8", "b": "int8"},
        *({"m": 304, "n": 272, "k": 384, "layout": layout} for layout in ("nn", "tn", "tt")),
    ],
    hard_inputs={"large magnitudes": lambda shape, generator: inputs(shape, generator, 1e12)},
    published=[
        Published(
            {"m": m, "n": n, "k": 3072},
            us,
            "us",
            "MI350X or MI355X",
            "AITER (CK)",
            "ROCm/aiter e4048607, aiter/configs/a8w8_blockscale_tuned_gemm.csv",
        )
        for m, n, us in ((2001, 3072, 41.479), (2201, 8192, 99.940))
    ],
    backward=gemm_backward.quantized("gemm/fp8_block"),
    tensors={
        "a": "fp8/int8/bf16[..., m, k] | fp8/int8[..., k, m]",
        "b": "fp8/int8/bf16[..., n, k] | fp8/int8[..., k, n]",
        "scale_a": "fp32[..., m, ceil(k/128)]",
        "scale_b": "fp32[..., ceil(n/128), ceil(k/128)] | fp32[..., ceil(k/128), n]",
        "bias": "bf16[n] | bf16[batch, 1, n]",
        "gate residual": "bf16[..., m, n]",
        "c": "bf16[..., m, n]",
    },
    notes={
        "scale_a": "scales of each 128 columns of a row; not None",
        "scale_b": "scales of each 128 x 128 block, or of each 128 columns of a row, stored by columns; not "
        "None",
    },
)
