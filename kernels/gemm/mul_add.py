"""C = c_a * (A Bᵀ) + c_b with block scales, where c_a and c_b are each a matrix, a row or a number."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.dtypes import BF16, FP32
from workbench.errors import ShapeError
from workbench.operators import Choice
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward
from workbench_kernels.families import gemm_quantized as quantized
from workbench_kernels.references.gemm import quantized_mul_add

SPREADS: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "matrix": lambda m, n: (m, n),
    "row": lambda m, n: (1, n),
    "one": lambda m, n: (1, 1),
}
"""What a value of c_a or c_b applies to: an element of C, a column, or all of C."""
TYPES = {"matrix": BF16, "row": BF16, "one": FP32}


def spread_of(name: str, tensor: torch.Tensor, m: int, n: int) -> str:
    """The entry of `SPREADS` for a tensor."""
    for spread, dims in SPREADS.items():
        if tuple(tensor.shape) == dims(m, n) and tensor.dtype == TYPES[spread].dtype:
            return spread
    expected = " or ".join(str(dims(m, n)) for dims in SPREADS.values())
    raise ShapeError(
        f"GEMM: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected {expected} torch.bfloat16"
    )


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    shape = base.shape_of(**arguments)
    spreads = {name: spread_of(name, arguments[name], shape["m"], shape["n"]) for name in ("c_a", "c_b")}
    return {**shape, **spreads}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Operands, scales, and the factor and summand of the product."""
    tensors = {n: x for n, x in quantized.inputs(shape, generator).items() if isinstance(x, torch.Tensor)}
    for name in ("c_a", "c_b"):
        dims = SPREADS[shape[name]](shape["m"], shape["n"])
        tensors[name] = torch.randn(dims, generator=generator).to(TYPES[shape[name]].dtype)
    return tensors


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    stages = [
        f"{s}<{TYPES[shape[n]].cpp}, spread::{shape[n]}>"
        for s, n in (("multiply_by", "c_a"), ("add_to", "c_b"))
    ]
    return {"GEMM": f"block_scaled<{quantized.products(shape)}, bf16, epilogue<{', '.join(stages)}>>"}


def bytes_moved(shape: Mapping[str, Any]) -> int:
    """Bytes of the product, and of c_a and c_b once."""
    extra = 0
    for name in ("c_a", "c_b"):
        rows, cols = SPREADS[shape[name]](shape["m"], shape["n"])
        extra += TYPES[shape[name]].dtype.itemsize * rows * cols
    return quantized.bytes_moved(shape) + extra


base = quantized.blockwise(
    "gemm/mul_add",
    "c_a * (A Bᵀ) + c_b, rounded once: A and B of fp8, int8, or bf16 with such values, and float scales as "
    "in gemm/fp8_block, or of fp4 (e2m1) with a power-of-two scale for each 32 columns; c_a and c_b of "
    "bf16, M x N or 1 x N, or of float, 1 x 1.",
    shapes=[
        {"m": 256, "n": 256, "k": 256},
        {"m": 130, "n": 300, "k": 256, "c_a": "row", "c_b": "one"} | quantized.FP4,
    ],
)
spec = dataclasses.replace(
    base,
    parameters={
        **base.parameters,
        "c_a": Choice(tuple(SPREADS), doc="what each value of c_a applies to"),
        "c_b": Choice(tuple(SPREADS), doc="what each value of c_b applies to"),
    },
    inputs=inputs,
    outputs=family.outputs_bf16,
    reference=quantized_mul_add,
    backward=gemm_backward.SCALED_MUL_ADD,
    shape_of=shape_of,
    define=define,
    bytes=bytes_moved,
    tensors={
        "a": "fp8/int8/bf16[m, k] | uint8[m, k/2]",
        "b": "fp8/int8/bf16[n, k] | uint8[n, k/2]",
        "scale_a": "fp32[m, ceil(k/128)] | uint8[m, ceil(k/32)]",
        "scale_b": "fp32[ceil(n/128), ceil(k/128)] | fp32[ceil(k/128), n] | uint8[n, ceil(k/32)]",
        "c_a c_b": "bf16[m, n] | bf16[1, n] | fp32[1, 1]",
        "c": "bf16[m, n]",
    },
    notes={
        "scale_a": "scales of each 128 columns of a row; for fp4, bytes s of powers 2^(s - 127) for each 32 "
        "columns of a row",
        "scale_b": "scales of each 128 x 128 block, or of each 128 columns of a row, stored by columns; for "
        "fp4, bytes s of powers 2^(s - 127) for each 32 columns of a row",
    },
)
