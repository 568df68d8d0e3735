"""Arithmetic on register tiles and vectors: maps, reductions, conversions, masks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tile_cases import DTYPES, FP8, SHAPES, Batch, close, distinct, equal, has_layout, random

CORNER = "{0, 0, 0, 0}"

UNARY: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], float]] = {
    "exp": (torch.exp, 2),
    "exp2": (torch.exp2, 2),
    "log": (lambda x: torch.log(x.abs()), 2),
    "log2": (lambda x: torch.log2(x.abs()), 2),
    "sqrt": (lambda x: torch.sqrt(x.abs()), 2),
    "rsqrt": (lambda x: torch.rsqrt(x.abs()), 2),
    "rcp": (torch.reciprocal, 2),
    "neg": (torch.neg, 0),
    "abs": (torch.abs, 0),
    "relu": (torch.relu, 0),
    "copy": (lambda x: x, 0),
}
"""Maps of one argument with what they compute and the units in the last place that they may be off."""

OF_POSITIVE = {"log", "log2", "sqrt", "rsqrt"}

BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "max": torch.maximum,
    "min": torch.minimum,
}


def rounded(result: torch.Tensor, dtype: str) -> torch.Tensor:
    return result.to(DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_maps(arch: str, batch: Batch, dtype: str) -> None:
    for layout, shape in (("row_l", "rt_16x16_s"), ("col_l", "rt_32x32_s")):
        tile = f"rt<{dtype}, 32, 64, {layout}, {shape}>"
        x = random(32, 64, dtype=DTYPES[dtype], seed=1)
        y = random(32, 64, dtype=DTYPES[dtype], seed=2)
        row, column = y[0].clone(), y[:, 0].clone()
        wide, other = x.double(), y.double()
        for name, (function, ulps) in UNARY.items():
            source = x.abs() if name in OF_POSITIVE else x
            batch.add(
                f"{name} {layout}",
                f"{tile} a; load(a, g.x, {CORNER}); {name}(a, a); store(g.out, a, {CORNER});",
                x=source,
                wanted={"out": rounded(function(source.double()), dtype)},
                check=close(ulps, 1e-38),
            )
        for name, function2 in BINARY.items():
            batch.add(
                f"{name} {layout}",
                f"""{tile} a, b; load(a, g.x, {CORNER}); load(b, g.y, {CORNER});
                {name}(a, a, b); store(g.out, a, {CORNER});
                load(a, g.x, {CORNER});
                {name}(a, a, base_types::constants<{dtype}>::of(1.25f)); store(g.with_value, a, {CORNER});""",
                x=x,
                y=y,
                wanted={
                    "out": rounded(function2(wide, other), dtype),
                    "with_value": rounded(function2(wide, torch.full_like(wide, 1.25)), dtype),
                },
                check=close(2 if name == "div" else 1),
            )
        for name in ("add", "sub", "mul", "div"):
            batch.add(
                f"{name}_row and {name}_col {layout}",
                f"""{tile} a; {tile}::row_vec row; {tile}::col_vec column;
                load(row, g.row, {CORNER}); load(column, g.column, {CORNER});
                load(a, g.x, {CORNER}); {name}_row(a, a, column); store(g.by_row, a, {CORNER});
                load(a, g.x, {CORNER}); {name}_col(a, a, row); store(g.by_col, a, {CORNER});""",
                x=x,
                row=row,
                column=column,
                wanted={
                    "by_row": rounded(BINARY[name](wide, column.double()[:, None]), dtype),
                    "by_col": rounded(BINARY[name](wide, row.double()), dtype),
                },
                check=close(2 if name == "div" else 1),
            )
        batch.add(
            f"fma {layout}",
            f"""{tile} a, b, c; load(a, g.x, {CORNER}); load(b, g.y, {CORNER}); copy(c, a);
            fma_AxBtC(c, a, b, c); store(g.out, c, {CORNER});
            fma_AxCtB(c, a, b, a); store(g.other, c, {CORNER});""",
            x=x,
            y=y,
            wanted={
                "out": rounded(wide * other + wide, dtype),
                "other": rounded(wide * wide + other, dtype),
            },
            check=close(1, 1e-3 if dtype != "float" else 1e-7),
        )
        constants = {"zero": 0.0, "one": 1.0, "pos_infty": float("inf"), "neg_infty": float("-inf")}
        for name, value in constants.items():
            batch.add(
                f"{name} {layout}",
                f"{tile} a; {name}(a); store(g.out, a, {CORNER});",
                wanted={"out": torch.full((32, 64), value, dtype=DTYPES[dtype])},
            )
    batch.run(arch)


REDUCTIONS: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "max": lambda x, dim: x.amax(dim),
    "min": lambda x, dim: x.amin(dim),
    "sum": lambda x, dim: x.sum(dim),
    "prod": lambda x, dim: x.prod(dim),
}

COMBINE = {"max": torch.maximum, "min": torch.minimum, "sum": torch.add, "prod": torch.mul}


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(arch: str, batch: Batch, dtype: str) -> None:
    """Along rows and columns, in every layout and base shape, with and without a value to start from."""
    shapes = SHAPES if dtype == "bf16" else {s: SHAPES[s] for s in ("rt_16x16_s", "rt_32x16_s")}
    for shape, (rows, cols, _) in shapes.items():
        for layout in ("row_l", "col_l"):
            if not has_layout(shape, layout):
                continue
            m, n = 2 * rows, 2 * cols
            x = (random(m, n, seed=rows * cols) * 0.25 + 1).to(DTYPES[dtype])
            start_row, start_col = x[0].clone(), x[:, 0].clone()
            names = REDUCTIONS if shape == "rt_16x16_s" else ("sum",)
            for name in names:
                wide = x.double()
                combine = {"max": torch.maximum, "min": torch.minimum, "sum": torch.add, "prod": torch.mul}[
                    name
                ]
                along_row, along_col = REDUCTIONS[name](wide, 1), REDUCTIONS[name](wide, 0)
                # Computed in float and rounded once.
                ulps = 0 if name in ("max", "min") else 16 if dtype == "float" else 1
                batch.add(
                    f"{name} {shape} {layout}",
                    f"""using tile = rt<{dtype}, {m}, {n}, {layout}, {shape}>;
                    tile a; tile::col_vec column; tile::row_vec row;
                    load(a, g.x, {CORNER});
                    row_{name}(column, a); store(g.of_rows, column, {CORNER});
                    col_{name}(row, a); store(g.of_cols, row, {CORNER});
                    load(column, g.start_col, {CORNER}); row_{name}(column, a, column);
                    store(g.of_rows_from, column, {CORNER});
                    load(row, g.start_row, {CORNER}); col_{name}(row, a, row);
                    store(g.of_cols_from, row, {CORNER});""",
                    x=x,
                    start_row=start_row,
                    start_col=start_col,
                    wanted={
                        "of_rows": rounded(along_row, dtype),
                        "of_cols": rounded(along_col, dtype),
                        "of_rows_from": rounded(combine(along_row, start_col.double()), dtype),
                        "of_cols_from": rounded(combine(along_col, start_row.double()), dtype),
                    },
                    check=close(ulps),
                )
    batch.run(arch)


def test_vector_maps_and_reductions(arch: str, batch: Batch) -> None:
    for dtype in DTYPES:
        x = (random(128, seed=5) * 0.25 + 1).to(DTYPES[dtype])
        y = (random(128, seed=6) * 0.25 + 1).to(DTYPES[dtype])
        wide, other = x.double(), y.double()
        vectors = {
            "naive": f"rv<{dtype}, 128>",
            "row of row_l": f"rt<{dtype}, 16, 128, row_l, rt_16x32_s>::row_vec",
            "row of col_l": f"rt<{dtype}, 16, 128, col_l, rt_16x32_s>::row_vec",
            "column of row_l": f"rt<{dtype}, 128, 16, row_l, rt_32x16_s>::col_vec",
            "column of col_l": f"rt<{dtype}, 128, 16, col_l, rt_32x16_s>::col_vec",
        }
        for what, vector in vectors.items():
            batch.add(
                f"{dtype} {what}",
                f"""{vector} a, b, c; load(a, g.x, {CORNER}); load(b, g.y, {CORNER});
                add(c, a, b); store(g.total, c, {CORNER});
                mul(c, a, base_types::constants<{dtype}>::of(1.5f)); store(g.scaled, c, {CORNER});
                exp(c, a); store(g.exponential, c, {CORNER});
                {dtype} value;
                max(value, a); if (laneid() == 0) g.largest[{{0}}] = value;
                min(value, a); if (laneid() == 63) g.smallest[{{0}}] = value;
                sum(value, a); if (laneid() == 17) g.sum[{{0}}] = value;""",
                x=x,
                y=y,
                wanted={
                    "total": rounded(wide + other, dtype),
                    "scaled": rounded(wide * 1.5, dtype),
                    "exponential": rounded(wide.exp(), dtype),
                    "largest": x.max()[None],
                    "smallest": x.min()[None],
                    "sum": rounded(wide.sum()[None], dtype),
                },
                check=close(8),
            )
    batch.run(arch)


def test_conversions(arch: str, batch: Batch) -> None:
    """copy between element types rounds to nearest even; transpose and swap_layout only move."""
    specials = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, 3.3e38, -65504.0])
    # Halves between two neighbours, to see ties go to even.
    ties = torch.tensor([1 + (2 * i + 1) * 2.0**-9 for i in range(8)])
    x = torch.cat([specials, ties, random(32 * 64 - 16, seed=8)]).reshape(32, 64)
    for layout in ("row_l", "col_l"):
        for source in DTYPES:
            for target in DTYPES:
                if source == target:
                    continue
                held = x.to(DTYPES[source])
                batch.add(
                    f"copy {source} to {target} {layout}",
                    f"""rt<{source}, 32, 64, {layout}, rt_16x32_s> a;
                    rt<{target}, 32, 64, {layout}, rt_16x32_s> b;
                    load(a, g.x, {CORNER}); copy(b, a); store(g.out, b, {CORNER});""",
                    x=held,
                    wanted={"out": held.to(DTYPES[target])},
                    check=close(0),
                )
    for dtype in DTYPES:
        shapes = SHAPES if dtype == "bf16" else {"rt_16x32_s": SHAPES["rt_16x32_s"]}
        for shape, (rows, cols, stride) in shapes.items():
            y = distinct(2 * rows, cols, DTYPES[dtype])
            for layout, other in (("row_l", "col_l"), ("col_l", "row_l")):
                if not has_layout(shape, layout):
                    continue
                turned = f"rt_shape<{cols}, {rows}, {stride}>"
                batch.add(
                    f"transpose {dtype} {shape} {layout}",
                    f"""rt<{dtype}, {2 * rows}, {cols}, {layout}, {shape}> a;
                    rt<{dtype}, {cols}, {2 * rows}, {other}, {turned}> b;
                    load(a, g.x, {CORNER}); transpose(b, a); store(g.out, b, {CORNER});""",
                    x=y,
                    wanted={"out": y.T.contiguous()},
                )
                if has_layout(shape, other) and rows * cols <= 512:
                    batch.add(
                        f"swap_layout {dtype} {shape} {layout}",
                        f"""rt<{dtype}, {2 * rows}, {cols}, {layout}, {shape}> a;
                        rt<{dtype}, {2 * rows}, {cols}, {other}, {shape}> b;
                        load(a, g.x, {CORNER}); swap_layout(b, a); store(g.out, b, {CORNER});""",
                        x=y,
                        wanted={"out": y},
                    )
    batch.run(arch)


def test_fp8_conversions(arch: str, batch: Batch) -> None:
    """Every fp8 value widens exactly, and comes back; numbers between two of them round to the even one."""
    every = torch.arange(256).repeat(2).to(torch.uint8).view(FP8[arch]).reshape(16, 32)
    finite = every[every.float().isfinite()].float().sort().values
    middles = (finite[1:] + finite[:-1]) / 2
    x = torch.cat([middles, torch.zeros(512 - middles.numel())]).reshape(16, 32)
    for other in DTYPES:
        batch.add(
            f"all to {other}",
            f"""rt_fp8e4m3<16, 32, row_l, rt_16x32_s> a; rt<{other}, 16, 32, row_l, rt_16x32_s> b;
            load(a, g.x, {CORNER}); copy(b, a); store(g.out, b, {CORNER});""",
            x=every,
            wanted={"out": every.float().to(DTYPES[other])},
            check=close(0),
        )
    batch.add(
        "back, and ties",
        f"""rt_fp8e4m3<16, 32, row_l, rt_16x32_s> a; rt_fl<16, 32, row_l, rt_16x32_s> b;
        load(b, g.x, {CORNER}); copy(a, b); store(g.ties, a, {CORNER});
        load(a, g.every, {CORNER}); copy(b, a); copy(a, b); store(g.back, a, {CORNER});""",
        x=x,
        every=torch.where(every.float().isnan(), torch.zeros_like(every.float()), every.float()).to(
            FP8[arch]
        ),
        wanted={
            "ties": x.to(FP8[arch]),
            "back": torch.where(every.float().isnan(), torch.zeros_like(every.float()), every.float()).to(
                FP8[arch]
            ),
        },
        check=equal,
    )
    batch.run(arch)


def test_masks(arch: str, batch: Batch) -> None:
    row, col = torch.arange(32)[:, None], torch.arange(64)[None, :]
    kept = {
        "tril(b, a, 3, value)": col <= row + 3,
        "triu(b, a, -2, value)": col >= row - 2,
        "make_causal(b, a, value)": col <= row,
        "make_causal_t(b, a, value)": row <= col,
        "left_fill(b, a, 5, value)": col >= 5,
        "right_fill(b, a, 21, value)": col < 21,
        "upper_fill(b, a, 7, value)": row >= 7,
        "lower_fill(b, a, 9, value)": row < 9,
    }
    for dtype in DTYPES:
        x = random(32, 64, dtype=DTYPES[dtype], seed=9)
        for layout, shape in (("row_l", "rt_16x32_s"), ("col_l", "rt_32x32_s")):
            for call, keep in kept.items():
                batch.add(
                    f"{call} {dtype} {layout}",
                    f"""rt<{dtype}, 32, 64, {layout}, {shape}> a, b;
                    const {dtype} value = base_types::constants<{dtype}>::neg_infty();
                    load(a, g.x, {CORNER}); {call}; store(g.out, b, {CORNER});""",
                    x=x,
                    wanted={"out": torch.where(keep, x, float("-inf"))},
                )
    batch.run(arch)
