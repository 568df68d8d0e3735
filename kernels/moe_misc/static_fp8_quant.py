"""Activations to fp8 with a static scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.dtypes import E4M3
from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Launch, Range, Tolerance
from workbench.targets import target
from workbench_kernels.references.quantization import nearest

FORMATS = {known.name: known for known in E4M3}


def reference(x: torch.Tensor, scale: torch.Tensor, format: str = "e4m3fn") -> torch.Tensor:
    """x / scale rounded to nearest fp8, saturating; the division is in float32."""
    return nearest(x.float() / scale.float(), format)


def shape_of(x: torch.Tensor, scale: torch.Tensor, format: str = "e4m3fn") -> dict[str, Any]:
    """Shape of a call."""
    if x.dim() == 0 or x.dtype != torch.bfloat16 or x.numel() % 8 or x.numel() == 0:
        raise ShapeError(
            f"static_fp8_quant: x is {tuple(x.shape)} {x.dtype}; expected torch.bfloat16 with a multiple of "
            "8 elements"
        )
    if tuple(scale.shape) != (1,) or scale.dtype != torch.float32:
        raise ShapeError(
            f"static_fp8_quant: scale is {tuple(scale.shape)} {scale.dtype}; expected one number of "
            "torch.float32"
        )
    return {"rows": x.numel() // x.shape[-1], "cols": x.shape[-1], "format": format}


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses another target's fp8."""
    encodings = target(arch).fp8
    name = encodings.e4m3.name if encodings else "none"
    if shape["format"] != name:
        raise ShapeError(f"static_fp8_quant: {arch} has no {shape['format']}; its fp8 is {name}")
    if shape["rows"] * shape["cols"] % 8:
        raise ShapeError(
            f"static_fp8_quant: {shape['rows']} x {shape['cols']} elements; expected a multiple of 8"
        )


def inputs(shape: Mapping[str, Any], generator: torch.Generator, wide: float = 100) -> dict[str, Any]:
    return {
        "x": (wide * torch.randn(shape["rows"], shape["cols"], generator=generator)).bfloat16(),
        "scale": torch.rand(1, generator=generator) + 0.25,
        "format": shape["format"],
    }


spec = KernelSpec(
    name="moe_misc/static_fp8_quant",
    doc="x / scale rounded to nearest fp8 (e4m3, in the target's encoding), saturating.",
    source="""#include "families/conversions.cuh"
using namespace kittens::families::conversions;
__global__ __launch_bounds__(256) void convert(const to_fp8_arguments g) { to_fp8(g); }
""",
    entry="convert",
    launch=lambda shape, arch: Launch(-(-shape["rows"] * shape["cols"] // 2048), 256),
    parameters={
        "rows": Range(1, 1 << 20, default=1024, doc="rows"),
        "cols": Range(8, 1 << 16, step=8, default=1024, doc="length of a row"),
        "format": Choice(tuple(FORMATS), doc="format of the result: e4m3fn (gfx950), e4m3fnuz (gfx942)"),
    },
    shapes=[{"rows": 33, "cols": 136, "format": format} for format in FORMATS],
    inputs=inputs,
    outputs=lambda shape, tensors: {"out": (tensors["x"].shape, FORMATS[shape["format"]].dtype)},
    reference=reference,
    shape_of=shape_of,
    check=check,
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in ("x", "scale", "out")},
        "count": shape["rows"] * shape["cols"],
    },
    tolerances={"out": Tolerance(0, 0)},
    hard_inputs={"values out of range": lambda shape, generator: inputs(shape, generator, 1e5)},
    bytes=lambda shape: 3 * shape["rows"] * shape["cols"],
    notes={"scale": "divisor of x"},
    tensors={
        "x": "bf16[..., cols]",
        "scale": "fp32[1]",
        "out": "fp8[..., cols]",
    },
)
