"""Gradients of attention of packed sequences: shapes, inputs and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from workbench.operators import Step
from workbench_kernels.families import attention_backward as dense
from workbench_kernels.families import attention_packed as packed
from workbench_kernels.references.attention import attention_packed

WHOLE = ("q", "k", "v", "out", "dout", "lse", "dlse", "dq", "dk", "dv")
"""Tensors to which the kernels expect a leading dimension of 1."""


def _whole(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: x[None] for name in WHOLE if (x := tensors.get(name)) is not None}


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call: that of the forward pass, with out and dout like q, and lse and dlse (H, total_q)."""
    names = ("cu_seqlens_q", "cu_seqlens_k")
    shape = packed.shape_of(**arguments)
    dense.shape_of(**{name: x for name, x in {**arguments, **_whole(arguments)}.items() if name not in names})
    return shape


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Inputs of the forward pass, its results, and normally distributed gradients of them."""
    tensors = packed.inputs(shape, generator)
    wide = {k: v.float() if k in ("q", "k", "v") else v for k, v in tensors.items()}
    return dense.with_gradients(tensors, attention_packed(**wide), generator)


def workspace(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Workspace for the terms of each query's logits and row of dP; each sequence's length is rounded up."""
    rows = (shape["queries"] // dense.PADDED + shape["batch"]) * dense.PADDED
    dims = (1, shape["heads"], rows)
    return {"shift": (dims, torch.float32), "delta": (dims, torch.float32)}


def workspace_by_atomics(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The same workspace, and sums of dQ, initially zero."""
    return dense.with_sums(workspace(shape, tensors), shape)


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    starts = {name: tensors[name] for name in ("cu_seqlens_q", "cu_seqlens_k")}
    return {**dense.arguments(shape, {**tensors, **_whole(tensors)}), **starts}


def of_packed(steps: list[Step]) -> list[Step]:
    """The steps of the backward pass of attention/backward, with these arguments."""
    return [replace(step, arguments=arguments) for step in steps]
