"""Register tiles at the edges of tensors whose dimensions are fixed, or given at run time.

`generated/` covers every type, layout and shape.
"""

from __future__ import annotations

import pytest
import torch
from tile_cases import DTYPES, Batch, distinct

import workbench as wb

CORNER = "{0, 0, 0, 0}"


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
                    expected={
                        "out": padded(x, 32, 64),
                        "back": x,
                        "below": torch.zeros(32, 64, dtype=x.dtype),
                    },
                )
    batch.run(arch)


def test_four_numbers_of_a_word_change_lanes_at_once() -> None:
    """An exchange through the LDS hardware moves a word per lane; one per byte is four times as many."""
    source = """#include "kittens.cuh"
    using namespace kittens;
    __global__ void swap(const fp8e4m3 *in, fp8e4m3 *out) {
        rt<fp8e4m3, 32, 32, row_l, rt_32x32_s> x;
        rt<fp8e4m3, 32, 32, col_l, rt_32x32_s> y;
        __builtin_memcpy(&x, in + 16 * laneid(), sizeof(x));
        swap_layout(y, x);
        __builtin_memcpy(out + 16 * laneid(), &y, sizeof(y));
    }"""
    kernel = wb.compile(source, arch="gfx942", name="swap.hip")["swap"]
    words, elements = 4, 16
    exchanges = sum(i.opcode == "ds_bpermute_b32" for i in kernel.instructions)
    assert 0 < exchanges <= words * elements
