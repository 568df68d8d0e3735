"""Backward of the rotary position embedding: rotation by the opposite angles."""

from __future__ import annotations

import dataclasses

import torch

from workbench.operators import Index, kernels
from workbench_kernels.families import rotary
from workbench_kernels.references.rotary import rotate

forward = kernels["rotary/rope"]


def reference(
    dout: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None = None,
    interleaved: bool = False,
) -> torch.Tensor:
    """Gradient of the heads: dout rotated by the same angles in the opposite direction."""
    return rotate(dout, cos, -sin, positions, interleaved)


spec = dataclasses.replace(
    forward,
    name="rotary/rope_backward",
    doc="Gradient of the heads from the gradient of the rotated heads; dout may be a view.",
    shapes=forward.shapes[:2],
    inputs=lambda shape, generator: {
        {"x": "dout"}.get(name, name): value for name, value in forward.inputs(shape, generator).items()
    },
    strided=("dout",),
    outputs=lambda shape, inputs: {"dx": (inputs["dout"].shape, inputs["dout"].dtype)},
    reference=reference,
    shape_of=lambda dout, cos, sin, positions=None, interleaved=False: rotary.shape_of(
        "rope_backward", dout, cos, sin, positions, interleaved, called="dout"
    ),
    arguments=lambda shape, tensors: {
        "x": rotary.heads(shape, tensors["dout"]),
        "out": rotary.heads(shape, tensors["dx"]),
        "places": rotary.places(shape, tensors, -1.0),
    },
    backward=None,
    published=[],
    tensors={
        "dout dx": "dtype[batch, heads, tokens, dim]",
        "cos sin": "table[places, turned/2]",
        "positions": "int64[tokens] | int64[batch, tokens]",
    },
    indexes={
        "positions": Index("places"),
    },
)
