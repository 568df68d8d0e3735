"""C = A Bᵀ of numbers in a microscaled format: fp8, fp6 or fp4 with a power of two for each 32 columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Published, Range, Variant
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_quantized
from workbench_kernels.references.gemm import MICROSCALED, microscaled_gemm

BLOCK = 32
TYPES = {
    "e4m3": "fp8e4m3",
    "e5m2": "fp8e5m2",
    "e2m3": "fp6e2m3_4",
    "e3m2": "fp6e3m2_4",
    "e2m1": "fp4e2m1_2",
}
FP8 = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


def bits(shape: Mapping[str, Any]) -> int:
    """Bits of a number."""
    return MICROSCALED[shape["format"]][0]


def shape_of(**given: Any) -> dict[str, Any]:
    """Shape of a call."""
    format = given["format"]
    if format not in TYPES:
        raise ShapeError(f"GEMM: format is {format!r}; expected one of {', '.join(TYPES)}")
    sizes = family.sizes_of(given["a"], given["b"])
    sizes["k"] = sizes["k"] * 8 // bits({"format": format})
    for name in "ab":
        tensor, scale = given[name], given[f"scale_{name}"]
        wanted = (*tensor.shape[:-1], sizes["k"] // BLOCK)
        if tuple(scale.shape) != wanted or scale.dtype != torch.uint8:
            raise ShapeError(
                f"GEMM: scale_{name} is {tuple(scale.shape)} {scale.dtype}; expected {wanted} torch.uint8, "
                f"one for each {BLOCK} of {sizes['k']} columns of {format}"
            )
    finish = family.finish_of(given, sizes, torch.bfloat16)
    return {**sizes, "format": format, **finish}


def inputs(shape: Mapping[str, Any], generator: torch.Generator, scale: int = 124) -> dict[str, Any]:
    """Numbers of every code, with powers of two from 2^(scale - 127) on."""
    made: dict[str, Any] = {"format": shape["format"]}
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        dims = (*family.batch_of(shape), rows)
        if shape["format"] in FP8:
            numbers = torch.randn(*dims, shape["k"], generator=generator).to(FP8[shape["format"]])
        else:
            width = shape["k"] * bits(shape) // 8
            numbers = torch.randint(0, 256, (*dims, width), generator=generator, dtype=torch.uint8)
        made[name] = numbers
        made[f"scale_{name}"] = torch.randint(
            scale, scale + 7, (*dims, shape["k"] // BLOCK), generator=generator, dtype=torch.uint8
        )
    return made | family.finish_inputs(shape, generator, torch.bfloat16)


def check(shape: Mapping[str, Any], arch: str) -> None:
    family.within_offsets(shape, 1)


FEW_ROWS = gemm_quantized.few_rows(
    lambda shape: f"{TYPES[shape['format']]}, {TYPES[shape['format']]}, powers, powers",
    lambda shape: family.epilogue(shape, "bf16"),
    check,
    [{"m": 16, "n": 256, "k": 512}, {"m": 33, "n": 301, "k": 384, "format": "e4m3"}],
)


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    return family.launch_steps_of(16 * bits(shape))(shape, arch)


spec = KernelSpec(
    name="gemm/mx",
    doc="A Bᵀ of numbers in a format of the OCP microscaling specification: fp8 (e4m3, e5m2; fnuz on "
    "gfx942), fp6 (e2m3, e3m2) or fp4 (e2m1) with a power of two for each 32 columns of a row; "
    "activation(... + bias) * gate + beta residual of bf16; sums in float. By scaled matrix instructions on "
    "gfx950, as bf16 on gfx942.",
    source=family.SOURCE,
    entry="gemm",
    parameters={
        **family.SIZES,
        "k": Range(128, 1 << 20, step=128, default=512, doc="columns of A, along which products are summed"),
        "format": Choice(tuple(TYPES), default="e2m1", doc="format of the numbers"),
        **{name: p for name, p in family.FINISH.items() if name != "alpha"},
    },
    shapes=[
        {"m": 256, "n": 256, "k": 512, "format": "e2m1"},
        {"m": 150, "n": 301, "k": 384, "format": "e4m3"},
        {"m": 150, "n": 200, "k": 640, "format": "e2m3", "batch": 2},
    ],
    inputs=inputs,
    outputs=family.outputs_bf16,
    reference=microscaled_gemm,
    shape_of=shape_of,
    define=lambda shape, arch: {
        "GEMM": f"block_scaled<microscaled<{TYPES[shape['format']]}>, bf16, {family.epilogue(shape, 'bf16')}>"
    },
    launch=launch,
    check=check,
    variants={"few_rows": FEW_ROWS, "double_buffer": Variant()},
    flops=family.flops,
    bytes=lambda shape: (
        family.bytes_moved(shape, 1)
        - shape["batch"] * (shape["m"] + shape["n"]) * shape["k"] * (8 - bits(shape)) // 8
        + shape["batch"] * (shape["m"] + shape["n"]) * shape["k"] // BLOCK
    ),
    hard_inputs={"large magnitudes": lambda shape, generator: inputs(shape, generator, 160)},
    published=[
        Published(
            {"m": 4096, "n": 4096, "k": 32768, "format": "e2m1"},
            rate,
            "TFLOP/s",
            "MI355X",
            f"Gluon, {waves} waves",
            "ROCm/gfx950-gluon-tutorials, kernels/gemm/README.md",
        )
        for waves, rate in ((4, 5189), (8, 4938))
    ],
)
