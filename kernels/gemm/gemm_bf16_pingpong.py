"""The same product as gemm/gemm_bf16 by the 8-wave ping-pong schedule, in tiles of 256 x 256."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.spec import Launch, Published, Range, kernels

TILE = 256
"""Rows and columns of C that a work-group computes."""

K_STEP = {"gfx950": 64, "gfx942": 32}
"""Columns of A and B that are in shared memory at a time, twice."""

THREADS = 512


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    tiles = -(-shape["m"] // TILE) * -(-shape["n"] // TILE)
    # Two steps of A and B, 2 bytes an element.
    return Launch(grid=tiles, block=THREADS, dynamic_shared=2 * 2 * TILE * K_STEP[arch] * 2)


base = kernels["gemm/gemm_bf16"]

spec = dataclasses.replace(
    base,
    name="gemm/gemm_bf16_pingpong",
    doc="C = A Bᵀ as gemm/gemm_bf16, by 8 waves, of which two on a SIMD take turns at memory and at "
    "the matrix cores; a work-group computes 256 x 256 of C.",
    source="gemm_bf16_pingpong.cpp",
    entry="gemm_bf16_pingpong",
    parameters={
        "m": base.parameters["m"],
        "n": Range(
            8, 65536, step=8, default=512, doc="rows of B, columns of C, of which a row is whole 16 bytes"
        ),
        "k": Range(64, 65536, step=8, default=512, doc="columns of A and B; a row is whole 16 bytes"),
    },
    shapes=[
        {"m": 512, "n": 512, "k": 512},
        {"m": 256, "n": 768, "k": 1024},
        {"m": 200, "n": 312, "k": 136},
        {"m": 300, "n": 136, "k": 72},
    ],
    define=lambda shape, arch: {},
    launch=launch,
    published=[
        *base.published,
        Published(
            {"m": 8192, "n": 8192, "k": 8192},
            1610,
            "TFLOP/s",
            "MI355X",
            "HipKittens 8-wave ping-pong",
            "arXiv 2511.08083, table 2",
        ),
    ],
)
