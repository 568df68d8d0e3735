"""Register vectors that are a map's source and its result, as a running maximum or sum is in a loop."""

from __future__ import annotations

import pytest
import torch
from tile_cases import Batch, close, random

LAYOUTS = {
    "align": "typename rt_fl<96, 64>::col_vec",
    "ortho": "typename rt_fl<64, 96>::row_vec",
    "naive": "rv_naive<float, 96>",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_maps_in_place(batch: Batch, arch: str, layout: str) -> None:
    """Each element is mapped once: none of these is the same when it is done twice."""
    x = random(2, 96, seed=7)
    batch.add(
        f"in place {layout}",
        f"""using vector = {LAYOUTS[layout]}; vector v, w;
        static_assert(vector::outer_dim * vector::inner_dim > 1);
        load(v, g.x, {{0, 0, 0, 0}}); load(w, g.x, {{0, 0, 1, 0}});
        add(v, v, w); store(g.out, v, {{0, 0, 0, 0}});
        mul(v, v, 3.0f); store(g.out, v, {{0, 0, 1, 0}});
        exp(v, v); store(g.out, v, {{0, 0, 2, 0}});
        sub(w, v, w); store(g.out, w, {{0, 0, 3, 0}});""",
        wanted={
            "out": torch.stack(
                [
                    x[0] + x[1],
                    3 * (x[0] + x[1]),
                    torch.exp(3 * (x[0] + x[1])),
                    torch.exp(3 * (x[0] + x[1])) - x[1],
                ]
            )
        },
        x=x,
        check=close(64, 1e-5),
    )
    batch.run(arch)
