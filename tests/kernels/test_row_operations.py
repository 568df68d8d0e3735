"""Scans, selections, outer products, blocks of columns and atomic sums of register tiles."""

from __future__ import annotations

import pytest
import torch
from tile_cases import Batch, close, random

import workbench as wb
from workbench.runtime import device

TILES = [
    ("rt_fl<32, 32, row_l, rt_16x16_s>", 32, 32),
    ("rt_fl<16, 64, row_l, rt_16x32_s>", 16, 64),
    ("rt_fl<8, 128, row_l, rt_rows_s<bf16, 64>>", 8, 128),
    ("rt_fl<2, 512, row_l, rt_rows_s<bf16, 512>>", 2, 512),
]
WHOLE = "{0, 0, 0, 0}"


def test_scans_along_rows(arch: str) -> None:
    batch = Batch()
    for tile, rows, cols in TILES:
        x = random(rows, cols)
        batch.add(
            f"{tile} sum",
            f"{tile} r; load(r, g.x, {WHOLE}); row_cumsum(r, r); store(g.out, r, {WHOLE});",
            x=x,
            expected={"out": x.double().cumsum(1).float()},
            check=close(cols, 1e-5),
        )
        batch.add(
            f"{tile} max",
            f"{tile} r, d; load(r, g.x, {WHOLE}); row_scan<base_ops::max>(d, r); store(g.out, d, {WHOLE});",
            x=x,
            expected={"out": x.cummax(1).values},
        )
    batch.run(arch)


def test_scans_over_the_lanes_of_groups(arch: str) -> None:
    """Values whose result depends on the lanes' order: the last of two."""
    batch = Batch()
    for waves in (1, 4):
        x = random(1, 64 * waves)
        batch.add(
            f"sum of {waves} waves",
            f"""__shared__ sv_fl<{waves}> scratch;
            g.out[{{static_cast<int>(threadIdx.x)}}] =
                group<{waves}>::scan<base_ops::sum>(g.x[{{static_cast<int>(threadIdx.x)}}], scratch);""",
            x=x,
            threads=64 * waves,
            expected={"out": x.double().cumsum(1).float()},
            check=close(64, 1e-5),
        )
    x = random(1, 64)
    batch.add(
        "sequences of every fourth lane",
        "g.out[{laneid()}] = scan_lanes<base_ops::max, 4>(g.x[{laneid()}]);",
        x=x,
        expected={"out": x.view(16, 4).cummax(0).values.view(1, 64)},
    )
    batch.run(arch)


def test_the_largest_of_rows(arch: str) -> None:
    """With equal elements (the first is taken), infinities and a NaN."""
    batch, k = Batch(), 5
    for tile, rows, cols in TILES:
        x = (random(rows, cols) * 3).round()
        x[0, :] = float("-inf")
        x[1, 7] = float("inf")
        ordered = x.double() - torch.arange(cols) * 1e-6
        ordered[0] = -torch.arange(cols).double()
        x[1, 9] = float("nan")
        ordered[1, 9] = -1e9
        columns = ordered.topk(k, 1).indices
        values = x.gather(1, columns)
        batch.add(
            tile,
            f"""{tile} r; decltype(r)::col_vec v[{k}], c[{k}]; load(r, g.x, {WHOLE}); row_topk<{k}>(v, c, r);
            for (int n = 0; n < {k}; n++) {{
                store(g.values, v[n], {{0, 0, n, 0}}); store(g.columns, c[n], {{0, 0, n, 0}});
            }}
            load(r, g.x, {WHOLE}); row_argmax(v[0], c[0], r); store(g.best, c[0], {WHOLE});""",
            x=x,
            expected={
                "values": values.T.contiguous(),
                "columns": columns.T.float().contiguous(),
                "best": columns[:, :1].T.float().contiguous(),
            },
        )
    batch.run(arch)


def test_outer_products(arch: str) -> None:
    x, a, b = random(32, 32, seed=1), random(1, 32, seed=2), random(1, 32, seed=3)
    batch = Batch()
    for layout in ("row_l", "col_l"):
        batch.add(
            layout,
            f"""using tile = rt_fl<32, 32, {layout}, rt_16x16_s>; tile x, product;
            tile::col_vec a; tile::row_vec b;
            load(x, g.x, {WHOLE}); load(a, g.a, {WHOLE}); load(b, g.b, {WHOLE});
            outer(product, a, b); store(g.product, product, {WHOLE});
            outer_add(x, x, a, b); store(g.total, x, {WHOLE});""",
            **{"x": x, "a": a, "b": b},
            expected={
                "product": a.T * b,
                "total": torch.addcmul(x.double(), a.T.double(), b.double()).float(),
            },
        )
    batch.run(arch)


@pytest.mark.parametrize("block", [32, 128])
def test_blocks_and_their_scales(arch: str, block: int) -> None:
    """Scales of quantization by blocks; the matrix ends within the second tile down."""
    batch = Batch()
    for tile, rows, cols in TILES:
        if cols % block or (block == 128 and "rt_16x16_s" in tile):
            continue
        x = random(rows, cols)
        scales = x.view(rows, -1, block).abs().amax(2)
        stored = torch.full((rows + 3, 2 * cols // block), float("nan"))
        stored[3:, cols // block :] = scales
        batch.add(
            tile,
            f"""{tile} r, s; load(r, g.x, {WHOLE}); block_absmax<{block}>(s, r); store(g.out, s, {WHOLE});
            store_blocks<{block}>(g.scales, s, 3, {cols});""",
            x=x,
            expected={"out": scales.repeat_interleave(block, 1), "scales": stored},
        )
    batch.run(arch)


ATOMIC = """
#include "kittens.cuh"
using namespace kittens;
__global__ void add_all(gl<bf16, 1, 1, -1, 40> x, gl<float, 1, 1, -1, 40> total) {
    rt_fl<32, 32, row_l, rt_16x32_s> r;
    const int at = static_cast<int>(blockIdx.x) % 4;
    load_bounded(r, x, {0, 0, at / 2, at % 2});
    atomic_add(total, r, {0, 0, at / 2, at % 2});
}
"""


def test_atomic_sums(arch: str) -> None:
    """Three work-groups add each tile, of a matrix that tiles do not divide; exact in integers."""
    x = torch.randint(-9, 9, (50, 40), generator=torch.Generator().manual_seed(1))
    total = torch.ones(50, 40)
    kernel = wb.compile(ATOMIC, arch=arch)["add_all"]
    kernel.launch(
        wb.Launch(12, 64), (), {"x": x.bfloat16(), "total": total}, device=device(f"emulated:{arch}")
    )
    assert torch.equal(total, 1 + 3 * x.float())
