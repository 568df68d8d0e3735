"""The largest elements of each row, and their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec, Range
from workbench_kernels.families import rowwise

TABLE = "Top-K (vs AITER Triton)"


def reference(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k largest elements of each row as float32, in descending order, and their columns.

    Equal elements keep their order; x must not contain NaN.
    """
    values, columns = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[..., :k].float(), columns[..., :k]


def shape_of(x: torch.Tensor, k: int) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    return {**rowwise.shape_of("topk", x), "k": k}


def check(shape: Mapping[str, Any], arch: str) -> None:
    if shape["k"] > shape["cols"]:
        raise ShapeError(
            f"topk: k is {shape['k']} and rows have {shape['cols']} columns; expected k to be at most that"
        )


spec = KernelSpec(
    name="activations/topk",
    doc="The k largest elements of each row as float32 in descending order, and their columns. Each element "
    "takes one pass over the registers, so the kernel suits small k.",
    source=rowwise.source("topk", "topk<ROW_T, ROW_COLS>"),
    entry="topk",
    parameters={
        **rowwise.parameters(rowwise.HELD),
        "k": Range(1, 1024, default=8, doc="number of elements selected from a row"),
    },
    shapes=[
        {"rows": 512, "cols": 128, "k": 8},
        {"rows": 9, "cols": 5000, "k": 20, "dtype": "fp32"},
        {"rows": 33, "cols": 77, "k": 77, "dtype": "fp16"},
    ],
    inputs=lambda shape, generator: {"x": rowwise.random(shape, generator, scale=3), "k": shape["k"]},
    hard_inputs={
        "ties and infinities": lambda shape, generator: {
            "x": rowwise.random(shape, generator)
            .round()
            .masked_fill(torch.rand(shape["rows"], shape["cols"], generator=generator) < 0.2, -torch.inf)
            .masked_fill(torch.rand(shape["rows"], shape["cols"], generator=generator) < 0.01, torch.inf),
            "k": shape["k"],
        }
    },
    outputs=lambda shape, tensors: {
        "values": ((*tensors["x"].shape[:-1], shape["k"]), torch.float32),
        "columns": ((*tensors["x"].shape[:-1], shape["k"]), torch.int64),
    },
    reference=reference,
    shape_of=shape_of,
    define=rowwise.define,
    check=check,
    launch=rowwise.launch(),
    arguments=lambda shape, tensors: {**rowwise.flat(tensors, "x", "values", "columns"), "k": shape["k"]},
    flops=lambda shape: shape["rows"] * shape["cols"] * shape["k"],
    bytes=lambda shape: shape["rows"] * (rowwise.size_of(shape) * shape["cols"] + 12 * shape["k"]),
    tolerances={"values": (0, 0)},
    published=[
        *rowwise.published(
            TABLE,
            256,
            {
                1024: {"HipKittens (port)": 31.4, "PyTorch": 29.9, "AITER Triton": 24.5},
                4096: {"HipKittens (port)": 72.4, "PyTorch": 66.9, "AITER Triton": 39.1},
            },
            k=10,
        ),
        *rowwise.published(
            TABLE,
            1024,
            {4096: {"HipKittens (port)": 1630.7, "PyTorch": 108.8, "AITER Triton": 106.2}},
            k=32,
        ),
    ],
    tensors={
        "x": "dtype[..., cols]",
        "values": "fp32[..., k]",
        "columns": "int64[..., k]",
    },
    notes={
        "values": "the k largest, in descending order",
    },
)
