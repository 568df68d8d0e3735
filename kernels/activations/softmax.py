"""Softmax of rows: inputs, outputs, reference and launch."""

from __future__ import annotations

import torch

from workbench.operators import KernelSpec, Tolerance
from workbench.targets import LIBRARY_TARGETS
from workbench_kernels.families import rowwise


def reference(x: torch.Tensor) -> torch.Tensor:
    """exp(x) / sum(exp(x)) over the last dimension."""
    return torch.softmax(x, dim=-1)


spec = KernelSpec(
    name="activations/softmax",
    doc="Softmax of each row; sums in float. Rows of more than 32,768 columns are read twice.",
    source=rowwise.source("softmax", "softmax<ROW_T, ROW_COLS>"),
    entry="softmax",
    parameters=rowwise.parameters(1 << 20),
    shapes=[
        {"rows": 1024, "cols": 1024, "dtype": "bf16"},
        {"rows": 4096, "cols": 128, "dtype": "bf16"},
        {"rows": 128, "cols": 8192, "dtype": "fp32"},
        {"rows": 333, "cols": 2048, "dtype": "fp16"},
        {"rows": 50, "cols": 1000, "dtype": "bf16"},
        {"rows": 17, "cols": 77, "dtype": "fp32"},
        {"rows": 3, "cols": 5001, "dtype": "bf16"},
        {"rows": 2, "cols": 50257, "dtype": "bf16"},
    ],
    inputs=lambda shape, generator: {"x": rowwise.random(shape, generator, scale=3)},
    hard_inputs={
        "large magnitudes": lambda shape, generator: {"x": rowwise.random(shape, generator, scale=1e4)}
    },
    outputs=lambda shape, inputs: {"out": (inputs["x"].shape, inputs["x"].dtype)},
    reference=reference,
    shape_of=lambda x: rowwise.shape_of("softmax", x),
    define=rowwise.define,
    launch=rowwise.launch(),
    tunables=rowwise.TUNABLES,
    arguments=lambda shape, tensors: rowwise.flat(tensors, "x", "out"),
    # A comparison, a subtraction, an exponential, an addition and a multiplication per element.
    flops=lambda shape: 5 * shape["rows"] * shape["cols"],
    bytes=lambda shape: 2 * rowwise.size_of(shape) * shape["rows"] * shape["cols"],
    backward="activations/softmax_backward",
    # Probabilities are small: the absolute tolerance must be far below 1 / cols.
    tolerances={
        "bfloat16": Tolerance(1.6e-2, 1e-6),
        "float16": Tolerance(1e-2, 1e-6),
        "float32": Tolerance(1.3e-5, 1e-8),
    },
    published=rowwise.published(
        "Softmax (D=128, vs AITER Triton)",
        128,
        {
            4096: {"HipKittens (port)": 8.7, "PyTorch": 13.5, "AITER Triton": 27.9},
            16384: {"HipKittens (port)": 21.9, "PyTorch": 26.1, "AITER Triton": 89.3},
            65536: {"HipKittens (port)": 70.7, "PyTorch": 47.2, "AITER Triton": 313.6},
        },
    ),
    tensors={
        "x out": "dtype[..., cols]",
    },
    targets=LIBRARY_TARGETS,
)
