"""Cross-entropy of rows of logits: inputs, outputs, reference and launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Index, KernelSpec, Tolerance
from workbench_kernels.families import rowwise


def reference(
    x: torch.Tensor, target: torch.Tensor, ignore_index: int = -100
) -> tuple[torch.Tensor, torch.Tensor]:
    """log(sum(exp(x))) - x[target] over the last dimension, zero where the target is `ignore_index`; and the
    logarithm, which backward starts from. Both in float32 at least."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    flat = wide.reshape(-1, x.shape[-1])
    loss = torch.nn.functional.cross_entropy(
        flat, target.flatten(), ignore_index=ignore_index, reduction="none"
    )
    return loss.view(target.shape), wide.logsumexp(-1)


def shape_of(x: torch.Tensor, target: torch.Tensor, ignore_index: int = -100) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    if target.dtype != torch.int64 or target.shape != x.shape[:-1]:
        raise ShapeError(
            f"cross_entropy: target is {tuple(target.shape)} {target.dtype}; expected {tuple(x.shape[:-1])} "
            "torch.int64, a column for each row of x"
        )
    return rowwise.shape_of("cross_entropy", x)


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Logits and targets, a tenth of which are ignored."""
    target = torch.randint(0, shape["cols"], (shape["rows"],), generator=generator)
    target[::10] = -100
    return {"x": rowwise.random(shape, generator, scale=3), "target": target}


def large(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Logits whose exponentials overflow every type."""
    tensors = inputs(shape, generator)
    return {**tensors, "x": tensors["x"] * 3000}


def certain(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Targets far above the rest of their rows: the losses are far smaller than the logits."""
    tensors = inputs(shape, generator)
    used = tensors["target"] >= 0
    tensors["x"][used, tensors["target"][used]] = 12
    return tensors


spec = KernelSpec(
    name="activations/cross_entropy",
    doc="Loss of each row of logits, and the logarithm of its sum of exponentials; sums in float. Each row "
    "is read once, whatever its length.",
    source=rowwise.source("cross_entropy", "cross_entropy<ROW_T, ROW_COLS>"),
    entry="cross_entropy",
    parameters=rowwise.parameters(1 << 20, 32000),
    shapes=[
        {"rows": 32, "cols": 4096, "dtype": "bf16"},
        {"rows": 61, "cols": 10, "dtype": "fp32"},
        {"rows": 3, "cols": 50257, "dtype": "bf16"},
        {"rows": 2, "cols": 128256, "dtype": "fp16"},
    ],
    inputs=inputs,
    hard_inputs={"confident predictions": large, "certain targets": certain},
    outputs=lambda shape, inputs: dict.fromkeys(("loss", "lse"), (inputs["target"].shape, torch.float32)),
    reference=reference,
    shape_of=shape_of,
    define=rowwise.define,
    launch=rowwise.launch(),
    tunables=rowwise.TUNABLES,
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x"),
        **{name: tensors[name].reshape(-1) for name in ("target", "loss", "lse")},
        "ignore_index": tensors["ignore_index"],
    },
    flops=lambda shape: 4 * shape["rows"] * shape["cols"],
    bytes=lambda shape: shape["rows"] * (rowwise.size_of(shape) * shape["cols"] + 16),
    backward="activations/cross_entropy_backward",
    # A loss may be almost zero, and still has all of its digits.
    tolerances={"float32": Tolerance(1.3e-5, 1e-6)},
    tensors={
        "x": "dtype[..., cols]",
        "target": "int64[...]",
        "loss lse": "fp32[...]",
    },
    indexes={
        "target": Index("cols", none="ignore_index"),
    },
    notes={
        "x": "logits",
        "target": "the correct column, or `ignore_index` for a loss of zero",
    },
)
