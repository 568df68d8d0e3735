"""Softmax of bf16 or float rows: what goes in, what must come out, how it is launched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Published, Range, Tolerance, lanes_of_row

WAVES = 4
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
C_TYPES = {"bf16": "bf16", "fp32": "float"}
PORT = "m8than/amd-kernels README.md, Softmax (D=128, vs AITER Triton)"


def reference(x: torch.Tensor) -> torch.Tensor:
    """exp(x) / sum(exp(x)) over the last dimension."""
    return torch.softmax(x, dim=-1)


def shape_of(x: torch.Tensor) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    if x.dtype not in names:
        raise ShapeError(f"softmax: x is {x.dtype}; expected torch.bfloat16 or torch.float32")
    if x.dim() == 0 or x.numel() == 0:
        raise ShapeError(f"softmax: x is {tuple(x.shape)}; expected at least one row and one column")
    return {"rows": math.prod(x.shape[:-1]), "cols": x.shape[-1], "dtype": names[x.dtype]}


def size_of(shape: Mapping[str, Any]) -> int:
    """Bytes of an element."""
    return DTYPES[shape["dtype"]].itemsize


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    rows_of_group = WAVES * 64 // lanes_of_row(shape["cols"], size_of(shape))
    return Launch(grid=-(-shape["rows"] // rows_of_group), block=WAVES * 64)


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    flat = (shape["rows"], shape["cols"])
    return {"x": tensors["x"].view(flat), "out": tensors["out"].view(flat)}


def published(rows: int, hipkittens: float, pytorch: float, aiter: float) -> list[Published]:
    shape = {"rows": rows, "cols": 128, "dtype": "bf16"}
    times = {"HipKittens (port)": hipkittens, "PyTorch": pytorch, "AITER Triton": aiter}
    return Published.times(shape, "MI325X", PORT, times)


spec = KernelSpec(
    name="activations/softmax",
    doc="Exponentials of each row that sum to one; bf16 or float, sums in float.",
    source="softmax.cpp",
    entry="softmax",
    parameters={
        "rows": Range(1, 1 << 20, default=4096, doc="rows, any number"),
        "cols": Range(1, 8192, default=1024, doc="length of a row"),
        "dtype": Choice(("bf16", "fp32"), doc="element type in memory"),
    },
    shapes=[
        {"rows": 1024, "cols": 1024, "dtype": "bf16"},
        {"rows": 4096, "cols": 128, "dtype": "bf16"},
        {"rows": 128, "cols": 8192, "dtype": "fp32"},
        {"rows": 333, "cols": 2048, "dtype": "fp32"},
        {"rows": 50, "cols": 1000, "dtype": "bf16"},
        {"rows": 17, "cols": 77, "dtype": "fp32"},
        {"rows": 3, "cols": 5001, "dtype": "bf16"},
    ],
    inputs=lambda shape, generator: {
        "x": (3 * torch.randn(shape["rows"], shape["cols"], generator=generator)).to(DTYPES[shape["dtype"]])
    },
    outputs=lambda shape, inputs: {"out": (inputs["x"].shape, inputs["x"].dtype)},
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {"SOFTMAX_COLS": shape["cols"], "SOFTMAX_DTYPE": C_TYPES[shape["dtype"]]},
    launch=launch,
    arguments=arguments,
    # A comparison, a subtraction, an exponential, an addition and a multiplication an element.
    flops=lambda shape: 5 * shape["rows"] * shape["cols"],
    bytes=lambda shape: 2 * size_of(shape) * shape["rows"] * shape["cols"],
    # Probabilities are small: what is absolute must be far below 1 / cols.
    tolerances={"bfloat16": Tolerance(1.6e-2, 1e-6), "float32": Tolerance(1.3e-5, 1e-8)},
    published=[
        *published(4096, 8.7, 13.5, 27.9),
        *published(16384, 21.9, 26.1, 89.3),
        *published(65536, 70.7, 47.2, 313.6),
    ],
)
