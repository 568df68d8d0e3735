"""Set bits of each column of a bit matrix: tokens of each expert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec, Launch, Range, Step, Strided
from workbench.targets import WAVE
from workbench_kernels.families import routing
from workbench_kernels.references.routing import bit_sums


def shape_of(bits: torch.Tensor) -> dict[str, Any]:
    """Shape of a call."""
    if bits.dtype != torch.int32 or bits.dim() != 2:
        raise ShapeError(
            f"bitmatrix_sums: bits is {tuple(bits.shape)} {bits.dtype}; expected rows x words of torch.int32"
        )
    return {"rows": bits.shape[0], "words": bits.shape[1]}


def tiles(shape: Mapping[str, Any]) -> int:
    # PyTorch may trace a size as a symbol: `int` would make it a constant.
    count: int = -(-shape["rows"] // 128)
    return count


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    bits = tensors["bits"]
    return {
        **{"bits": Strided(bits), "row_stride": bits.stride(0), "word_stride": bits.stride(1)},
        **{name: tensors[name] for name in ("partials", "sums")},
        **shape,
    }


spec = KernelSpec(
    name="moe_routing/bitmatrix_sums",
    doc="Set bits of each column of rows x words of 32 bits, and for each tile of 128 rows, those of the "
    "rows before it.",
    source=routing.source("bits_arguments", count="count_bits", scan="scan_tiles"),
    parameters={
        "rows": Range(1, 1 << 22, default=4096, doc="tokens"),
        "words": Range(1, 32, default=4, doc="words of 32 experts"),
    },
    shapes=[{"rows": 1000, "words": 3}, {"rows": 64, "words": 32}],
    # Column-major, like the matrix of `moe_routing/topk`.
    inputs=lambda shape, generator: {
        "bits": torch.randint(-(1 << 31), 1 << 31, (shape["words"], shape["rows"]), generator=generator)
        .to(torch.int32)
        .T
    },
    outputs=lambda shape, tensors: {
        "sums": ((32 * shape["words"],), torch.int32),
        "partials": ((tiles(shape), 32 * shape["words"]), torch.int32),
    },
    reference=bit_sums,
    shape_of=shape_of,
    strided=("bits",),
    steps=[
        Step("count", "count", lambda shape, arch: Launch((tiles(shape), shape["words"]), WAVE), arguments),
        Step("scan", "scan", lambda shape, arch: Launch(-(-32 * shape["words"] // 256), 256), arguments),
    ],
    bytes=lambda shape: 4 * shape["words"] * (shape["rows"] + 32 * (tiles(shape) + 1)),
    tensors={
        "bits": "int32[rows, words]",
        "sums": "int32[32*words]",
        "partials": "int32[ceil(rows/128), 32*words]",
    },
    notes={
        "bits": "a bit for each expert of each token",
        "sums": "number of set bits of each column",
    },
)
