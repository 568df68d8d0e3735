"""Triton kernels that represent published ones: one program per row, as in Triton's tutorials.

The published kernels' sources are not known; the number of warps is what the tutorials take. Needs Triton.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
import triton
import triton.language as tl
from published_times import Problem

import workbench as wb
from workbench.operators.launch_target import Target, resolve


@triton.jit
def softmax(x, out, cols, size: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, size)
    value = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * cols + at, (power / tl.sum(power, 0)).to(out.dtype.element_ty), mask=at < cols)


@triton.jit
def rmsnorm(x, weight, out, cols, eps, size: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, size)
    value = tl.load(x + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / cols + eps)
    scaled = value * scale * tl.load(weight + at, mask=at < cols, other=0.0).to(tl.float32)
    tl.store(out + row * cols + at, scaled.to(out.dtype.element_ty), mask=at < cols)


PREFIX = "triton "
"""Prefix of the kernels of problems that one of these represents."""


def warps(name: str, block: int) -> int:
    """Warps of a program: as in the tutorial on the fused softmax, and in that on layer normalization."""
    if name == "softmax":
        return 16 if block >= 4096 else 8 if block >= 2048 else 4
    return min(max(block // 256, 1), 8)


def triton_target(problem: Problem) -> Target:
    """A kernel here at a row's shape; only its own launch sees its tensors.

    Args:
        problem: "triton softmax" or "triton rmsnorm", with rows and cols.
    """
    wb.triton.activate(f"emulated:{problem.gpu}")
    sizes: Mapping[str, int | str] = problem.parameters
    rows, cols = int(sizes["rows"]), int(sizes["cols"])
    name = problem.kernel.removeprefix(PREFIX)
    block = triton.next_power_of_2(cols)
    x = torch.randn(rows, cols, generator=torch.Generator().manual_seed(0)).bfloat16()
    weight, out = torch.ones(cols, dtype=torch.bfloat16), torch.empty_like(x)
    kernel, arguments = (
        (softmax, (x, out, cols)) if name == "softmax" else (rmsnorm, (x, weight, out, cols, 1e-5))
    )
    options = {"size": block, "num_warps": warps(name, block)}
    return replace(resolve(kernel[(rows,)], arguments, options, device=f"emulated:{problem.gpu}"), fresh=True)
