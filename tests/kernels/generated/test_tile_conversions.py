"""Register tiles from one element type to another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tile_batches import (
    ELEMENTS,
    FP8,
    Batch,
    Family,
    Kernel,
    Make,
    batch_id,
    rounded,
    same_values,
    torch_dtype,
)
from tile_types import Tile, Use, by_tile, sized, uses


def special(dtype: str, arch: str, count: int) -> Make:
    """Zeros, infinities, NaN, numbers that overflow or are denormal in a smaller type, ties, and random
    numbers. For fp8 every code, so that each is compared with PyTorch's value.
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


def copies(arch: str, tile: Tile, types: list[str]) -> Kernel:
    """From one element type to others."""
    tile = tile.on(arch)
    kernel = Kernel(f"copy-{tile.name}", arch)
    kernel.input("x", tile.dtype, tile.held_shape, special(tile.dtype, arch, tile.rows * tile.cols))
    kernel.body = f"{tile.cpp} x; take(x, x_ptr);"
    for to in types:
        other = tile.with_dtype(to)
        kernel.body += f"\n    {other.cpp} as_{to}; copy(as_{to}, x); put(as_{to}, {to}_ptr);"
        kernel.output(to, to, tile.held_shape)
        kernel.case(
            f"copy-to-{to}-{tile.name}", to, lambda g, to=to: converted(g["x"], to, arch), same_values
        )
    return kernel


def kernels(arch: str, chosen: list[Use]) -> Iterator[Kernel]:
    for number, dtype, layout, shape, types in by_tile(arch, chosen):
        yield copies(arch, sized(number, dtype, layout, shape), types)


FAMILY = Family("conversions of tiles", kernels, uses(ELEMENTS, lambda use: use[0] != use[1][1]))


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_conversions(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
