"""Reductions of register tiles along rows and columns, in every layout and base shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from tile_batches import Case, Family, Inputs, Kernel, case_id, close, rounded, same_values
from tile_types import Tile, layouts_of_tiles, near_one, sized, vectors_of

REDUCE: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "max": lambda x, axis: x.amax(axis),
    "min": lambda x, axis: x.amin(axis),
    "sum": lambda x, axis: x.sum(axis),
    "prod": lambda x, axis: x.prod(axis),
}
COMBINE = {"max": torch.maximum, "min": torch.minimum, "sum": torch.add, "prod": torch.mul}


def kernel_of(arch: str, tile: Tile, axis: str) -> Kernel:
    """All reductions along one axis, with and without a value to start from."""
    kernel = Kernel(f"{axis}-{tile.name}", arch)
    row, col = vectors_of(tile)
    result = col if axis == "row" else row
    along = tile.cols if axis == "row" else tile.rows
    kernel.input("x", tile.dtype, (tile.rows, tile.cols), near_one(tile.dtype, arch, tile.rows, tile.cols))
    kernel.input("start", tile.dtype, (result.length,), near_one(tile.dtype, arch, result.length))
    kernel.derive("held_x", tile.dtype, tile.held_shape, lambda g: tile.held(g["x"]))
    kernel.derive("held_start", tile.dtype, result.held_shape, lambda g: result.held(g["start"]))
    size = 64 * result.held_shape[1] * result.held_shape[2]
    body = [
        f"using tile = {tile.cpp}; tile x; tile::{result.kind} start, d;",
        "take(x, held_x_ptr); take(start, held_start_ptr);",
    ]
    number = 0
    for name, function in REDUCE.items():
        # In float each of the `along` operations rounds by half a unit; smaller types are rounded once more.
        ulps = along / 2 if tile.dtype == "float" else 1
        compare = same_values if name in ("max", "min") else close(ulps)
        for started in (False, True):
            body.append(
                f"{axis}_{name}(d, x{', start' if started else ''}); put(d, out_ptr + {number * size});"
            )

            def wanted(
                given: Inputs,
                function: Callable[[torch.Tensor, int], torch.Tensor] = function,
                combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = COMBINE[name],
                started: bool = started,
            ) -> torch.Tensor:
                total = function(given["x"].double(), 1 if axis == "row" else 0)
                if started:
                    total = combine(given["start"].double(), total)
                return result.held(rounded(total, tile.dtype, arch))

            what = f"{axis}_{name}{'-from' if started else ''}"
            kernel.case(f"{what}-{tile.name}", "out", wanted, compare, number)
            number += 1
    # The value to start from may be the result itself.
    body.append(f"copy(d, start); {axis}_sum(d, x, d); put(d, out_ptr + {number * size});")
    kernel.case(
        f"{axis}_sum-in-place-{tile.name}",
        "out",
        lambda g: result.held(
            rounded(g["start"].double() + g["x"].double().sum(1 if axis == "row" else 0), tile.dtype, arch)
        ),
        close(along / 2 if tile.dtype == "float" else 1),
        number,
    )
    kernel.output("out", tile.dtype, (number + 1, *result.held_shape))
    kernel.body = "\n    ".join(body)
    return kernel


def kernels(arch: str) -> Iterator[Kernel]:
    for number, dtype, layout, shape in layouts_of_tiles(("float", "bf16", "half")):
        yield kernel_of(arch, sized(number, dtype, layout, shape), "row")
        yield kernel_of(arch, sized(number + 1, dtype, layout, shape), "col")


FAMILY = Family("reductions of tiles", kernels)


@pytest.mark.parametrize("case", FAMILY.cases(), ids=case_id)
def test_reductions(case: Case) -> None:
    case.run()
