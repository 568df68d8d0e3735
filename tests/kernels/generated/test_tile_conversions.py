"""Register tiles from one type, layout or orientation to another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tile_batches import (
    ELEMENTS,
    FP8,
    Case,
    Family,
    Kernel,
    Make,
    case_id,
    equal,
    rounded,
    same_values,
    torch_dtype,
)
from tile_types import ALL_SHAPES, LAYOUTS, Tile, distinct, has_layout, layouts_of_tiles, sized


def special(dtype: str, arch: str, count: int) -> Make:
    """Zeros, infinities, NaN, what overflows or is denormal in a smaller type, ties, and random numbers.

    Of fp8 every code, so that each is seen to be what PyTorch takes it for.
    """

    def make(generator: torch.Generator) -> torch.Tensor:
        kind = torch_dtype(dtype, arch)
        codes = torch.arange(count) % 256
        fp8 = codes.to(torch.uint8).view(FP8[arch])
        if dtype == "fp8e4m3":
            return fp8[torch.randperm(count, generator=generator)]
        named = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, 6e-8, 3e38, -65519.0, 65520.0]
        beyond = [448.0, 464.0, 465.0, 240.0, 248.0, 249.0, -1000.0]
        # Halfway between two neighbours of bf16 and half; of fp8 between any two.
        ties = [1 + (2 * i + 1) * 2.0**-e for e in (9, 12) for i in range(4)]
        finite = fp8.double()[fp8.double().isfinite()].unique()
        middles = (finite[1:] + finite[:-1]) / 2
        fixed = torch.cat([torch.tensor(named + beyond + ties, dtype=torch.float64), middles[::2]])
        drawn = torch.randn(max(0, count - len(fixed)), generator=generator).double()
        drawn *= 10 ** (torch.rand(len(drawn), generator=generator).double() * 6 - 3)
        return torch.cat([fixed, drawn])[:count].to(kind)

    return make


def converted(values: torch.Tensor, dtype: str, arch: str) -> torch.Tensor:
    return rounded(values.double(), dtype, arch)


def copies(arch: str, tile: Tile) -> Kernel:
    """From one element type to each other."""
    kernel = Kernel(f"copy-{tile.name}", arch)
    kernel.input("x", tile.dtype, tile.held_shape, special(tile.dtype, arch, tile.rows * tile.cols))
    kernel.body = f"{tile.cpp} x; take(x, x_ptr);"
    for to in ELEMENTS:
        if to == tile.dtype:
            continue
        other = tile.with_dtype(to)
        kernel.body += f"\n    {other.cpp} as_{to}; copy(as_{to}, x); put(as_{to}, {to}_ptr);"
        kernel.output(to, to, tile.held_shape)
        kernel.case(
            f"copy-to-{to}-{tile.name}", to, lambda g, to=to: converted(g["x"], to, arch), same_values
        )
    return kernel


def turned(shape: str) -> str:
    rows, cols, stride = ALL_SHAPES[shape]
    return f"rt_shape<{cols}, {rows}, {stride}>"


def moves(arch: str, tile: Tile) -> Iterator[Kernel]:
    """Transposition, and the other layout."""
    other_layout = LAYOUTS[1 - LAYOUTS.index(tile.layout)]
    kernel = Kernel(f"move-{tile.name}", arch)
    size = tile.rows, tile.cols
    kernel.input("x", tile.dtype, size, distinct(tile.dtype, arch, size[0] * size[1]))
    kernel.derive("held_x", tile.dtype, tile.held_shape, lambda g: tile.held(g["x"]))
    across = Tile(tile.dtype, tile.cols, tile.rows, other_layout, turned(tile.shape))
    kernel.body = f"""{tile.cpp} x; take(x, held_x_ptr);
    {across.cpp} t; transpose(t, x); put(t, transposed_ptr);"""
    kernel.output("transposed", tile.dtype, across.held_shape)
    kernel.case(f"transpose-{tile.name}", "transposed", lambda g: across.held(g["x"].T), equal)
    if has_layout(tile.shape, other_layout):
        swapped = Tile(tile.dtype, tile.rows, tile.cols, other_layout, tile.shape)
        kernel.body += f"""
    {swapped.cpp} s; swap_layout(s, x); put(s, swapped_ptr);
    put(swap_layout_inplace(x), inplace_ptr);"""
        for name, what in (("swapped", "swap_layout"), ("inplace", "swap_layout_inplace")):
            kernel.output(name, tile.dtype, swapped.held_shape)
            kernel.case(f"{what}-{tile.name}", name, lambda g: swapped.held(g["x"]), equal)
    yield kernel


def kernels(arch: str) -> Iterator[Kernel]:
    for number, dtype, layout, shape in layouts_of_tiles():
        yield copies(arch, sized(number, dtype, layout, shape))
        yield from moves(arch, sized(number + 1, dtype, layout, shape, 8))


FAMILY = Family("conversions of tiles", kernels)


@pytest.mark.parametrize("case", FAMILY.cases(), ids=case_id)
def test_conversions(case: Case) -> None:
    case.run()
