"""Reductions of register tiles along rows and columns, in every layout and base shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from tile_batches import Batch, Family, Inputs, Kernel, batch_id, close, rounded, same_values
from tile_types import Tile, Use, by_tile, near_one, sized, uses, vectors_of

REDUCE: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "max": lambda x, axis: x.amax(axis),
    "min": lambda x, axis: x.amin(axis),
    "sum": lambda x, axis: x.sum(axis),
    "prod": lambda x, axis: x.prod(axis),
}
COMBINE = {"max": torch.maximum, "min": torch.minimum, "sum": torch.add, "prod": torch.mul}


START = {"": "d, x", "-from": "d, x, start", "-in-place": "d, x, d"}
"""The arguments, by the start of the reduction: nothing, a vector, the result itself."""

FUNCTIONS = {
    f"{axis}_{name}{start}": (axis, name, start)
    for axis in ("row", "col")
    for name in REDUCE
    for start in START
}


def kernel_of(arch: str, tile: Tile, axis: str, names: list[str]) -> Kernel:
    """Reductions along one axis."""
    tile = tile.on(arch)
    kernel = Kernel(f"{axis}-{tile.name}", arch)
    row, col = vectors_of(tile)
    result = col if axis == "row" else row
    along = tile.cols if axis == "row" else tile.rows
    kernel.input("x", tile.dtype, (tile.rows, tile.cols), near_one(tile.dtype, arch, tile.rows, tile.cols))
    kernel.input("start", tile.dtype, (result.length,), near_one(tile.dtype, arch, result.length))
    kernel.derive("held_x", tile.dtype, tile.held_shape, lambda g: tile.held(g["x"]))
    kernel.derive("held_start", tile.dtype, result.held_shape, lambda g: result.held(g["start"]))
    size = kernel.lanes * result.held_shape[1] * result.held_shape[2]
    body = [
        f"using tile = {tile.cpp}; tile x; tile::{result.kind} start, d;",
        "take(x, held_x_ptr); take(start, held_start_ptr);",
    ]
    # In float each of the `along` operations rounds by half a unit; smaller types are rounded once more.
    ulps = along / 2 if tile.dtype == "float" else 1
    for number, function in enumerate(names):
        _, name, start = FUNCTIONS[function]
        call = f"{axis}_{name}({START[start]});"
        body.append(f"copy(d, start); {call} put(d, out_ptr + {number * size});")

        def expected(inputs: Inputs, name: str = name, started: bool = start != "") -> torch.Tensor:
            total = REDUCE[name](inputs["x"].double(), 1 if axis == "row" else 0)
            if started:
                total = COMBINE[name](inputs["start"].double(), total)
            return result.held(rounded(total, tile.dtype, arch))

        compare = same_values if name in ("max", "min") else close(ulps)
        kernel.case(f"{function}-{tile.name}", "out", expected, compare, number)
    kernel.output("out", tile.dtype, (len(names), *result.held_shape))
    kernel.body = "\n    ".join(body)
    return kernel


def kernels(arch: str, uses: list[Use]) -> Iterator[Kernel]:
    for number, dtype, layout, shape, names in by_tile(arch, uses):
        for part, axis in enumerate(("row", "col")):
            if functions := [name for name in names if FUNCTIONS[name][0] == axis]:
                yield kernel_of(arch, sized(number + part, dtype, layout, shape), axis, functions)


FAMILY = Family("reductions of tiles", kernels, uses(FUNCTIONS, lambda use: use[1][1] != "fp8e4m3"))


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_reductions(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
