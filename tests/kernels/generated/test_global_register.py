"""Register tiles from and to global memory: types, layouts, base shapes, coordinates, edges, conversions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tile_batches import (
    ELEMENTS,
    LANES,
    Batch,
    Family,
    Inputs,
    Kernel,
    batch_id,
    poisoned,
    rounded,
    same_values,
)
from tile_types import LAYOUTS, SHAPES, Tile, distinct, has_layout, layouts_of_tiles, normal, sized


def numel(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


def like(values: torch.Tensor) -> torch.Tensor:
    return poisoned(tuple(values.shape), values.dtype)


def whole(arch: str, tile: Tile, number: int) -> Kernel:
    """One tile of a four-dimensional tensor, at a coordinate in tiles or in elements."""
    tile = tile.on(arch)
    name = f"{tile.name}-at-{'tile' if number % 2 else 'element'}"
    kernel = Kernel(f"whole-{name}", arch)
    shape = (2, 2, 2 * tile.rows, 2 * tile.cols)
    kernel.input("x", tile.dtype, shape, distinct(tile.dtype, arch, numel(shape)))
    kernel.derive("held_x", tile.dtype, tile.held_shape, lambda g: tile.held(at(g["x"])))
    kernel.output("loaded", tile.dtype, tile.held_shape)
    kernel.output("stored", tile.dtype, shape)
    rows, cols = tile.rows, tile.cols
    if number % 2:
        coordinate, first = "{1, 0, 1, 1}", (1, 0, rows, cols)
    else:
        # A position that is only a multiple of the elements that a lane moves at once.
        coordinate, first = f"coord<>{{0, 1, 3, {tile.base[2]}}}", (0, 1, 3, tile.base[2])

    def at(x: torch.Tensor) -> torch.Tensor:
        return x[first[0], first[1], first[2] : first[2] + rows, first[3] : first[3] + cols]

    kernel.body = f"""{tile.cpp} a; load(a, x_gl, {coordinate}); put(a, loaded_ptr);
    {tile.cpp} b; take(b, held_x_ptr); store(stored_gl, b, {coordinate});"""

    def stored(inputs: Inputs) -> torch.Tensor:
        out = like(inputs["x"])
        at(out).copy_(at(inputs["x"]))
        return out

    kernel.case(f"load-{name}", "loaded", lambda g: g["held_x"])
    kernel.case(f"store-{name}", "stored", stored)
    return kernel


def edges(arch: str, tile: Tile, number: int) -> Kernel:
    """Past the last row, and for bounded functions past the last column, reads are zero and stores change
    nothing.
    """
    tile = tile.on(arch)
    kernel = Kernel(f"edges-{tile.name}", arch)
    rows, cols = tile.rows - 1 - number % 7, tile.cols - 1 - number % 6
    kernel.input("x", tile.dtype, (rows, cols), distinct(tile.dtype, arch, rows * cols))
    kernel.input("y", tile.dtype, (tile.rows, tile.cols), distinct(tile.dtype, arch, tile.rows * tile.cols))
    kernel.derive("held_y", tile.dtype, tile.held_shape, lambda g: tile.held(g["y"]))
    wide = rows, tile.cols
    kernel.input("w", tile.dtype, wide, distinct(tile.dtype, arch, numel(wide)))
    for name in ("bounded", "unbounded"):
        kernel.output(name, tile.dtype, tile.held_shape)
    kernel.output("stored", tile.dtype, (rows, cols))
    kernel.output("stored_wide", tile.dtype, wide)
    kernel.body = f"""{tile.cpp} a;
    load_bounded(a, x_gl, {{0, 0, 0, 0}}); put(a, bounded_ptr);
    load(a, w_gl, {{0, 0, 0, 0}}); put(a, unbounded_ptr);
    take(a, held_y_ptr);
    store_bounded(stored_gl, a, {{0, 0, 0, 0}});
    store(stored_wide_gl, a, {{0, 0, 0, 0}});"""

    def padded(x: torch.Tensor) -> torch.Tensor:
        full = torch.zeros(tile.rows, tile.cols, dtype=torch.float32).to(x.dtype)
        full[: x.shape[0], : x.shape[1]] = x
        return tile.held(full)

    kernel.case(f"load_bounded-{tile.name}-of-{rows}x{cols}", "bounded", lambda g: padded(g["x"]))
    kernel.case(f"load-{tile.name}-of-{rows}-rows", "unbounded", lambda g: padded(g["w"]))
    kernel.case(f"store_bounded-{tile.name}-of-{rows}x{cols}", "stored", lambda g: g["y"][:rows, :cols])
    kernel.case(f"store-{tile.name}-of-{rows}-rows", "stored_wide", lambda g: g["y"][:rows])
    return kernel


def axes(arch: str, tile: Tile, axis: int) -> Kernel:
    """Rows of the tile along the batch or the depth of the tensor."""
    tile = tile.on(arch)
    kernel = Kernel(f"axis{axis}-{tile.name}", arch)
    along = 2 * tile.rows
    shape = (along, 2, 3, 2 * tile.cols) if axis == 0 else (2, along, 3, 2 * tile.cols)
    place = "{1, 1, 2, 1}"
    kernel.input("x", tile.dtype, shape, distinct(tile.dtype, arch, numel(shape)))
    kernel.derive("held_x", tile.dtype, tile.held_shape, lambda g: tile.held(at(g["x"])))
    kernel.output("loaded", tile.dtype, tile.held_shape)
    kernel.output("stored", tile.dtype, shape)
    kernel.body = f"""{tile.cpp} a; load<{axis}>(a, x_gl, {place}); put(a, loaded_ptr);
    {tile.cpp} b; take(b, held_x_ptr); store<{axis}>(stored_gl, b, {place});"""

    def at(x: torch.Tensor) -> torch.Tensor:
        part = x[tile.rows :, 1, 2] if axis == 0 else x[1, tile.rows :, 2]
        return part[:, tile.cols :]

    def stored(inputs: Inputs) -> torch.Tensor:
        out = like(inputs["x"])
        at(out).copy_(at(inputs["x"]))
        return out

    kernel.case(f"load-axis{axis}-{tile.name}", "loaded", lambda g: g["held_x"])
    kernel.case(f"store-axis{axis}-{tile.name}", "stored", stored)
    return kernel


def conversion(arch: str, tile: Tile, of: str) -> Kernel:
    """Between the element types of tile and memory."""
    tile = tile.on(arch)
    kernel = Kernel(f"convert-{of}-{tile.name}", arch)
    size = tile.rows, tile.cols
    kernel.input("x", of, size, normal(of, arch, *size))
    kernel.input("y", tile.dtype, size, normal(tile.dtype, arch, *size))
    kernel.derive("held_y", tile.dtype, tile.held_shape, lambda g: tile.held(g["y"]))
    kernel.output("loaded", tile.dtype, tile.held_shape)
    kernel.output("stored", of, size)
    kernel.body = f"""{tile.cpp} a; load(a, x_gl, {{0, 0, 0, 0}}); put(a, loaded_ptr);
    take(a, held_y_ptr); store(stored_gl, a, {{0, 0, 0, 0}});"""
    kernel.case(
        f"load-from-{of}-{tile.name}",
        "loaded",
        lambda g: tile.held(rounded(g["x"].double(), tile.dtype, arch)),
        same_values,
    )
    kernel.case(
        f"store-to-{of}-{tile.name}", "stored", lambda g: rounded(g["y"].double(), of, arch), same_values
    )
    return kernel


def kernels(arch: str) -> Iterator[Kernel]:
    for number, dtype, layout, shape in layouts_of_tiles(LANES[arch]):
        most = 16 if layout == "row_l" else 8
        yield whole(arch, sized(number, dtype, layout, shape, most), number)
        yield whole(arch, sized(number + 1, dtype, layout, shape, most), number + 1)
        yield edges(arch, sized(number, dtype, layout, shape, most), number)
        if number % 2:
            yield axes(arch, sized(number // 2, dtype, layout, shape, most), number // 2 % 2)
    number = 0
    for dtype in ELEMENTS:
        for of in ELEMENTS:
            for layout in LAYOUTS:
                shape = list(SHAPES)[number % len(SHAPES)]
                number += 1
                if of != dtype and has_layout(shape, layout, LANES[arch]):
                    yield conversion(arch, sized(number, dtype, layout, shape, 8), of)


FAMILY = Family("global memory, registers", kernels)


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_global_register(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
