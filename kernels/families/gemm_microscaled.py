"""GEMMs of microscaled formats: arguments, and bits per element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_quantized, scalars
from workbench_kernels.families.gemm_scaled_loop import ScaledLoop
from workbench_kernels.references.gemm import MICROSCALED

BLOCK = 32


def bits(shape: Mapping[str, Any]) -> int:
    """Bits per element."""
    return MICROSCALED[shape["format"]].bits


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    format = arguments["format"]
    if format not in MICROSCALED:
        raise ShapeError(f"GEMM: format is {format!r}; expected one of {', '.join(MICROSCALED)}")
    sizes = family.sizes_of(arguments["a"], arguments["b"])
    sizes["k"] = sizes["k"] * 8 // bits({"format": format})
    for name in "ab":
        tensor, scale = arguments[name], arguments[f"scale_{name}"]
        expected = (*tensor.shape[:-1], sizes["k"] // BLOCK)
        if tuple(scale.shape) != expected or scale.dtype != torch.uint8:
            raise ShapeError(
                f"GEMM: scale_{name} is {tuple(scale.shape)} {scale.dtype}; expected {expected} torch.uint8, "
                f"one for each {BLOCK} of {sizes['k']} columns of {format}"
            )
    finish = family.finish_of(arguments, sizes, torch.bfloat16)
    return {**sizes, "format": format, **finish}


def inputs(shape: Mapping[str, Any], generator: torch.Generator, scale: int = 124) -> dict[str, Any]:
    """Elements of every code, with powers of two from 2^(scale - 127) up."""
    tensors: dict[str, Any] = {"format": shape["format"]}
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        dims = (*family.batch_of(shape), rows)
        element = MICROSCALED[shape["format"]]
        if element.encoding:
            numbers = torch.randn(*dims, shape["k"], generator=generator).to(element.dtype)
        else:
            width = shape["k"] * bits(shape) // 8
            numbers = torch.randint(0, 256, (*dims, width), generator=generator, dtype=torch.uint8)
        tensors[name] = numbers
        tensors[f"scale_{name}"] = torch.randint(
            scale, scale + 7, (*dims, shape["k"] // BLOCK), generator=generator, dtype=torch.uint8
        )
    return tensors | family.finish_inputs(shape, generator, torch.bfloat16)


def check(shape: Mapping[str, Any], arch: str) -> None:
    family.within_offsets(shape, 1)


LOOP = ScaledLoop(
    policies=lambda shape: ", ".join([scalars.C_TYPES[shape["format"]]] * 2 + ["powers"] * 2),
    epilogue=lambda shape: family.epilogue(shape, "bf16"),
    bits=lambda shape: (bits(shape), bits(shape)),
    columns=lambda shape: 128,
    operands=lambda shape: ("a", "b", "scale_a", "scale_b"),
    check=check,
)
FEW_ROWS = gemm_quantized.few_rows(
    LOOP,
    [{"m": 16, "n": 256, "k": 512}, {"m": 33, "n": 301, "k": 384, "format": "e4m3"}],
)
