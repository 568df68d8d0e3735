"""C = A Bᵀ of bf16 matrices: what goes in, what must come out, how it is launched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import KernelSpec, Launch, Published, Range

K_STEP = {"gfx950": 64, "gfx942": 32}
"""Columns of A and B that are in shared memory at a time, twice."""

THREADS = 256


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b.T: a is M x K, b is N x K."""
    return a @ b.T


def shape_of(a: torch.Tensor, b: torch.Tensor) -> dict[str, int]:
    """Shape of a call."""
    if a.dim() != 2 or b.dim() != 2:
        raise ShapeError(f"GEMM: a is {tuple(a.shape)}, b is {tuple(b.shape)}; expected (M, K) and (N, K)")
    if a.shape[1] != b.shape[1]:
        raise ShapeError(
            f"GEMM: a is {tuple(a.shape)}, b is {tuple(b.shape)}; "
            "wanted (M, K) and (N, K) with the same K: this is a times b transposed"
        )
    return {"m": a.shape[0], "n": b.shape[0], "k": a.shape[1]}


def tile(shape: Mapping[str, Any]) -> int:
    """Rows and columns of C that a work-group computes."""
    return 64 if min(shape["m"], shape["n"]) <= 64 else 128


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    side = tile(shape)
    tiles = -(-shape["m"] // side) * -(-shape["n"] // side)
    # Two of each of the tiles of A and B, 2 bytes an element.
    return Launch(grid=tiles, block=THREADS, dynamic_shared=2 * 2 * side * K_STEP[arch] * 2)


def published() -> list[Published]:
    """Microseconds of HipKittens' own benchmark, cubes by side."""
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


spec = KernelSpec(
    name="gemm/gemm_bf16",
    doc="C = A Bᵀ: A is M x K, B is N x K, C is M x N, all bf16 and row-major; sums in float.",
    source="gemm_bf16.cpp",
    entry="gemm_bf16",
    parameters={
        "m": Range(1, 65536, default=512, doc="rows of A and C"),
        "n": Range(1, 65536, default=512, doc="rows of B, columns of C"),
        "k": Range(8, 65536, step=8, default=512, doc="columns of A and B; a row is whole 16 bytes"),
    },
    shapes=[
        {"m": 512, "n": 512, "k": 512},
        {"m": 256, "n": 384, "k": 1024},
        {"m": 64, "n": 64, "k": 64},
        {"m": 200, "n": 312, "k": 136},
        {"m": 129, "n": 131, "k": 72},
        {"m": 1, "n": 1000, "k": 520},
    ],
    inputs=lambda shape, generator: {
        "a": torch.randn(shape["m"], shape["k"], generator=generator).to(torch.bfloat16),
        "b": torch.randn(shape["n"], shape["k"], generator=generator).to(torch.bfloat16),
    },
    outputs=lambda shape, inputs: {"c": ((shape["m"], shape["n"]), torch.bfloat16)},
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {"GEMM_TILE": tile(shape)},
    launch=launch,
    flops=lambda shape: 2 * shape["m"] * shape["n"] * shape["k"],
    bytes=lambda shape: 2 * (shape["m"] * shape["k"] + shape["n"] * shape["k"] + shape["m"] * shape["n"]),
    published=published(),
)
