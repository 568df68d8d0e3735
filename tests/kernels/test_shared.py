"""Shared tiles and vectors: order of elements, loads straight from global memory, register tiles."""

from __future__ import annotations

import pytest
import torch
from tile_cases import DTYPES, SHAPES, Batch, distinct, has_layout

CORNER = "{0, 0, 0, 0}"

ST_SHAPES = {
    "st_16x16_s": (16, 16),
    "st_16x16_swizzled_s": (16, 16),
    "st_32x32_s": (32, 32),
    "st_16x32_s": (16, 32),
    "st_32x16_s": (32, 16),
    "st_8x32_s": (8, 32),
    "st_16x128_s": (16, 128),
}
"""Base shapes of shared tiles, rows and columns, as their names say."""

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
            wanted={"raw": swizzled(x, shape)},
        )
    batch.run("gfx950")


CROSSED = ("rt_16x16_s", "rt_32x32_s", "rt_16x32_s", "rt_32x16_s")
"""Register tiles that go with every shared tile here; the others with that of their own size."""


@pytest.mark.parametrize("dtype", DTYPES)
def test_registers(arch: str, batch: Batch, dtype: str) -> None:
    """load and store between registers and shared memory: pairs of base shapes in both layouts."""
    for st_shape, (st_rows, st_cols) in ST_SHAPES.items():
        for rt_shape, (rt_rows, rt_cols, _) in SHAPES.items():
            if (st_shape == "st_16x128_s") != (rt_shape == "rt_16x128_s"):
                continue
            if st_shape[2:] != rt_shape[2:] and (dtype != "bf16" or rt_shape not in CROSSED):
                continue
            rows, cols = max(st_rows, rt_rows), max(st_cols, rt_cols)
            for layout in ("row_l", "col_l"):
                if not has_layout(rt_shape, layout):
                    continue
                x = distinct(rows, 2 * cols, DTYPES[dtype], seed=rows)
                batch.add(
                    f"{dtype} {st_shape} {rt_shape} {layout}",
                    f"""{ALLOCATE} using tile = st<{dtype}, {rows}, {2 * cols}, {st_shape}>;
                    tile &s = al.allocate<tile>();
                    rt<{dtype}, {rows}, {2 * cols}, {layout}, {rt_shape}> a, b;
                    load(a, g.x, {CORNER}); store(s, a); barrier();
                    load(b, s); store(g.out, b, {CORNER});
                    rt<{dtype}, {rows}, {cols}, {layout}, {rt_shape}> part;
                    load(part, subtile_inplace<{rows}, {cols}>(s, {{0, 1}}));
                    store(g.part, part, {CORNER});
                    if (laneid() == 0) g.one[{{0}}] = s[{{{rows - 1}, 3}}];""",
                    x=x,
                    shared=rows * 2 * cols * x.element_size(),
                    wanted={"out": x, "part": x[:, cols:].contiguous(), "one": x[rows - 1, 3:4].clone()},
                )
    batch.run(arch)


LOADS = {
    "computed": "G::load(s, g.x, {0, 0, 1, 1});",
    "prefilled": """uint32_t offsets[G::loads_per_tile<tile>];
        G::prefill_swizzled_offsets(s, g.x, offsets);
        G::load(s, g.x, {0, 0, 1, 1}, offsets);""",
    "resource": """uint32_t offsets[G::loads_per_tile<tile>];
        G::prefill_swizzled_offsets(s, g.x, offsets);
        const auto *base = &g.x[{0, 0, 0, 0}];
        const uint32_t pitch = g.x.template stride<2>() * sizeof(*base);
        const i32x4 resource = make_srsrc(base, g.x.rows() * pitch, pitch);
        G::load(s, g.x, {0, 0, 1, 1}, offsets, resource, base, G::lds_base(s));""",
    "bounded": "G::load_bounded(s, g.x, {0, 0, 1, 1});",
}
"""The ways to start a load from global to shared memory, all of the tile at {1, 1}."""


@pytest.mark.parametrize("waves", [1, 3, 4])
def test_groups(arch: str, batch: Batch, waves: int) -> None:
    """A group's loads put every element where the tile wants it; its stores bring it back."""
    for dtype in ("bf16", "float") if waves == 4 else ("bf16",):
        for shape, (st_rows, st_cols) in ST_SHAPES.items():
            rows, cols = 2 * st_rows, 2 * st_cols
            x = distinct(2 * rows, 2 * cols, DTYPES[dtype], seed=waves)
            for way, loads in LOADS.items():
                batch.add(
                    f"{way} {dtype} {shape}",
                    f"""{ALLOCATE} using G = group<{waves}>;
                    using tile = st<{dtype}, {rows}, {cols}, {shape}>;
                    tile &s = al.allocate<tile>();
                    {loads}
                    wait_and_barrier();
                    if (G::laneid() == 0)
                        for (int r = 0; r < 3; r++)
                            for (int c = 0; c < 5; c++) g.elements[{{r, c}}] = s[{{r + {rows - 3}, c}}];
                    G::store(g.out, s, {CORNER});""",
                    x=x,
                    threads=64 * waves,
                    shared=rows * cols * x.element_size(),
                    wanted={
                        "out": x[rows:, cols:].contiguous(),
                        "elements": x[2 * rows - 3 :, cols : cols + 5].contiguous(),
                    },
                )
    batch.run(arch)


