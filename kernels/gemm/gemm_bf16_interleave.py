"""The same product as gemm/gemm_bf16 by the 4-wave interleave schedule, in tiles of 256 x 256."""

from __future__ import annotations

import dataclasses

from workbench.spec import kernels

THREADS = 256

base = kernels["gemm/gemm_bf16_pingpong"]
"""Tiles, shared memory and what sizes are taken are the same."""

spec = dataclasses.replace(
    base,
    name="gemm/gemm_bf16_interleave",
    doc="C = A Bᵀ as gemm/gemm_bf16, by 4 waves, one on each SIMD, that mix memory and matrix "
    "instructions finely; a work-group computes 256 x 256 of C.",
    source="gemm_bf16_interleave.cpp",
    entry="gemm_bf16_interleave",
    launch=lambda shape, arch: dataclasses.replace(base.launch(shape, arch), block=THREADS),
    published=kernels["gemm/gemm_bf16"].published,
)
