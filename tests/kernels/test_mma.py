"""Multiplications of register tiles that the generated cases omit: e5m2, and operands that are too small."""

from __future__ import annotations

import pytest
import torch
from tile_cases import Batch

import workbench as wb
from workbench.errors import CompileError

E5M2 = {"gfx950": torch.float8_e5m2, "gfx942": torch.float8_e5m2fnuz}


@pytest.mark.parametrize(("side", "depth"), [(16, 32), (32, 16)])
def test_e5m2(batch: Batch, arch: str, side: int, depth: int) -> None:
    """Products and sums of small integers are exact."""
    generator = torch.Generator().manual_seed(side)
    m, n, k = 2 * side, side, 3 * depth
    a, b = (torch.randint(-3, 4, (rows, k), generator=generator).float() for rows in (m, n))
    inputs = {name: each.to(E5M2[arch]).view(torch.uint8) for name, each in (("a", a), ("b", b))}
    tile = f"row_l, rt_{side}x{depth}_s"
    batch.add(
        f"e5m2 of {side} rows",
        f"""using layout = gl<fp8e5m2, -1, -1, -1, -1>;
        rt<fp8e5m2, {m}, {k}, {tile}> a; rt<fp8e5m2, {n}, {k}, {tile}> b;
        rt_fl<{m}, {n}, col_l, rt_{side}x{side}_s> c;
        load(a, layout((fp8e5m2 *)g.a, 1, 1, {m}, {k}), {{0, 0, 0, 0}});
        load(b, layout((fp8e5m2 *)g.b, 1, 1, {n}, {k}), {{0, 0, 0, 0}});
        zero(c); mma_ABt(c, a, b, c); store(g.c, c, {{0, 0, 0, 0}});""",
        expected={"c": a @ b.T},
        **inputs,
    )
    batch.run(arch)


def test_too_few_bytes_for_an_instruction() -> None:
    source = """
    #include "kittens.cuh"
    using namespace kittens;
    __global__ void k(float *out) {
        rt<fp8e4m3, 16, 16, row_l, rt_16x16_s> a; rt_fl<16, 16, col_l, rt_16x16_s> c;
        one(a); zero(c); mma_ABt(c, a, a, c); out[laneid()] = c.tiles[0][0].data[0].x;
    }
    """
    with pytest.raises(CompileError, match="no instruction for these operands; they take"):
        wb.compile(source, arch="gfx950")
