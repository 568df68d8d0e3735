"""Element-wise operations on register tiles, in every type, layout and base shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from tile_batches import Batch, Family, Inputs, Kernel, batch_id, rounded
from tile_maps import BINARY, MAPS, Map, value_of
from tile_types import SCALED_SHAPES, Tile, Use, by_tile, normal, sized, uses, vectors_of

TERNARY = {
    # Rounded from float to a smaller type, or from float64 here: a second rounding.
    "fma_AxBtC": Map("fma_AxBtC(d, x, y, x);", lambda x, y: x * y + x, 1),
    "fma_AxCtB": Map("fma_AxCtB(d, x, y, x);", lambda x, y: x * x + y, 1),
}


def _along() -> dict[str, Map]:
    """Each element with the value of its row or column."""
    maps = {}
    for axis, vector in (("row", "col"), ("col", "row")):
        maps[f"broadcast_{axis}"] = Map(
            f"broadcast_{axis}(d, {vector});", lambda x, v: v.expand_as(x), second=vector
        )
        for name in ("add", "sub", "mul", "div"):
            maps[f"{name}_{axis}"] = Map(f"{name}_{axis}(d, x, {vector});", BINARY[name], second=vector)
    return maps


def _place(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Row and column of each element."""
    return torch.arange(x.shape[0])[:, None].expand_as(x), torch.arange(x.shape[1])[None, :].expand_as(x)


def _by_place(of: Callable[..., torch.Tensor]) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    return lambda x, y: of(x, y, *_place(x))


PLACED = {
    "fill": Map(
        "fill(d, [](int row, int col) { return row % 8 - col % 16; });",
        _by_place(lambda x, y, r, c: r % 8 - c % 16),
    ),
    "map-place": Map(
        "map(d, x, [](float v, int row, int col) { return row > 2 * col ? -v : v; });",
        _by_place(lambda x, y, r, c: torch.where(r > 2 * c, -x, x)),
    ),
    "map-two-place": Map(
        "map(d, x, y, [](float v, float w, int row, int col) { return col > 2 * row ? w : v; });",
        _by_place(lambda x, y, r, c: torch.where(c > 2 * r, y, x)),
    ),
    "map-three-place": Map(
        "map(d, x, y, p, [](float v, float w, float z, int row, int col)"
        " { return (row + col) % 3 == 0 ? w : row > col ? z : v; });",
        _by_place(lambda x, y, r, c: torch.where((r + c) % 3 == 0, y, torch.where(r > c, x.abs(), x))),
    ),
}
"""Maps that depend on an element's position."""

ALONG = _along()
FUNCTIONS = MAPS | TERNARY | PLACED | ALONG

PER_KERNEL = 13


def kernel_of(arch: str, tile: Tile, names: list[str]) -> Kernel:
    tile = tile.on(arch)
    kernel = Kernel(f"{names[0]}-{tile.name}", arch)
    row, col = vectors_of(tile)
    for name, size in (
        ("x", (tile.rows, tile.cols)),
        ("y", (tile.rows, tile.cols)),
        ("row", (row.length,)),
        ("col", (col.length,)),
    ):
        kernel.input(name, tile.dtype, size, normal(tile.dtype, arch, *size))
    for name, kind in (("x", tile), ("y", tile), ("row", row), ("col", col)):
        kernel.derive(f"held_{name}", tile.dtype, kind.held_shape, lambda g, n=name, k=kind: k.held(g[n]))
    body = [
        f"using tile = {tile.cpp}; using T [[maybe_unused]] = tile::T;",
        "tile x, y, p, d; tile::row_vec row; tile::col_vec col;",
        "take(x, held_x_ptr); take(y, held_y_ptr); take(row, held_row_ptr); take(col, held_col_ptr);",
        f"abs(p, x); constexpr int n = WARP_THREADS * tile::elements_per_thread; {value_of(tile.dtype)}",
    ]
    for number, name in enumerate(names):
        function = FUNCTIONS[name]
        body.append(f"{function.call} put(d, out_ptr + {number} * n);")

        def expected(inputs: Inputs, function: Map = function) -> torch.Tensor:
            second = {"y": inputs["y"], "row": inputs["row"][None, :], "col": inputs["col"][:, None]}
            values = function.of(inputs["x"].double(), second[function.second].double())
            return tile.held(rounded(values, tile.dtype, arch))

        kernel.case(f"{name}-{tile.name}", "out", expected, function.check(tile.dtype, arch), number)
    kernel.output("out", tile.dtype, (len(names), *tile.held_shape))
    kernel.body = "\n    ".join(body)
    return kernel


def kernels(arch: str, uses: list[Use]) -> Iterator[Kernel]:
    for number, dtype, layout, shape, names in by_tile(arch, uses):
        for part, first in enumerate(range(0, len(names), PER_KERNEL)):
            yield kernel_of(
                arch, sized(number + part, dtype, layout, shape), names[first : first + PER_KERNEL]
            )


FAMILY = Family("maps of tiles", kernels, uses(FUNCTIONS, lambda use: use[3] not in SCALED_SHAPES))


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_maps(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
