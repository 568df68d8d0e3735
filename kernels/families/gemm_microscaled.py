"""GEMMs of microscaled formats: arguments, and bits per element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Variant
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_quantized, scalars
from workbench_kernels.families.gemm_scaled_loop import ScaledLoop
from workbench_kernels.families.gemm_schedules import Product
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
    layout = arguments["layout"]
    sizes = family.sizes_of(arguments["a"], arguments["b"], layout, family.ALL_LAYOUTS)
    check_layout({"format": format, "layout": layout})
    sizes["k"] = sizes["k"] * 8 // bits({"format": format})
    for name, rows in (("a", sizes["m"]), ("b", sizes["n"])):
        tensor, scale = arguments[name], arguments[f"scale_{name}"]
        expected = (*tensor.shape[:-2], rows, sizes["k"] // BLOCK)
        if tuple(scale.shape) != expected or scale.dtype != torch.uint8:
            raise ShapeError(
                f"GEMM: scale_{name} is {tuple(scale.shape)} {scale.dtype}; expected {expected} torch.uint8, "
                f"one for each {BLOCK} of {sizes['k']} columns of {format}"
            )
    finish = family.finish_of(arguments, sizes, torch.bfloat16)
    return {**sizes, "format": format, "layout": layout, **finish}


def inputs(shape: Mapping[str, Any], generator: torch.Generator, scale: int = 124) -> dict[str, Any]:
    """Elements of every code, with powers of two from 2^(scale - 127) up."""
    tensors: dict[str, Any] = {"format": shape["format"], "layout": shape["layout"]}
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        dims = (*family.batch_of(shape), rows)
        element = MICROSCALED[shape["format"]]
        if element.encoding:
            numbers = torch.randn(*dims, shape["k"], generator=generator).to(element.dtype)
        else:
            width = shape["k"] * bits(shape) // 8
            numbers = torch.randint(0, 256, (*dims, width), generator=generator, dtype=torch.uint8)
        tensors[name] = numbers.mT.contiguous() if name in family.across_k(shape["layout"]) else numbers
        tensors[f"scale_{name}"] = torch.randint(
            scale, scale + 7, (*dims, shape["k"] // BLOCK), generator=generator, dtype=torch.uint8
        )
    return tensors | family.finish_inputs(shape, generator, torch.bfloat16)


def check_layout(shape: Mapping[str, Any]) -> None:
    """Refuses operands across K whose bytes have elements of several rows."""
    if not family.is_nt(shape) and bits(shape) != 8:
        raise ShapeError(
            f"GEMM: layout is {shape['layout']!r}, format is {shape['format']!r}; expected layout 'nt', or "
            "elements of a byte: e4m3 or e5m2"
        )


def check(shape: Mapping[str, Any], arch: str) -> None:
    check_layout(shape)
    family.whole_rows_across_k(shape, 16)
    family.within_offsets(shape, 1)


LOOP = ScaledLoop(
    policies=lambda shape: ", ".join([scalars.C_TYPES[shape["format"]]] * 2 + ["powers"] * 2),
    epilogue=lambda shape: family.epilogue(shape, "bf16"),
    bits=lambda shape: (bits(shape), bits(shape)),
    columns=lambda shape, arch: 256 if bits(shape) == 4 and arch == "gfx950" else 128,
    operands=lambda shape: ("a", "b", "scale_a", "scale_b"),
    check=check,
    # Two loads of scales for two of 16 bytes of fp4; of fp8 and fp6 there is one.
    scales=lambda shape: bits(shape) == 4,
)


def check_scaled(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses what the schedules with scaled matrix instructions do not support."""
    check(shape, arch)
    if arch != "gfx950":
        raise ShapeError(f"GEMM: {arch} has no scaled matrix instructions; this implementation is for gfx950")
    if bits(shape) == 6:
        raise ShapeError(f"GEMM: format is {shape['format']!r}; this implementation supports fp8 and fp4")


PRODUCT = Product(
    element=lambda shape: scalars.C_TYPES[shape["format"]],
    result=lambda shape: "bf16",
    epilogue=lambda shape: family.epilogue(shape, "bf16"),
    size=lambda shape: bits(shape) / 8,
    check=check_scaled,
    sums="power_sums",
)


def ping_pong(shapes: Sequence[Mapping[str, Any]]) -> Variant:
    """Variant for many tiles of 256 x 256 of fp8 or fp4, by 8 waves."""
    variant = PRODUCT.ping_pong(shapes, on=("gfx950",))
    return Variant(lambda shape, arch: bits(shape) != 6 and variant.takes(shape, arch), **variant.fields)


FEW_ROWS = gemm_quantized.few_rows(
    LOOP,
    [{"m": 16, "n": 256, "k": 512}, {"m": 33, "n": 301, "k": 384, "format": "e4m3"}],
)
