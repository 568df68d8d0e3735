"""C = A B of groups of rows of A, each with its own matrix of B: the experts of a mixture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Published, Range, Variant
from workbench_kernels.families import gemm as family
from workbench_kernels.references.gemm import grouped_gemm


def shape_of(**given: Any) -> dict[str, Any]:
    """Shape of a call."""
    a, b, offsets, layout = (given[name] for name in ("a", "b", "offsets", "layout"))
    if layout not in ("nt", "nn"):
        raise ShapeError(f"GEMM: layout is {layout!r}; expected 'nt' or 'nn', groups are rows of a")
    if a.dim() != 2 or b.dim() != 3:
        raise ShapeError(
            f"GEMM: a is {tuple(a.shape)}, b is {tuple(b.shape)}; expected (M, K) and a matrix for each group"
        )
    if offsets.dtype != torch.int32 or tuple(offsets.shape) != (b.shape[0] + 1,):
        raise ShapeError(
            f"GEMM: offsets is {tuple(offsets.shape)} {offsets.dtype}; expected ({b.shape[0] + 1},) "
            "torch.int32: the first row of each group, and M"
        )
    sizes = family.sizes_of(a, b[0], layout)
    return {
        **sizes,
        "groups": b.shape[0],
        "dtype": family.dtype_of(a),
        "layout": layout,
        **family.finish_of(given, sizes, a.dtype),
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Groups of random sizes, of which some may be empty."""
    dtype = family.DTYPES[shape["dtype"]]
    m, n, k, groups = (shape[name] for name in ("m", "n", "k", "groups"))
    cuts = torch.randint(0, m + 1, (groups - 1,), generator=generator).sort().values
    offsets = torch.cat([torch.zeros(1), cuts, torch.full((1,), m)]).to(torch.int32)
    weights = (n, k) if shape["layout"] == "nt" else (k, n)
    return {
        "a": torch.randn(m, k, generator=generator).to(dtype),
        "b": torch.randn(groups, *weights, generator=generator).to(dtype),
        "offsets": offsets,
        "layout": shape["layout"],
        **family.finish_inputs(shape, generator, dtype),
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    family.whole_words(shape, {"k": 8} if shape["layout"] == "nt" else {"k": 8, "n": 8})
    family.within_offsets(shape, 2)


def check_ping_pong(shape: Mapping[str, Any], arch: str) -> None:
    """What the 8-wave ping-pong wants."""
    check(shape, arch)
    family.check_fast(shape)


def side(shape: Mapping[str, Any]) -> int:
    """Rows and columns of C that a work-group of the plain loop computes."""
    return 64 if min(shape["m"] // shape["groups"], shape["n"]) <= 64 else 128


def launch(shape: Mapping[str, Any], arch: str, tile: int, threads: int) -> Launch:
    """As many work-groups as any division into groups has tiles: each may end with a part of one."""
    high = -(-shape["m"] // tile) + shape["groups"]
    return Launch(
        grid=high * -(-shape["n"] // tile),
        block=threads,
        dynamic_shared=family.launch(tile, threads)(shape, arch).dynamic_shared,
    )


def operation(schedule: str, shape: Mapping[str, Any], *more: str) -> dict[str, object]:
    """The instance of a schedule."""
    element = family.C_TYPES[shape["dtype"]]
    arguments = (element, element, *more, family.epilogue(shape, element), "groups")
    return {"GEMM": f"{schedule}<{', '.join(arguments)}>"}


PARAMETERS = {
    **family.SIZES,
    "batch": Choice((1,), doc="one list of groups"),
    "m": Range(1, 1 << 20, default=512, doc="rows of A and C, of all groups"),
    "groups": Range(1, 4096, default=8, doc="groups of rows, and matrices in B"),
    "dtype": Choice(tuple(family.DTYPES), doc="element type"),
    "layout": Choice(("nt", "nn"), doc="whether B is N x K (t) or K x N (n)"),
    **{name: p for name, p in family.FINISH.items() if name not in ("alpha", "bias")},
    "bias": Choice((0,), doc="none"),
}

spec = KernelSpec(
    name="gemm/grouped",
    doc="activation(A_g B_g) * gate + beta residual for groups g of rows of A, each with its own matrix of "
    "B; offsets hold each group's first row, and M at the end. bf16 or fp16; sums in float.",
    source=family.SOURCE,
    entry="gemm",
    parameters=PARAMETERS,
    shapes=[
        {"m": 300, "n": 200, "k": 136, "groups": 5},
        {"m": 500, "n": 264, "k": 72, "groups": 2, "layout": "nn"},
    ],
    inputs=inputs,
    outputs=lambda shape, tensors: {"c": ((shape["m"], shape["n"]), tensors["a"].dtype)},
    reference=grouped_gemm,
    shape_of=shape_of,
    define=lambda shape, arch: operation(
        "double_buffer", shape, f"layout::{shape['layout']}", str(side(shape))
    ),
    launch=lambda shape, arch: launch(shape, arch, side(shape), 256),
    check=check,
    variants={
        "ping_pong": Variant(
            lambda shape, arch: family.is_fast(shape) and shape["m"] // shape["groups"] >= 512,
            define=lambda shape, arch: operation("ping_pong", shape),
            launch=lambda shape, arch: launch(shape, arch, 256, 512),
            shapes=[{"m": 700, "n": 264, "k": 136, "groups": 3}],
            check=check_ping_pong,
        ),
        "double_buffer": Variant(),
    },
    flops=family.flops,
    bytes=lambda shape: (
        family.bytes_moved(shape, 2)
        + 2 * (shape["groups"] - 1) * shape["n"] * shape["k"]
        + 4 * (shape["groups"] + 1)
    ),
    published=[
        Published(
            {"m": 16 * 2048, "n": 4096, "k": 7168, "groups": 16},
            rate,
            "TFLOP/s",
            "MI355X",
            who,
            "github.com/AMD-AGI/Primus-Turbo/pull/284",
        )
        for who, rate in (("hipBLASLt", 992), ("Triton", 1271), ("GMM", 1063))
    ],
)
