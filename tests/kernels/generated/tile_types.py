"""Locations of elements in tiles and vectors, written from the documentation, not from the library."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import torch
from tile_batches import ELEMENTS, LANES, Make, rounded, torch_dtype
from tile_cases import SHAPES, ST_SHAPES

from workbench.targets import LIBRARY_TARGETS

SCALED_SHAPES = {
    "rt_16x64_s": (16, 64, 16),
    "rt_32x64_s": (32, 64, 16),
    "rt_32x32_16_s": (32, 32, 16),
}
"""Rows, columns and stride of operands of matrix instructions with block scales, as in SHAPES."""

ALL_SHAPES = SHAPES | SCALED_SHAPES

ALL_ST_SHAPES = ST_SHAPES | {"st_16x64_s": (16, 64)}
"""The base shapes, including the one for operands with block scales."""

LAYOUTS = ("row_l", "col_l")

BYTES = {"float": 4, "bf16": 2, "half": 2, "fp8e4m3": 1}


def sides(shape: str, lanes: int = 64) -> tuple[int, int, int]:
    """Rows, columns and stride of a base shape; a matrix instruction gives 32 lanes 8 results of a column."""
    if shape == "rt_16x16_s" and lanes == 32:
        return 16, 16, 8
    return ALL_SHAPES[shape]


def has_layout(shape: str, layout: str, lanes: int = 64) -> bool:
    """True if a base shape exists in a layout: 64 lanes cannot hold 128 columns."""
    return ALL_SHAPES[shape][layout == "col_l"] <= lanes


def turned(shape: str, lanes: int = 64) -> str:
    """The base shape with rows and columns exchanged."""
    rows, cols, stride = sides(shape, lanes)
    return f"rt_shape<{cols}, {rows}, {stride}>"


@cache
def positions(shape: tuple[int, int, int], layout: str, lanes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Row and column in the base tile of what each lane holds, [lane][element].

    In the row layout lane l holds row l % rows, and the lanes of a row hold `stride` elements each in turn;
    in the column layout rows and columns change places.
    """
    rows, cols, stride = shape
    across = rows if layout == "row_l" else cols
    lane = torch.arange(lanes)[:, None].expand(-1, rows * cols // lanes)
    element = torch.arange(rows * cols // lanes).expand(lanes, -1)
    turn = lanes // across * stride
    along = element // stride * turn + lane // across * stride + element % stride
    return (lane % across, along) if layout == "row_l" else (along, lane % across)


@dataclass(frozen=True)
class Tile:
    """A register tile type."""

    dtype: str
    rows: int
    cols: int
    layout: str
    shape: str
    lanes: int = 64
    """Lanes of the wave that holds it."""

    def on(self, arch: str) -> Tile:
        """The same on a target."""
        return replace(self, lanes=LANES[arch])

    @property
    def cpp(self) -> str:
        return f"rt<{self.dtype}, {self.rows}, {self.cols}, {self.layout}, {self.shape}>"

    @property
    def name(self) -> str:
        return f"{self.dtype}-{self.layout}-{self.shape}-{self.rows}x{self.cols}"

    @property
    def base(self) -> tuple[int, int, int]:
        if self.shape in ALL_SHAPES:
            return sides(self.shape, self.lanes)
        rows, cols, stride = self.shape.removeprefix("rt_shape<").removesuffix(">").split(",")
        return int(rows), int(cols), int(stride)

    @property
    def grid(self) -> tuple[int, int]:
        """Base tiles down and across."""
        return self.rows // self.base[0], self.cols // self.base[1]

    @property
    def held_shape(self) -> tuple[int, ...]:
        """Lanes, base tiles down and across, elements of a lane: how `put` writes a tile."""
        return (self.lanes, *self.grid, self.base[0] * self.base[1] // self.lanes)

    def held(self, matrix: torch.Tensor) -> torch.Tensor:
        """The elements of a matrix that each lane holds."""
        row, col = positions(self.base, self.layout, self.lanes)
        down = torch.arange(self.grid[0])[None, :, None, None] * self.base[0] + row[:, None, None, :]
        across = torch.arange(self.grid[1])[None, None, :, None] * self.base[1] + col[:, None, None, :]
        return matrix[down, across]

    def with_dtype(self, dtype: str) -> Tile:
        return replace(self, dtype=dtype)


@dataclass(frozen=True)
class Vector:
    """A register vector: `row_vec` or `col_vec` of a tile, or a naive one."""

    dtype: str
    length: int
    tile: Tile | None
    kind: str
    side_by_side: bool = False
    """True if a lane's elements of a naive vector are adjacent, as in HipKittens main for gfx950."""
    wave: int = 64
    """Lanes of the wave that holds a naive vector."""

    @property
    def lanes(self) -> int:
        return self.wave if self.tile is None else self.tile.lanes

    @property
    def cpp(self) -> str:
        return f"rv<{self.dtype}, {self.length}>" if self.tile is None else f"{self.tile.cpp}::{self.kind}"

    @property
    def name(self) -> str:
        if self.tile is None:
            return f"{self.dtype}-naive-{self.length}"
        layout = "align" if self.is_align else "ortho"
        return f"{self.dtype}-{layout}-{self.kind}-{self.tile.layout}-{self.tile.shape}-{self.length}"

    @property
    def is_align(self) -> bool:
        """Along the elements of a lane: consecutive elements in a lane, copies in the lanes of other rows
        (columns)."""
        return self.tile is not None and (self.kind == "row_vec") == (self.tile.layout == "row_l")

    def index(self) -> torch.Tensor:
        """Index in the vector of each lane's elements, [lane][base tile][element]; `length`: none."""
        lane = torch.arange(self.lanes)[:, None, None]
        if self.tile is None:
            count = -(-self.length // self.lanes)
            element = torch.arange(count)[None, :, None]
            return lane * count + element if self.side_by_side else element * self.lanes + lane
        row, col = positions(self.tile.base, self.tile.layout, self.lanes)
        along = (col if self.kind == "row_vec" else row)[:, None, :]
        side = self.tile.base[1] if self.kind == "row_vec" else self.tile.base[0]
        if not self.is_align:
            along = along[:, :, :1]
        return torch.arange(self.length // side)[None, :, None] * side + along

    @property
    def held_shape(self) -> tuple[int, ...]:
        return tuple(self.index().shape)

    def held(self, vector: torch.Tensor) -> torch.Tensor:
        """The elements that each lane holds; a lane without elements of a naive vector has the last one."""
        return vector[self.index().clamp(max=self.length - 1)]


def vectors_of(tile: Tile) -> tuple[Vector, Vector]:
    return (
        Vector(tile.dtype, tile.cols, tile, "row_vec"),
        Vector(tile.dtype, tile.rows, tile, "col_vec"),
    )


def layouts_of_tiles(lanes: int = 64) -> Iterator[tuple[int, str, str, str]]:
    """Every valid combination of element type, layout and base shape, with a running number."""
    number = 0
    for shapes in (SHAPES, SCALED_SHAPES):
        for dtype in ELEMENTS:
            for layout in LAYOUTS:
                for shape in shapes:
                    if has_layout(shape, layout, lanes):
                        yield number, dtype, layout, shape
                        number += 1


Use = tuple[str, tuple[str, str], str, str]
"""A function with a tile: its name, target and element type, layout, base shape. Target and element type are
one factor, since fp8 differs and instructions do."""


def uses(functions: Iterable[str], fits: Callable[[Use], bool] = lambda _: True) -> list[Use]:
    """Every function with every tile that it fits."""
    every = (
        (function, (arch, dtype), layout, shape)
        for arch in LIBRARY_TARGETS
        for _, dtype, layout, shape in layouts_of_tiles(LANES[arch])
        for function in functions
    )
    return [use for use in every if fits(use)]


def by_tile(arch: str, uses: Iterable[Use]) -> Iterator[tuple[int, str, str, str, list[str]]]:
    """Tiles of a target, in the order of `layouts_of_tiles`, with their functions."""
    functions = defaultdict(list)
    for function, (target, dtype), layout, shape in uses:
        if target == arch:
            functions[dtype, layout, shape].append(function)
    for number, *tile in layouts_of_tiles(LANES[arch]):
        if names := functions.get(tuple(tile)):
            yield number, *tile, names


def sized(number: int, dtype: str, layout: str, shape: str, most: int = 16) -> Tile:
    """A tile of one of several sizes, in turn: up to `most` elements a lane, or one base tile."""
    rows, cols, _ = ALL_SHAPES[shape]
    sizes = [
        (down, across)
        for down, across in ((1, 1), (2, 1), (1, 3), (2, 2))
        if down * across == 1 or down * across * rows * cols // 64 <= most
    ]
    down, across = sizes[number % len(sizes)]
    return Tile(dtype, down * rows, across * cols, layout, shape)


def distinct(dtype: str, arch: str, count: int) -> Make:
    """Distinct numbers, if the type has enough, in random order, so that misplaced elements show."""

    def make(generator: torch.Generator) -> torch.Tensor:
        order = torch.randperm(count, generator=generator)
        if dtype == "float":
            return order.float()
        if dtype == "fp8e4m3":
            return (order % 256).to(torch.uint8).view(torch_dtype(dtype, arch))
        # From the smallest normal bf16 and half on.
        return ((order + 0x0400) % 0x7C00).to(torch.int16).view(torch_dtype(dtype, arch))

    return make


def normal(dtype: str, arch: str, *shape: int, scale: float = 1.0, mean: float = 0.0) -> Make:
    """Random numbers around `mean`."""

    def make(generator: torch.Generator) -> torch.Tensor:
        return rounded(torch.randn(*shape, generator=generator).double() * scale + mean, dtype, arch)

    return make


def near_one(dtype: str, arch: str, *shape: int) -> Make:
    """Positive numbers of 0.75 to 1.25, with exact sums and products in range."""

    def make(generator: torch.Generator) -> torch.Tensor:
        return rounded(torch.rand(*shape, generator=generator).double() * 0.5 + 0.75, dtype, arch)

    return make


def integers(dtype: str, arch: str, *shape: int, largest: int = 8) -> Make:
    """Integers, so that sums of products are exact in any order."""

    def make(generator: torch.Generator) -> torch.Tensor:
        drawn = torch.randint(-largest, largest + 1, shape, generator=generator)
        return rounded(drawn.double(), dtype, arch)

    return make
