"""Matrix multiplication of register tiles: the four forms, every type and base shape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tile_batches import LANES, Batch, Family, Inputs, Kernel, batch_id, close, same_values
from tile_types import ALL_SHAPES, SCALED_SHAPES, SHAPES, Tile, integers, normal, turned

from workbench.targets import LIBRARY_TARGETS, TILE_TARGETS

FORMS = ("AB", "ABt", "AtB", "AtBt")

OPERANDS = [shape for shape in SHAPES if shape != "rt_16x128_s"]
"""Base shapes of operands of 2 bytes an element, M (N) by K; rt_16x128_s is for fp8."""

OPERANDS_FP8 = [shape for shape in SHAPES if shape != "rt_16x16_s"]
"""The same of fp8: 16 columns of it are 4 bytes a lane, and the instructions take 8 or more."""

SIZES = ((1, 1, 1), (2, 1, 2), (1, 2, 1), (2, 2, 1), (1, 3, 2))
"""M, N and K in base tiles."""


def kernel_of(arch: str, number: int, form: str, dtype: str, shape: str, layout: str) -> Kernel:
    side, depth, _ = ALL_SHAPES[shape]
    m, n, k = (a * b for a, b in zip(SIZES[number % len(SIZES)], (side, side, depth), strict=True))
    name = f"{form}-{dtype}-{shape}-{layout}-{m}x{n}x{k}"
    a_turned, b_turned = form.startswith("At"), form.endswith("Bt")
    across = turned(shape, LANES[arch])
    a = Tile(dtype, k, m, "col_l", across) if a_turned else Tile(dtype, m, k, "row_l", shape)
    b = Tile(dtype, n, k, "row_l", shape) if b_turned else Tile(dtype, k, n, "col_l", across)
    c = Tile("float", m, n, layout, f"rt_{side}x{side}_s")
    a, b, c = a.on(arch), b.on(arch), c.on(arch)
    kernel = Kernel(name, arch)
    for suffix, make in (("", integers), ("_random", normal)):
        kernel.input(f"a{suffix}", dtype, (m, k), make(dtype, arch, m, k))
        kernel.input(f"b{suffix}", dtype, (k, n), make(dtype, arch, k, n))
        kernel.input(f"c{suffix}", "float", (m, n), make("float", arch, m, n))
    for suffix in ("", "_random"):
        kernel.derive(
            f"held_a{suffix}",
            dtype,
            a.held_shape,
            lambda g, s=suffix: a.held(g[f"a{s}"].T if a_turned else g[f"a{s}"]),
        )
        kernel.derive(
            f"held_b{suffix}",
            dtype,
            b.held_shape,
            lambda g, s=suffix: b.held(g[f"b{s}"].T if b_turned else g[f"b{s}"]),
        )
        kernel.derive(f"held_c{suffix}", "float", c.held_shape, lambda g, s=suffix: c.held(g[f"c{s}"]))
    for output in ("d", "twice", "random"):
        kernel.output(output, "float", c.held_shape)
    kernel.body = f"""{a.cpp} a; {b.cpp} b; {c.cpp} c, d;
    take(a, held_a_ptr); take(b, held_b_ptr); take(c, held_c_ptr);
    mma_{form}(d, a, b, c); put(d, d_ptr);
    mma_{form}(d, a, b, d); put(d, twice_ptr);
    take(a, held_a_random_ptr); take(b, held_b_random_ptr); take(c, held_c_random_ptr);
    mma_{form}(c, a, b, c); put(c, random_ptr);"""

    def product(inputs: Inputs, times: int, suffix: str = "") -> torch.Tensor:
        total = times * (inputs[f"a{suffix}"].double() @ inputs[f"b{suffix}"].double())
        return c.held(total + inputs[f"c{suffix}"].double()).float()

    # Products and sums of small integers are exact in float in any order.
    kernel.case(f"mma_{name}", "d", lambda g: product(g, 1), same_values)
    kernel.case(f"mma_{name}-in-place", "twice", lambda g: product(g, 2), same_values)
    # K sums of up to about K in size, each rounded to half a unit; the order is the hardware's.
    off = close(0, k * k * 2.0**-24)
    kernel.case(f"mma_{name}-random", "random", lambda g: product(g, 1, "_random"), off)
    return kernel


SHAPES_OF = {
    "bf16": [*OPERANDS, *SCALED_SHAPES],
    "half": [*OPERANDS, *SCALED_SHAPES],
    "float": OPERANDS,
    "fp8e4m3": [*OPERANDS_FP8, *SCALED_SHAPES],
}

Product = tuple[tuple[str, str, str], str, str]
"""Target, element type and base shape, which choose the instruction; form; layout of the accumulator."""


def shapes_of(arch: str, dtype: str) -> list[str]:
    """Base shapes of operands. WMMA has 16 rows, and on gfx1201 and gfx1100 no float operands."""
    if arch in TILE_TARGETS:
        return SHAPES_OF[dtype]
    return (
        []
        if (arch, dtype) in (("gfx1201", "float"), ("gfx1100", "float"), ("gfx1100", "fp8e4m3"))
        else [shape for shape in SHAPES_OF["bf16"] if ALL_SHAPES[shape][0] == 16]
    )


ROWS = [
    ((arch, dtype, shape), form, layout)
    for arch in LIBRARY_TARGETS
    for dtype in SHAPES_OF
    for form in FORMS
    for shape in shapes_of(arch, dtype)
    for layout in ("col_l", "row_l")
]


def kernels(arch: str, products: list[Product]) -> Iterator[Kernel]:
    for number, row in enumerate(ROWS):
        (target, dtype, shape), form, layout = row
        if target == arch and row in products:
            yield kernel_of(arch, number, form, dtype, shape, layout)


FAMILY = Family("matrix multiplication", kernels, ROWS, per_batch=48)


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_mma(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
