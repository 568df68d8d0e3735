"""The XCD of each work-group; other dispatch orders against kernels that assume them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.errors import UsageError
from workbench.origin import Origin
from workbench.profile.chiplets import chiplet_order, launched_order, row_order, tiles_of
from workbench.targets import TILE_TARGETS

SIDE, TILE = 256, 16
TILES = SIDE // TILE
SOURCE = f"""
#include "kittens.cuh"
// C = A B^T in tiles of 16 x 16, row by row or in windows of 8 rows with runs of 32 tiles on a die.
__global__ void product(const float *a, const float *b, float *c, int chiplets) {{
  int id = blockIdx.x, row = id / {TILES}, col = id % {TILES};
  if (chiplets) {{
    id = kittens::chiplet_transform_chunked(id, {TILES * TILES}, 8, 32);
    int inside = id % (8 * {TILES});
    row = id / (8 * {TILES}) * 8 + inside % 8, col = inside / 8;
  }}
  int i = row * {TILE} + threadIdx.x / {TILE}, j = col * {TILE} + threadIdx.x % {TILE};
  float sum = 0;
  for (int k = 0; k < 64; k++) sum += a[i * 64 + k] * b[j * 64 + k];
  c[i * {SIDE} + j] = sum;
}}
__global__ void both(float *x, float *y) {{ x[threadIdx.x] = 1; y[threadIdx.x] = 2; }}
__global__ void odd(float *x) {{ if (threadIdx.x % 2) x[blockIdx.x * 64 + threadIdx.x] = 1; }}
"""


@pytest.fixture(scope="module", params=TILE_TARGETS)
def module(request):
    return wb.compile(SOURCE, arch=request.param, name="product.hip")


@pytest.fixture(scope="module")
def matrices():
    """Matrices at multiples of 128 bytes, so that all runs touch the same lines."""

    def aligned(rows):
        raw = torch.randn(rows * 64 + 32)
        return raw[-raw.data_ptr() % 128 // 4 :][: rows * 64].reshape(rows, 64)

    return aligned(SIDE), aligned(SIDE), torch.zeros(SIDE, SIDE)


def mapped(module, matrices, chiplets, **options):
    launcher = module["product"][TILES * TILES, 256]
    return wb.xcd_map(launcher, *matrices, chiplets, device=f"emulated:{module.arch}", **options)


def test_the_map_is_what_the_kernel_did(module, matrices):
    a, b, c = matrices
    xcd_map = mapped(module, matrices, 0)
    assert torch.allclose(c, a @ b.T, atol=1e-3)
    assert xcd_map.output == "c"
    rows, columns = np.indices((SIDE, SIDE)) // TILE
    assert np.array_equal(xcd_map.writers, rows * TILES + columns)
    assert np.array_equal(xcd_map.dies(), (rows * TILES + columns) % 8)
    assert all(t.whole and (t.bottom - t.top, t.right - t.left) == (TILE, TILE) for t in xcd_map.tiles)


def test_orders_are_those_of_kernels_that_take_them(module, matrices):
    """A row-major kernel dispatched by chiplets equals the kernel in that order, and vice versa."""
    mine = partial(chiplet_order, window=8, chunk=32)
    orders = {"own": launched_order, "rows": row_order, "chiplets": mine}
    plain, clever = (mapped(module, matrices, chiplets, orders=orders) for chiplets in (0, 1))
    launched, rows, chiplets = plain.orders
    assert launched.replayed == rows.replayed == clever.orders[1].replayed
    assert chiplets.replayed == clever.orders[0].replayed == clever.orders[2].replayed
    assert np.array_equal(plain.dies(chiplets), clever.dies())
    assert np.array_equal(clever.dies(clever.orders[1]), plain.dies())
    # A die has two columns of tiles and 16 rows, or four columns and eight rows, of 16 x 64 floats each.
    assert rows.fetched.value == 8 * (2 + 16) * 4096
    assert chiplets.fetched.value == 8 * (4 + 8) * 4096
    assert chiplets.l2_hit_rate.value > rows.l2_hit_rate.value
    assert chiplets.l2_hit_rate.origin is Origin.MODELLED
    assert len(chiplets.l2_hit_rates) == 8


def test_chiplet_order_is_a_permutation_whatever_is_left_over():
    tiles = tiles_of(np.arange(7 * 13).reshape(7, 13))
    for groups in (91, 100):
        order = chiplet_order(tiles, groups, 8, window=3, chunk=4)
        assert sorted(order) == list(range(groups))
    # Die 0 gets the first four of the windowed order: down the first column of three, then the next.
    assert [chiplet_order(tiles, 91, 8, window=3, chunk=4)[turn] for turn in (0, 8, 16, 24)] == [0, 13, 26, 1]


def test_tiles_that_are_not_whole():
    writers = np.full((4, 6), -1)
    writers[0:2, 0:3] = 5
    writers[3, ::2] = 2
    assert tiles_of(np.full((2, 2), -1)) == []
    two, five = tiles_of(writers)
    assert (two.group, two.top, two.bottom, two.left, two.right, two.whole) == (2, 3, 4, 0, 5, False)
    assert (five.group, five.whole) == (5, True)
    # Work-groups without writes are last.
    assert row_order([two, five], 7, 8) == [5, 2, 0, 1, 3, 4, 6]


def test_part_of_an_output(module):
    xcd_map = wb.xcd_map(module["odd"][3, 64], torch.zeros(192), device=f"emulated:{module.arch}")
    assert xcd_map.writers.shape == (1, 192)
    column = np.arange(192)
    assert np.array_equal(xcd_map.writers[0], np.where(column % 2, column // 64, -1))
    assert np.array_equal(xcd_map.dies()[0], xcd_map.writers[0])


def test_a_spec(module):
    xcd_map = wb.xcd_map("gemm/bf16", shape={"m": 256, "n": 384, "k": 64}, device=f"emulated:{module.arch}")
    assert (xcd_map.output, xcd_map.writers.shape) == ("c", (256, 384))
    assert all(t.whole for t in xcd_map.tiles)
    covered = np.zeros((256, 384), dtype=int)
    for tile in xcd_map.tiles:
        covered[tile.top : tile.bottom, tile.left : tile.right] += 1
    assert (covered == 1).all()
    assert [o.name for o in xcd_map.orders] == ["as launched", "row by row"]
    text = str(xcd_map)
    assert f"{len(xcd_map.tiles)} tiles on 8 XCDs" in text
    assert "as launched: L2 hit rate" in text
    assert "modelled" in xcd_map._repr_html_()


def test_wrong_input_is_reported(module):
    two = module["both"][1, 64]
    x, y = torch.zeros(64), torch.zeros(64)
    options = {"device": f"emulated:{module.arch}"}
    with pytest.raises(UsageError, match=r"wrote 2 tensors: x, y; say which one: output="):
        wb.xcd_map(two, x, y, **options)
    assert wb.xcd_map(two, x, y, output="y", **options).output == "y"
    with pytest.raises(UsageError, match=r"no contiguous tensor 'z'; it has x, y"):
        wb.xcd_map(two, x, y, output="z", **options)
    with pytest.raises(UsageError, match="no order is named 'spiral'; there are as launched, row by row"):
        wb.xcd_map(two, x, y, orders=["spiral"], **options)
    product = module["product"][TILES * TILES, 256]
    operands = (torch.zeros(SIDE, 64), torch.zeros(SIDE, 64), torch.zeros(SIDE, SIDE), 0)
    with pytest.raises(UsageError, match="wrote nothing to 'a'"):
        wb.xcd_map(product, *operands, output="a", **options)
