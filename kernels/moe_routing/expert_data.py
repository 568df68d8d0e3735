"""Offsets of experts' tokens and tiles, and each tile's expert, from the number of tokens of each expert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec, Launch, Range
from workbench_kernels.families import routing
from workbench_kernels.references.routing import tiles


def shape_of(hist: torch.Tensor, tile_log2: int, length: int) -> dict[str, Any]:
    """Shape of a call."""
    if hist.dtype != torch.int32 or hist.dim() != 1:
        raise ShapeError(
            f"expert_data: hist is {tuple(hist.shape)} {hist.dtype}; expected torch.int32, tokens of each "
            "expert"
        )
    return {"experts": hist.shape[0], "tile_log2": tile_log2, "length": length}


def inputs(shape: Mapping[str, Any], generator: torch.Generator, empty: bool = False) -> dict[str, Any]:
    """Random numbers of tokens, every third expert without any."""
    hist = torch.randint(0, 300, (shape["experts"],), generator=generator)
    hist[torch.randint(0, 3, (shape["experts"],), generator=generator) == 0] = 0
    if empty:
        hist.zero_()
    return {"hist": hist.to(torch.int32), **{name: shape[name] for name in ("tile_log2", "length")}}


spec = KernelSpec(
    name="moe_routing/expert_data",
    doc="First tokens and first tiles of the experts, each list followed by the total; and for each tile "
    "its expert and its index within the expert, expert | index << 16, -1 after the last.",
    source=routing.source("tiles_arguments", list="list_tiles"),
    entry="list",
    launch=lambda shape, arch: Launch(1, 1024),
    parameters={
        "experts": Range(1, 1024, default=64, doc="experts"),
        "tile_log2": Range(0, 30, default=6, doc="binary logarithm of the tokens in a tile"),
        "length": Range(1, 1 << 20, default=1024, doc="length of the list of tiles"),
    },
    shapes=[
        {"experts": 61, "tile_log2": 4, "length": 700},
        {"experts": 1024, "tile_log2": 7, "length": 2000},
    ],
    inputs=inputs,
    outputs=lambda shape, tensors: {
        "token_start": ((shape["experts"] + 1,), torch.int32),
        "tile_start": ((shape["experts"] + 1,), torch.int32),
        "tile_info": ((shape["length"],), torch.int32),
    },
    reference=tiles,
    shape_of=shape_of,
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in ("hist", "token_start", "tile_start", "tile_info")},
        **shape,
    },
    hard_inputs={"no tokens": lambda shape, generator: inputs(shape, generator, empty=True)},
    bytes=lambda shape: 4 * (3 * shape["experts"] + 2 + shape["length"]),
    tensors={
        "hist": "int32[experts]",
        "token_start tile_start": "int32[experts+1]",
        "tile_info": "int32[length]",
    },
)
