"""RMSNorm of rows: inputs, outputs, reference and launch."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import KernelSpec
from workbench.targets import LIBRARY_TARGETS
from workbench_kernels.families import rowwise
from workbench_kernels.references.normalization import rms_norm


def reference(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension; sums in float32 at least, as in PyTorch."""
    return rms_norm(x, weight, eps)


def shape_of(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    shape = rowwise.shape_of("rmsnorm", x)
    rowwise.check_columns("rmsnorm", x, weight=weight)
    return shape


spec = KernelSpec(
    name="normalization/rmsnorm",
    doc="RMS norm of each row: divided by its root mean square, times a weight for each column; sums in "
    "float.",
    source="""#include "families/rowwise.cuh"
using operation = kittens::families::normalize<ROW_T, ROW_COLS, false>;
struct rmsnorm_globals {
    operation::matrix x;
    operation::vector weight;
    operation::matrix out;
    float eps;
    hipStream_t stream;
};
__global__ __launch_bounds__(operation::threads) void rmsnorm(const rmsnorm_globals g) {
    operation::run({.x = g.x, .weight = g.weight.raw_ptr, .out = g.out.raw_ptr, .eps = g.eps});
}
""",
    entry="rmsnorm",
    parameters=rowwise.parameters(rowwise.HELD, 4096),
    shapes=[
        {"rows": 1024, "cols": 1024},
        {"rows": 4096, "cols": 128},
        {"rows": 333, "cols": 4096, "dtype": "fp16"},
        {"rows": 7, "cols": 8192, "dtype": "fp32"},
        {"rows": 3, "cols": 20001},
        {"rows": 50, "cols": 1000},
        {"rows": 17, "cols": 129},
    ],
    inputs=lambda shape, generator: {
        "x": rowwise.random(shape, generator),
        "weight": rowwise.near_one(shape, generator),
    },
    outputs=lambda shape, inputs: {"out": (inputs["x"].shape, inputs["x"].dtype)},
    reference=reference,
    shape_of=shape_of,
    define=rowwise.define,
    launch=rowwise.launch(),
    tunables=rowwise.TUNABLES,
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "out"),
        "weight": tensors["weight"],
        "eps": tensors["eps"],
    },
    # A square, an addition and two multiplications per element; a few operations per row.
    backward="normalization/rmsnorm_backward",
    flops=lambda shape: 4 * shape["rows"] * shape["cols"] + 4 * shape["rows"],
    bytes=lambda shape: rowwise.size_of(shape) * (2 * shape["rows"] + 1) * shape["cols"],
    published=rowwise.published(
        "Normalization: RMSNorm (D=128)",
        128,
        {
            128: {"HipKittens (port)": 9.2, "PyTorch": 35.9, "AITER Triton": 24.3},
            4096: {"HipKittens (port)": 8.3, "PyTorch": 36.5, "AITER Triton": 27.6},
            16384: {"HipKittens (port)": 11.5, "PyTorch": 54.9, "AITER Triton": 20.5},
            65536: {"HipKittens (port)": 23.6, "PyTorch": 101.1, "AITER Triton": 21.8},
        },
    ),
    tensors={
        "x out": "dtype[..., cols]",
        "weight": "dtype[cols]",
    },
    targets=LIBRARY_TARGETS,
)
