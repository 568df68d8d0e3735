"""Ids sorted by expert, with each expert's ids padded to whole blocks, in three launches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Index, KernelSpec, Launch, Range, Step
from workbench.targets import WAVE
from workbench_kernels.families import routing
from workbench_kernels.references.routing import align


def shape_of(topk_ids: torch.Tensor, experts: int, block: int, length: int) -> dict[str, Any]:
    """Shape of a call."""
    if topk_ids.dtype != torch.int32 or topk_ids.dim() == 0 or topk_ids.numel() == 0:
        raise ShapeError(
            f"align_block_size: topk_ids is {tuple(topk_ids.shape)} {topk_ids.dtype}; expected torch.int32, "
            "an expert for each id"
        )
    return {"ids": topk_ids.numel(), "experts": experts, "block": block, "length": length}


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses a list that could not hold every id."""
    if shape["length"] < shape["ids"]:
        raise ShapeError(
            f"align_block_size: length is {shape['length']}; expected {shape['ids']} or more, and room for "
            "padding: ids + experts * (block - 1) is always enough"
        )


def inputs(shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False) -> dict[str, Any]:
    """Random experts, some of which may have no ids; or one expert with all ids."""
    assignment = torch.randint(0, shape["experts"], (shape["ids"],), generator=generator)
    assignment = torch.where(torch.tensor(skewed), assignment[:1], assignment).to(torch.int32)
    return {"topk_ids": assignment, **{name: shape[name] for name in ("experts", "block", "length")}}


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    names = ("counts", "sorted_token_ids", "expert_ids", "num_tokens_post_padded")
    return {
        "chosen": tensors["topk_ids"],
        **{name: tensors[name] for name in names},
        **{"count": shape["ids"], **{name: shape[name] for name in ("experts", "block", "length")}},
    }


def chunks(shape: Mapping[str, Any]) -> int:
    return int(-(-shape["ids"] // 256))


spec = KernelSpec(
    name="moe_routing/align_block_size",
    doc="Ids sorted by expert (a stable sort), where each expert's ids are padded to whole blocks with the "
    "number of ids; the expert of each block, -1 after the last; and the number of ids including padding.",
    source=routing.source(
        "align_arguments", count="count_experts", starts="place_experts", place="place_ids"
    ),
    parameters={
        "ids": Range(1, 1 << 22, default=4096, doc="pairs of a token and one of its experts"),
        "experts": Range(1, 1024, default=64, doc="experts"),
        "block": Range(1, 1024, default=64, doc="ids of a block"),
        "length": Range(1, 1 << 23, default=8192, doc="length of the list"),
    },
    shapes=[
        {"ids": 1000, "experts": 37, "block": 16, "length": 1600},
        {"ids": 300, "experts": 1024, "block": 1, "length": 300},
    ],
    inputs=inputs,
    outputs=lambda shape, tensors: {
        "sorted_token_ids": ((shape["length"],), torch.int32),
        "expert_ids": ((-(-shape["length"] // shape["block"]),), torch.int32),
        "num_tokens_post_padded": ((1,), torch.int32),
    },
    workspace=lambda shape, tensors: {"counts": ((chunks(shape), shape["experts"]), torch.int32)},
    reference=align,
    shape_of=shape_of,
    check=check,
    steps=[
        Step("count", "count", lambda shape, arch: Launch(chunks(shape), WAVE), arguments),
        Step("starts", "starts", lambda shape, arch: Launch(1, 1024), arguments),
        Step("place", "place", lambda shape, arch: Launch(chunks(shape), WAVE), arguments),
    ],
    hard_inputs={
        "all ids belong to one expert": lambda shape, generator: inputs(shape, generator, skewed=True),
    },
    bytes=lambda shape: 4 * (2 * shape["ids"] + shape["length"] + -(-shape["length"] // shape["block"])),
    tensors={
        "topk_ids": "int32[...]",
        "sorted_token_ids": "int32[length]",
        "expert_ids": "int32[ceil(length/block)]",
        "num_tokens_post_padded": "int32[1]",
    },
    indexes={
        "topk_ids": Index("experts"),
    },
)
