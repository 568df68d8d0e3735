"""Specs of normalizations into longer rows, and of gradients in two steps: rows, then sums of columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import TOLERANCES, Choice, KernelSpec, Launch, Range, Step, Tolerance
from workbench.targets import WAVE
from workbench_kernels.families import rowwise, scalars
from workbench_kernels.references.normalization import layer_norm

PER_LANE = 16
MOST = rowwise.MOST_THREADS * PER_LANE
"""Largest number of columns: half as many as in the forward pass, which keeps fewer values per column."""
GROUPS = 256
"""Largest number of work-groups; each writes a row of floats for each gradient of a column."""


ROW = "dtype[..., cols]"
ROWS = ("dout", "dresidual_out", "x", "residual_out")
"""Operands of a backward pass that have rows, and their layout."""


def gradients(
    function: Callable[..., torch.Tensor], dout: torch.Tensor, *inputs: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Gradients of a function's tensors, computed in float32 at least and returned in their dtypes."""
    wide = torch.promote_types(dout.dtype, torch.float32)
    with torch.enable_grad():
        leaves = [x.detach().to(wide).requires_grad_() for x in inputs]
        grads = torch.autograd.grad(function(*leaves), leaves, dout.to(wide))
    return tuple(grad.to(dout.dtype) for grad in grads)


def of_layer_norm(
    dout: torch.Tensor, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float
) -> tuple[torch.Tensor, ...]:
    """Gradients of LayerNorm's x, weight and bias; missing ones count as 1 and 0."""
    ones, zeros = dout.new_ones(dout.shape[-1:]), dout.new_zeros(dout.shape[-1:])
    return gradients(
        lambda x, w, b: layer_norm(x, w, b, eps),
        *(dout, x, ones if weight is None else weight, zeros if bias is None else bias),
    )


def main_launch(shape: Mapping[str, Any], arch: str) -> Launch:
    rows = rowwise.launch(PER_LANE)(shape, arch)
    return Launch(grid=min(rows.grid[0], GROUPS), block=rows.block)


