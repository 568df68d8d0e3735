"""GEMMs of bf16 and fp16 matrices without scales: shapes, inputs and the product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench_kernels.families import gemm as family
from workbench_kernels.families import scalars
from workbench_kernels.families.gemm_schedules import Product


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    a = arguments["a"]
    sizes = family.sizes_of(a, arguments["b"], arguments["layout"])
    return {
        **sizes,
        "dtype": family.dtype_of(a),
        "layout": arguments["layout"],
        "alpha": int(arguments["alpha"] != 1.0),
        **family.finish_of(arguments, sizes, a.dtype),
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, size: float = 1.0) -> dict[str, Any]:
    """Normally distributed matrices, times `size`."""
    dtype = scalars.HALVES[shape["dtype"]]
    m, n, k, layout = shape["m"], shape["n"], shape["k"], shape["layout"]

    def normal(*dims: int) -> torch.Tensor:
        return (size * torch.randn(*family.batch_of(shape), *dims, generator=generator)).to(dtype)

    return {
        "a": normal(m, k) if layout[0] == "n" else normal(k, m),
        "b": normal(k, n) if layout[1] == "n" else normal(n, k),
        "layout": layout,
        **family.finish_inputs(shape, generator, dtype),
    }


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    a = tensors["a"]
    return {"c": ((*a.shape[:-2], shape["m"], shape["n"]), a.dtype)}


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses rows that are not multiples of 16 bytes, and sizes beyond 32-bit offsets."""
    whole = {"nt": {"k": 8}, "nn": {"k": 8, "n": 8}, "tn": {"m": 8, "n": 8}}
    family.whole_words(shape, whole[shape["layout"]])
    family.within_offsets(shape, 2)


PRODUCT = Product(
    element=lambda shape: scalars.C_TYPES[shape["dtype"]],
    result=lambda shape: scalars.C_TYPES[shape["dtype"]],
    epilogue=lambda shape: family.epilogue(shape, scalars.C_TYPES[shape["dtype"]]),
    size=lambda shape: 2,
    check=check,
)
