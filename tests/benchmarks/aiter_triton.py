"""Modelled times of AITER's Triton kernels, whose times others published, from a checkout of ROCm/aiter.

Nothing of a source is kept here but its path, what its kernel is given and with how many warps. They come out
of the modules of a checkout without the package's own start, which wants a GPU.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import triton
from published_times import Problem

import workbench as wb
from workbench.operators.launch_target import Target, resolve

PREFIX = "aiter "
"""Prefix of the kernels of problems that one of these represents."""

MOST_FUSED = 32768
"""Columns of two bytes up to which AITER takes a row at once."""


@dataclass(frozen=True)
class Rows:
    """Input of a row-wise kernel: bf16 [rows, cols], or fp16 where it is quantized.

    Attributes:
        x: the input.
        block: columns that a program takes at once.
    """

    x: torch.Tensor
    block: int

    @property
    def rows(self) -> int:
        return self.x.shape[0]

    @property
    def cols(self) -> int:
        return self.x.shape[1]


@dataclass(frozen=True)
class AiterKernel:
    """A kernel of AITER.

    Attributes:
        module: below aiter.ops.triton._triton_kernels.
        entry: its name there.
        arguments: of its launch, except for the options.
        dtype: of the input.
        launch_options: constants and numbers of warps.
    """

    module: str
    entry: str
    arguments: Callable[[Rows], tuple[Any, ...]]
    dtype: torch.dtype = torch.bfloat16
    launch_options: Mapping[str, int] | None = None


def _layernorm(r: Rows) -> tuple[Any, ...]:
    weight, bias = (torch.randn(r.cols).bfloat16() for _ in range(2))
    mean, rstd = (torch.empty(r.rows) for _ in range(2))
    strides = (r.x.stride(0), r.x.stride(0))
    return (r.x, torch.randn_like(r.x), weight, bias, mean, rstd, *strides, r.rows, r.cols, 1e-5, r.block)


def _softmax(r: Rows) -> tuple[Any, ...]:
    return torch.randn_like(r.x), r.x, r.x.stride(0), r.x.stride(0), r.cols, r.block


def _quantized(r: Rows) -> tuple[Any, ...]:
    out, scale = torch.randint(-127, 127, r.x.shape, dtype=torch.int8), torch.empty(r.rows)
    return out, scale, r.x, r.cols, r.x.stride(0), r.block, 127.0


KERNELS: Mapping[str, AiterKernel] = {
    "layernorm": AiterKernel("normalization.norm", "_layernorm_kernel", _layernorm),
    "softmax": AiterKernel(
        "softmax",
        "_softmax_kernel_online",
        _softmax,
        launch_options={"waves_per_eu": 2, "num_warps": 8, "num_stages": 2},
    ),
    "quant": AiterKernel(
        "quant.quant", "_dynamic_per_token_quant_fp8_i8_kernel", _quantized, dtype=torch.float16
    ),
}
"""Keyed by the problem's name; one program per row."""


def _module(checkout: Path, name: str) -> ModuleType:
    """A module of a checkout, without importing its packages."""
    for package in ("aiter", "aiter.ops", "aiter.ops.triton", "aiter.ops.triton.utils"):
        if package not in sys.modules:
            stand_in = ModuleType(package)
            stand_in.__path__ = [str(checkout / package.replace(".", "/"))]
            sys.modules[package] = stand_in
    kernels = "aiter.ops.triton._triton_kernels"
    for package in (kernels, f"{kernels}.{name.rpartition('.')[0]}".rstrip(".")):
        if package not in sys.modules:
            stand_in = ModuleType(package)
            stand_in.__path__ = [str(checkout / package.replace(".", "/"))]
            sys.modules[package] = stand_in
    return importlib.import_module(f"{kernels}.{name}")


def aiter_target(problem: Problem, checkout: Path) -> Target:
    """A kernel of AITER at a row's shape; only its own launch sees its tensors.

    Args:
        problem: "aiter layernorm", "aiter softmax" or "aiter quant", with rows and cols.
        checkout: of ROCm/aiter.
    """
    wb.triton.activate(f"emulated:{problem.gpu}")
    sizes = problem.parameters
    record = KERNELS[problem.kernel.removeprefix(PREFIX)]
    torch.manual_seed(0)
    x = torch.randn(int(sizes["rows"]), int(sizes["cols"])).to(record.dtype)
    rows = Rows(x, min(MOST_FUSED, triton.next_power_of_2(x.shape[1])))
    kernel = getattr(_module(checkout, record.module), record.entry)
    return replace(
        resolve(
            kernel[(rows.rows,)],
            record.arguments(rows),
            dict(record.launch_options or {}),
            device=f"emulated:{problem.gpu}",
        ),
        fresh=True,
    )