def _sums(which: str) -> Step:
    """The step that computes `d<which>` from the work-groups' partial sums."""
    return Step(
        name=which,
        entry=f"{which}_sums",
        launch=lambda shape, arch: Launch(grid=-(-shape["cols"] // WAVE), block=8 * WAVE),
        arguments=lambda shape, tensors: {"parts": tensors[f"{which}_parts"], "out": tensors[f"d{which}"]},
    )


def summed(shape: Mapping[str, Any]) -> Tolerance:
    """Bounds of a sum over all rows: its rounding errors in float grow with their number."""
    bounds = TOLERANCES[str(scalars.FLOATS[shape["dtype"]]).removeprefix("torch.")]
    error = 1e-5 * shape["rows"] / 512
    return replace(bounds, atol=max(bounds.atol, error))


def _backward_source(name: str, kinds: Sequence[str]) -> str:
    """Kernels for the rows, and for the sums of each of `kinds`: "weight", and "bias" if centered."""
    centered = str("bias" in kinds).lower()
    text = rowwise.source(name, f"normalize_backward<ROW_T, ROW_COLS, {centered}, ROW_DROPS>")
    for which in kinds:
        text += f"""using {which}_operation = kittens::families::column_sums<ROW_T, ROW_COLS>;
__global__ __launch_bounds__(512) void {which}_sums(const {which}_operation::arguments g) {{
    {which}_operation::run(g);
}}
"""
    return text


def backward(
    name: str,
    *,
    centered: bool,
    reference: Callable[..., Any],
    shape_of: Callable[..., dict[str, Any]],
    arguments: Callable[[Mapping[str, Any]], dict[str, Any]],
    inputs: Callable[[Mapping[str, Any], torch.Generator], dict[str, Any]],
    results: Sequence[str],
    shapes: Sequence[Mapping[str, Any]],
) -> KernelSpec:
    """`normalization/<name>`.

    Args:
        centered: whether the norm subtracts the mean (LayerNorm).
        arguments: `(tensors) -> {name: tensor}`: operands of the first step that differ between operators: h,
            dout, dresidual_out, dx, dresidual, p, seed.
        results: gradients of x's shape, by name.
    """
    kinds = ("weight", "bias") if centered else ("weight",)

    def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
        dtype = tensors["dout"].dtype
        return {
            **dict.fromkeys(results, (tensors["dout"].shape, dtype)),
            **{f"d{which}": ((shape["cols"],), dtype) for which in kinds},
        }

    def main_arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
        matrices = ("h", "dout", "dresidual_out", "dx", "dresidual")
        operands = arguments(tensors)
        return {
            **rowwise.flat(operands, *matrices),
            **{f"d{which}": tensors.get(f"{which}_parts") for which in ("weight", "bias")},
            **{"weight": tensors["weight"], "eps": tensors["eps"]},
            **{"p": operands.get("p", 0.0), "seed": operands.get("seed", 0)},
        }

    return KernelSpec(
        name=f"normalization/{name}",
        doc=reference.__doc__ or "",
        source=_backward_source(name, kinds),
        parameters={
            **rowwise.parameters(MOST, 4096),
            **{which: Choice((1, 0), doc=f"whether there is a {which}") for which in kinds},
            "drops": Choice((0, 1), doc="whether there is dropout"),
        },
        shapes=shapes,
        inputs=inputs,
        outputs=outputs,
        reference=reference,
        shape_of=shape_of,
        define=lambda shape, arch: {
            **rowwise.define(shape, arch),
            "ROW_DROPS": "true" if shape["drops"] else "false",
        },
        steps=(
            Step(name="rows", entry=name, launch=main_launch, arguments=main_arguments),
            *map(_sums, kinds),
        ),
        workspace=lambda shape, tensors: {
            f"{which}_parts": ((main_launch(shape, "").grid[0], shape["cols"]), torch.float32)
            for which in kinds
        },
        tolerances={f"d{which}": summed for which in kinds},
        tensors={
            " ".join(each for each in inspect.signature(reference).parameters if each in ROWS): ROW,
            " ".join(kinds): "dtype[cols]",
            " ".join(results): ROW,
            " ".join(f"d{which}" for which in kinds): "dtype[cols]",
        },
        flops=lambda shape: (15 if centered else 10) * shape["rows"] * shape["cols"],
        bytes=lambda shape: (
            rowwise.size_of(shape) * ((2 * len(results) + 1) * shape["rows"] + 2 * len(kinds)) * shape["cols"]
        ),
    )


def padded(name: str, *, reference: Callable[..., Any], summed: bool) -> KernelSpec:
    """`normalization/<name>`: RMSNorm into rows of `out_cols` columns, of x + residual where `summed`."""

    def shape_of(**arguments: Any) -> dict[str, Any]:
        x = arguments["x"]
        shape = rowwise.shape_of(name, x, residual=arguments.get("residual"))
        rowwise.check_columns(name, x, weight=arguments["weight"])
        return {**shape, "out_cols": arguments["out_cols"]}

    def check(shape: Mapping[str, Any], arch: str) -> None:
        if shape["out_cols"] < shape["cols"]:
            raise ShapeError(
                f"{name}: out_cols is {shape['out_cols']}; expected the {shape['cols']} columns of x, or more"
            )

    def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
        x = tensors["x"]
        layouts = {"out": ((*x.shape[:-1], shape["out_cols"]), x.dtype)}
        return {**layouts, "residual_out": (x.shape, x.dtype)} if summed else layouts

    def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
        return {
            "x": rowwise.random(shape, generator),
            "weight": rowwise.near_one(shape, generator),
            "out_cols": shape["out_cols"],
            **({"residual": rowwise.random(shape, generator)} if summed else {}),
        }

    def moved(shape: Mapping[str, Any]) -> int:
        of_row = (3 if summed else 1) * shape["cols"] + shape["out_cols"]
        return int(rowwise.size_of(shape) * (shape["rows"] * of_row + shape["cols"]))

    return KernelSpec(
        name=f"normalization/{name}",
        doc=reference.__doc__ or "",
        source=rowwise.source(name, "normalize<ROW_T, ROW_COLS, false, false, ROW_OUT_COLS>"),
        entry=name,
        parameters={
            **rowwise.parameters(rowwise.HELD, 4096),
            "out_cols": Range(
                1, rowwise.HELD, default=4096, doc="columns of the result; at least those of x"
            ),
        },
        shapes=[
            {"rows": 1024, "cols": 4000, "out_cols": 4096},
            {"rows": 33, "cols": 100, "out_cols": 256, "dtype": "fp32"},
            {"rows": 5, "cols": 2880, "out_cols": 3072, "dtype": "fp16"},
        ],
        inputs=inputs,
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
        flops=lambda shape: (5 if summed else 4) * shape["rows"] * shape["cols"],
        bytes=moved,
        tensors={
            "x residual" if summed else "x": ROW,
            "weight": "dtype[cols]",
            "out": "dtype[..., out_cols]",
            **({"residual_out": ROW} if summed else {}),
        },
        notes={"residual": "added to x"} if summed else {},
    )
