"""Backward of cross-entropy: inputs, outputs, reference and launch."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Index, KernelSpec, Tolerance, kernels
from workbench_kernels.families import rowwise

forward = kernels["activations/cross_entropy"]


def reference(
    dloss: torch.Tensor, x: torch.Tensor, target: torch.Tensor, lse: torch.Tensor, ignore_index: int = -100
) -> torch.Tensor:
    """(exp(x - lse) - (1 where the column is the target)) * dloss, zero for ignored targets."""
    wide = torch.promote_types(x.dtype, torch.float32)
    used = (target != ignore_index)[..., None]
    hot = torch.nn.functional.one_hot(target.where(used[..., 0], 0), x.shape[-1])
    grad = ((x.to(wide) - lse.to(wide)[..., None]).exp() - hot) * dloss.to(wide)[..., None]
    return grad.where(used, 0).to(x.dtype)


def shape_of(
    dloss: torch.Tensor, x: torch.Tensor, target: torch.Tensor, lse: torch.Tensor, ignore_index: int = -100
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    for name, tensor in (("dloss", dloss), ("lse", lse)):
        if tensor.dtype != torch.float32 or tensor.shape != x.shape[:-1]:
            raise ShapeError(
                f"cross_entropy_backward: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected "
                f"{tuple(x.shape[:-1])} torch.float32, a value for each row of x"
            )
    return dict(forward.shape_of(x=x, target=target))


def inputs(shape: Any, generator: torch.Generator) -> dict[str, Any]:
    tensors = forward.inputs(shape, generator)
    lse = tensors["x"].float().logsumexp(-1)
    return {"dloss": torch.randn(shape["rows"], generator=generator), **tensors, "lse": lse}


spec = KernelSpec(
    name="activations/cross_entropy_backward",
    doc="Gradient of the logits from the gradients of each row's loss and of the logarithm of its sum of "
    "exponentials.",
    source=rowwise.source("cross_entropy_backward", "cross_entropy_backward<ROW_T, ROW_COLS>"),
    entry="cross_entropy_backward",
    parameters=forward.parameters,
    shapes=[
        {"rows": 32, "cols": 4096, "dtype": "bf16"},
        {"rows": 61, "cols": 10, "dtype": "fp32"},
        {"rows": 2, "cols": 50257, "dtype": "fp16"},
    ],
    inputs=inputs,
    outputs=lambda shape, inputs: {"dx": (inputs["x"].shape, inputs["x"].dtype)},
    reference=reference,
    shape_of=shape_of,
    define=rowwise.define,
    launch=rowwise.launch(),
    tunables=rowwise.TUNABLES,
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "dx"),
        **{name: tensors[name].reshape(-1) for name in ("target", "lse", "dloss")},
        "ignore_index": tensors["ignore_index"],
    },
    flops=lambda shape: 4 * shape["rows"] * shape["cols"],
    bytes=lambda shape: shape["rows"] * (2 * rowwise.size_of(shape) * shape["cols"] + 16),
    # Probabilities are small: absolute tolerances must be far below 1 / cols. In float, a probability of
    # nearly one is off by 2^-23, since the GPU's exp2 is accurate to one unit in the last place, and so is
    # its difference from one, times dloss, which is below five.
    tolerances={
        "bfloat16": Tolerance(1.6e-2, 1e-6),
        "float16": Tolerance(1e-2, 1e-6),
        "float32": Tolerance(1.3e-5, 5 * 2**-23),
    },
    tensors={
        "x": "dtype[..., cols]",
        "target": "int64[...]",
        "dloss lse": "fp32[...]",
        "dx": "dtype[..., cols]",
    },
    indexes={
        "target": Index("cols", none="ignore_index"),
    },
    notes={
        "x": "logits",
        "target": "the correct column, or `ignore_index` for no gradient",
    },
)
