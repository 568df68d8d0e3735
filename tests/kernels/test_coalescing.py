"""Coalesced global memory: bytes that lanes request over bytes that are moved for them.

Counted are the 64-byte pieces that each instruction touches, which is what the vector cache looks up;
modelled is what passes between the L2 and memory, where every line should come once.
"""

from __future__ import annotations

import random as drawn

import pytest
import torch
from test_shared import ALLOCATE, CORNER
from tile_cases import DTYPES, FP8, SHAPES, Batch, c_type, distinct, random

import workbench as wb
from workbench.tiles.tile_type import vocabulary

ROW_MAJOR = {"float": "rt_16x16_s", "bf16": "rt_16x32_s", "half": "rt_16x32_s", "fp8e4m3": "rt_16x128_s"}
"""The operand of an MFMA whose lanes hold 16 bytes and whose rows are 64 bytes or more."""


SIZES = {"float": 4, "bf16": 2, "half": 2, "fp8e4m3": 1}


def values(rows: int, cols: int, element: str, arch: str) -> torch.Tensor:
    if element == "fp8e4m3":
        return random(rows, cols).to(FP8[arch])
    return distinct(rows, cols, DTYPES[element])


def wasted(counters: dict[str, dict[str, int]]) -> dict[str, tuple[float, float]]:
    """(loads, stores) of the cases that move more than requested: requested over moved."""
    ratios = {
        name: (
            c["global_bytes_read"] / (64 * c["global_read_lines_64"]),
            c["global_bytes_written"] / (64 * c["global_write_lines_64"]),
        )
        for name, c in counters.items()
    }
    return {name: both for name, both in ratios.items() if both != (1.0, 1.0)}


@pytest.mark.parametrize("element", ROW_MAJOR)
def test_register_tiles(arch: str, batch: Batch, element: str) -> None:
    """Row-major tiles of 64 columns and more, inside a wider matrix."""
    for cols in (64, 128, 512):
        for shape in (f"rt_rows_s<{element}, {cols}>", ROW_MAJOR[element]):
            rows = 32
            if cols % SHAPES.get(shape, (0, cols))[1]:
                continue
            x = values(rows, 2 * cols, element, arch)
            batch.add(
                f"{element} {shape} {rows}x{cols}",
                f"""rt<{element}, {rows}, {cols}, row_l, {shape}> a;
                load(a, g.x, {{0, 0, 0, 1}}); store(g.out, a, {{0, 0, 0, 0}});""",
                x=x,
                expected={"out": x[:, cols:].contiguous()},
            )
    batch.take_turns(arch)
    assert not wasted(batch.run(arch, profile=True))


@pytest.mark.parametrize("element", ROW_MAJOR)
def test_shared_tiles(arch: str, batch: Batch, element: str) -> None:
    """A group's loads and stores of shared tiles whose base tiles have rows of 64 bytes or more."""
    for shape in vocabulary().names["st_shape"]:
        width = int(shape.split("x")[1].split("_")[0])
        for cols in (64, 128):
            if cols % width or width * SIZES[element] < 64:
                continue
            x = values(64, 2 * cols, element, arch)
            batch.add(
                f"{element} {shape} 64x{cols}",
                f"""{ALLOCATE} using tile = st<{c_type(x)}, 64, {cols}, {shape}>;
                tile &s = al.allocate<tile>();
                group<4>::load(s, g.x, {{0, 0, 0, 1}}); wait_and_barrier();
                group<4>::store(g.out, s, {CORNER});""",
                x=x,
                expected={"out": x[:, cols:].contiguous()},
                threads=256,
                shared=64 * cols * x.element_size(),
            )
    batch.take_turns(arch)
    assert not wasted(batch.run(arch, profile=True))


SOURCE = """#include "kittens.cuh"
using namespace kittens;
template <typename T> struct memory { gl<T, -1, -1, -1, -1> x, out; };
"""


def test_every_line_comes_once(arch: str) -> None:
    """Also if an instruction reads less than 64 bytes of a row: the cache has the rest for the next."""
    every = [(element, shape) for element in ROW_MAJOR for shape in SHAPES]
    cases = drawn.sample(every, 8)
    source, sizes = SOURCE, {}
    for n, (element, shape) in enumerate(cases):
        rows, cols = SHAPES[shape][0] * 2, max(SHAPES[shape][1], 64)
        sizes[f"copy_{n}"] = (element, rows, cols)
        source += f"""__global__ __launch_bounds__(64) void copy_{n}(const memory<{element}> g) {{
            rt<{element}, {rows}, {cols}, row_l, {shape}> a;
            load(a, g.x, {CORNER}); store(g.out, a, {CORNER}); }}
        """
    module = wb.compile(source, arch=arch, name="copies.hip")
    for name, (element, rows, cols) in sizes.items():
        # Whole lines, wherever they are: tensors of PyTorch begin at multiples of 64 bytes.
        x = values(rows + 2, cols, element, arch).flatten()
        start = -x.data_ptr() % 128 // x.element_size()
        x = x[start : start + rows * cols].view(rows, cols)
        memory = torch.zeros(rows * cols * x.element_size() + 128, dtype=torch.uint8)
        out = memory[-memory.data_ptr() % 128 :][: x.nbytes].view(x.dtype).view(rows, cols)
        result = wb.profile(module[name][1, 64], x=x, out=out, device=f"emulated:{arch}")
        assert torch.equal(out.view(torch.uint8), x.view(torch.uint8))
        moved = {counter: result[counter].value * 1024 for counter in ("FETCH_SIZE", "WRITE_SIZE")}
        assert moved == {"FETCH_SIZE": x.nbytes, "WRITE_SIZE": x.nbytes}, (name, cases, moved, x.nbytes)
