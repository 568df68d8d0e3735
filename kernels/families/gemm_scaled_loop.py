"""The plain loop of products with scales for blocks of columns: tiles by size, parts of K."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.operators import Launch, Tunables, Variant
from workbench.targets import WAVE
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_schedules, gemm_tiles

Sizes = Mapping[str, Any]


@dataclass(frozen=True)
class ScaledLoop:
    """`block_scaled`; with steps of 128 columns or more, whose rows have words of scales, it loads further
    ahead.

    Attributes:
        policies: template arguments of `scaled_products` by shape.
        epilogue: C++ type of the epilogue by shape.
        bits: bits per element of A and of B.
        columns: columns of A and B per step, by shape and target.
        operands: names of the loop's input tensors.
        check: raises an error for shapes that the operator does not support.
        scales: whether the kernel for few rows starts as many loads of scales as of operands.
    """

    policies: Callable[[Sizes], str]
    epilogue: Callable[[Sizes], str]
    bits: Callable[[Sizes], tuple[int, int]]
    columns: Callable[[Sizes, str], int]
    operands: Callable[[Sizes], Sequence[str]]
    check: Callable[[Sizes, str], None]
    scales: Callable[[Sizes], bool] = lambda shape: False

    def tile(self, shape: Sizes, split: bool = False) -> gemm_tiles.Tile:
        """Tile of a work-group, by size; with `split`, also a part of K."""
        tile = gemm_tiles.best(
            shape["m"],
            shape["n"],
            self._bytes(shape, shape["k"]),
            batch=shape["batch"],
            split=split,
            # A wave reads 32 columns of an operand across K at once.
            sides=gemm_tiles.SIDES if family.is_nt(shape) else (64, 128),
            step=self._step(shape),
            most=self.most_ahead(shape),
        )
        high, wide = shape.get("side") or tile.high, shape.get("side") or tile.wide
        return gemm_tiles.Tile(high, wide, (shape.get("parts") or tile.parts) if split else 1)

    def _step(self, shape: Sizes) -> int:
        """Bytes of a row per step on gfx950, for which the rules choose, as on other targets."""
        return self._bytes(shape, self.columns(shape, "gfx950"))

    def _bytes(self, shape: Sizes, columns: int) -> int:
        """Bytes of this many columns of a row, the mean of A and B."""
        return columns * sum(self.bits(shape)) // 16

    def suits_few_rows(self, shape: Sizes) -> bool:
        """True if the kernel for few rows takes less time."""
        rows, cols = family.few_rows(shape)
        row, batch = self._bytes(shape, shape["k"]), shape["batch"]
        chunk = max(self._bytes(shape, 128), self._step(shape))
        by_rows = gemm_tiles.few_rows_cycles(rows, cols, shape["n"], row, chunk, batch, self.scales(shape))
        return by_rows <= gemm_tiles.cycles(
            self.tile(shape, True),
            shape["m"],
            shape["n"],
            row,
            batch,
            self._step(shape),
            self.most_ahead(shape),
        )

    def most_ahead(self, shape: Sizes) -> int:
        """Steps that shared memory may hold: two if scales go to registers."""
        return gemm_tiles.MOST_AHEAD if self.columns(shape, "gfx950") >= 128 else 2

    def _stage(self, tile: gemm_tiles.Tile, shape: Sizes, arch: str) -> tuple[int, int]:
        """Bytes of a step in shared memory: operands, and words of scales for a wave's rows at a time."""
        of_a, of_b = self.bits(shape)
        columns = self.columns(shape, arch)
        words = -(-columns // 128) * 4 * WAVE * (-(-tile.high // WAVE) + -(-tile.wide // WAVE))
        return columns * (tile.high * of_a + tile.wide * of_b) // 8, words

    def ahead(self, tile: gemm_tiles.Tile, shape: Sizes, arch: str) -> int:
        """Steps that shared memory holds."""
        groups = tile.groups(shape["m"], shape["n"]) * shape["batch"]
        return gemm_tiles.ahead(sum(self._stage(tile, shape, arch)), groups, arch, self.most_ahead(shape))

    def _has_words(self, shape: Sizes, arch: str, steps: int) -> bool:
        """True if scales go to shared memory with the operands: always if there is room for them."""
        return self.columns(shape, arch) >= 128 and (steps > 2 or arch == "gfx950")

    def cpp(self, shape: Sizes, arch: str, split: bool = False) -> str:
        """The C++ type of the loop."""
        tile = self.tile(shape, split)
        steps = self.ahead(tile, shape, arch)
        words = str(self._has_words(shape, arch, steps)).lower()
        held = f"tile_of_c({tile.high}, {tile.wide}, {steps}, {words})"
        result, finish, problem = (
            ("float", "epilogue<>", "parts_of_k") if split else ("bf16", self.epilogue(shape), "batches")
        )
        stored = "" if family.is_nt(shape) else f", layout::{shape['layout']}"
        products = f"scaled_products<{self.policies(shape)}>"
        return f"block_scaled<{products}, {result}, {finish}, {problem}, {held}{stored}>"

    def launch(self, shape: Sizes, arch: str, tile: gemm_tiles.Tile | None = None, parts: int = 0) -> Launch:
        """A work-group for each tile of C, and part of K or matrix of a batch."""
        tile = tile or self.tile(shape)
        stage, words = self._stage(tile, shape, arch)
        held = self.ahead(tile, shape, arch)
        return Launch(
            grid=(family.tiles(shape, tile.high, tile.wide), parts or shape["batch"]),
            block=256,
            dynamic_shared=held * (stage + (words if self._has_words(shape, arch, held) else 0)),
        )

    def fields(self) -> dict[str, Any]:
        """Fields of a spec whose default implementation this is."""
        return {
            "define": lambda shape, arch: {"GEMM": self.cpp(shape, arch)},
            "launch": self.launch,
            "tunables": Tunables(**gemm_tiles.TUNABLES),
        }

    def split_k(self, shapes: Sequence[Sizes]) -> Variant:
        """Variant that computes parts of K, then adds them in order."""
        return gemm_schedules.split_k(
            tile=lambda shape: self.tile(shape, True),
            define=lambda shape, arch: {"GEMM": self.cpp(shape, arch, True)},
            launch=lambda shape, arch, parts: self.launch(shape, arch, self.tile(shape, True), parts),
            operands=self.operands,
            step=lambda shape: max(128, self.columns(shape, "gfx950")),
            total=lambda shape: f"bf16, {self.epilogue(shape)}",
            tunables=Tunables(**gemm_tiles.TUNABLES, parts=gemm_schedules.PARTS),
            shapes=shapes,
            check=self.check,
        )
