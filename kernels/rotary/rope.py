"""Rotary position embedding of heads: inputs, outputs, reference and launch."""

from __future__ import annotations

import torch

from workbench.operators import Index, KernelSpec, Published
from workbench.targets import LIBRARY_TARGETS
from workbench_kernels.families import rotary, scalars
from workbench_kernels.references.rotary import rotate


def reference(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None = None,
    interleaved: bool = False,
) -> torch.Tensor:
    """Heads, batch x heads x tokens x dim, rotated; cosines and sines are positions x turned / 2."""
    return rotate(x, cos, sin, positions, interleaved)


PORT = "m8than/amd-kernels README.md, RoPE"
OWN = "HazyResearch/HipKittens analysis/rotary/mi350x/mi355x_rotary.json"


def published(gpu: str, source: str, batch: int, heads: int, tokens: int, **times: float) -> list[Published]:
    """Times by implementation, in microseconds."""
    shape = {"batch": batch, "heads": heads, "tokens": tokens, "dim": 128, "turned": 128, "dtype": "bf16"}
    return Published.times(shape, gpu, source, {who.replace("_", " "): us for who, us in times.items()})


spec = KernelSpec(
    name="rotary/rope",
    doc="Rotary position embedding: rotates pairs of elements of each head by the angles of its token's "
    "position; x may be a view, such as the queries in a fused QKV.",
    source=rotary.source("rope", "rope<rotary>"),
    entry="rope",
    parameters=rotary.PARAMETERS,
    shapes=[
        {"batch": 2, "heads": 3, "tokens": 65, "dim": 128, "turned": 128},
        {"batch": 2, "heads": 5, "tokens": 24, "dim": 64, "turned": 64, "interleaved": 1, "dtype": "fp16"},
        {"heads": 3, "tokens": 33, "dim": 96, "turned": 40, "dtype": "fp32", "table": "fp32"},
        {"heads": 2, "tokens": 9, "dim": 100, "turned": 36, "interleaved": 1, "table": "fp32"},
    ],
    inputs=lambda shape, generator: {
        # Like the queries of a fused QKV: a token's heads are contiguous, followed by keys and values.
        "x": torch.randn(
            *(shape["batch"], shape["tokens"], 3, shape["heads"], shape["dim"]), generator=generator
        )
        .to(scalars.FLOATS[shape["dtype"]])[:, :, 0]
        .transpose(1, 2),
        **rotary.tables(shape, generator),
    },
    strided=("x",),
    outputs=lambda shape, inputs: {"out": (inputs["x"].shape, inputs["x"].dtype)},
    reference=reference,
    shape_of=lambda x, cos, sin, positions=None, interleaved=False: rotary.shape_of(
        "rope", x, cos, sin, positions, interleaved
    ),
    define=rotary.define,
    check=rotary.check,
    launch=rotary.launch,
    tunables=rotary.TUNABLES,
    arguments=lambda shape, tensors: {
        **{name: rotary.heads(shape, tensors[name]) for name in ("x", "out")},
        "places": rotary.places(shape, tensors),
    },
    flops=rotary.turns,
    bytes=rotary.moved,
    backward="rotary/rope_backward",
    published=[
        *published(
            "MI355X", OWN, 16, 16, 1024, HipKittens=45.6, PyTorch=281.9, PyTorch_compiled=63.5, AITER=43.3
        ),
        *published(
            "MI355X", OWN, 16, 16, 2048, HipKittens=71.7, PyTorch=541.0, PyTorch_compiled=101.2, AITER=72.7
        ),
        *published(
            "MI355X", OWN, 16, 16, 4096, HipKittens=159.7, PyTorch=1032.2, PyTorch_compiled=238.0, AITER=231.5
        ),
        *published(
            "MI355X", OWN, 16, 16, 8192, HipKittens=307.1, PyTorch=1991.3, PyTorch_compiled=461.2, AITER=459.8
        ),
        *published(
            "MI325X", PORT, 4, 32, 1024, **{"HipKittens (port)": 23.3}, PyTorch=202.9, AITER_Triton=34.2
        ),
        *published(
            "MI325X", PORT, 8, 32, 2048, **{"HipKittens (port)": 67.5}, PyTorch=716.0, AITER_Triton=76.4
        ),
        *published(
            "MI325X", PORT, 16, 32, 4096, **{"HipKittens (port)": 329.9}, PyTorch=2894.4, AITER_Triton=302.7
        ),
    ],
    tensors={
        "x out": "dtype[batch, heads, tokens, dim]",
        "cos sin": "table[places, turned/2]",
        "positions": "int64[tokens] | int64[batch, tokens]",
    },
    indexes={
        "positions": Index("places"),
    },
    notes={
        "x": "heads",
    },
    targets=LIBRARY_TARGETS,
)
