"""Backward of softmax along rows: inputs, outputs, reference and launch."""

from __future__ import annotations

import torch

from workbench.operators import KernelSpec, Tolerance
from workbench_kernels.families import rowwise


def reference(dout: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """out * (dout - sum(out * dout)) over the last dimension, where out is softmax's result."""
    wide = torch.promote_types(out.dtype, torch.float32)
    product = out.to(wide) * dout.to(wide)
    return (product - out.to(wide) * product.sum(-1, keepdim=True)).to(out.dtype)


spec = KernelSpec(
    name="activations/softmax_backward",
    doc="Gradient of softmax's input from the gradient of its result; sums in float.",
    source=rowwise.source("softmax_backward", "softmax_backward<ROW_T, ROW_COLS>"),
    entry="softmax_backward",
    parameters=rowwise.parameters(1 << 20),
    shapes=[
        {"rows": 64, "cols": 1024, "dtype": "bf16"},
        {"rows": 17, "cols": 77, "dtype": "fp32"},
        {"rows": 3, "cols": 5001, "dtype": "fp16"},
        {"rows": 2, "cols": 33000, "dtype": "bf16"},
    ],
    inputs=lambda shape, generator: {
        "dout": rowwise.random(shape, generator),
        "out": torch.softmax(rowwise.random(shape, generator, scale=3), -1),
    },
    outputs=lambda shape, inputs: {"dx": (inputs["out"].shape, inputs["out"].dtype)},
    reference=reference,
    shape_of=lambda dout, out: rowwise.shape_of("softmax_backward", out, called="out", dout=dout),
    define=rowwise.define,
    launch=rowwise.launch(),
    tunables=rowwise.TUNABLES,
    arguments=lambda shape, tensors: rowwise.flat(tensors, "out", "dout", "dx"),
    flops=lambda shape: 4 * shape["rows"] * shape["cols"],
    bytes=lambda shape: 3 * rowwise.size_of(shape) * shape["rows"] * shape["cols"],
    # Where one element of a row is almost one, dout minus its mean cancels: the difference has the rounding
    # errors of numbers up to eight.
    tolerances={
        "bfloat16": Tolerance(1.6e-2, 1e-6),
        "float16": Tolerance(1e-2, 1e-6),
        "float32": Tolerance(1.3e-5, 1e-6),
    },
    tensors={
        "dout out dx": "dtype[..., cols]",
    },
)
