"""C += A Bᵀ of bf16 matrices; parts of K are added by atomics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench import dtypes
from workbench.errors import ShapeError
from workbench.operators import Choice, FlashRule, KernelSpec, Launch, Range
from workbench_kernels.families import gemm as family
from workbench_kernels.families import scalars
from workbench_kernels.references.gemm import accumulated_gemm

SUMS = {known.name: known.dtype for known in (dtypes.FP32, dtypes.BF16)}


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    a, c = arguments["a"], arguments["c"]
    sizes = family.sizes_of(a, arguments["b"])
    names = {dtype: name for name, dtype in SUMS.items()}
    if tuple(c.shape) != (sizes["m"], sizes["n"]) or c.dtype not in names:
        raise ShapeError(
            f"GEMM: c is {tuple(c.shape)} {c.dtype}; expected {(sizes['m'], sizes['n'])} float32 or bfloat16"
        )
    return {**sizes, "dtype": family.dtype_of(a), "sums": names[c.dtype]}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Matrices whose product is of the order of one, and a matrix to add it to."""
    dtype, k = scalars.HALVES[shape["dtype"]], shape["k"]
    return {
        "a": torch.randn(shape["m"], k, generator=generator).to(dtype),
        "b": (torch.randn(shape["n"], k, generator=generator) / k**0.5).to(dtype),
        "c": torch.randn(shape["m"], shape["n"], generator=generator).to(SUMS[shape["sums"]]),
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    family.whole_words(shape, {"k": 8})
    family.within_offsets(shape, 4)


def side(shape: Mapping[str, Any]) -> int:
    """Rows and columns of C per work-group."""
    return 64 if min(shape["m"], shape["n"]) <= 64 else 128


def span(shape: Mapping[str, Any]) -> int:
    """Columns of a part of K, at least about 256: enough parts for a work-group on each of 256 units."""
    return family.span(shape, min(-(-256 // family.tiles(shape, side(shape))), -(-shape["k"] // 256)))


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group for each tile and each part of K."""
    plain = family.launch(side(shape), 256)(shape, arch)
    grid = (family.tiles(shape, side(shape)), -(-shape["k"] // span(shape)))
    return Launch(grid=grid, block=256, dynamic_shared=plain.dynamic_shared)


spec = KernelSpec(
    name="gemm/bf16_accumulate",
    doc="c += A Bᵀ in place, of bf16 or fp16 A and B and float or bf16 c. Work-groups sum parts of K in "
    "float and add them to c by atomics; bf16 is added in pairs.",
    source=family.SOURCE,
    entry="gemm",
    parameters={
        **family.SIZES,
        "batch": Choice((1,), doc="one matrix"),
        "n": Range(2, 1 << 20, step=2, default=512, doc="columns of C, which are added in pairs"),
        "k": Range(
            8, 1 << 20, step=8, default=512, doc="columns of A and B; a row is a multiple of 16 bytes"
        ),
        "dtype": Choice(tuple(scalars.HALVES), doc="element type of A and B"),
        "sums": Choice(tuple(SUMS), doc="element type of C"),
    },
    shapes=[{"m": 256, "n": 256, "k": 1024}, {"m": 70, "n": 132, "k": 520, "sums": "bf16"}],
    inputs=inputs,
    outputs=lambda shape, tensors: {},
    mutates=("c",),
    reference=accumulated_gemm,
    shape_of=shape_of,
    define=lambda shape, arch: {
        "GEMM": f"double_buffer<{scalars.C_TYPES[shape['dtype']]}, "
        f"{scalars.C_TYPES[shape['sums']]}, layout::nt, "
        f"{side(shape)}, epilogue<accumulate>, parts_into_one>"
    },
    launch=launch,
    arguments=lambda shape, tensors: {**tensors, "span": span(shape)},
    check=check,
    flops=family.flops,
    bytes=lambda shape: (
        2 * shape["k"] * (shape["m"] + shape["n"])
        + 2 * SUMS[shape["sums"]].itemsize * shape["m"] * shape["n"]
    ),
    nondeterministic="sums of parts of K are added by atomics, in no fixed order",
    tolerances={"c": (1.6e-2, 3e-2)},
    flash_rule={"c": FlashRule("bf16 sums are rounded once for each part of K", factor=8)},
    tensors={
        "a": "dtype[..., m, k]",
        "b": "dtype[..., n, k]",
        "c": "sums[..., m, n]",
    },
    notes={
        "c": "added to in place",
    },
)