def test_past_the_end(arch: str, batch: Batch) -> None:
    """Rows past the end read as zero into shared memory; with load_bounded columns too."""
    for dtype in DTYPES:
        x = distinct(40, 72, DTYPES[dtype])
        wanted = torch.zeros(32, 64, dtype=x.dtype)
        wanted[:8, :8] = x[32:, 64:]
        below = torch.zeros(32, 64, dtype=x.dtype)
        below[:8] = x[32:, :64]
        batch.add(
            dtype,
            f"""{ALLOCATE} using G = group<4>; using tile = st<{dtype}, 32, 64, st_16x32_s>;
            tile &s = al.allocate<tile>();
            G::load_bounded(s, g.x, {{0, 0, 1, 1}}); wait_and_barrier();
            G::store(g.corner, s, {CORNER}); wait_and_barrier();
            G::load(s, g.x, {{0, 0, 1, 0}}); wait_and_barrier();
            G::store(g.below, s, {CORNER}); wait_and_barrier();
            G::load(s, g.x, {{0, 0, 2, 0}}); wait_and_barrier();
            G::store(g.outside, s, {CORNER});""",
            x=x,
            threads=256,
            shared=32 * 64 * x.element_size(),
            wanted={"corner": wanted, "below": below, "outside": torch.zeros_like(below)},
        )
    batch.run(arch)


def test_vectors(arch: str, batch: Batch) -> None:
    """Shared vectors: from global memory by a group, to and from registers in every layout, back again."""
    for dtype in DTYPES:
        for length in (64, 256):
            x = distinct(1, 3 * length, DTYPES[dtype])[0]
            vectors = {
                "naive": f"rv<{dtype}, {length}>",
                "row of row_l": f"rt<{dtype}, 16, {length}, row_l, rt_16x32_s>::row_vec",
                "row of col_l": f"rt<{dtype}, 16, {length}, col_l, rt_16x32_s>::row_vec",
                "column of row_l": f"rt<{dtype}, {length}, 16, row_l, rt_32x16_s>::col_vec",
                "column of col_l": f"rt<{dtype}, {length}, 16, col_l, rt_32x16_s>::col_vec",
            }
            for what, vector in vectors.items():
                batch.add(
                    f"{dtype} {length} {what}",
                    f"""{ALLOCATE} using G = group<2>; using V = sv<{dtype}, {length}>;
                    V(&v)[2] = al.allocate<V, 2>();
                    G::load(v[0], g.x, {{0, 0, 0, 1}}); wait_and_barrier();
                    {vector} r;
                    if (G::warpid() == 0) {{ load(r, v[0]); store(v[1], r); }}
                    wait_and_barrier();
                    G::store(g.out, v[1], {CORNER});
                    if (G::laneid() == 0) g.one[{{0}}] = v[0][5];""",
                    x=x,
                    threads=128,
                    shared=2 * length * x.element_size(),
                    wanted={"out": x[length : 2 * length].clone(), "one": x[length + 5 : length + 6].clone()},
                )
    batch.run(arch)


def test_allocator(arch: str, batch: Batch) -> None:
    """Arrays of tiles follow each other, at multiples of the alignment."""
    batch.add(
        "allocate",
        """extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        const auto first = detail::shared_address(&__shm[0]);
        using S = sv<float, 4>; using T = st_bf<16, 32, st_16x32_s>;
        S &a = al.allocate<S>();
        T(&b)[2][3] = al.allocate<T, 2, 3>();
        int(&c)[1] = al.allocate<int, 1>();
        S &d = al.allocate_aligned<1024, S>();
        if (laneid() == 0) {
            g.at[0] = detail::shared_address(&a) - first;
            g.at[1] = detail::shared_address(&b[0][0]) - first;
            g.at[2] = detail::shared_address(&b[1][2]) - first;
            g.at[3] = detail::shared_address(&c[0]) - first;
            g.at[4] = detail::shared_address(&d) % 1024;
        }""",
        shared=16384,
        wanted={"at": torch.tensor([0, 16, 16 + 5 * 1024, 16 + 6 * 1024, 0], dtype=torch.int32)},
    )
    batch.run(arch)
