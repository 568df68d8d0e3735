"""C = (A Bᵀ) scaled by rows, of fp8 matrices, by the 8-wave ping-pong schedule in tiles of 256 x 256."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Range, kernels

base = kernels["gemm/gemm_bf16_pingpong"]
"""The kernel is the same one with other operands: tiles, schedule and shared memory are."""


def reference(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> torch.Tensor:
    """(a @ b.T) * scale_a[:, None] * scale_b[None, :]: a is M x K, b is N x K; a scale for each row.

    PyTorch's CPU has no product of fp8 matrices, so that those are widened to the type of the scales first.
    """
    wide = scale_a.dtype
    return (a.to(wide) @ b.to(wide).T) * scale_a[:, None] * scale_b[None, :]


def shape_of(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> dict[str, int]:
    """Shape of a call."""
    shape = kernels["gemm/gemm_bf16"].shape_of(a=a, b=b)
    if tuple(scale_a.shape) != (shape["m"],) or tuple(scale_b.shape) != (shape["n"],):
        raise ShapeError(
            f"GEMM: scale_a is {tuple(scale_a.shape)}, scale_b is {tuple(scale_b.shape)}; expected "
            f"({shape['m']},) and ({shape['n']},), one for each row of a and of b"
        )
    return dict(shape)


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Rows of differing size, each scaled so that it fills the range of fp8, as quantization does."""
    made = {}
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        wide = torch.randn(rows, shape["k"], generator=generator)
        wide *= torch.rand(rows, 1, generator=generator) + 0.5
        # Of both formats of fp8 the largest number is 240 or more.
        scale = wide.abs().amax(1) / 240
        made[name] = (wide / scale[:, None]).to(torch.float8_e4m3fn)
        made[f"scale_{name}"] = scale
    return made


spec = dataclasses.replace(
    base,
    name="gemm/gemm_fp8_pingpong",
    source="gemm_bf16_pingpong.cpp",
    doc="C = (A Bᵀ) scaled by rows: A is M x K and B is N x K of fp8 (e4m3; OCP on gfx950, fnuz on gfx942) "
    "with a float scale for each row, C is M x N of bf16; sums in float. By 8 waves as gemm_bf16_pingpong.",
    entry="gemm_fp8_pingpong",
    parameters={
        "m": base.parameters["m"],
        "n": base.parameters["n"],
        "k": Range(128, 65536, step=16, default=512, doc="columns of A and B; a row is whole 16 bytes"),
    },
    shapes=[
        {"m": 512, "n": 512, "k": 512},
        {"m": 256, "n": 768, "k": 1024},
        {"m": 200, "n": 312, "k": 272},
        {"m": 300, "n": 136, "k": 144},
    ],
    inputs=inputs,
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {"GEMM_FP8": True},
    bytes=lambda shape: (shape["m"] + shape["n"]) * (shape["k"] + 4) + 2 * shape["m"] * shape["n"],
    published=[],
)
