"""Shared tiles and vectors from and to global memory, by groups of waves: types, base shapes, sizes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tile_batches import ELEMENTS, Batch, Family, Inputs, Kernel, batch_id, poisoned
from tile_types import ALL_ST_SHAPES, BYTES, ST_SHAPES, distinct

ALLOCATE = """extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));"""

WAYS = {
    "computed": "G::load(s, x_gl, {0, 1, 1, 1});",
    "offsets": """uint32_t offsets[G::loads_per_tile<tile>];
    G::prefill_swizzled_offsets(s, x_gl, offsets);
    G::load(s, x_gl, {0, 1, 1, 1}, offsets);""",
    "resource": """uint32_t offsets[G::loads_per_tile<tile>];
    G::prefill_swizzled_offsets(s, x_gl, offsets);
    const auto *base = &x_gl[{0, 1, 0, 0}];
    const uint32_t pitch = static_cast<uint32_t>(x_gl.template stride<2>() * sizeof(*base));
    const i32x4 resource = make_srsrc(base, static_cast<uint32_t>(x_gl.rows()) * pitch, pitch);
    G::load(s, x_gl, {0, 1, 1, 1}, offsets, resource, base, G::lds_base(s));""",
    "bounded": "G::load_bounded(s, x_gl, {0, 1, 1, 1});",
}
"""All ways to start a load, of the tile at {0, 1, 1, 1}."""

SIZES = ((1, 1), (2, 1), (2, 2), (1, 3), (4, 2), (4, 4))


def sizes_of(dtype: str, shape: str, waves: int) -> list[tuple[int, int]]:
    """Sizes that are whole loads and stores of 16 bytes by 64 lanes."""
    rows, cols = ALL_ST_SHAPES[shape]
    held = rows * cols * BYTES[dtype]
    # Large groups get large tiles, so that each wave has something to load.
    most = 4096 * max(1, waves // 2)
    return [
        (down * rows, across * cols)
        for down, across in SIZES
        if (down * across * held % 1024 == 0 and down * across * held <= most) or down * across * held == 8192
    ]


def tile_kernel(
    arch: str, dtype: str, shape: str, rows: int, cols: int, waves: int, ways: list[str]
) -> Kernel:
    name = f"{dtype}-{shape}-{rows}x{cols}-by-{waves}"
    kernel = Kernel(name, arch, waves=waves, shared=rows * cols * BYTES[dtype])
    full = (1, 2, 2 * rows, 2 * cols)
    kernel.input("x", dtype, full, distinct(dtype, arch, 8 * rows * cols))
    kernel.output("stored", dtype, full)
    # Read by the tile's operator[], all of it, after each way of loading.
    read = f"for (int i = G::laneid(); i < {rows * cols}; i += G::GROUP_THREADS)"
    body = [f"{ALLOCATE} using G = group<{waves}>; using tile = st<{dtype}, {rows}, {cols}, {shape}>;"]
    body.append("tile &s = al.allocate<tile>();")
    for way in ways:
        output = f"by_{way}"
        kernel.output(output, dtype, (rows, cols))
        body.append(f"{{ {WAYS[way]}\n    wait_and_barrier();")
        body.append(f"{read} {output}_ptr[i] = s[{{i / {cols}, i % {cols}}}];\n    barrier(); }}")
        kernel.case(f"load-{way}-{name}", output, lambda g: g["x"][0, 1, rows:, cols:])
    body.append("G::store(stored_gl, s, {0, 0, 1, 0});")

    def stored(inputs: Inputs) -> torch.Tensor:
        out = poisoned(full, inputs["x"].dtype)
        out[0, 0, rows:, :cols] = inputs["x"][0, 1, rows:, cols:]
        return out

    kernel.case(f"store-{name}", "stored", stored)
    kernel.body = "\n    ".join(body)
    return kernel


def edge_kernel(arch: str, dtype: str, shape: str, rows: int, cols: int, waves: int) -> Kernel:
    """A tile past the last row, and with load_bounded the last column; loads move whole 16 bytes."""
    name = f"{dtype}-{shape}-{rows}x{cols}-by-{waves}"
    kernel = Kernel(f"edges-{name}", arch, waves=waves, shared=rows * cols * BYTES[dtype])
    step = 16 // BYTES[dtype]
    have_rows, have_cols = rows - 3, cols - step
    kernel.input("x", dtype, (have_rows, have_cols), distinct(dtype, arch, have_rows * have_cols))
    kernel.input("w", dtype, (have_rows, cols), distinct(dtype, arch, have_rows * cols))
    for output in ("bounded", "unbounded"):
        kernel.output(output, dtype, (rows, cols))
    kernel.output("stored", dtype, (have_rows, cols))
    read = f"for (int i = G::laneid(); i < {rows * cols}; i += G::GROUP_THREADS)"
    kernel.body = f"""{ALLOCATE} using G = group<{waves}>; using tile = st<{dtype}, {rows}, {cols}, {shape}>;
    tile &s = al.allocate<tile>();
    G::load_bounded(s, x_gl, {{0, 0, 0, 0}}); wait_and_barrier();
    {read} bounded_ptr[i] = s[{{i / {cols}, i % {cols}}}];
    barrier();
    G::load(s, w_gl, {{0, 0, 0, 0}}); wait_and_barrier();
    {read} unbounded_ptr[i] = s[{{i / {cols}, i % {cols}}}];
    G::store(stored_gl, s, {{0, 0, 0, 0}});"""

    def padded(x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(rows, cols).to(x.dtype)
        out[: x.shape[0], : x.shape[1]] = x
        return out

    kernel.case(f"load_bounded-{name}-of-{have_rows}x{have_cols}", "bounded", lambda g: padded(g["x"]))
    kernel.case(f"load-{name}-of-{have_rows}-rows", "unbounded", lambda g: padded(g["w"]))
    kernel.case(f"store-{name}-of-{have_rows}-rows", "stored", lambda g: g["w"])
    return kernel


def one_wave(arch: str, dtype: str, shape: str, rows: int, cols: int) -> Kernel:
    """The functions that are not members of a group; rows along the depth."""
    name = f"{dtype}-{shape}-{rows}x{cols}"
    kernel = Kernel(f"one-wave-{name}", arch, shared=rows * cols * BYTES[dtype])
    kernel.input("x", dtype, (rows, cols), distinct(dtype, arch, rows * cols))
    deep = (1, 2 * rows, 2, cols)
    kernel.input("deep", dtype, deep, distinct(dtype, arch, 4 * rows * cols))
    kernel.output("out", dtype, (rows, cols))
    kernel.output("out_deep", dtype, deep)
    kernel.body = f"""{ALLOCATE} using tile = st<{dtype}, {rows}, {cols}, {shape}>;
    tile &s = al.allocate<tile>();
    load(s, x_gl, {{0, 0, 0, 0}}); wait_and_barrier();
    store(out_gl, s, {{0, 0, 0, 0}}); wait_and_barrier();
    group<1>::load<1>(s, deep_gl, {{0, 1, 1, 0}}); wait_and_barrier();
    group<1>::store<1>(out_deep_gl, s, {{0, 0, 1, 0}});"""

    def stored(inputs: Inputs) -> torch.Tensor:
        out = poisoned(deep, inputs["deep"].dtype)
        out[0, :rows, 1] = inputs["deep"][0, rows:, 1]
        return out

    kernel.case(f"load-and-store-{name}", "out", lambda g: g["x"])
    kernel.case(f"load-and-store-axis1-{name}", "out_deep", stored)
    return kernel


def vector_kernel(arch: str, dtype: str, length: int, waves: int) -> Kernel:
    name = f"vector-{dtype}-{length}-by-{waves}"
    kernel = Kernel(name, arch, waves=waves, shared=(length * BYTES[dtype] + 15) // 16 * 16)
    ragged = length - 4
    kernel.input("x", dtype, (2, length + ragged), distinct(dtype, arch, 2 * (length + ragged)))
    for output in ("first", "last"):
        kernel.output(output, dtype, (length,))
    kernel.output("stored", dtype, (2, length + ragged))
    read = f"for (int i = G::laneid(); i < {length}; i += G::GROUP_THREADS)"
    kernel.body = f"""{ALLOCATE} using G = group<{waves}>; using vector = sv<{dtype}, {length}>;
    vector &s = al.allocate<vector>();
    G::load(s, x_gl, {{0, 0, 1, 0}}); wait_and_barrier();
    {read} first_ptr[i] = s[i];
    G::store(stored_gl, s, {{0, 0, 0, 1}}); wait_and_barrier();
    G::load(s, x_gl, {{0, 0, 0, 1}}); wait_and_barrier();
    {read} last_ptr[i] = s[i];
    G::store(stored_gl, s, {{0, 0, 1, 0}});"""

    def last(inputs: Inputs) -> torch.Tensor:
        out = torch.zeros(length).to(inputs["x"].dtype)
        out[:ragged] = inputs["x"][0, length:]
        return out

    def stored(inputs: Inputs) -> torch.Tensor:
        out = poisoned((2, length + ragged), inputs["x"].dtype)
        out[0, length:] = inputs["x"][1, :ragged]
        out[1, :length] = last(inputs)
        return out

    kernel.case(f"load-{name}", "first", lambda g: g["x"][1, :length])
    kernel.case(f"load-past-end-{name}", "last", last)
    kernel.case(f"store-{name}", "stored", stored)
    return kernel


def tile_kernels(arch: str, dtype: str, shape: str, number: int) -> Iterator[Kernel]:
    """Kernels for one base shape, with the sizes in turn from `number` on."""
    for waves, ways in (
        (1, list(WAYS)),
        (2, ["computed", "bounded"]),
        (3, ["offsets"]),
        (4, list(WAYS)),
        (8, ["offsets", "resource"]),
    ):
        sizes = sizes_of(dtype, shape, waves)
        rows, cols = sizes[number % len(sizes)]
        yield tile_kernel(arch, dtype, shape, rows, cols, waves, ways)
        number += 1
    rows, cols = sizes_of(dtype, shape, 4)[0]
    yield edge_kernel(arch, dtype, shape, rows, cols, 4)
    yield one_wave(arch, dtype, shape, rows, cols)


def kernels(arch: str) -> Iterator[Kernel]:
    number = 0
    for dtype in ELEMENTS:
        for shape in ST_SHAPES:
            yield from tile_kernels(arch, dtype, shape, number)
            number += 5
        for waves, length in ((1, 64), (2, 128), (2, 1000), (4, 256), (8, 4096)):
            yield vector_kernel(arch, dtype, length, waves)
    for number, dtype in enumerate(ELEMENTS):
        yield from tile_kernels(arch, dtype, "st_16x64_s", number)


FAMILY = Family("global memory, shared", kernels)


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_global_shared(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
