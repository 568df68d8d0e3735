"""Register tiles with a part of their elements set to a value, in every type, layout and base shape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tile_batches import Batch, Family, Inputs, Kernel, batch_id, equal, rounded
from tile_types import Tile, Use, by_tile, normal, sized, uses

MASKS = {
    "tril": lambda row, col, at: col <= row - at,
    "triu": lambda row, col, at: col >= row - at,
    "make_causal": lambda row, col, _: col <= row,
    "make_causal_t": lambda row, col, _: row <= col,
    "left_fill": lambda row, col, at: col >= at,
    "right_fill": lambda row, col, at: col < at,
    "upper_fill": lambda row, col, at: row >= at,
    "lower_fill": lambda row, col, at: row < at,
}
"""Mask of the elements that stay, by row, column and parameter."""

DIAGONAL = ("tril", "triu")
WITHOUT_PARAMETER = ("make_causal", "make_causal_t")


def kernel_of(arch: str, tile: Tile, number: int, names: list[str]) -> Kernel:
    tile = tile.on(arch)
    kernel = Kernel(tile.name, arch)
    kernel.input("x", tile.dtype, (tile.rows, tile.cols), normal(tile.dtype, arch, tile.rows, tile.cols))
    kernel.derive("held_x", tile.dtype, tile.held_shape, lambda g: tile.held(g["x"]))
    body = [
        f"using tile = {tile.cpp}; tile x, d; take(x, held_x_ptr);",
        "constexpr int n = WARP_THREADS * tile::elements_per_thread;",
        f"[[maybe_unused]] const auto value = base_types::constants<{tile.dtype}>::of(-2.5f);",
    ]
    row, col = torch.arange(tile.rows)[:, None], torch.arange(tile.cols)[None, :]
    for part, name in enumerate(names):
        turn = list(MASKS).index(name)
        at = (number * 7 + turn * 3) % 23 - (11 if name in DIAGONAL else 0)
        # Zero without a value.
        given_value = (number + turn) % 2 == 0
        arguments = ["d", "x", *([] if name in WITHOUT_PARAMETER else [str(at)]), *(["value"] * given_value)]
        body.append(f"{name}({', '.join(arguments)}); put(d, out_ptr + {part} * n);")
        fill = rounded(torch.tensor(-2.5 if given_value else 0.0, dtype=torch.float64), tile.dtype, arch)

        keep = MASKS[name](row, col, at)

        def expected(inputs: Inputs, keep: torch.Tensor = keep, fill: torch.Tensor = fill) -> torch.Tensor:
            kept = torch.where(keep, inputs["x"].float(), fill.float())
            return tile.held(rounded(kept.double(), tile.dtype, arch))

        kernel.case(f"{name}-{tile.name}", "out", expected, equal, part)
    kernel.output("out", tile.dtype, (len(names), *tile.held_shape))
    kernel.body = "\n    ".join(body)
    return kernel


def kernels(arch: str, chosen: list[Use]) -> Iterator[Kernel]:
    for number, dtype, layout, shape, names in by_tile(arch, chosen):
        yield kernel_of(arch, sized(number, dtype, layout, shape), number, names)


FAMILY = Family("masks", kernels, uses(MASKS))


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_masks(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
