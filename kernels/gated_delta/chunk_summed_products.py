"""Cumulative sums of decays within chunks, and `chunk_products` of them, in one launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from workbench.operators import Choice
from workbench_kernels.families import delta_chunks as family
from workbench_kernels.references.delta_chunks import summed_products

base = family.spec(
    "chunk_summed_products",
    doc="Cumulative sums of g within chunks, and A = tril(beta_i k_i k_j exp(sum_i - sum_j), -1) of each "
    "chunk. With `bounded`, A is zero where the decay is above one.",
    takes=("k", "beta", "g"),
    gives=("sums", "a"),
    inputs=family.raw,
    steps=(family.SUMMED_PRODUCTS.step("products"),),
    reference=summed_products,
    shapes=[
        {"tokens": 130, "keys": 64, "dtype": "bf16"},
        {"tokens": 70, "sequences": 5, "chunk": 16, "keys": 64, "dtype": "fp32"},
        {"tokens": 70, "chunk": 32, "keys": 64, "dtype": "fp32", "bounded": 1},
    ],
    multiplications=lambda shape: shape["chunk"] * shape["keys"],
)


def inputs(shape: family.Shape, generator: torch.Generator) -> dict[str, Any]:
    """Inputs as in a layer; with bounded decays, some are above one, and sums are exact."""
    tensors = {**base.inputs(shape, generator), "bounded": bool(shape["bounded"])}
    if tensors["bounded"]:
        tensors["g"] = torch.randint(-2, 3, tensors["g"].shape, generator=generator) / 16
    return tensors


spec = replace(
    base,
    parameters={
        **base.parameters,
        "bounded": Choice((0, 1), doc="whether products with decays above one are zero"),
    },
    inputs=inputs,
    notes={**base.notes, "bounded": "whether products with decays above one are zero"},
    shape_of=lambda **tensors: {**base.shape_of(**tensors), "bounded": int(tensors["bounded"])},
)
