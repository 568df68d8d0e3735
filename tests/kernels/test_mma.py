"""Matrix multiplication of register tiles, in all four forms, against float64."""

from __future__ import annotations

import pytest
from tile_cases import DTYPES, FP8, SHAPES, Batch, close, random

CORNER = "{0, 0, 0, 0}"

OPERANDS = [
    "rt_16x16_s",
    "rt_16x32_s",
    "rt_16x32_4_s",
    "rt_32x16_s",
    "rt_32x16_4_s",
    "rt_32x32_s",
    "rt_32x32_8_s",
]
"""Base shapes of operands, M (N) by K."""


def turned(shape: str) -> str:
    rows, cols, stride = SHAPES[shape]
    return f"rt_shape<{cols}, {rows}, {stride}>"


@pytest.mark.parametrize("dtype", ["bf16", "half"])
def test_forms(arch: str, batch: Batch, dtype: str) -> None:
    """mma_AB, mma_ABt, mma_AtB, mma_AtBt; accumulators in both layouts; several base tiles each way."""
    for shape in OPERANDS if dtype == "bf16" else ("rt_16x32_s", "rt_32x16_s"):
        side, depth, _ = SHAPES[shape]
        m, n, k = 2 * side, side, 2 * depth
        a, b = random(m, k, dtype=DTYPES[dtype], seed=1), random(n, k, dtype=DTYPES[dtype], seed=2)
        c = random(m, n, seed=3)
        wanted = (a.double() @ b.double().T + c.double()).float()
        for form in ("AB", "ABt", "AtB", "AtBt"):
            a_turned, b_turned = form.startswith("At"), form.endswith("Bt")
            left = f"{k}, {m}, col_l, {turned(shape)}" if a_turned else f"{m}, {k}, row_l, {shape}"
            right = f"{n}, {k}, row_l, {shape}" if b_turned else f"{k}, {n}, col_l, {turned(shape)}"
            for layout in ("col_l", "row_l"):
                batch.add(
                    f"{form} {shape} {layout}",
                    f"""rt<{dtype}, {left}> a; rt<{dtype}, {right}> b;
                    rt_fl<{m}, {n}, {layout}, rt_{side}x{side}_s> c, d;
                    load(a, g.a, {CORNER}); load(b, g.b, {CORNER}); load(c, g.c, {CORNER});
                    mma_{form}(d, a, b, c); store(g.d, d, {CORNER});
                    mma_{form}(d, a, b, d); store(g.twice, d, {CORNER});""",
                    a=a.T if a_turned else a,
                    b=b if b_turned else b.T,
                    c=c,
                    wanted={"d": wanted, "twice": (2 * wanted.double() - c.double()).float()},
                    check=close(8, 1e-4),
                )
    batch.run(arch)


def test_fp8(arch: str, batch: Batch) -> None:
    """fp8 in the target's own format: 16x16x32 and 32x32x16, on gfx950 16x16x128 and 32x32x64 too."""
    for shape in ("rt_16x32_s", "rt_32x16_s", "rt_16x128_s", "rt_32x32_8_s"):
        side, depth, _ = SHAPES[shape]
        m, n, k = 2 * side, side, 2 * depth
        a, b = random(m, k, seed=1).to(FP8[arch]), random(n, k, seed=2).to(FP8[arch])
        batch.add(
            shape,
            f"""rt_fp8e4m3<{m}, {k}, row_l, {shape}> a; rt_fp8e4m3<{n}, {k}, row_l, {shape}> b;
            rt_fl<{m}, {n}, col_l, rt_{side}x{side}_s> d; zero(d);
            load(a, g.a, {CORNER}); load(b, g.b, {CORNER});
            mma_ABt(d, a, b, d); store(g.d, d, {CORNER});""",
            a=a,
            b=b,
            wanted={"d": (a.double() @ b.double().T).float()},
            check=close(8, 1e-4),
        )
    batch.run(arch)
