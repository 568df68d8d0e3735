"""C = A Bᵀ of fp8 matrices with a scale for each row of A and of B."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Published, Range, Tunables, Variant
from workbench_kernels.families import gemm as family
from workbench_kernels.references.gemm import scaled_gemm


def shape_of(**given: Any) -> dict[str, Any]:
    """Shape of a call."""
    a, b, scale_a, scale_b = (given[name] for name in ("a", "b", "scale_a", "scale_b"))
    if given["layout"] not in ("nt", "nn"):
        raise ShapeError(f"GEMM: layout is {given['layout']!r}; expected 'nt' or 'nn'")
    sizes = family.sizes_of(a, b, given["layout"])
    rows, cols = (*a.shape[:-2], sizes["m"]), (*b.shape[:-2], sizes["n"])
    if tuple(scale_a.shape) != rows or tuple(scale_b.shape) != cols:
        raise ShapeError(
            f"GEMM: scale_a is {tuple(scale_a.shape)}, scale_b is {tuple(scale_b.shape)}; expected "
            f"{rows} and {cols}, one for each row of a and of b"
        )
    return {**sizes, "layout": given["layout"], **family.finish_of(given, sizes, torch.bfloat16)}


def inputs(shape: Mapping[str, Any], generator: torch.Generator, size: float = 1.0) -> dict[str, Any]:
    """Rows of differing size, each scaled so that it fills the range of fp8, as quantization does."""
    made: dict[str, Any] = {}
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        wide = size * torch.randn(*family.batch_of(shape), rows, shape["k"], generator=generator)
        wide *= torch.rand(*wide.shape[:-1], 1, generator=generator) + 0.5
        # Of both formats of fp8 the largest number is 240 or more.
        scale = wide.abs().amax(-1) / 240
        made[name] = (wide / scale[..., None]).to(torch.float8_e4m3fn)
        made[f"scale_{name}"] = scale
    return laid_out(made, shape) | family.finish_inputs(shape, generator, torch.bfloat16)


def laid_out(made: dict[str, Any], shape: Mapping[str, Any]) -> dict[str, Any]:
    """Operands with B, drawn as N x K, stored as the layout has it."""
    b = made["b"].mT.contiguous() if shape["layout"] == "nn" else made["b"]
    return {**made, "b": b, "layout": shape["layout"]}


def check(shape: Mapping[str, Any], arch: str) -> None:
    if shape["layout"] == "nn":
        family.whole_words(shape, {"n": 16})
    family.within_offsets(shape, 1)


def check_nt(shape: Mapping[str, Any], arch: str) -> None:
    """What all but the plain loop want."""
    check(shape, arch)
    if shape["layout"] != "nt":
        raise ShapeError(f"GEMM: layout is {shape['layout']!r}; this implementation takes 'nt'")


def check_few_rows(shape: Mapping[str, Any], arch: str) -> None:
    """What the kernel for few rows wants."""
    check_nt(shape, arch)
    if shape["m"] > 64:
        raise ShapeError(f"GEMM: m is {shape['m']}; this implementation takes 1 to 64")


def operation(element: str, schedule: str, shape: Mapping[str, Any], *more: str) -> dict[str, object]:
    """The instance of a schedule."""
    arguments = (element, "bf16", *more, family.epilogue(shape, "bf16", "scale_rows"), *family.order(shape))
    return {"GEMM": f"{schedule}<{', '.join(arguments)}>"}


def is_large(shape: Mapping[str, Any], arch: str) -> bool:
    """Whether tiles of 256 x 256 keep half of the compute units busy."""
    return bool(shape["layout"] == "nt" and family.tiles(shape, 256) * shape["batch"] >= 128)


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    return family.launch(128, 256)(shape, arch)


SHAPES = (
    {"m": 512, "n": 512, "k": 512},
    {"m": 200, "n": 312, "k": 272},
    {"m": 100, "n": 136, "k": 144, "batch": 2, "bias": 1, "activation": "relu"},
)
"""Shapes that every implementation takes."""


def few_rows(element: str) -> Variant:
    """Up to 64 rows of A."""
    return Variant(
        lambda shape, arch: shape["layout"] == "nt" and shape["m"] <= 64,
        define=lambda shape, arch: operation(element, "few_rows", shape, *map(str, family.few_rows(shape))),
        tunables=Tunables(cols=(0, 16, 32)),
        launch=family.launch_few_rows,
        shapes=[{"m": 16, "n": 4096, "k": 4096}, {"m": 5, "n": 136, "k": 528}],
        check=check_few_rows,
    )


def ping_pong(element: str) -> Variant:
    """Many tiles, by 8 waves."""
    return Variant(
        is_large,
        define=lambda shape, arch: operation(element, "ping_pong", shape),
        tunables=Tunables(**family.ORDER),
        launch=family.launch(256, 512),
        shapes=SHAPES,
        check=check_nt,
    )


def double_buffer(element: str) -> Callable[[Mapping[str, Any], str], dict[str, object]]:
    """Macros of the plain loop."""
    return lambda shape, arch: operation(element, "double_buffer", shape, f"layout::{shape['layout']}", "128")


BLOG = "ROCm blog, FP8 GEMM Optimization on AMD CDNA4, table 5"
AITER = "ROCm/aiter e4048607, aiter/configs/a8w8_tuned_gemm.csv"

spec = KernelSpec(
    name="gemm/fp8",
    doc="A B scaled by rows of A and columns of B: A is M x K and B is N x K or K x N of fp8 (e4m3; OCP on "
    "gfx950, fnuz on gfx942) with a float scale for each; activation(... + bias) * gate + beta residual "
    "of bf16; sums in float.",
    source=family.SOURCE,
    entry="gemm",
    parameters={
        **family.SIZES,
        "n": Range(8, 1 << 20, step=8, default=512, doc="columns of C, of which a row is whole 16 bytes"),
        "k": Range(128, 1 << 20, step=16, default=512, doc="columns of A; a row is whole 16 bytes"),
        "layout": Choice(("nt", "nn"), doc="whether B is N x K (t) or K x N (n)"),
        **{name: p for name, p in family.FINISH.items() if name != "alpha"},
    },
    shapes=[
        *SHAPES,
        {"m": 100, "n": 144, "k": 272, "batch": 2, "layout": "nn", "bias": 1},
    ],
    inputs=inputs,
    outputs=family.outputs_bf16,
    reference=scaled_gemm,
    shape_of=shape_of,
    define=double_buffer("fp8e4m3"),
    tunables=Tunables(**family.ORDER),
    launch=launch,
    check=check,
    variants={
        "few_rows": few_rows("fp8e4m3"),
        "interleave": Variant(
            lambda shape, arch: arch == "gfx950" and is_large(shape, arch),
            define=lambda shape, arch: operation("fp8e4m3", "interleave", shape),
            tunables=Tunables(**family.ORDER),
            launch=family.launch(256, 256),
            shapes=SHAPES,
            check=check_nt,
        ),
        "ping_pong": ping_pong("fp8e4m3"),
        "double_buffer": Variant(),
    },
    flops=family.flops,
    bytes=lambda shape: family.bytes_moved(shape, 1) + 4 * shape["batch"] * (shape["m"] + shape["n"]),
    hard_inputs={"large magnitudes": lambda shape, generator: inputs(shape, generator, 1e15)},
    published=[
        *Published.times(
            {"m": 4096, "n": 4096, "k": 4096},
            "MI355X",
            BLOG,
            {"8-wave ping-pong (HIP)": 51.2, "hipBLASLt": 49.97},
        ),
        Published({"m": 8192, "n": 8192, "k": 8192}, 343.0, "us", "MI355X", "8-wave ping-pong (HIP)", BLOG),
        Published({"m": 4096, "n": 7424, "k": 8192}, 232.766, "us", "MI350X or MI355X", "AITER (CK)", AITER),
    ],
)
