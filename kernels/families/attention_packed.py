"""Attention of packed sequences: their shapes, inputs and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import attention_forward as forward
from workbench_kernels.families.attention import check_starts


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call: q is (total_q, H, D), k (total_k, H_kv, D), v (total_k, H_kv, D_v)."""
    q, k, v, cu_seqlens_q, cu_seqlens_k = (
        arguments[name] for name in ("q", "k", "v", "cu_seqlens_q", "cu_seqlens_k")
    )
    if q.dim() != 3 or k.dim() != 3 or v.dim() != 3:
        raise ShapeError(
            f"attention: q is {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}; "
            "expected (total_q, H, D), (total_k, H_kv, D) and (total_k, H_kv, D_v)"
        )
    check_starts("cu_seqlens_q", cu_seqlens_q)
    check_starts("cu_seqlens_k", cu_seqlens_k)
    if cu_seqlens_q.shape != cu_seqlens_k.shape:
        raise ShapeError(
            f"attention: cu_seqlens_q has {cu_seqlens_q.numel()} values, cu_seqlens_k "
            f"{cu_seqlens_k.numel()}; expected the same number"
        )
    shape = forward.shape_of(**{**arguments, "q": q[None], "k": k[None], "v": v[None]})
    return {**shape, "batch": cu_seqlens_q.numel() - 1}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Normally distributed q, k and v, cut into sequences of any lengths, empty ones too."""
    dense = forward.inputs({**shape, "batch": 1}, generator)

    def cut(total: int) -> torch.Tensor:
        inner = torch.randint(0, total + 1, (shape["batch"] - 1,), generator=generator).sort().values
        return torch.cat((torch.tensor([0]), inner, torch.tensor([total]))).to(torch.int32)

    return {
        **{name: value[0] if name in ("q", "k", "v") else value for name, value in dense.items()},
        "cu_seqlens_q": cut(shape["queries"]),
        "cu_seqlens_k": cut(shape["keys"]),
    }


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    n, h = shape["queries"], shape["heads"]
    return {"out": ((n, h, shape["dim_v"]), tensors["q"].dtype), "lse": ((h, n), torch.float32)}


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    whole = {name: tensors[name][None] for name in ("q", "k", "v", "out", "lse")}
    return {
        **forward.arguments(shape, {**tensors, **whole}),
        "cu_seqlens_q": tensors["cu_seqlens_q"],
        "cu_seqlens_k": tensors["cu_seqlens_k"],
    }
