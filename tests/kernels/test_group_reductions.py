"""Reductions of register vectors over the waves of a group."""

from __future__ import annotations

import torch
from tile_cases import Batch, close, random

OPERATIONS = {"sum": torch.sum, "max": torch.amax, "min": torch.amin, "mul": torch.prod}

VECTORS = {
    "align": ("rt_fl<16, 64, row_l, rt_16x32_s>::row_vec", 64),
    "ortho": ("rt_fl<32, 32, row_l, rt_16x32_s>::col_vec", 32),
    "naive": ("rv_naive<float, 96>", 96),
    "align, long": ("rt_fl<4, 256, row_l, rt_rows_s<float, 256, 8>>::row_vec", 256),
    "naive, long": ("rv_naive<float, 200>", 200),
    "align, of bf16, long": ("rt_bf<16, 64, row_l, rt_16x16_s>::row_vec", 64),
    "align, of bf16": ("rt_bf<16, 32, row_l, rt_16x16_s>::row_vec", 32),
}


def test_every_wave_gets_the_result(arch: str) -> None:
    """Groups of all waves and of a part of them; each wave stores what it has."""
    batch = Batch()
    for waves, number in ((4, 4), (4, 2), (3, 3), (2, 1)):
        for name, (vector, length) in VECTORS.items():
            for op, of in OPERATIONS.items():
                x = random(waves, length)
                if "bf16" in name:
                    x = x.bfloat16().float()
                expected = of(x.view(-1, number, length), 1).repeat_interleave(number, 0)
                exact = expected if "bf16" not in name else expected.bfloat16().float()
                batch.add(
                    f"{op} of {number} of {waves} waves, {name}",
                    f"""__shared__ sv_fl<{number * length}> scratch[{waves // number}];
                    {vector} v; load(v, g.x, {{0, 0, warpid(), 0}});
                    group<{number}>::all_reduce<base_ops::{op}>(v, scratch[group<{number}>::groupid()]);
                    store(g.out, v, {{0, 0, warpid(), 0}});""",
                    x=x,
                    threads=64 * waves,
                    expected={"out": exact},
                    # In the order of the waves, which PyTorch's may not be.
                    check=close(8 if "bf16" not in name else 2**17, 1e-6),
                )
    batch.take_turns(arch)
    batch.run(arch)


def test_the_first_wave_alone_gets_the_result(arch: str) -> None:
    batch = Batch()
    for name in ("align", "align, long"):
        vector, length = VECTORS[name]
        x = random(4, length)
        expected = x.clone()
        expected[::2] = x.view(2, 2, length).sum(1)
        batch.add(
            f"sum of 2 of 4 waves, {name}",
            f"""__shared__ sv_fl<{2 * length}> scratch[2];
            {vector} v; load(v, g.x, {{0, 0, warpid(), 0}});
            group<2>::all_reduce<base_ops::sum, false>(v, scratch[group<2>::groupid()]);
            store(g.out, v, {{0, 0, warpid(), 0}});""",
            x=x,
            threads=256,
            expected={"out": expected},
            check=close(1, 1e-6),
        )
    batch.run(arch)
