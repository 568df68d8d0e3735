"""Backward of the split of a fused QKV with rotary position embedding."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Index, KernelSpec, kernels
from workbench_kernels.families import rotary
from workbench_kernels.families.rotary_split import as_heads
from workbench_kernels.references.rotary import split

forward = kernels["rotary/fused_qkv_split_qk_rope"]


def reference(
    dq: torch.Tensor,
    dk: torch.Tensor,
    dv: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None = None,
    interleaved: bool = False,
) -> torch.Tensor:
    """Gradient of qkv: dq and dk rotated back, and dv, concatenated."""
    fused = torch.cat((dq, dk, dv), 1)
    return torch.cat(split(fused, cos, -sin, dq.shape[1], positions, interleaved), 1)


def shape_of(
    dq: torch.Tensor,
    dk: torch.Tensor,
    dv: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None = None,
    interleaved: bool = False,
) -> dict[str, Any]:
    """Shape of a call."""
    # PyTorch's symbolic sizes cannot be hashed.
    sizes = [tuple(d.shape[::2]) if d.dim() == 3 else None for d in (dq, dk, dv)]
    if (
        None in sizes
        or sizes[0] != sizes[1]
        or dk.shape != dv.shape
        or len({d.dtype for d in (dq, dk, dv)}) != 1
    ):
        raise ShapeError(
            f"fused_qkv_split_qk_rope_backward: dq, dk, dv are {tuple(dq.shape)}, {tuple(dk.shape)}, "
            f"{tuple(dv.shape)}; expected tokens x heads x dim, with equal shapes of dk and dv, of one dtype"
        )
    name = "fused_qkv_split_qk_rope_backward"
    shape = rotary.shape_of(name, as_heads(dq), cos, sin, positions, interleaved, called="dq")
    return {**shape, "heads": dq.shape[1] + 2 * dk.shape[1], "queries": dq.shape[1]}


def inputs(shape: Any, generator: torch.Generator) -> dict[str, Any]:
    tensors = dict(forward.inputs(shape, generator))
    fused, heads = tensors.pop("qkv"), tensors.pop("heads")
    keys = (fused.shape[1] - heads) // 2
    return {**dict(zip(("dq", "dk", "dv"), fused.split((heads, keys, keys), 1), strict=True)), **tensors}


spec = KernelSpec(
    name="rotary/fused_qkv_split_qk_rope_backward",
    doc="Gradient of a fused QKV from the gradients of queries, keys and values, which may be views.",
    source=rotary.source("fused_qkv_split_qk_rope_backward", "rope_of_fused<rotary, true>"),
    entry="fused_qkv_split_qk_rope_backward",
    parameters=forward.parameters,
    shapes=forward.shapes,
    inputs=inputs,
    outputs=lambda shape, inputs: {
        "dqkv": ((shape["tokens"], shape["heads"], shape["dim"]), inputs["dq"].dtype)
    },
    reference=reference,
    shape_of=shape_of,
    strided=("dq", "dk", "dv"),
    define=rotary.define,
    check=forward.check,
    launch=rotary.launch,
    tunables=rotary.TUNABLES,
    arguments=lambda shape, tensors: {
        **{name: rotary.heads(shape, as_heads(tensors[f"d{name}"])) for name in ("qkv", "q", "k", "v")},
        "places": rotary.places(shape, tensors, -1.0),
    },
    flops=rotary.turns,
    bytes=rotary.moved,
    tensors={
        "dq": "dtype[tokens, queries, dim] | dtype[batch, tokens, queries, dim]",
        "dk dv": "dtype[tokens, (heads-queries)/2, dim] | dtype[batch, tokens, (heads-queries)/2, dim]",
        "cos sin": "table[places, turned/2]",
        "positions": "int64[tokens] | int64[batch, tokens]",
        "dqkv": "dtype[tokens, heads, dim] | dtype[batch, tokens, heads, dim]",
    },
    indexes={
        "positions": Index("places"),
    },
)
