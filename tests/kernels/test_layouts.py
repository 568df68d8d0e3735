"""Where the elements of tiles and vectors are: lanes and registers of a wave, and global memory."""

from __future__ import annotations

import pytest
import torch
from tile_cases import DTYPES, SHAPES, Batch, distinct, has_layout, positions

CORNER = "{0, 0, 0, 0}"


def dumped(x: torch.Tensor, shape: str, layout: str) -> torch.Tensor:
    """What the lanes hold of a tile, [base tile][element][lane]."""
    rows, cols, _ = SHAPES[shape]
    row, col = positions(shape, layout)
    return torch.stack(
        [
            x[i * rows + row, j * cols + col]
            for i in range(x.shape[0] // rows)
            for j in range(x.shape[1] // cols)
        ]
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_register_tiles(arch: str, batch: Batch, dtype: str) -> None:
    """load puts each element into the documented lane and register, store takes it from there."""
    for shape, (rows, cols, _) in SHAPES.items():
        for layout in ("row_l", "col_l"):
            if not has_layout(shape, layout):
                continue
            x = distinct(2 * rows, 2 * cols, DTYPES[dtype], seed=rows + cols)
            batch.add(
                f"{dtype} {shape} {layout}",
                f"""rt<{dtype}, {2 * rows}, {2 * cols}, {layout}, {shape}> tile;
                load(tile, g.x, {CORNER});
                dump(tile, g.lanes.raw_ptr);
                store(g.back, tile, {CORNER});""",
                x=x,
                wanted={"lanes": dumped(x, shape, layout), "back": x},
            )
    batch.run(arch)


def test_conversion_on_the_way(arch: str, batch: Batch) -> None:
    """load and store round to nearest even between the types of memory and tile."""
    x = torch.randn(32, 64, generator=torch.Generator().manual_seed(3))
    for memory, held in (("float", "bf16"), ("float", "half"), ("bf16", "float"), ("half", "float")):
        for layout in ("row_l", "col_l"):
            source = x.to(DTYPES[memory])
            batch.add(
                f"{memory} to {held} {layout}",
                f"""rt<{held}, 32, 64, {layout}, rt_16x32_s> tile;
                load(tile, g.x, {CORNER});
                store(g.held, tile, {CORNER});
                store(g.back, tile, {CORNER});""",
                x=source,
                wanted={
                    "held": source.to(DTYPES[held]),
                    "back": source.to(DTYPES[held]).to(DTYPES[memory]),
                },
            )
    batch.run(arch)


def test_coordinates(arch: str, batch: Batch) -> None:
    """A coordinate counts tiles along the rows' axis and the columns, elements along the others."""
    x = distinct(2 * 3 * 64, 64, torch.float32).reshape(2, 3, 64, 64)
    batch.add(
        "tile {1, 2, 1, 3}",
        "rt_fl<32, 16> tile; load(tile, g.x, {1, 2, 1, 3}); store(g.out, tile, {0, 0, 0, 0});",
        x=x,
        wanted={"out": x[1, 2, 32:64, 48:64]},
    )
    batch.add(
        "elements {1, 2, 5, 8}",
        "rt_fl<32, 16> tile; load(tile, g.x, coord<>{1, 2, 5, 8}); store(g.out, tile, {0, 0, 0, 0});",
        x=x,
        wanted={"out": x[1, 2, 5:37, 8:24]},
    )
    deep = distinct(2 * 64 * 3, 32, torch.float32).reshape(2, 64, 3, 32)
    batch.add(
        "rows along the depth",
        "rt_fl<32, 16> tile; load<1>(tile, g.x, {1, 1, 2, 1}); store(g.out, tile, {0, 0, 0, 0});",
        x=deep,
        wanted={"out": deep[1, 32:64, 2, 16:32]},
    )
    tall = distinct(64 * 2 * 3, 32, torch.float32).reshape(64, 2, 3, 32)
    batch.add(
        "rows along the batch",
        "rt_fl<32, 16> tile; load<0>(tile, g.x, {1, 1, 2, 1}); store(g.out, tile, {0, 0, 0, 0});",
        x=tall,
        wanted={"out": tall[32:64, 1, 2, 16:32]},
    )
    batch.run(arch)


def padded(x: torch.Tensor, rows: int, cols: int) -> torch.Tensor:
    full = torch.zeros(rows, cols, dtype=x.dtype)
    full[: x.shape[0], : x.shape[1]] = x
    return full


@pytest.mark.parametrize("cols", [1, 24, 33, 64])
def test_past_the_end(arch: str, batch: Batch, cols: int) -> None:
    """Rows past the end read as zero and are not written; with the bounded functions columns too."""
    for dtype in ("bf16", "float"):
        for layout in ("row_l", "col_l"):
            for fixed in (False, True):
                x = distinct(21, cols, DTYPES[dtype])
                view = f"gl<{dtype}, 1, 1, -1, {cols}>" if fixed else f"gl<{dtype}, 1, 1, -1, -1>"
                size = "nullptr" if fixed else str(cols)
                batch.add(
                    f"{dtype} {layout} {'fixed' if fixed else 'runtime'} width",
                    f"""rt<{dtype}, 32, 64, {layout}, rt_16x32_s> tile;
                    {view} x(g.x.raw_ptr, nullptr, nullptr, 21, {size});
                    {view} back(g.back.raw_ptr, nullptr, nullptr, 21, {size});
                    load_bounded(tile, x, {CORNER});
                    store(g.out, tile, {CORNER});
                    store_bounded(back, tile, {CORNER});
                    load_bounded(tile, x, {{0, 0, 1, 0}});
                    store(g.below, tile, {CORNER});""",
                    x=x,
                    wanted={
                        "out": padded(x, 32, 64),
                        "back": x,
                        "below": torch.zeros(32, 64, dtype=x.dtype),
                    },
                )
    batch.run(arch)


def test_vectors(arch: str, batch: Batch) -> None:
    """Vectors in each layout: what the lanes hold follows the tile that they go with."""
    for dtype in DTYPES:
        shapes = SHAPES if dtype == "bf16" else {s: SHAPES[s] for s in ("rt_16x16_s", "rt_32x16_s")}
        for shape, (rows, cols, _) in shapes.items():
            for layout in ("row_l", "col_l"):
                if not has_layout(shape, layout):
                    continue
                x = distinct(2 * rows, 2 * cols, DTYPES[dtype], seed=7)
                row, column = x[3].clone(), x[:, 5].clone()
                batch.add(
                    f"{dtype} {shape} {layout}",
                    f"""using tile_t = rt<{dtype}, {2 * rows}, {2 * cols}, {layout}, {shape}>;
                    tile_t tile;
                    tile_t::row_vec row; tile_t::col_vec column;
                    load(row, g.row, {CORNER}); load(column, g.column, {CORNER});
                    broadcast_col(tile, row); store(g.by_col, tile, {CORNER});
                    broadcast_row(tile, column); store(g.by_row, tile, {CORNER});
                    store(g.row_back, row, {CORNER}); store(g.column_back, column, {CORNER});""",
                    row=row,
                    column=column,
                    wanted={
                        "by_col": row.expand(2 * rows, -1).contiguous(),
                        "by_row": column[:, None].expand(-1, 2 * cols).contiguous(),
                        "row_back": row,
                        "column_back": column,
                    },
                )
        for length in (64, 100, 256):
            x = distinct(1, length, DTYPES[dtype])[0]
            batch.add(
                f"{dtype} naive {length}",
                f"""rv<{dtype}, {length}> v; load(v, g.x, {CORNER}); store(g.back, v, {CORNER});
                rv<{dtype}, {2 * length}> twice; load(twice, g.x, {CORNER});
                store(g.twice, twice, {CORNER});""",
                x=x,
                wanted={"back": x, "twice": torch.cat([x, torch.zeros_like(x)])},
            )
    batch.run(arch)
