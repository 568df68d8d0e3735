"""C = A B in a microscaled format: fp8, fp6 or fp4 with a power of two for each 32 columns."""

from __future__ import annotations

from workbench.operators import Choice, KernelSpec, Published, Range, Variant
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward
from workbench_kernels.families import gemm_microscaled as microscaled
from workbench_kernels.references.gemm import MICROSCALED, microscaled_gemm

spec = KernelSpec(
    name="gemm/mx",
    doc="A B in a format of the OCP microscaling specification: fp8 (e4m3, e5m2; fnuz on gfx942), fp6 "
    "(e2m3, e3m2) or fp4 (e2m1) with a power-of-two scale for each 32 columns of a row; activation(... + "
    "bias) * gate + beta residual of bf16; sums in float. fp8 matrices may also be stored transposed. Uses "
    "scaled matrix instructions on gfx950, and bf16 on gfx942.",
    source=family.SOURCE,
    entry="gemm",
    parameters={
        **family.SIZES,
        "k": Range(128, 1 << 20, step=128, default=512, doc="columns of A, along which products are summed"),
        "format": Choice(tuple(MICROSCALED), default="e2m1", doc="format of the numbers"),
        "layout": Choice(family.ALL_LAYOUTS, doc=family.OF_LAYOUT),
        **{name: p for name, p in family.FINISH.items() if name != "alpha"},
    },
    shapes=[
        {"m": 256, "n": 256, "k": 512, "format": "e2m1"},
        {"m": 150, "n": 301, "k": 384, "format": "e4m3"},
        {"m": 150, "n": 200, "k": 640, "format": "e2m3", "batch": 2},
        *(
            {"m": 144, "n": 208, "k": 384, "format": format, "layout": layout}
            for format, layout in (("e4m3", "nn"), ("e5m2", "tn"), ("e4m3", "tt"))
        ),
    ],
    inputs=microscaled.inputs,
    outputs=family.outputs_bf16,
    reference=microscaled_gemm,
    backward=gemm_backward.MICRO,
    shape_of=microscaled.shape_of,
    **microscaled.LOOP.fields(),
    check=microscaled.check,
    variants={
        "few_rows": microscaled.FEW_ROWS,
        "split_k": microscaled.LOOP.split_k(
            [{"m": 256, "n": 256, "k": 2048}, {"m": 130, "n": 301, "k": 1152, "format": "e2m3"}]
        ),
        "ping_pong": microscaled.ping_pong(
            [
                {"m": 512, "n": 512, "k": 512, "format": "e4m3"},
                {"m": 512, "n": 512, "k": 1024},
                {"m": 200, "n": 312, "k": 640, "batch": 2, "bias": 1},
                {"m": 200, "n": 312, "k": 384, "format": "e5m2", "batch": 2, "bias": 1},
                *(
                    {"m": 208, "n": 304, "k": 384, "format": "e4m3", "layout": layout}
                    for layout in ("nn", "tn", "tt")
                ),
            ]
        ),
        "double_buffer": Variant(),
    },
    flops=family.flops,
    bytes=lambda shape: (
        family.bytes_moved(shape, 1)
        - shape["batch"] * (shape["m"] + shape["n"]) * shape["k"] * (8 - microscaled.bits(shape)) // 8
        + shape["batch"] * (shape["m"] + shape["n"]) * shape["k"] // microscaled.BLOCK
    ),
    hard_inputs={"large magnitudes": lambda shape, generator: microscaled.inputs(shape, generator, 160)},
    published=[
        Published(
            {"m": 4096, "n": 4096, "k": 32768, "format": "e2m1"},
            rate,
            "TFLOP/s",
            "MI355X",
            f"Gluon, {waves} waves",
            "ROCm/gfx950-gluon-tutorials, kernels/gemm/README.md",
        )
        for waves, rate in ((4, 5189), (8, 4938))
    ],
    tensors={
        "a": "uint8[..., m, k/2] | uint8[..., m, 3*k/4] | fp8/e5m2[..., m, k] | fp8/e5m2[..., k, m]",
        "b": "uint8[..., n, k/2] | uint8[..., n, 3*k/4] | fp8/e5m2[..., n, k] | fp8/e5m2[..., k, n]",
        "scale_a": "uint8[..., m, ceil(k/32)]",
        "scale_b": "uint8[..., n, ceil(k/32)]",
        "bias": "bf16[n] | bf16[batch, 1, n]",
        "gate residual": "bf16[..., m, n]",
        "c": "bf16[..., m, n]",
    },
    notes={
        "a": "elements of `format`: fp4 two per byte, fp6 four per three bytes",
        "b": "elements of `format`: fp4 two per byte, fp6 four per three bytes",
        "scale_a": "bytes s of powers 2^(s - 127), for each 32 columns of a row",
        "scale_b": "bytes s of powers 2^(s - 127), for each 32 columns of a row",
    },
)
