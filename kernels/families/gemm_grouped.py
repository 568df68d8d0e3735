"""GEMMs of groups of rows: arguments, and the product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import gemm as family
from workbench_kernels.families import scalars
from workbench_kernels.families.gemm_rows import fp8_rows, int8_rows
from workbench_kernels.families.gemm_schedules import Product, side_of

TYPES = (*scalars.HALVES, *family.SCALED)

ROWS = {"fp8": fp8_rows, "int8": int8_rows}


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    a, b, offsets, layout = (arguments[name] for name in ("a", "b", "offsets", "layout"))
    if layout not in ("nt", "nn"):
        raise ShapeError(f"GEMM: layout is {layout!r}; expected 'nt' or 'nn', since groups are rows of a")
    if a.dim() != 2 or b.dim() != 3:
        raise ShapeError(
            f"GEMM: a is {tuple(a.shape)}, b is {tuple(b.shape)}; expected (M, K) and a matrix for each group"
        )
    if offsets.dtype != torch.int32 or tuple(offsets.shape) != (b.shape[0] + 1,):
        raise ShapeError(
            f"GEMM: offsets is {tuple(offsets.shape)} {offsets.dtype}; expected ({b.shape[0] + 1},) "
            "torch.int32: the first row of each group, then M"
        )
    sizes = family.sizes_of(a, b[0], layout)
    dtype = next((name for name, known in family.SCALED.items() if a.dtype in known), None)
    for name, dims in (("scale_a", (sizes["m"],)), ("scale_b", (b.shape[0], sizes["n"]))):
        scale = arguments[name]
        came = None if scale is None else tuple(scale.shape)
        if came != (dims if dtype else None):
            raise ShapeError(
                f"GEMM: {name} is {came} beside a of {a.dtype}; expected "
                f"{f'{dims}, one for each row' if dtype else 'None, which fp8 and int8 alone have'}"
            )
    return {
        **sizes,
        "groups": b.shape[0],
        "dtype": dtype or family.dtype_of(a),
        "layout": layout,
        "alpha": int(arguments["alpha"] != 1.0),
        **family.finish_of(arguments, sizes, torch.bfloat16 if dtype else a.dtype),
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Groups of random sizes; some may be empty."""
    m, n, k, groups, dtype = (shape[name] for name in ("m", "n", "k", "groups", "dtype"))
    cuts = torch.randint(0, m + 1, (groups - 1,), generator=generator).sort().values
    offsets = torch.cat([torch.zeros(1), cuts, torch.full((1,), m)]).to(torch.int32)
    tensors: dict[str, Any] = {"offsets": offsets, "layout": shape["layout"]}
    for name, dims in (("a", (m, k)), ("b", (groups, n, k))):
        if dtype in ROWS:
            tensors[name], tensors[f"scale_{name}"] = ROWS[dtype](dims, generator)
        else:
            tensors[name] = torch.randn(dims, generator=generator).to(scalars.HALVES[dtype])
    if shape["layout"] == "nn":
        tensors["b"] = tensors["b"].mT.contiguous()
    return tensors | family.finish_inputs(shape, generator, scalars.HALVES.get(dtype, torch.bfloat16))


def check(shape: Mapping[str, Any], arch: str) -> None:
    whole = 8 if shape["dtype"] in scalars.HALVES else 16
    family.whole_words(shape, {"k": whole} if shape["layout"] == "nt" else {"k": whole, "n": whole})
    family.within_offsets(shape, 2)


def of_c(shape: Mapping[str, Any]) -> str:
    """Name of C's dtype: bf16 if A has scales."""
    return shape["dtype"] if shape["dtype"] in scalars.HALVES else "bf16"


PRODUCT = Product(
    element=lambda shape: scalars.C_TYPES[shape["dtype"]],
    result=lambda shape: scalars.C_TYPES[of_c(shape)],
    epilogue=lambda shape: family.epilogue(
        shape, scalars.C_TYPES[of_c(shape)], *(["scale_rows"] if shape["dtype"] in ROWS else [])
    ),
    size=lambda shape: 1 if shape["dtype"] in ROWS else 2,
    check=check,
    problem="groups",
    side=side_of,
)
