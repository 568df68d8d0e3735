"""C_g = A_gᵀ B_g of groups of rows of A and B: the gradients of experts' weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Index, KernelSpec, Range, Tunables
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward, scalars
from workbench_kernels.families.gemm_schedules import Product
from workbench_kernels.references.gemm import grouped_variable_k

PRODUCT = Product(
    element=lambda shape: scalars.C_TYPES[shape["dtype"]],
    result=lambda shape: scalars.C_TYPES[shape["dtype"]],
    epilogue=lambda shape: family.epilogue(shape, scalars.C_TYPES[shape["dtype"]]),
    size=lambda shape: 2,
    check=lambda shape, arch: None,
    problem="groups_of_k",
)
PLAIN = PRODUCT.plain()


def batch_of(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The same work as a batch of products with equal K."""
    none = {"bias": 0, "activation": "none", "gate": 0, "residual": 0}
    sizes = {name: shape[name] for name in ("m", "n", "dtype", "alpha")}
    product = {"batch": shape["groups"], "k": max(shape["k"] // shape["groups"], 1), "layout": "tn"}
    return {**sizes, **product, **none}


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    a, b, offsets = (arguments[name] for name in ("a", "b", "offsets"))
    sizes = family.sizes_of(a, b, "tn")
    if a.dim() != 2:
        raise ShapeError(f"GEMM: a is {tuple(a.shape)}, b is {tuple(b.shape)}; expected (K, M) and (K, N)")
    if offsets.dtype != torch.int32 or offsets.dim() != 1 or offsets.shape[0] < 2:
        raise ShapeError(
            f"GEMM: offsets is {tuple(offsets.shape)} {offsets.dtype}; expected torch.int32: the first row "
            "of each group, then K"
        )
    return {
        **{name: sizes[name] for name in "mnk"},
        "groups": offsets.shape[0] - 1,
        "dtype": family.dtype_of(a),
        "alpha": int(arguments["alpha"] != 1.0),
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator, skewed: bool = False) -> dict[str, Any]:
    """Groups of random sizes, which may be empty; with `skewed`, all rows belong to the last group."""
    k, groups, dtype = shape["k"], shape["groups"], scalars.HALVES[shape["dtype"]]
    cuts = torch.randint(0, 1 if skewed else k + 1, (groups - 1,), generator=generator).sort().values
    return {
        "a": torch.randn(k, shape["m"], generator=generator).to(dtype),
        "b": torch.randn(k, shape["n"], generator=generator).to(dtype),
        "offsets": torch.cat([torch.zeros(1), cuts, torch.full((1,), k)]).to(torch.int32),
        **({"alpha": 0.5} if shape["alpha"] else {}),
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses rows that are not multiples of 16 bytes, and sizes beyond 32-bit offsets."""
    family.whole_words(shape, {"m": 8, "n": 8})
    family.within_offsets(shape, 2)


spec = KernelSpec(
    name="gemm/grouped_variable_k",
    doc="alpha A_gᵀ B_g for groups g of rows of A and B, one matrix per group; offsets holds the first row "
    "of each group, then K. An empty group's matrix is zero. bf16 or fp16; sums in float. This is the "
    "gradient of gemm/grouped for its matrices B.",
    **{
        **PLAIN,
        "define": lambda shape, arch: PLAIN["define"](batch_of(shape), arch),
        "launch": lambda shape, arch: PLAIN["launch"](batch_of(shape), arch),
        "flops": lambda shape: 2 * shape["m"] * shape["n"] * shape["k"],
        "tunables": Tunables(),
        "check": check,
    },
    parameters={
        "m": Range(8, 1 << 20, step=8, default=512, doc="columns of A, rows of a matrix of C"),
        "n": Range(8, 1 << 20, step=8, default=512, doc="columns of B and C"),
        "k": Range(1, 1 << 20, default=512, doc="rows of A and B, over all groups"),
        "groups": Range(1, 4096, default=8, doc="groups of rows, and matrices in C"),
        "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
        "alpha": family.FINISH["alpha"],
    },
    shapes=[
        {"m": 200, "n": 136, "k": 300, "groups": 5},
        {"m": 72, "n": 264, "k": 500, "groups": 2, "dtype": "fp16", "alpha": 1},
    ],
    inputs=inputs,
    outputs=lambda shape, tensors: {
        "c": ((shape["groups"], shape["m"], shape["n"]), tensors["a"].dtype),
    },
    reference=grouped_variable_k,
    backward=gemm_backward.VARIABLE_K,
    shape_of=shape_of,
    bytes=lambda shape: (
        2 * shape["k"] * (shape["m"] + shape["n"])
        + 2 * shape["groups"] * shape["m"] * shape["n"]
        + 4 * (shape["groups"] + 1)
    ),
    hard_inputs={
        "all rows belong to one group": lambda shape, generator: inputs(shape, generator, skewed=True)
    },
    tensors={
        "a": "dtype[k, m]",
        "b": "dtype[k, n]",
        "offsets": "int32[groups+1]",
        "c": "dtype[groups, m, n]",
    },
    indexes={"offsets": Index("k+1")},
    notes={"offsets": "the first row of each group, then K"},
)
