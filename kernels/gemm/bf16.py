"""C = A B of bf16 or fp16 matrices, with an epilogue: bias, activation, gate, residual."""

from __future__ import annotations

from workbench.operators import Choice, KernelSpec, Published, Variant
from workbench.targets import LIBRARY_TARGETS
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward, scalars
from workbench_kernels.families import gemm_dense as dense
from workbench_kernels.references.gemm import gemm


def published() -> list[Published]:
    """Microseconds from HipKittens' own benchmark, for cubes by side."""
    runs = {
        ("MI355X", "HipKittens main f09e9685, analysis/bf16_gemm/mi350x/mi355x_bf16_gemm.json"): {
            "HipKittens": {1024: 15.396, 2048: 25.832, 4096: 97.278, 8192: 682.718, 16384: 5597.291},
            "PyTorch": {1024: 37.735, 2048: 52.390, 4096: 120.716, 8192: 722.766, 16384: 5639.204},
            "AITER": {1024: 40.424, 2048: 52.279, 4096: 123.419, 8192: 691.174, 16384: 5623.837},
        },
        ("MI325X", "HipKittens main f09e9685, analysis/bf16_gemm/mi325x/mi325x_bf16_gemm.json"): {
            "HipKittens": {1024: 35.677, 2048: 57.585, 4096: 192.569, 8192: 1467.194, 16384: 12313.529},
            "PyTorch": {1024: 27.148, 2048: 52.868, 4096: 182.634, 8192: 1400.110, 16384: 11731.976},
        },
    }
    return [
        Published({"m": side, "n": side, "k": side}, us, "us", gpu, who, source)
        for (gpu, source), by_whom in runs.items()
        for who, times in by_whom.items()
        for side, us in times.items()
    ]


PING_PONG = Published(
    {"m": 8192, "n": 8192, "k": 8192},
    1610,
    "TFLOP/s",
    "MI355X",
    "HipKittens 8-wave ping-pong",
    "arXiv 2511.08083, table 2",
)

FAST = ({"m": 512, "n": 512, "k": 512}, {"m": 200, "n": 312, "k": 136})
"""Shapes that the schedules support."""

spec = KernelSpec(
    name="gemm/bf16",
    doc="activation(alpha A B + bias) * gate + beta residual of bf16 or fp16 matrices, or batches of them, "
    "each operand stored as is or transposed; sums in float.",
    **dense.PRODUCT.plain(),
    parameters={
        **family.SIZES,
        "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
        "layout": Choice(("nt", "nn", "tn"), doc="layout of A and B: as is (n) or transposed (t)"),
        **family.FINISH,
    },
    shapes=[
        {"m": 512, "n": 512, "k": 512},
        {"m": 200, "n": 312, "k": 136},
        {"m": 136, "n": 200, "k": 72, "layout": "nn", "batch": 2},
        {"m": 136, "n": 200, "k": 71, "layout": "tn", "dtype": "fp16"},
        {
            "m": 100,
            "n": 131,
            "k": 64,
            "alpha": 1,
            "bias": 1,
            "activation": "gelu",
            "gate": 1,
            "residual": 1,
        },
    ],
    inputs=dense.inputs,
    outputs=dense.outputs,
    reference=gemm,
    backward=gemm_backward.GEMM,
    shape_of=dense.shape_of,
    variants={
        "few_rows": dense.PRODUCT.few_rows([{"m": 16, "n": 4096, "k": 4096}, {"m": 5, "n": 131, "k": 520}]),
        "split_k": dense.PRODUCT.split_k([{"m": 256, "n": 256, "k": 8192}, {"m": 130, "n": 131, "k": 1032}]),
        "ping_pong": dense.PRODUCT.ping_pong(
            [*FAST, *({**FAST[0], "layout": layout} for layout in ("nn", "tn"))],
            published=[*published(), PING_PONG],
        ),
        "interleave": dense.PRODUCT.interleave(FAST),
        "double_buffer": Variant(),
    },
    bytes=lambda shape: family.bytes_moved(shape, 2),
    hard_inputs={
        "large magnitudes": lambda shape, generator: dense.inputs(
            shape, generator, 1e17 if shape["dtype"] == "bf16" else 30.0
        )
    },
    published=published(),
    tensors={
        "a": "dtype[..., m, k] | dtype[..., k, m]",
        "b": "dtype[..., n, k] | dtype[..., k, n]",
        "bias": "dtype[n] | dtype[batch, 1, n]",
        "gate residual c": "dtype[..., m, n]",
    },
    targets=LIBRARY_TARGETS,
)
