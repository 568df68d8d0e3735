"""Backward of a product's epilogue: activation, gate and bias."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Launch, Range, Step
from workbench.targets import WAVE
from workbench_kernels.families import normalization, rowwise, scalars
from workbench_kernels.families.elementwise import dtype_of, like
from workbench_kernels.references.gemm import ACTIVATIONS

NAME = "gemm/epilogue_backward"
RESULTS = ("z", "gate", "bias", "c")
SOURCE = """#include "families/gemm_backward.cuh"
using namespace kittens;
using operation = families::epilogue_backward<ELEMENT, families::activation::FUNCTION, HAS_Z, HAS_GATE>;
__global__ __launch_bounds__(operation::threads) void epilogue_backward(const operation::arguments g) {
    operation::run(g);
}
using summing = families::column_sums<ELEMENT, -1>;
__global__ __launch_bounds__(summing::threads) void column_sums(const summing::arguments g) {
    summing::run(g);
}
"""


def reference(
    dc: torch.Tensor,
    z: torch.Tensor | None = None,
    gate: torch.Tensor | None = None,
    activation: str = "none",
    wanted: str = "z",
) -> tuple[torch.Tensor, ...]:
    """For c = activation(z) * gate: dz, dgate, dz summed over rows, c; empty where `wanted` lacks a name."""
    with torch.enable_grad():
        leaf = (torch.zeros_like(dc) if z is None else z).detach().requires_grad_()
        value = ACTIVATIONS[activation](leaf)
        output = value if gate is None else value * gate
        (dz,) = torch.autograd.grad(output, leaf, dc)
    sums = dz.sum(-2, keepdim=dc.dim() == 3)
    results = dict(zip(RESULTS, (dz, dc * value, sums, output), strict=True))
    return tuple(x.detach() if name in wanted.split() else dc.new_empty(0) for name, x in results.items())


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    dc, z, gate, results = (arguments[name] for name in ("dc", "z", "gate", "wanted"))
    dtype = dtype_of(NAME, "dc", dc)
    if dc.dim() not in (2, 3) or dc.numel() == 0:
        raise ShapeError(f"{NAME}: dc is {tuple(dc.shape)}; expected (M, N), or a batch of them")
    for name, tensor in (("z", z), ("gate", gate)):
        if tensor is not None:
            like(NAME, name, tensor, tuple(dc.shape), dc.dtype)
    if arguments["activation"] not in ACTIVATIONS or not set(results.split()) <= set(RESULTS):
        raise ShapeError(
            f"{NAME}: activation is {arguments['activation']!r}, wanted {results!r}; expected one of "
            f"{', '.join(ACTIVATIONS)}, and some of {', '.join(RESULTS)}"
        )
    return {
        "batch": dc.shape[0] if dc.dim() == 3 else 1,
        "rows": dc.shape[-2],
        "cols": dc.shape[-1],
        "dtype": dtype,
        "activation": arguments["activation"],
        "has_z": int(z is not None),
        "has_gate": int(gate is not None),
        **{f"of_{name}": int(name in results.split()) for name in RESULTS},
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses results that cannot be computed from the given tensors."""
    wants_z = shape["activation"] != "none" or shape["of_gate"] or shape["of_c"]
    if not any(shape[f"of_{name}"] for name in RESULTS):
        raise ShapeError(f"{NAME}: wanted is empty; expected some of {', '.join(RESULTS)}")
    if (wants_z and not shape["has_z"]) or (shape["of_gate"] and not shape["has_gate"]):
        raise ShapeError(
            f"{NAME}: {'z' if wants_z and (not shape['has_z']) else 'gate'} is None; expected z for an "
            "activation, the gate's gradient or c, and gate for the gate's gradient"
        )


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Matrices of normally distributed values."""
    dims = (*((shape["batch"],) if shape["batch"] > 1 else ()), shape["rows"], shape["cols"])
    there = ("dc", *(name for name in ("z", "gate") if shape[f"has_{name}"]))
    tensors = {
        name: torch.randn(dims, generator=generator).to(scalars.HALVES[shape["dtype"]]) for name in there
    }
    results = " ".join(name for name in RESULTS if shape[f"of_{name}"])
    return {**tensors, "activation": shape["activation"], "wanted": results}


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    dc = tensors["dc"]
    sums = (shape["cols"],) if dc.dim() == 2 else (shape["batch"], 1, shape["cols"])
    dims = {"z": dc.shape, "gate": dc.shape, "bias": sums, "c": dc.shape}
    return {
        name if name == "c" else f"d{name}": (dims[name] if shape[f"of_{name}"] else (0,), dc.dtype)
        for name in RESULTS
    }


def workspace(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Sums of dz over the rows of each work-group."""
    dims = (shape["batch"], launch(shape, "").grid[1], shape["cols"])
    return {"parts": (dims, torch.float32)} if shape["of_bias"] else {}


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group for 64 columns and several blocks of 64 rows, enough to keep 256 compute units busy."""
    wide = -(-shape["cols"] // 64)
    high = min(-(-shape["rows"] // 64), -(-1024 // (wide * shape["batch"])))
    return Launch(grid=(wide, high, shape["batch"]), block=256)


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    flags = {"dz": "of_z", "dgate": "of_gate", "c": "of_c"}
    return {
        "dc": tensors["dc"],
        **{name: tensors[name] for name in ("z", "gate")},
        **{name: tensors[name] if shape[of] else None for name, of in flags.items()},
        "parts": tensors["parts"] if shape["of_bias"] else None,
    }


spec = KernelSpec(
    name=NAME,
    doc="Gradients of c = activation(z) * gate for z and the gate, sums of dz over rows (the bias's "
    "gradient), and c recomputed; only those requested. z is the product plus bias; sums in float.",
    source=SOURCE,
    parameters={
        "batch": Range(1, 65535, default=1, doc="matrices"),
        "rows": Range(1, 1 << 20, default=4096),
        "cols": Range(1, 1 << 20, default=4096),
        "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
        "activation": Choice(tuple(ACTIVATIONS), doc="function of z"),
        "has_z": Choice((0, 1), doc="whether z is passed"),
        "has_gate": Choice((0, 1), doc="whether there is a gate"),
        **{f"of_{name}": Choice((0, 1), doc=f"whether {name} is requested") for name in RESULTS},
    },
    shapes=[
        {"rows": 200, "cols": 312, "of_z": 1, "of_bias": 1, "has_z": 1, "activation": "gelu"},
        {"batch": 2, "rows": 70, "cols": 131, "of_bias": 1},
        {
            **{"rows": 33, "cols": 72, "has_z": 1, "has_gate": 1, "activation": "silu"},
            **{f"of_{name}": 1 for name in RESULTS},
        },
    ],
    inputs=inputs,
    outputs=outputs,
    reference=reference,
    shape_of=shape_of,
    check=check,
    define=lambda shape, arch: {
        "ELEMENT": scalars.QUALIFIED[shape["dtype"]],
        "FUNCTION": shape["activation"],
        "HAS_Z": str(bool(shape["has_z"])).lower(),
        "HAS_GATE": str(bool(shape["has_gate"])).lower(),
    },
    workspace=workspace,
    tensors={
        "dc z gate": "dtype[..., rows, cols]",
        "dz dgate": "dtype[..., rows, cols] | dtype[none]",
        "dbias": "dtype[cols] | dtype[batch, 1, cols] | dtype[none]",
        "c": "dtype[..., rows, cols] | dtype[none]",
    },
    notes={
        "dc": "gradient of c",
        "z": "product plus bias; if None, there can be no activation, gradient of the gate, or c",
        "gate": "factor of each element; if None, there is no gate",
        "wanted": "which of z, gate and bias (their gradients) and c to compute; the others are empty",
        "c": "c, recomputed",
        "dz": "gradient of z",
        "dbias": "dz summed over rows",
    },
    steps=(
        Step("elements", "epilogue_backward", launch, arguments=arguments),
        Step(
            "bias",
            "column_sums",
            lambda shape, arch: Launch(grid=(-(-shape["cols"] // 64), shape["batch"]), block=8 * WAVE),
            arguments=lambda shape, tensors: {"parts": tensors["parts"], "out": tensors["dbias"]},
            when=lambda shape, arch: bool(shape["of_bias"]),
        ),
    ),
    tolerances={"dbias": lambda shape: normalization.summed(shape)},
    flops=lambda shape: 10 * shape["batch"] * shape["rows"] * shape["cols"],
    bytes=lambda shape: (
        rowwise.size_of(shape)
        * shape["batch"]
        * shape["cols"]
        * (
            shape["rows"] * (1 + sum(shape[x] for x in ("has_z", "has_gate", "of_z", "of_gate", "of_c")))
            + shape["of_bias"]
        )
    ),
)
