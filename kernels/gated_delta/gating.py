"""Decays and strengths from a layer's projections."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import KernelSpec, Launch
from workbench_kernels.families import rowwise, scalars
from workbench_kernels.families.experts import fits


def reference(
    a_log: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    dt_bias: torch.Tensor,
    softplus_beta: float = 1.0,
    softplus_threshold: float = 20.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """g = -exp(a_log) softplus(a + dt_bias) and beta = sigmoid(b); a, b (.., H), a_log and dt_bias (H)."""
    wide = torch.promote_types(a.dtype, torch.float32)
    steps = torch.nn.functional.softplus(a.to(wide) + dt_bias, softplus_beta, softplus_threshold)
    return -a_log.exp() * steps, torch.sigmoid(b.to(wide))


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call; every dimension of a but the last counts as rows."""
    shape = rowwise.shape_of("gating", arguments["a"], called="a", b=arguments["b"])
    heads = {name: (arguments[name], scalars.WIDE, (shape["cols"],)) for name in ("a_log", "dt_bias")}
    fits("gating", **heads)
    return shape


spec = KernelSpec(
    name="gated_delta/gating",
    doc="g = -exp(a_log) softplus(a + dt_bias) and beta = sigmoid(b) for each token and head.",
    source="""#include "families/delta_gates.cuh"
using namespace kittens::families;
__global__ __launch_bounds__(delta_gates::THREADS) void
gating(const delta_gates::gating<ROW_T> g) { g.run(); }
""",
    entry="gating",
    parameters=rowwise.parameters(1 << 16, 32),
    shapes=[{"rows": 100, "cols": 32, "dtype": "fp32"}, {"rows": 77, "cols": 5, "dtype": "bf16"}],
    inputs=lambda shape, generator: {
        "a_log": torch.rand(shape["cols"], generator=generator) * 3,
        "a": rowwise.random(shape, generator, scale=4),
        "b": rowwise.random(shape, generator, scale=2),
        "dt_bias": torch.rand(shape["cols"], generator=generator),
        "softplus_threshold": 20.0 if shape["rows"] % 2 else 5.0,
    },
    outputs=lambda shape, tensors: dict.fromkeys(("g", "beta"), (tensors["a"].shape, torch.float32)),
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {"ROW_T": scalars.QUALIFIED[shape["dtype"]]},
    launch=lambda shape, arch: Launch(-(-shape["rows"] * shape["cols"] // 256), 256),
    arguments=lambda shape, tensors: {
        **{name: tensors[name].contiguous() for name in ("a_log", "a", "b", "dt_bias")},
        **{name: tensors[name] for name in ("g", "beta", "softplus_beta", "softplus_threshold")},
        **{"count": shape["rows"] * shape["cols"], "heads": shape["cols"]},
    },
    flops=lambda shape: 20 * shape["rows"] * shape["cols"],
    bytes=lambda shape: (8 + 2 * rowwise.size_of(shape)) * shape["rows"] * shape["cols"],
    # With a threshold of 5, the definition itself jumps from the logarithm to x.
    hard_inputs={
        "large arguments": lambda shape, generator: {
            "a_log": torch.zeros(shape["cols"]),
            "a": rowwise.random(shape, generator, scale=60),
            "b": rowwise.random(shape, generator, scale=60),
            "dt_bias": torch.zeros(shape["cols"]),
        },
    },
    tensors={
        "a_log dt_bias": "fp32[cols]",
        "a b": "dtype[..., cols]",
        "g beta": "fp32[..., cols]",
    },
    notes={
        "a": "input of the decays",
        "b": "input of beta",
        "g": "logarithms of decays",
        "beta": "fraction of the error that is corrected",
    },
)
