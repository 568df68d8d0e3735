"""Common parts of the family of `rowwise.cuh`: element types, launches, sources, shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Launch, Published, Range, Tunables, lanes_of_row
from workbench.targets import wave_size
from workbench_kernels.families import scalars

MOST_THREADS = 1024
"""Largest number of threads of a work-group."""
HELD = MOST_THREADS * 32
"""Largest number of columns that a work-group holds, 32 per lane."""

TUNABLES = Tunables(per_lane=(0, 8, 16, 32), group_waves=(4, 1, 2, 8))
"""Tunables: elements of a row per lane (0 keeps the kernel's choice), and waves of a work-group whose waves
have separate rows."""

PORT = "m8than/amd-kernels README.md"


def size_of(shape: Mapping[str, Any]) -> int:
    """Bytes of an element."""
    return scalars.FLOATS[shape["dtype"]].itemsize


def launch(per_lane: int = 32, stride: int = 0) -> Callable[[Mapping[str, Any], str], Launch]:
    """The launch for `row_plan<T, cols, per_lane>` or `row_plan<T, cols, per_lane, stride>`.

    Raises:
        ShapeError: a row is too long for a work-group with the tuned number of elements per lane.
    """

    def launch_of_shape(shape: Mapping[str, Any], arch: str) -> Launch:
        cols, waves, held = shape["cols"], shape.get("group_waves", 4), shape.get("per_lane", 0) or per_lane
        most, wave = MOST_THREADS * held, wave_size(arch)
        if held != per_lane and cols > most:
            raise ShapeError(f"a work-group holds {most} columns with {held} a lane; a row has {cols}")
        part = wave * (held if cols <= most else held // 2)
        across = min(-(-cols // part), MOST_THREADS // wave)
        rows = wave // lanes_of_row(cols, size_of(shape), stride, wave=wave)
        if across > 1:
            return Launch(grid=-(-shape["rows"] // rows), block=across * wave)
        return Launch(grid=-(-shape["rows"] // (waves * rows)), block=waves * wave)

    return launch_of_shape


def source(name: str, operator: str) -> str:
    """A kernel that runs an operator of the family, such as `"softmax<ROW_T, ROW_COLS>"`."""
    return f"""#include "families/rowwise.cuh"
using operation = kittens::families::{operator};
__global__ __launch_bounds__(operation::threads) void {name}(const operation::arguments g) {{
    operation::run(g);
}}
"""


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    tuned = {
        macro: shape[name]
        for macro, name in (("ROW_PER_LANE", "per_lane"), ("ROW_WAVES", "group_waves"))
        if name in shape
    }
    return {"ROW_T": scalars.QUALIFIED[shape["dtype"]], "ROW_COLS": shape["cols"], **tuned}


def parameters(most: int, cols: int = 1024) -> dict[str, Range | Choice]:
    """Shape parameters of operators on rows of up to `most` columns."""
    return {
        "rows": Range(1, 1 << 20, default=4096, doc="rows, any number"),
        "cols": Range(1, most, default=cols, doc="length of a row"),
        "dtype": Choice(tuple(scalars.FLOATS), doc="element type in memory; sums are in float"),
    }


def shape_of(
    name: str, x: torch.Tensor, *, called: str = "x", halves: int = 1, **same: torch.Tensor | None
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows.

    Args:
        called: name of the argument x.
        halves: number of equal parts of a row of x; `cols` is the length of one.
        same: tensors that have x's shape and dtype, or are None.

    Raises:
        ShapeError: x is empty or has another dtype, or another tensor does not fit it.
    """
    names = {dtype: name for name, dtype in scalars.FLOATS.items()}
    if x.dtype not in names:
        raise ShapeError(f"{name}: {called} is {x.dtype}; expected one of {', '.join(map(str, names))}")
    if x.dim() == 0 or x.numel() == 0:
        raise ShapeError(f"{name}: {called} is {tuple(x.shape)}; expected at least one row and one column")
    if x.shape[-1] % halves:
        raise ShapeError(f"{name}: {called} has {x.shape[-1]} columns; expected a multiple of {halves}")
    for other, tensor in same.items():
        if tensor is not None and (tensor.shape != x.shape or tensor.dtype != x.dtype):
            raise ShapeError(
                f"{name}: {other} is {tuple(tensor.shape)} {tensor.dtype}; "
                f"expected {called}'s {tuple(x.shape)} {x.dtype}"
            )
    return {
        "rows": math.prod(x.shape[:-1]),
        "cols": x.shape[-1] // halves,
        "dtype": names[x.dtype],
    }


def check_columns(name: str, x: torch.Tensor, **vectors: torch.Tensor | None) -> None:
    """Raises ShapeError unless a vector has a value of x's dtype for each column of x."""
    for other, tensor in vectors.items():
        if tensor is not None and (tuple(tensor.shape) != (x.shape[-1],) or tensor.dtype != x.dtype):
            raise ShapeError(
                f"{name}: {other} is {tuple(tensor.shape)} {tensor.dtype}; "
                f"expected ({x.shape[-1]},) {x.dtype}, one for each column of x {tuple(x.shape)}"
            )


def flat(tensors: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Tensors by name as matrices of rows; None stays None."""
    return {
        name: None if tensors.get(name) is None else tensors[name].reshape(-1, tensors[name].shape[-1])
        for name in names
    }


def random(
    shape: Mapping[str, Any], generator: torch.Generator, *, wide: int = 1, scale: float = 1
) -> torch.Tensor:
    """Rows of normal numbers, `wide` times as long as the shape's."""
    x = torch.randn(shape["rows"], wide * shape["cols"], generator=generator)
    return (scale * x).to(scalars.FLOATS[shape["dtype"]])


def spread_rows(shape: Mapping[str, Any], generator: torch.Generator) -> torch.Tensor:
    """Rows with numbers of at least 1 in even columns, and of at most -1 in odd columns.

    A norm divides rounding errors by the same number as its row, and the deviation or length of a few
    normally distributed numbers can be almost zero: in 13,000 rows of two numbers, PyTorch's LayerNorm in
    float32 is up to 9e-5 off. The deviation of these rows is 0.94 or more, whatever is added to a whole row,
    and so is that of sums of two of them.
    """
    x = 1 + torch.randn(shape["rows"], shape["cols"], generator=generator).abs()
    x[:, 1::2] *= -1
    return x.to(scalars.FLOATS[shape["dtype"]])


def near_one(shape: Mapping[str, Any], generator: torch.Generator) -> torch.Tensor:
    """A weight near one for each column."""
    return (1 + 0.1 * torch.randn(shape["cols"], generator=generator)).to(scalars.FLOATS[shape["dtype"]])


def published(
    benchmark: str, cols: int, times: Mapping[int, Mapping[str, float]], **settings: Any
) -> list[Published]:
    """Times in bf16 on an MI325X from the port's README: microseconds by implementation, by rows."""
    return [
        figure
        for rows, by in times.items()
        for figure in Published.times(
            {"rows": rows, "cols": cols, "dtype": "bf16", **settings}, "MI325X", f"{PORT}, {benchmark}", by
        )
    ]
