"""The order of elements in shared tiles; `generated/` has loads and stores of every type and shape."""

from __future__ import annotations

import torch
from tile_cases import ST_SHAPES, Batch, distinct

CORNER = "{0, 0, 0, 0}"

FLIPS = {
    "st_16x16_s": {},
    "st_16x16_swizzled_s": {3: 7, 4: 8},
    "st_32x32_s": {5: 9, 4: 10},
    "st_16x32_s": {5: 9},
}
"""Bits of the byte offset and the bits that flip them (2-byte types, gfx950), as in HipKittens' interface."""

ALLOCATE = """
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
"""


def swizzled(x: torch.Tensor, shape: str) -> torch.Tensor:
    """A matrix of 2-byte elements in the order that a shared tile has them on gfx950."""
    rows, cols = ST_SHAPES[shape]
    offset = torch.arange(rows * cols) * 2
    placed = offset.clone()
    for bit, by in FLIPS[shape].items():
        placed ^= (offset >> by & 1) << bit
    parts = []
    for i in range(0, x.shape[0], rows):
        for j in range(0, x.shape[1], cols):
            part = torch.empty(rows * cols, dtype=x.dtype)
            part[placed // 2] = x[i : i + rows, j : j + cols].flatten()
            parts.append(part)
    return torch.cat(parts)


def test_order_of_elements(batch: Batch) -> None:
    """On gfx950 the swizzles of 2-byte types are those of HipKittens."""
    for shape in FLIPS:
        rows, cols = ST_SHAPES[shape]
        x = distinct(2 * rows, 2 * cols, torch.bfloat16)
        batch.add(
            shape,
            f"""{ALLOCATE} using tile = st_bf<{2 * rows}, {2 * cols}, {shape}>;
            tile &s = al.allocate<tile>();
            rt_bf<{2 * rows}, {2 * cols}, row_l, rt_16x16_s> r;
            load(r, g.x, {CORNER}); store(s, r); barrier();
            for (int i = laneid(); i < tile::num_elements; i += 64) g.raw[{{i}}] = s.data[i];""",
            x=x,
            shared=8 * rows * cols,
            expected={"raw": swizzled(x, shape)},
        )
    batch.run("gfx950")


def test_a_swizzle_of_a_derived_tile(arch: str, batch: Batch) -> None:
    """HipKittens' loads and stores use the `swizzle` of a type that a program derives from a shared tile."""
    x = distinct(64, 64, torch.bfloat16)
    offset = torch.arange(32 * 32) * 2
    place = offset ^ (offset // 64 // 4 % 2) * 32
    raw = torch.empty(4, 32 * 32, dtype=x.dtype)
    raw[:, place // 2] = x.reshape(2, 32, 2, 32).transpose(1, 2).reshape(4, -1)
    batch.preamble += """
    struct bent : st_bf<64, 64, st_32x32_s> {
        static __device__ inline uint32_t swizzle(int2 at) {
            return (at.x * 64 + at.y * 2) ^ (at.x / 4 % 2 * 32);
        }
    };"""
    for layout, rt_shape in (("row_l", "rt_16x32_s"), ("col_l", "rt_32x16_s"), ("row_l", "rt_32x32_s")):
        tile = f"rt_bf<64, 64, {layout}, {rt_shape}>"
        batch.add(
            f"load {layout} {rt_shape}",
            f"""{ALLOCATE} bent &s = al.allocate<bent>(); {tile} r;
            group<1>::load(s, g.x, {CORNER}); wait_and_barrier(); load(r, s); store(g.y, r, {CORNER});
            for (int i = laneid(); i < 4096; i += 64) g.raw[{{i}}] = s.data[i];""",
            x=x,
            shared=8192,
            expected={"y": x, "raw": raw.flatten()},
        )
        batch.add(
            f"store {layout} {rt_shape}",
            f"""{ALLOCATE} bent &s = al.allocate<bent>(); {tile} r;
            load(r, g.x, {CORNER}); store(s, r); wait_and_barrier();
            for (int i = laneid(); i < 4096; i += 64) g.raw[{{i}}] = s.data[i];""",
            x=x,
            shared=8192,
            expected={"raw": raw.flatten()},
        )
    batch.run(arch)
