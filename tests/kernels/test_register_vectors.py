"""Register vectors that are a map's source and its result, such as a running maximum or sum in a loop."""

from __future__ import annotations

import pytest
import torch
from tile_cases import Batch, close, random

LAYOUTS = {
    "align": "typename rt_fl<96, 64>::col_vec",
    "ortho": "typename rt_fl<64, 96>::row_vec",
    "naive": "rv_naive<float, 96>",
}


OF_ALIGNED = {
    "rt_16x32_s": (32, 4, 16, 32, 1),
    "rt_16x32_4_s": (32, 4, 16, 16, 2),
    "rt_32x32_s": (32, 2, 32, 8, 4),
    "rt_32x16_s": (16, 2, 32, 16, 1),
}
"""HipKittens' vectors of the align layout, by hand from rows, columns and stride: elements that lanes sum up,
lanes that share them, lanes apart, elements of a run of those lanes, runs."""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_maps_in_place(batch: Batch, arch: str, layout: str) -> None:
    """Each element is mapped once: each of these changes the result if applied twice."""
    x = random(2, 96, seed=7)
    names = ("reductions", "threads_per_reduction", "aligned_threads")
    names += ("elements_per_stride_group", "strides_per_tile")
    conditions = " && ".join(
        f"rt_fl<64, 64, row_l, {shape}>::row_vec::{name} == {value}"
        for shape, values in OF_ALIGNED.items()
        for name, value in zip(names, values, strict=True)
    )
    batch.add(
        f"in place {layout}",
        f"""using vector = {LAYOUTS[layout]}; vector v, w;
        static_assert({conditions});
        static_assert(vector::outer_dim * vector::inner_dim > 1);
        load(v, g.x, {{0, 0, 0, 0}}); load(w, g.x, {{0, 0, 1, 0}});
        add(v, v, w); store(g.out, v, {{0, 0, 0, 0}});
        mul(v, v, 3.0f); store(g.out, v, {{0, 0, 1, 0}});
        exp(v, v); store(g.out, v, {{0, 0, 2, 0}});
        sub(w, v, w); store(g.out, w, {{0, 0, 3, 0}});""",
        expected={
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


def test_what_only_programs_of_others_use(batch: Batch, arch: str) -> None:
    """Halves of a vector, a group's parts of a vector, single 8-bit numbers, and constants."""
    x = random(192, seed=8)
    v = "typename rt_fl<96, 64>::col_vec"
    batch.add(
        "halves",
        f"""{v} v, w; load(v, g.x, {{0, 0, 0, 0}}); w = v;
        exp_first_half_vec(w, v); store(g.first, w, {{0, 0, 0, 0}}); w = v;
        exp_second_half_vec(w, v); store(g.second, w, {{0, 0, 0, 0}});""",
        x=x,
        expected={
            "first": torch.cat([x[:48].exp2(), x[48:96]]),
            "second": torch.cat([x[:48], x[48:96].exp2()]),
        },
        check=close(8, 1e-6),
    )
    batch.add(
        "parts",
        f"""__shared__ sv_fl<192> s; {v} v; using both = group<2>;
        both::load(s, g.x, {{0, 0, 0, 0}}); wait_and_barrier();
        both::load(v, s); mul(v, v, 2.0f); __syncthreads(); both::store(s, v); wait_and_barrier();
        both::store(g.out, s, {{0, 0, 0, 0}});""",
        x=x,
        expected={"out": 2 * x},
        threads=128,
    )
    batch.add(
        "single",
        """static_assert(sizeof(bytes_4) == 4 && sizeof(bytes_8) == 8 && sizeof(bytes_12) == 12);
        static_assert(base_types::packing<float4>::num() == 4 && TILE_ROW_DIM<bf16> == 16);
        static_assert(TILE_COL_DIM<bf16> == 16 && TILE_COL_DIM<float> == 16 && TILE_COL_DIM<fp8e4m3> == 32);
        const int n = laneid() * 4 - 128;
        g.out[{n + 128}] = base_types::convertor<float, int8>::convert(static_cast<int8>(n));
        g.out[{n + 129}] = base_types::convertor<float, uint8>::convert(static_cast<uint8>(n + 128));
        g.out[{n + 130}] = base_types::convertor<float, half>::convert(static_cast<half>(n));
        g.out[{n + 131}] = 0.0f;""",
        expected={
            "out": torch.stack(
                [
                    torch.arange(-128.0, 128.0, 4),
                    torch.arange(0.0, 256.0, 4),
                    torch.arange(-128.0, 128.0, 4),
                    torch.zeros(64),
                ],
                1,
            ).flatten()
        },
    )
    batch.run(arch)


@pytest.mark.parametrize("layout", ["row_l", "col_l"])
def test_maps_of_tiles_in_place(batch: Batch, arch: str, layout: str) -> None:
    """As with vectors: each element is mapped once, and none after the last."""
    x, down, along = random(48, 96, seed=9), random(48, seed=10), random(96, seed=11)
    batch.add(
        f"tile in place {layout}",
        f"""using tile = rt_fl<48, 96, {layout}>; tile t; load(t, g.x, {{0, 0, 0, 0}});
        typename tile::row_vec along; load(along, g.along, {{0, 0, 0, 0}});
        typename tile::col_vec down; load(down, g.down, {{0, 0, 0, 0}});
        mul_col(t, t, along); mul_row(t, t, down); add_col(t, t, along); add_row(t, t, down); mul(t, t, 3.0f);
        add(t, t, t); store(g.out, t, {{0, 0, 0, 0}});""",
        x=x,
        down=down,
        along=along,
        expected={"out": 6 * (x * along * down[:, None] + along + down[:, None])},
        check=close(16, 1e-5),
    )
    batch.run(arch)
