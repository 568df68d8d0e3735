"""Register tiles from and to shared tiles and parts of them: base shapes of both, layouts, types."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

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
    equal,
    rounded,
    same_values,
)
from tile_types import (
    ALL_SHAPES,
    ALL_ST_SHAPES,
    BYTES,
    LAYOUTS,
    SHAPES,
    ST_SHAPES,
    Tile,
    distinct,
    has_layout,
    normal,
)

MATCHED = {
    "st_16x16_s": ["rt_16x16_s"],
    "st_16x16_swizzled_s": ["rt_16x16_s"],
    "st_32x32_s": ["rt_16x16_s", "rt_32x32_s", "rt_32x32_8_s", "rt_16x32_s", "rt_32x16_s"],
    "st_16x32_s": ["rt_16x16_s", "rt_16x32_s", "rt_16x32_4_s"],
    "st_32x16_s": ["rt_16x16_s", "rt_32x16_s", "rt_32x16_4_s"],
    "st_8x32_s": ["rt_16x32_s"],
    "st_16x128_s": ["rt_16x128_s", "rt_16x32_s"],
}
"""Base shapes that kernels pair, tested in every type; every other pair is in one type or another."""

MATCHED_WIDE = {
    "st_16x64_s": ["rt_16x32_s", "rt_16x64_s"],
    "st_16x32_s": ["rt_32x32_16_s"],
    "st_32x32_s": ["rt_32x64_s"],
}
"""The same for whole cache lines, and for operands with block scales."""

ALLOCATE = """extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));"""


def kernel_of(arch: str, number: int, st_type: str, st_shape: str, tile: Tile) -> Kernel:
    """A whole shared tile and a part of a larger one, both ways; the element types may differ."""
    tile = tile.on(arch)
    name = f"{st_type}-{st_shape}-with-{tile.name}"
    rows, cols = tile.rows, tile.cols
    # The larger tile is two parts tall, wide or both.
    down, across = ((2, 1), (1, 2), (2, 2))[number % 3]
    if rows * cols * BYTES[st_type] > 8192:
        down, across = 1, 2
    part = (down - 1, across - 1)
    big_rows, big_cols = down * rows, across * cols
    size = BYTES[st_type]
    kernel = Kernel(name, arch, shared=(rows * cols + big_rows * big_cols) * size)
    same = st_type == tile.dtype
    make = distinct if same else (lambda dtype, arch, count: normal(dtype, arch, count))
    kernel.input("x", st_type, (big_rows, big_cols), make(st_type, arch, big_rows * big_cols))
    kernel.input("y", tile.dtype, (rows, cols), make(tile.dtype, arch, rows * cols))
    kernel.derive("held_y", tile.dtype, tile.held_shape, lambda g: tile.held(g["y"]))
    for output in ("loaded", "loaded_part"):
        kernel.output(output, tile.dtype, tile.held_shape)
    kernel.output("stored", st_type, (rows, cols))
    kernel.output("stored_part", st_type, (big_rows, big_cols))

    def loop_over(count: int) -> str:
        return f"for (int i = laneid(); i < {count}; i += {LANES[arch]})"

    kernel.body = f"""{ALLOCATE}
    using whole = st<{st_type}, {rows}, {cols}, {st_shape}>; whole &s = al.allocate<whole>();
    using bigger = st<{st_type}, {big_rows}, {big_cols}, {st_shape}>; bigger &b = al.allocate<bigger>();
    {loop_over(rows * cols)} s[{{i / {cols}, i % {cols}}}] = x_ptr[i / {cols} * {big_cols} + i % {cols}];
    {loop_over(big_rows * big_cols)} b[{{i / {big_cols}, i % {big_cols}}}] = x_ptr[i];
    wait_and_barrier();
    {tile.cpp} r; load(r, s); put(r, loaded_ptr);
    auto part = subtile_inplace<{rows}, {cols}>(b, {{{part[0]}, {part[1]}}});
    load(r, part); put(r, loaded_part_ptr);
    wait_and_barrier();
    take(r, held_y_ptr); store(s, r); store(part, r);
    wait_and_barrier();
    {loop_over(rows * cols)} stored_ptr[i] = s[{{i / {cols}, i % {cols}}}];
    {loop_over(big_rows * big_cols)} stored_part_ptr[i] = b[{{i / {big_cols}, i % {big_cols}}}];"""

    def to_register(x: torch.Tensor) -> torch.Tensor:
        return tile.held(x if same else rounded(x.double(), tile.dtype, arch))

    def to_shared(inputs: Inputs) -> torch.Tensor:
        return inputs["y"] if same else rounded(inputs["y"].double(), st_type, arch)

    first_row, first_col = part[0] * rows, part[1] * cols

    def stored_part(inputs: Inputs) -> torch.Tensor:
        out = inputs["x"].clone()
        out[first_row : first_row + rows, first_col : first_col + cols] = to_shared(inputs)
        return out

    compare = equal if same else same_values
    kernel.case(f"load-{name}", "loaded", lambda g: to_register(g["x"][:rows, :cols]), compare)
    kernel.case(
        f"load-part-{name}",
        "loaded_part",
        lambda g: to_register(g["x"][first_row : first_row + rows, first_col : first_col + cols]),
        compare,
    )
    kernel.case(f"store-{name}", "stored", to_shared, compare)
    kernel.case(f"store-part-{name}", "stored_part", stored_part, compare)
    return kernel


def smallest(dtype: str, st_shape: str, layout: str, rt_shape: str) -> Tile:
    """The smallest register tile of whole base tiles of both."""
    rows, cols, _ = ALL_SHAPES[rt_shape]
    st_rows, st_cols = ALL_ST_SHAPES[st_shape]
    return Tile(dtype, lcm(rows, st_rows), lcm(cols, st_cols), layout, rt_shape)


def kernels(arch: str) -> Iterator[Kernel]:
    number = 0
    for st_shape in ST_SHAPES:
        for rt_shape in SHAPES:
            for layout in LAYOUTS:
                if not has_layout(rt_shape, layout, LANES[arch]):
                    continue
                matched = rt_shape in MATCHED[st_shape]
                for dtype in ELEMENTS if matched else (ELEMENTS[number % len(ELEMENTS)],):
                    tile = smallest(dtype, st_shape, layout, rt_shape)
                    if matched and number % 2 and tile.held_shape[1:] == (1, 1, tile.held_shape[-1]):
                        # Several base tiles each way.
                        tile = Tile(dtype, 2 * tile.rows, 2 * tile.cols, layout, rt_shape)
                    if tile.rows * tile.cols <= 4096:
                        yield kernel_of(arch, number, dtype, st_shape, tile)
                    number += 1
                number += 1
    for st_type in ELEMENTS:
        for dtype in ELEMENTS:
            for layout in LAYOUTS:
                if st_type != dtype:
                    st_shape = list(MATCHED)[number % len(MATCHED)]
                    rt_shape = MATCHED[st_shape][number % len(MATCHED[st_shape])]
                    number += 1
                    if has_layout(rt_shape, layout, LANES[arch]):
                        tile = smallest(dtype, st_shape, layout, rt_shape)
                        yield kernel_of(arch, number, st_type, st_shape, tile)
    for st_shape, rt_shapes in MATCHED_WIDE.items():
        for rt_shape in rt_shapes:
            for layout in LAYOUTS:
                for dtype in ELEMENTS:
                    number += 1
                    if has_layout(rt_shape, layout, LANES[arch]):
                        tile = smallest(dtype, st_shape, layout, rt_shape)
                        yield kernel_of(arch, number, dtype, st_shape, tile)


FAMILY = Family("shared memory, registers", kernels)


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_shared_register(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
