"""C = A Bᵀ of int8 matrices with a scale for each row of A and of B."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from workbench.spec import Published, Range, Variant
from workbench_kernels.families import gemm as family
from workbench_kernels.gemm import fp8


def inputs(shape: Mapping[str, Any], generator: torch.Generator, largest: bool = False) -> dict[str, Any]:
    """Random codes, or only the largest, with scales of differing size."""
    made: dict[str, Any] = {}
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        dims = (*family.batch_of(shape), rows)
        codes = torch.randint(-128, 128, (*dims, shape["k"]), generator=generator)
        made[name] = (torch.where(codes < 0, -128, 127) if largest else codes).to(torch.int8)
        made[f"scale_{name}"] = (torch.rand(dims, generator=generator) + 0.5) / 128
    return fp8.laid_out(made, shape) | family.finish_inputs(shape, generator, torch.bfloat16)


spec = dataclasses.replace(
    fp8.spec,
    name="gemm/int8",
    doc="A B scaled by rows of A and columns of B: A is M x K and B is N x K or K x N of int8 with a float "
    "scale for each; activation(... + bias) * gate + beta residual of bf16; sums in int32, which K up "
    "to 131,071 does not overflow.",
    inputs=inputs,
    define=fp8.double_buffer("int8"),
    variants={
        "few_rows": fp8.few_rows("int8"),
        "ping_pong": fp8.ping_pong("int8"),
        "double_buffer": Variant(),
    },
    parameters={
        **fp8.spec.parameters,
        "k": Range(128, 131056, step=16, default=512, doc="columns of A; a row is whole 16 bytes"),
    },
    hard_inputs={"largest codes": lambda shape, generator: inputs(shape, generator, largest=True)},
    published=[
        Published(
            {"m": 1024, "n": 800, "k": 5120},
            15.524,
            "us",
            "MI350X or MI355X",
            "AITER (CK)",
            "ROCm/aiter e4048607, aiter/configs/a8w8_tuned_gemm.csv",
        )
    ],
)
