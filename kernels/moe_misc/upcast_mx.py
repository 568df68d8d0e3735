"""Conversion of microscaled formats to bf16."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Launch, Range
from workbench_kernels.families import scalars
from workbench_kernels.references.gemm import numbers_of


def reference(x: torch.Tensor, powers: torch.Tensor) -> torch.Tensor:
    """Elements times 2^(powers - 127) of their 32 columns: two e2m1 per byte, lowest bits first, or fp8."""
    wide = torch.exp2(powers.double() - 127).repeat_interleave(32, -1)
    wide = torch.where(powers.repeat_interleave(32, -1) == 255, torch.nan, wide)
    return (numbers_of(x, "e2m1" if x.dtype == torch.uint8 else "e4m3") * wide).to(torch.float64)


def shape_of(x: torch.Tensor, powers: torch.Tensor) -> dict[str, Any]:
    """Shape of a call."""
    if x.dtype not in (torch.uint8, *scalars.FP8) or x.dim() != 2:
        raise ShapeError(
            f"upcast_mx: x is {tuple(x.shape)} {x.dtype}; expected rows of fp8, or of bytes with two e2m1 "
            "each"
        )
    format = "e2m1" if x.dtype == torch.uint8 else "e4m3"
    cols = x.shape[1] * (2 if format == "e2m1" else 1)
    if cols % 32 or tuple(powers.shape) != (x.shape[0], cols // 32) or powers.dtype != torch.uint8:
        raise ShapeError(
            f"upcast_mx: powers is {tuple(powers.shape)} {powers.dtype}; expected "
            f"{(x.shape[0], cols // 32)} of torch.uint8, one for each 32 columns; rows must be a multiple "
            "of 32 columns"
        )
    return {"rows": x.shape[0], "cols": cols, "format": format}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    rows, cols = shape["rows"], shape["cols"]
    x = (
        torch.randint(0, 256, (rows, cols // 2), generator=generator).to(torch.uint8)
        if shape["format"] == "e2m1"
        else torch.randn(rows, cols, generator=generator).to(torch.float8_e4m3fn)
    )
    return {
        "x": x,
        "powers": torch.randint(117, 137, (rows, cols // 32), generator=generator).to(torch.uint8),
    }


spec = KernelSpec(
    name="moe_misc/upcast_mx",
    doc="Elements times the power of two of their block of 32 columns, as bf16: fp4 (e2m1, two per byte) or "
    "fp8 in the target's encoding.",
    source="""#include "families/conversions.cuh"
using namespace kittens;
using namespace kittens::families;
using namespace kittens::families::conversions;
__global__ __launch_bounds__(256) void convert(const from_mx_arguments<MX_TYPE> g) { from_mx<MX_TYPE>(g); }
""",
    entry="convert",
    define=lambda shape, arch: {
        "MX_TYPE": "experts::fp4" if shape["format"] == "e2m1" else "experts::whole<fp8e4m3>"
    },
    launch=lambda shape, arch: Launch(-(-shape["rows"] * shape["cols"] // 2048), 256),
    parameters={
        "rows": Range(1, 1 << 20, default=1024, doc="rows"),
        "cols": Range(32, 1 << 16, step=32, default=1024, doc="length of a row"),
        "format": Choice(("e2m1", "e4m3"), doc="format of the elements"),
    },
    shapes=[{"rows": 33, "cols": 96, "format": format} for format in ("e2m1", "e4m3")],
    inputs=inputs,
    outputs=lambda shape, tensors: {"out": ((shape["rows"], shape["cols"]), torch.bfloat16)},
    reference=reference,
    shape_of=shape_of,
    arguments=lambda shape, tensors: {
        **{"numbers": tensors["x"], "powers": tensors["powers"], "out": tensors["out"]},
        "count": shape["rows"] * shape["cols"],
    },
    bytes=lambda shape: (
        shape["rows"] * shape["cols"] * (5 if shape["format"] == "e2m1" else 6) // 2
        + shape["rows"] * shape["cols"] // 32
    ),
    tensors={
        "x": "uint8[rows, cols/2] | fp8[rows, cols]",
        "powers": "uint8[rows, cols/32]",
        "out": "bf16[rows, cols]",
    },
    notes={
        "x": "elements: fp4 two per byte, or fp8",
    },
)
