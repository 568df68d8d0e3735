"""Register tiles transposed, and from one layout to the other, in every type and base shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tile_batches import LANES, Batch, Family, Kernel, batch_id, equal
from tile_types import LAYOUTS, Tile, distinct, has_layout, layouts_of_tiles, sized, turned


def kernel_of(arch: str, tile: Tile) -> Kernel:
    """Transposition, and the other layout."""
    tile = tile.on(arch)
    other_layout = LAYOUTS[1 - LAYOUTS.index(tile.layout)]
    kernel = Kernel(f"move-{tile.name}", arch)
    size = tile.rows, tile.cols
    kernel.input("x", tile.dtype, size, distinct(tile.dtype, arch, size[0] * size[1]))
    kernel.derive("held_x", tile.dtype, tile.held_shape, lambda g: tile.held(g["x"]))
    across = Tile(tile.dtype, tile.cols, tile.rows, other_layout, turned(tile.shape, tile.lanes)).on(arch)
    kernel.body = f"""{tile.cpp} x; take(x, held_x_ptr);
    {across.cpp} t; transpose(t, x); put(t, transposed_ptr);"""
    kernel.output("transposed", tile.dtype, across.held_shape)
    kernel.case(f"transpose-{tile.name}", "transposed", lambda g: across.held(g["x"].T), equal)
    if has_layout(tile.shape, other_layout, tile.lanes):
        swapped = replace(tile, layout=other_layout)
        kernel.body += f"""
    {swapped.cpp} s; swap_layout(s, x); put(s, swapped_ptr);
    put(swap_layout_inplace(x), inplace_ptr);"""
        for name, function in (("swapped", "swap_layout"), ("inplace", "swap_layout_inplace")):
            kernel.output(name, tile.dtype, swapped.held_shape)
            kernel.case(f"{function}-{tile.name}", name, lambda g: swapped.held(g["x"]), equal)
    return kernel


def kernels(arch: str) -> Iterator[Kernel]:
    for number, dtype, layout, shape in layouts_of_tiles(LANES[arch]):
        yield kernel_of(arch, sized(number + 1, dtype, layout, shape, 8))


FAMILY = Family("layouts of tiles", kernels)


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_layouts(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
