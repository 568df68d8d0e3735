"""Element-wise operations on register tiles, in every type, layout and base shape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tile_batches import Case, Family, Inputs, Kernel, case_id, close, equal, rounded, same_values
from tile_maps import BINARY, CONSTANTS, OF_POSITIVE, TERNARY, UNARY, Function, least, tolerance
from tile_types import Tile, layouts_of_tiles, normal, sized, vectors_of


def unary(arch: str, tile: Tile, names: list[str], part: str) -> Kernel:
    kernel = Kernel(f"unary-{part}-{tile.name}", arch)
    shape = tile.held_shape
    kernel.input("x", tile.dtype, shape, normal(tile.dtype, arch, *shape))
    kernel.output("out", tile.dtype, (len(names), *shape))
    body = [
        f"using tile = {tile.cpp}; tile x, d; take(x, x_ptr);",
        "constexpr int n = 64 * tile::elements_per_thread;",
    ]
    if any(name in OF_POSITIVE for name in names):
        body.append("tile p; abs(p, x);")
    for number, name in enumerate(names):
        argument = "p" if name in OF_POSITIVE else "x"
        body.append(f"{name}(d, {argument}); put(d, out_ptr + {number} * n);")
        function, ulps = UNARY[name]

        def wanted(
            given: Inputs, function: Function = function, positive: bool = argument == "p"
        ) -> torch.Tensor:
            x = given["x"].double()
            return rounded(function(x.abs() if positive else x), tile.dtype, arch)

        kernel.case(f"{name}-{tile.name}", "out", wanted, tolerance(ulps, tile.dtype, arch), number)
    kernel.body = "\n    ".join(body)
    return kernel


def constants(arch: str, tile: Tile) -> Kernel:
    kernel = Kernel(f"constants-{tile.name}", arch)
    kernel.output("out", tile.dtype, (len(CONSTANTS), *tile.held_shape))
    kernel.body = f"{tile.cpp} d; constexpr int n = 64 * {tile.cpp}::elements_per_thread;"
    for number, (name, value) in enumerate(CONSTANTS.items()):
        kernel.body += f"\n    {name}(d); put(d, out_ptr + {number} * n);"
        full = torch.full(tile.held_shape, value, dtype=torch.float64)
        kernel.case(
            f"{name}-{tile.name}",
            "out",
            lambda _, full=full: rounded(full, tile.dtype, arch),
            equal,
            number,
        )
    return kernel


def binary(arch: str, tile: Tile, names: list[str], part: str) -> Kernel:
    """Tile with tile, tile with one value, in place; and two products with a sum."""
    kernel = Kernel(f"binary-{part}-{tile.name}", arch)
    shape = tile.held_shape
    for name in ("x", "y"):
        kernel.input(name, tile.dtype, shape, normal(tile.dtype, arch, *shape))
    body = [
        f"{tile.cpp} x, y, d; take(x, x_ptr); take(y, y_ptr);",
        f"constexpr int n = 64 * {tile.cpp}::elements_per_thread;",
    ]
    number = 0
    for name in names:
        function, ulps = BINARY[name]
        compare = tolerance(ulps, tile.dtype, arch)
        body.append(f"{name}(d, x, y); put(d, out_ptr + {number} * n);")
        kernel.case(
            f"{name}-tile-{tile.name}",
            "out",
            lambda g, f=function: rounded(f(g["x"].double(), g["y"].double()), tile.dtype, arch),
            compare,
            number,
        )
        body.append(
            f"copy(d, x); {name}(d, d, base_types::constants<{tile.dtype}>::of(1.25f));"
            f" put(d, out_ptr + {number + 1} * n);"
        )
        kernel.case(
            f"{name}-value-{tile.name}",
            "out",
            lambda g, f=function: rounded(
                f(g["x"].double(), torch.tensor(1.25, dtype=torch.float64)), tile.dtype, arch
            ),
            compare,
            number + 1,
        )
        number += 2
    if part == "plain":
        for name, function3 in TERNARY.items():
            body.append(f"{name}(d, x, y, x); put(d, out_ptr + {number} * n);")
            kernel.case(
                f"{name}-{tile.name}",
                "out",
                lambda g, f=function3: rounded(
                    f(g["x"].double(), g["y"].double(), g["x"].double()), tile.dtype, arch
                ),
                # Rounded from float to a smaller type, or from float64 here: a second rounding.
                close(1, least(tile.dtype, arch)),
                number,
            )
            number += 1
    kernel.output("out", tile.dtype, (number, *shape))
    kernel.body = "\n    ".join(body)
    return kernel


ALONG: dict[str, Function] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "broadcast": lambda x, v: v.expand_as(x),
}


def with_vectors(arch: str, tile: Tile) -> Kernel:
    """Each element with the value of its row or column."""
    kernel = Kernel(f"vectors-{tile.name}", arch)
    kernel.input("x", tile.dtype, (tile.rows, tile.cols), normal(tile.dtype, arch, tile.rows, tile.cols))
    row, col = vectors_of(tile)
    kernel.input("row", tile.dtype, (row.length,), normal(tile.dtype, arch, row.length))
    kernel.input("col", tile.dtype, (col.length,), normal(tile.dtype, arch, col.length))
    kernel.derive("held_x", tile.dtype, tile.held_shape, lambda g: tile.held(g["x"]))
    kernel.derive("held_row", tile.dtype, row.held_shape, lambda g: row.held(g["row"]))
    kernel.derive("held_col", tile.dtype, col.held_shape, lambda g: col.held(g["col"]))
    body = [
        f"using tile = {tile.cpp}; tile x, d; tile::row_vec row; tile::col_vec col;",
        "take(x, held_x_ptr); take(row, held_row_ptr); take(col, held_col_ptr);",
        "constexpr int n = 64 * tile::elements_per_thread;",
    ]
    number = 0
    for name, function in ALONG.items():
        for axis, vector in (("row", "col"), ("col", "row")):
            arguments = f"d, {vector}" if name == "broadcast" else f"d, x, {vector}"
            body.append(f"{name}_{axis}({arguments}); put(d, out_ptr + {number} * n);")

            def wanted(
                given: Inputs, function: Function = function, by_row: bool = axis == "row"
            ) -> torch.Tensor:
                values = given["col"].double()[:, None] if by_row else given["row"].double()
                return tile.held(rounded(function(given["x"].double(), values), tile.dtype, arch))

            kernel.case(f"{name}_{axis}-{tile.name}", "out", wanted, same_values, number)
            number += 1
    kernel.output("out", tile.dtype, (number, *tile.held_shape))
    kernel.body = "\n    ".join(body)
    return kernel


def kernels(arch: str) -> Iterator[Kernel]:
    for number, dtype, layout, shape in layouts_of_tiles(scaled=False):
        names = list(UNARY)
        yield unary(arch, sized(number, dtype, layout, shape), names[:9], "short")
        yield unary(arch, sized(number + 1, dtype, layout, shape, 8), names[9:], "long")
        yield constants(arch, sized(number + 2, dtype, layout, shape))
        names = list(BINARY)
        yield binary(arch, sized(number + 1, dtype, layout, shape), names[:5], "plain")
        yield binary(arch, sized(number + 2, dtype, layout, shape, 8), names[5:], "div")
        yield with_vectors(arch, sized(number, dtype, layout, shape, 8))


FAMILY = Family("maps of tiles", kernels)


@pytest.mark.parametrize("case", FAMILY.cases(), ids=case_id)
def test_maps(case: Case) -> None:
    case.run()
