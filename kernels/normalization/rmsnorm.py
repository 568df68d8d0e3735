"""RMSNorm of bf16 rows: what goes in, what must come out, how it is launched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import KernelSpec, Launch, Published, Range, lanes_of_row

WAVES = 4
PORT = "m8than/amd-kernels README.md, Normalization: RMSNorm (D=128)"


def reference(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension; sums in float32 at least, as PyTorch's."""
    wide = torch.promote_types(x.dtype, torch.float32)
    scale = torch.rsqrt(x.to(wide).square().mean(-1, keepdim=True) + eps)
    return (x.to(wide) * scale * weight.to(wide)).to(x.dtype)


def shape_of(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> dict[str, int]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    if x.dim() == 0 or x.numel() == 0:
        raise ShapeError(f"rmsnorm: x is {tuple(x.shape)}; expected at least one row and one column")
    if tuple(weight.shape) != (x.shape[-1],):
        raise ShapeError(
            f"rmsnorm: weight is {tuple(weight.shape)}; expected ({x.shape[-1]},), "
            f"one for each column of x {tuple(x.shape)}"
        )
    return {"rows": math.prod(x.shape[:-1]), "cols": x.shape[-1]}


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    rows_of_group = WAVES * 64 // lanes_of_row(shape["cols"], 2)
    return Launch(grid=-(-shape["rows"] // rows_of_group), block=WAVES * 64)


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    flat = (shape["rows"], shape["cols"])
    return {
        "x": tensors["x"].view(flat),
        "weight": tensors["weight"],
        "out": tensors["out"].view(flat),
        "eps": tensors["eps"],
    }


def published(rows: int, hipkittens: float, pytorch: float, aiter: float) -> list[Published]:
    times = {"HipKittens (port)": hipkittens, "PyTorch": pytorch, "AITER Triton": aiter}
    return Published.times({"rows": rows, "cols": 128}, "MI325X", PORT, times)


spec = KernelSpec(
    name="normalization/rmsnorm",
    doc="Every row divided by its root mean square, times a weight for each column; bf16, sums in float.",
    source="rmsnorm.cpp",
    entry="rmsnorm",
    parameters={
        "rows": Range(1, 1 << 20, default=4096, doc="rows, any number"),
        "cols": Range(1, 8192, default=4096, doc="length of a row, normalised as a whole"),
    },
    shapes=[
        {"rows": 1024, "cols": 1024},
        {"rows": 4096, "cols": 128},
        {"rows": 333, "cols": 4096},
        {"rows": 7, "cols": 8192},
        {"rows": 50, "cols": 1000},
        {"rows": 17, "cols": 129},
    ],
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["rows"], shape["cols"], generator=generator).to(torch.bfloat16),
        "weight": (1 + 0.1 * torch.randn(shape["cols"], generator=generator)).to(torch.bfloat16),
    },
    outputs=lambda shape, inputs: {"out": (inputs["x"].shape, torch.bfloat16)},
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {"RMSNORM_COLS": shape["cols"]},
    launch=launch,
    arguments=arguments,
    # A square, an addition, and two multiplications an element; a handful a row.
    flops=lambda shape: 4 * shape["rows"] * shape["cols"] + 4 * shape["rows"],
    bytes=lambda shape: 4 * shape["rows"] * shape["cols"] + 2 * shape["cols"],
    published=[
        *published(128, 9.2, 35.9, 24.3),
        *published(4096, 8.3, 36.5, 27.6),
        *published(16384, 11.5, 54.9, 20.5),
        *published(65536, 23.6, 101.1, 21.8),
    ],
)
