"""The sequence of each chunk, and the chunk's index in the sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.operators import KernelSpec, Launch, Range
from workbench.targets import WAVE
from workbench_kernels.families import delta_chunks as family
from workbench_kernels.families.attention import check_starts


def reference(cu_seqlens: torch.Tensor, chunks: int, chunk: int = 64) -> torch.Tensor:
    """(sequence, chunk in the sequence) for `chunks` chunks; (-1, -1) after the last."""
    counts = -(-cu_seqlens.diff() // chunk)
    pairs = [(n, at) for n, count in enumerate(counts.tolist()) for at in range(count)]
    return torch.tensor([*pairs, *[(-1, -1)] * (chunks - len(pairs))], dtype=torch.int32)


def shape_of(cu_seqlens: torch.Tensor, chunks: int, chunk: int) -> dict[str, Any]:
    check_starts("cu_seqlens", cu_seqlens)
    return {"sequences": cu_seqlens.numel() - 1, "chunks": chunks, "chunk": chunk}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Sequences with `chunks` chunks in total; some may be empty."""
    share = torch.randint(0, shape["sequences"], (shape["chunks"],), generator=generator)
    counts = torch.bincount(share, minlength=shape["sequences"])
    missing = torch.randint(0, shape["chunk"], (shape["sequences"],), generator=generator)
    lengths = (counts * shape["chunk"] - missing).clamp(min=0)
    starts = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    return {"cu_seqlens": starts, "chunks": shape["chunks"], "chunk": shape["chunk"]}


spec = KernelSpec(
    name="gated_delta/chunk_indices",
    doc="(sequence, chunk in the sequence) of each chunk of packed sequences; (-1, -1) after the last.",
    source=family.SOURCE,
    entry="families::delta_chunks::indices<int>",
    parameters={
        "sequences": Range(1, 65535, default=8, doc="sequences"),
        "chunks": Range(1, 1 << 24, default=64, doc="chunks of all sequences, or more"),
        "chunk": Range(1, 1 << 16, default=64, doc="tokens of a chunk"),
    },
    shapes=[
        {"sequences": 5, "chunks": 9, "chunk": 16},
        {"sequences": 200, "chunks": 150},
        {"sequences": 1, "chunks": 300},
    ],
    inputs=inputs,
    outputs=lambda shape, tensors: {"indices": ((shape["chunks"], 2), torch.int32)},
    reference=reference,
    shape_of=shape_of,
    launch=lambda shape, arch: Launch(shape["sequences"], WAVE),
    arguments=lambda shape, tensors: {
        **{"starts": tensors["cu_seqlens"], "out": tensors["indices"]},
        **{"count": shape["sequences"], "size": shape["chunk"], "chunks": shape["chunks"]},
    },
    bytes=lambda shape: 4 * shape["sequences"] + 8 * shape["chunks"],
    tensors={
        "cu_seqlens": "int32[sequences+1]",
        "indices": "int32[chunks, 2]",
    },
    notes={
        "indices": "sequence and chunk in the sequence; -1 and -1 after the last chunk",
    },
)
