"""Implementations of a product by the schedules of `gemm.cuh`: launch, checks, and when each is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Launch, Step, Tunables, Variant
from workbench.targets import TILE_TARGETS, wave_size
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_tiles

Sizes = Mapping[str, Any]


def side_of(shape: Sizes) -> int:
    """Rows and columns of C per work-group of the plain loop, for groups."""
    return 64 if min(shape["m"] // shape["groups"], shape["n"]) <= 64 else 128


PARTS = (0, 2, 4, 8, 16, 32)
"""Numbers of parts of K to tune; 0 keeps the rule's number."""


WORDS = {"block_sums": 2 * 4 * 4 * 512, "power_sums": 2 * 4 * 4 * 512}
"""Bytes of scales in shared memory on gfx950 by name of the sums: two groups of four steps of 512 rows."""


def split_k(
    *,
    tile: Callable[[Sizes], gemm_tiles.Tile],
    define: Callable[[Sizes, str], dict[str, object]],
    launch: Callable[[Sizes, str, int], Launch],
    operands: Callable[[Sizes], Sequence[str]],
    total: Callable[[Sizes], str],
    tunables: Tunables,
    shapes: Sequence[Sizes],
    check: Callable[[Sizes, str], None],
    step: Callable[[Sizes], int] = lambda shape: 128,
) -> Variant:
    """Two steps: a loop for each part of K, then the sum of the parts in order, and the epilogue.

    Args:
        tile: the tile of a work-group, and the largest number of parts.
        define: the macro of the loop, whose problem is `parts_of_k`.
        launch: launch of the loop, with the number of parts.
        operands: names of the loop's input tensors.
        total: C++ types of C's elements and of the epilogue.
        step: columns of which a part has a multiple.
    """

    def check_one(shape: Sizes, arch: str) -> None:
        check(shape, arch)
        if shape["batch"] > 1:
            raise ShapeError(f"GEMM: batch is {shape['batch']}; this implementation supports 1")

    def span(shape: Sizes) -> int:
        return family.span(shape, tile(shape).parts, step(shape))

    def parts_of(shape: Sizes) -> int:
        return int(-(-shape["k"] // span(shape)))

    first = Step(
        "parts",
        "gemm",
        lambda shape, arch: launch(shape, arch, parts_of(shape)),
        arguments=lambda shape, tensors: {
            **{name: tensors[name] for name in operands(shape)},
            "c": tensors["parts"],
            "span": span(shape),
        },
        define=define,
    )
    second = Step(
        "sum",
        "gemm",
        lambda shape, arch: Launch(
            grid=-(-(-(-shape["m"] // 16) * -(-shape["n"] // 16)) // family.WAVES),
            block=family.WAVES * wave_size(arch),
        ),
        define=lambda shape, arch: {"GEMM": f"sum_parts<{total(shape)}>"},
    )
    return Variant(
        lambda shape, arch: shape["batch"] == 1 and tile(shape).parts > 1,
        steps=(first, second),
        workspace=lambda shape, tensors: {
            "parts": ((parts_of(shape), shape["m"], shape["n"]), torch.float32)
        },
        define=lambda shape, arch: {},
        tunables=tunables,
        shapes=shapes,
        check=check_one,
    )


@dataclass(frozen=True)
class Product:
    """A product of matrices with its epilogue; its methods are the implementations.

    Attributes:
        element: C++ type of A's and B's elements.
        result: C++ type of C's elements.
        epilogue: C++ type of the epilogue.
        size: bytes of an element of A and B.
        check: raises an error for shapes that no implementation supports.
        problem: assignment of work-groups to parts, from `gemm_problem.cuh`.
        sums: accumulation of a step's products, from `gemm_sums.cuh`; only the 8-wave ping-pong supports more
            than one.
        side: rows of C and columns of B per work-group of the plain loop, if fixed rather than chosen by size
            (`gemm_tiles`).
        of_b: columns of B per column of C.
    """

    element: Callable[[Sizes], str]
    result: Callable[[Sizes], str]
    epilogue: Callable[[Sizes], str]
    size: Callable[[Sizes], float]
    check: Callable[[Sizes, str], None]
    problem: str = "batches"
    sums: str = "added_sums"
    side: Callable[[Sizes], int] | None = None
    of_b: int = 1

    def instance(self, schedule: str, shape: Sizes, *more: str) -> dict[str, object]:
        """The macro with the C++ type of a schedule; `more` are template arguments before the epilogue."""
        problem = (self.problem,) if self.problem != "batches" else family.order(shape)
        if self.sums != "added_sums":
            problem = (*(problem or (self.problem,)), self.sums)
        arguments = (self.element(shape), self.result(shape), *more, self.epilogue(shape), *problem)
        return {"GEMM": f"{schedule}<{', '.join(arguments)}>"}

    @property
    def order(self) -> dict[str, Any]:
        """Tunables: the order of the tiles of C."""
        return family.ORDER if self.problem == "batches" and self.of_b == 1 else {}

    @property
    def tiles(self) -> dict[str, Any]:
        """Tunables: the tiles of the plain loop."""
        return {} if self.side else gemm_tiles.TUNABLES

    def tile(self, shape: Sizes, split: bool = False) -> gemm_tiles.Tile:
        """Tile of a work-group of the plain loop, by size; with `split`, also a part of K."""
        if self.side:
            side = self.side(shape)
            return gemm_tiles.Tile(side, side)
        row = shape["k"] * self.size(shape)
        # One-byte elements that are read across K fill a tile of reads only with 128 rows.
        sides = (64, 128) if family.is_nt(shape) or self.size(shape) == 2 else (128,)
        tile = gemm_tiles.best(
            shape["m"],
            shape["n"],
            row,
            batch=shape["batch"],
            split=split,
            sides=(32, *sides) if family.is_nt(shape) else sides,
        )
        parts = shape.get("parts") or tile.parts
        return gemm_tiles.Tile(
            shape.get("side") or tile.high, shape.get("side") or tile.wide, parts if split else 1
        )

    def cpp_tile(self, shape: Sizes, arch: str, split: bool = False) -> str:
        """The tile as a C++ type, with the number of steps that a work-group loads ahead."""
        tile = self.tile(shape, split)
        if self.side:
            return str(tile.high)
        return f"tile_of_c({tile.high}, {tile.wide}, {self.ahead(tile, shape, arch)})"

    def ahead(self, tile: gemm_tiles.Tile, shape: Sizes, arch: str) -> int:
        """Steps that shared memory holds."""
        groups = tile.groups(shape["m"], shape["n"]) * shape["batch"]
        return 2 if self.side else gemm_tiles.ahead(tile.stage(family.BYTES[arch]), groups, arch)

    def launch_tiles(self, tile: gemm_tiles.Tile, parts: int, shape: Sizes, arch: str) -> Launch:
        """A work-group of 4 waves for each tile of C and part of K or matrix of a batch."""
        shared = self.ahead(tile, shape, arch) * tile.stage(family.BYTES[arch])
        grid = (family.tiles(shape, tile.high, tile.wide // self.of_b), parts)
        return Launch(grid=grid, block=family.WAVES * wave_size(arch), dynamic_shared=shared)

    def launch(self, tile: int, threads: int, words: int = 0) -> Callable[[Sizes, str], Launch]:
        """A work-group for each tile of C; for groups, as many as any division into groups needs, since each
        group may end with a partial tile.

        Args:
            words: bytes of scales in shared memory on gfx950.
        """

        def launch_of_shape(shape: Sizes, arch: str) -> Launch:
            more = words if arch == "gfx950" else 0
            whole = family.launch(tile, threads, tile // self.of_b, more)(shape, arch)
            if "groups" not in shape:
                return whole
            high = -(-shape["m"] // tile) + shape["groups"]
            return Launch(
                grid=high * -(-shape["n"] // tile), block=threads, dynamic_shared=whole.dynamic_shared
            )

        return launch_of_shape

    def plain(self) -> dict[str, Any]:
        """Fields of a spec whose default implementation is the plain loop over two or more buffers."""

        def define(shape: Sizes, arch: str) -> dict[str, object]:
            layout = f"layout::{shape.get('layout', 'nt')}"
            return self.instance("double_buffer", shape, layout, self.cpp_tile(shape, arch))

        def launch(shape: Sizes, arch: str) -> Launch:
            tile = self.tile(shape)
            if "groups" in shape:
                return self.launch(tile.high, family.WAVES * wave_size(arch))(shape, arch)
            return self.launch_tiles(tile, shape["batch"], shape, arch)

        return {
            "source": family.SOURCE,
            "entry": "gemm",
            "define": define,
            "launch": launch,
            "check": self.check,
            "tunables": Tunables(**self.tiles, **self.order),
            "flops": family.flops,
        }

    def few_rows(self, shapes: Sequence[Sizes]) -> Variant:
        """Variant for up to 64 rows of A."""

        def check(shape: Sizes, arch: str) -> None:
            self.check(shape, arch)
            family.check_few_rows(shape, arch)

        def fits(shape: Sizes, arch: str) -> bool:
            if not family.is_nt(shape) or shape["m"] > family.most_few_rows(arch):
                return False
            rows, cols = family.few_rows(shape)
            row = shape["k"] * self.size(shape)
            by_rows = gemm_tiles.few_rows_cycles(rows, cols, shape["n"], row, 256, shape["batch"])
            tile = self.tile(shape, True)
            return by_rows <= gemm_tiles.cycles(tile, shape["m"], shape["n"], row, shape["batch"])

        return Variant(
            fits,
            define=lambda shape, arch: self.instance("few_rows", shape, *map(str, family.few_rows(shape))),
            launch=family.launch_few_rows,
            tunables=Tunables(cols=(0, 16, 32)),
            shapes=shapes,
            check=check,
        )

    def split_k(self, shapes: Sequence[Sizes]) -> Variant:
        """Two steps: the plain loop for each part of K, then the sum of the parts and the epilogue."""

        def define(shape: Sizes, arch: str) -> dict[str, object]:
            arguments = (
                self.element(shape),
                "float",
                f"layout::{shape['layout']}",
                self.cpp_tile(shape, arch, True),
                "epilogue<>",
                "parts_of_k",
            )
            return {"GEMM": f"double_buffer<{', '.join(arguments)}>"}

        return split_k(
            tile=lambda shape: self.tile(shape, True),
            define=define,
            launch=lambda shape, arch, parts: self.launch_tiles(self.tile(shape, True), parts, shape, arch),
            operands=lambda shape: ("a", "b"),
            total=lambda shape: f"{self.result(shape)}, {self.epilogue(shape)}",
            tunables=Tunables(**self.tiles, parts=PARTS),
            shapes=shapes,
            check=self.check,
        )

    def ping_pong(self, shapes: Sequence[Sizes], on: Sequence[str] = TILE_TARGETS, **more: Any) -> Variant:
        """Variant for many tiles of 256 x 256, by 8 waves, chosen by default on the targets `on`; `more` are
        further fields of the variant."""
        return self._fast("ping_pong", 512, shapes, on, True, more)

    def interleave(self, shapes: Sequence[Sizes], on: Sequence[str] = ()) -> Variant:
        """Variant of 4 waves, chosen by default on the targets `on`."""
        return self._fast("interleave", 256, shapes, on, False, {})

    def _fast(
        self,
        schedule: str,
        threads: int,
        shapes: Sequence[Sizes],
        on: Sequence[str],
        any_layout: bool,
        more: Sizes,
    ) -> Variant:
        def check(shape: Sizes, arch: str) -> None:
            self.check(shape, arch)
            family.check_large_tiles(arch)
            if not any_layout:
                family.check_nt(shape)
            family.check_fast(shape, self.size(shape))

        def define(shape: Sizes, arch: str) -> dict[str, object]:
            layout = (f"layout::{shape.get('layout', 'nt')}",) if any_layout else ()
            return self.instance(schedule, shape, *layout)

        def fits(shape: Sizes, arch: str) -> bool:
            return arch in on and self.is_large(shape) and (any_layout or family.is_nt(shape))

        return Variant(
            fits,
            define=define,
            launch=self.launch(256, threads, WORDS.get(self.sums, 0)),
            tunables=Tunables(**self.order),
            shapes=shapes,
            check=check,
            **more,
        )

    def is_large(self, shape: Sizes) -> bool:
        """True if a shape suits the schedules with tiles of 256 x 256: they support it, it keeps half of the
        compute units busy, and tiles half as high or wide would not be faster. Groups must have two such
        tiles.
        """
        if not family.is_fast(shape, self.size(shape)):
            return False
        if "groups" in shape:
            return bool(shape["m"] // shape["groups"] >= 512)
        wide = 256 // self.of_b
        tiles = family.tiles(shape, 256, wide)
        full = 2 * shape["m"] * shape["n"] > tiles * 256 * wide
        return bool(full and tiles * int(shape["batch"]) >= 128)
