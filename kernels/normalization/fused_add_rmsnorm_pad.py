"""RMSNorm of rows, with a residual added before it where there is one, into longer rows filled with zeros."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Range
from workbench_kernels.families import rowwise
from workbench_kernels.references.normalization import rms_norm

NAME = "fused_add_rmsnorm_pad"


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    out_cols: int,
    residual: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """rms_norm(h) * weight in rows of `out_cols` columns, the last ones zero; h is x + residual."""
    h = x if residual is None else x + residual
    made = torch.nn.functional.pad(rms_norm(h, weight, eps), (0, out_cols - x.shape[-1]))
    return made if residual is None else (made, h)


def shape_of(
    x: torch.Tensor,
    weight: torch.Tensor,
    out_cols: int,
    residual: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    shape = rowwise.shape_of(NAME, x, residual=residual)
    rowwise.check_columns(NAME, x, weight=weight)
    return {**shape, "out_cols": out_cols, "residual": int(residual is not None)}


def check(shape: Mapping[str, Any], arch: str) -> None:
    if shape["out_cols"] < shape["cols"]:
        raise ShapeError(
            f"{NAME}: {shape['cols']} columns into {shape['out_cols']}; expected as many or more"
        )


def outputs(shape: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    x = given["x"]
    made = {"out": ((*x.shape[:-1], shape["out_cols"]), x.dtype)}
    return {**made, "residual_out": (x.shape, x.dtype)} if shape["residual"] else made


spec = KernelSpec(
    name=f"normalization/{NAME}",
    doc=reference.__doc__ or "",
    source=rowwise.source(NAME, "normalize<ROW_T, ROW_COLS, false, false, ROW_OUT_COLS>"),
    entry=NAME,
    parameters={
        **rowwise.parameters(rowwise.HELD, 4096),
        "out_cols": Range(1, rowwise.HELD, default=4096, doc="columns of the result, at least as many"),
        "residual": Choice((0, 1), doc="whether there is a residual"),
    },
    shapes=[
        {"rows": 1024, "cols": 4000, "out_cols": 4096, "residual": 1},
        {"rows": 33, "cols": 100, "out_cols": 256, "dtype": "fp32"},
        {"rows": 5, "cols": 2880, "out_cols": 3072, "dtype": "fp16"},
    ],
    inputs=lambda shape, generator: {
        "x": rowwise.random(shape, generator),
        "weight": rowwise.near_one(shape, generator),
        "out_cols": shape["out_cols"],
        **({"residual": rowwise.random(shape, generator)} if shape["residual"] else {}),
    },
    outputs=outputs,
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {**rowwise.define(shape, arch), "ROW_OUT_COLS": shape["out_cols"]},
    check=check,
    launch=lambda shape, arch: rowwise.launch()({**shape, "cols": shape["out_cols"]}, arch),
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "residual", "out", "residual_out"),
        **{"weight": tensors["weight"], "bias": None, "eps": tensors["eps"], "p": 0.0, "seed": 0},
    },
    flops=lambda shape: (4 + shape["residual"]) * shape["rows"] * shape["cols"],
    bytes=lambda shape: (
        rowwise.size_of(shape)
        * (shape["rows"] * ((1 + 2 * shape["residual"]) * shape["cols"] + shape["out_cols"]) + shape["cols"])
    ),
)
