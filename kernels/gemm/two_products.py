"""Two products in one launch: one with block scales, one of bf16."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Launch, Range
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward
from workbench_kernels.families import gemm_quantized as quantized
from workbench_kernels.references.gemm import two_gemms

SOURCE = """#include "families/gemm.cuh"
using namespace kittens;
using namespace kittens::families::gemm;
using scaled_product = SCALED;
using plain_product = double_buffer<bf16, bf16, layout::nt, 128, epilogue<>, batches_behind>;
static_assert(scaled_product::threads == plain_product::threads);
// The first work-groups compute the one, those behind them the other.
__global__ __launch_bounds__(scaled_product::threads, scaled_product::waves_per_simd) void
gemm(const scaled_product::arguments scaled, const plain_product::arguments plain) {
    if (static_cast<int>(blockIdx.x) < plain.before)
        scaled_product::run(scaled);
    else
        plain_product::run(plain);
}
"""


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    shape = base.shape_of(**arguments)
    a16, b16 = arguments["a16"], arguments["b16"]
    m, k = shape["m"], shape["k"]
    for name, tensor, expected in (("a16", a16, f"({m}, {k})"), ("b16", b16, f"(rows, {k})")):
        fits = tensor.dim() == 2 and tensor.shape[1] == k and tensor.dtype == torch.bfloat16
        if not fits or (name == "a16" and tensor.shape[0] != m):
            raise ShapeError(
                f"GEMM: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected {expected} torch.bfloat16, "
                "with the columns of a"
            )
    return {**shape, "n16": b16.shape[0]}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Operands of both products."""
    tensors = {n: x for n, x in quantized.inputs(shape, generator).items() if isinstance(x, torch.Tensor)}
    for name, rows in (("a16", shape["m"]), ("b16", shape["n16"])):
        tensors[name] = torch.randn(rows, shape["k"], generator=generator).bfloat16()
    return tensors


def plain(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of the bf16 product."""
    return {**shape, "n": shape["n16"]}


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    """The tiles of both products, and the larger of their shared memory sizes."""
    both = quantized.launch(shape, arch), family.launch(128, 256)(plain(shape), arch)
    tiles = sum(family.tiles(each, 128) for each in (shape, plain(shape)))
    return Launch(grid=tiles, block=256, dynamic_shared=max(each.dynamic_shared for each in both))


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    before = family.tiles(shape, 128)
    return {
        "scaled": {name: tensors[name] for name in ("a", "b", "scale_a", "scale_b", "c")},
        "plain": {"a": tensors["a16"], "b": tensors["b16"], "c": tensors["c16"], "before": before},
    }


base = quantized.blockwise(
    "gemm/two_products",
    "c = A Bᵀ and c16 = A16 B16ᵀ in one launch: A and B as in gemm/mul_add, of fp8, int8 or fp4 with block "
    "scales; A16 and B16 of bf16, with as many rows and columns as A.",
    shapes=[
        {"m": 256, "n": 256, "k": 256, "n16": 256},
        {"m": 130, "n": 300, "k": 256, "n16": 70} | quantized.FP4,
    ],
)
spec = dataclasses.replace(
    base,
    source=SOURCE,
    parameters={
        **base.parameters,
        "n16": Range(1, 1 << 20, default=512, doc="columns of C16"),
    },
    inputs=inputs,
    outputs=lambda shape, tensors: {
        "c": ((shape["m"], shape["n"]), torch.bfloat16),
        "c16": ((shape["m"], shape["n16"]), torch.bfloat16),
    },
    reference=two_gemms,
    backward=gemm_backward.TWO_PRODUCTS,
    shape_of=shape_of,
    define=lambda shape, arch: {"SCALED": f"block_scaled<{quantized.products(shape)}, bf16>"},
    launch=launch,
    arguments=arguments,
    flops=lambda shape: family.flops(shape) + family.flops(plain(shape)),
    bytes=lambda shape: quantized.bytes_moved(shape) + family.bytes_moved(plain(shape), 2),
    tensors={
        "a": "fp8/int8/bf16[m, k] | uint8[m, k/2]",
        "b": "fp8/int8/bf16[n, k] | uint8[n, k/2]",
        "scale_a": "fp32[m, ceil(k/128)] | uint8[m, ceil(k/32)]",
        "scale_b": "fp32[ceil(n/128), ceil(k/128)] | fp32[ceil(k/128), n] | uint8[n, ceil(k/32)]",
        "a16": "bf16[m, k]",
        "b16": "bf16[n16, k]",
        "c": "bf16[m, n]",
        "c16": "bf16[m, n16]",
    },
    notes={
        "scale_a": "scales of each 128 columns of a row; for fp4, bytes s of powers 2^(s - 127) for each 32 "
        "columns of a row",
        "scale_b": "scales of each 128 x 128 block, or of each 128 columns of a row, stored by columns; for "
        "fp4, bytes s of powers 2^(s - 127) for each 32 columns of a row",
    },
)
