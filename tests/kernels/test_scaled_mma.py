"""Matrix multiplication with block scales (MXFP8, MXFP6, MXFP4) on gfx950, against float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tile_cases import Batch, close, some

import workbench as wb
from workbench.errors import CompileError

E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], dtype=torch.float64)
"""Values of the codes 0 to 7 of e2m1 (OCP microscaling specification, table 5); bit 3 is the sign."""

E2M3 = torch.cat([torch.arange(8) / 8, *((1 + torch.arange(8) / 8) * 2**e for e in range(3))]).double()
E3M2 = torch.cat([torch.arange(4) / 16, *((1 + torch.arange(4) / 4) * 2.0**e for e in range(-2, 5))]).double()
"""Values of the codes 0 to 31 of the formats of 6 bits (OCP microscaling specification, tables 3 and 4)."""

SMALL = {"fp4e2m1_2": E2M1, "fp6e2m3_4": E2M3, "fp6e3m2_4": E3M2}
"""Values of the codes without a sign, by the type that holds them."""

TYPES = {"fp8e4m3": torch.float8_e4m3fn, "fp8e5m2": torch.float8_e5m2, **dict.fromkeys(SMALL)}


def operand(kind: str, rows: int, depth: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Bytes of a matrix, rows x depth in memory order, and its values."""
    generator = torch.Generator().manual_seed(seed)
    dtype = TYPES[kind]
    if dtype is not None:
        values = torch.randn(rows, depth, generator=generator).to(dtype)
        return values.view(torch.uint8), values.double()
    table = SMALL[kind]
    codes = torch.randint(0, 2 * len(table), (rows, depth), generator=generator)
    return packed(kind, codes), table[codes % len(table)] * (1 - 2 * (codes // len(table)).double())


def packed(kind: str, codes: torch.Tensor) -> torch.Tensor:
    """Bytes of codes of 4 or 6 bits, lowest bits first: two in one byte, four in three."""
    if kind == "fp4e2m1_2":
        return (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8)
    words = sum(codes[:, i::4] << (6 * i) for i in range(4))
    assert isinstance(words, torch.Tensor)
    return torch.stack([words >> shift & 255 for shift in (0, 8, 16)], 2).flatten(1).to(torch.uint8)


def count(kind: str, depth: int) -> int:
    """Elements of the type that hold this many numbers."""
    return depth // {"fp4e2m1_2": 2, "fp6e2m3_4": 4, "fp6e3m2_4": 4}.get(kind, 1)


def scales(rows: int, depth: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Bytes of the scales, rows x depth / 32, and the factor of each element."""
    generator = torch.Generator().manual_seed(seed)
    stored = torch.randint(117, 136, (rows, depth // 32), generator=generator, dtype=torch.uint8)
    return stored, torch.exp2(stored.double() - 127).repeat_interleave(32, 1)


def registers(stored: torch.Tensor, side: int) -> torch.Tensor:
    """Scale registers, [base tile along K][four base tiles][lane], as the documentation says."""
    rows, blocks = stored.shape
    per_tile = 128 * 16 // side // 32
    padded = torch.zeros(-(-rows // (4 * side)) * 4 * side, blocks, dtype=torch.uint8)
    padded[:rows] = stored
    lane = torch.arange(64)
    bytes_ = [
        padded[(4 * group + n) * side + lane % side, s * per_tile + lane // side]
        for s in range(blocks // per_tile)
        for group in range(padded.shape[0] // (4 * side))
        for n in range(4)
    ]
    return torch.stack(bytes_).reshape(-1, 4, 64).transpose(1, 2).contiguous().view(torch.int32).squeeze(2)


def product(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, Callable[..., str | None]]:
    """a b' and a check that allows the rounding of a sum of that many floats in any order."""
    bound = a.shape[1] * 2.0**-23 * (a.abs() @ b.abs().T)

    def check(got: torch.Tensor, expected: torch.Tensor) -> str | None:
        error = (got.double() - expected.double()).abs()
        worst = int((error - bound).argmax())
        if (error <= bound).all():
            return None
        return f"{got.flatten()[worst]}, wanted {expected.flatten()[worst]} within {bound.flatten()[worst]}"

    return (a @ b.T).float(), check


def matrix(name: str, kind: str, rows: int, cols: int) -> str:
    return (
        f"""gl<{kind}, -1, -1, -1, -1> {name}(reinterpret_cast<{kind} *>(g.{name}), 1, 1, {rows}, {cols});"""
    )


def shape(side: int, kind: str) -> str:
    if kind.startswith("fp6"):
        return "rt_16x32_s" if side == 16 else "rt_32x16_s"
    if kind == "fp4e2m1_2":
        return "rt_16x64_s" if side == 16 else "rt_32x32_16_s"
    return "rt_16x128_s" if side == 16 else "rt_32x64_s"


@pytest.mark.parametrize("side", [16, 32])
def test_formats(batch: Batch, side: int) -> None:
    """All pairs of formats, several base tiles each way, scales of more than one register; each pair with one
    layout of the result, by the seed."""
    m, n, k = (96, 32, 256) if side == 16 else (160, 64, 128)
    for left in TYPES:
        for right in TYPES:
            a, a_values = operand(left, m, k, 1)
            b, b_values = operand(right, n, k, 2)
            sa, a_factors = scales(m, k, 3)
            sb, b_factors = scales(n, k, 4)
            ra, rb = registers(sa, side), registers(sb, side)
            expected, check = product(a_values * a_factors, b_values * b_factors)
            body = f"""{matrix("a", left, m, count(left, k))} {matrix("b", right, n, count(right, k))}
            rt<{left}, {m}, {count(left, k)}, row_l, {shape(side, left)}> ta;
            rt<{right}, {n}, {count(right, k)}, row_l, {shape(side, right)}> tb;
            load(ta, a, {{0, 0, 0, 0}}); load(tb, b, {{0, 0, 0, 0}});
            fp8e8m0_4 sa[{ra.shape[0]}], sb[{rb.shape[0]}];
            for (int i = 0; i < {ra.shape[0]}; i++) sa[i] = g.sa[i * 64 + laneid()];
            for (int i = 0; i < {rb.shape[0]}; i++) sb[i] = g.sb[i * 64 + laneid()];"""
            for layout in some(f"{left} {right} {side}", ("col_l", "row_l")):
                batch.add(
                    f"{left} {right} {layout}",
                    f"""{body} rt_fl<{m}, {n}, {layout}, rt_{side}x{side}_s> d; zero(d);
                    mma_ABt_scaled(d, ta, tb, d, sa, sb); store(g.d, d, {{0, 0, 0, 0}});""",
                    a=a,
                    b=b,
                    sa=ra,
                    sb=rb,
                    expected={"d": expected},
                    check=check,
                )
    batch.run("gfx950")


def test_forms(batch: Batch) -> None:
    """mma_AB_scaled, mma_AtB_scaled, mma_AtBt_scaled; formats by number; packing of scales; one base tile."""
    m, n, k = 32, 16, 128
    a, a_values = operand("fp8e4m3", m, k, 5)
    b, b_values = operand("fp8e4m3", n, k, 6)
    sa, a_factors = scales(64, k, 7)
    sb, b_factors = scales(64, k, 8)
    expected, check = product(a_values * a_factors[:m], b_values * b_factors[:n])
    turned = "rt_shape<128, 16, 16>"
    for form in ("AB", "ABt", "AtB", "AtBt"):
        a_turned, b_turned = form.startswith("At"), form.endswith("Bt")
        left = f"{k}, {m}, col_l, {turned}" if a_turned else f"{m}, {k}"
        right = f"{n}, {k}" if b_turned else f"{k}, {n}, col_l, {turned}"
        given_a, given_b = (a.T if a_turned else a).contiguous(), (b if b_turned else b.T).contiguous()
        batch.add(
            form,
            f"""{matrix("a", "fp8e4m3", *given_a.shape)} {matrix("b", "fp8e4m3", *given_b.shape)}
            rt_fp8e4m3<{left}> ta; rt_fp8e4m3<{right}> tb; rt_fl<{m}, {n}, col_l> d; zero(d);
            load(ta, a, {{0, 0, 0, 0}}); load(tb, b, {{0, 0, 0, 0}});
            const fp8e8m0_4 sa = pack_scales(g.sa, 0), sb = pack_scales(g.sb, 0);
            mma_{form}_scaled(d, ta, tb, d, &sa, &sb); store(g.d, d, {{0, 0, 0, 0}});""",
            a=given_a,
            b=given_b,
            sa=sa,
            sb=sb,
            expected={"d": expected},
            check=check,
        )
    e5m2, e5m2_values = operand("fp8e5m2", m, k, 9)
    mixed, check = product(e5m2_values * a_factors[:m], b_values * b_factors[:n])
    for title, call in {
        "by number": "mma_ABt_scaled<1, 0>(d, ta, tb, d, &sa, &sb);",
        "base": """auto &first = d.tiles[0][0], &second = d.tiles[1][0];
            mma_ABt_base_scaled<0, 0, 1, 0>(first, ta.tiles[0][0], tb.tiles[0][0], first, &sa, &sb);
            mma_ABt_base_scaled<1, 0, 1, 0>(second, ta.tiles[1][0], tb.tiles[0][0], second, &sa, &sb);""",
    }.items():
        batch.add(
            title,
            f"""{matrix("a", "fp8e4m3", m, k)} {matrix("b", "fp8e4m3", n, k)}
            rt_fp8e4m3<{m}, {k}> ta; rt_fp8e4m3<{n}, {k}> tb; rt_fl<{m}, {n}, col_l> d; zero(d);
            load(ta, a, {{0, 0, 0, 0}}); load(tb, b, {{0, 0, 0, 0}});
            const fp8e8m0_4 sa = pack_scales(g.sa, 0), sb = pack_scales(g.sb, 0);
            {call} store(g.d, d, {{0, 0, 0, 0}});""",
            a=e5m2,
            b=b,
            sa=sa,
            sb=sb,
            expected={"d": mixed},
            check=check,
        )
    batch.run("gfx950")


def test_through_shared_memory(batch: Batch) -> None:
    """Tiles and scales through the LDS without conflicts, each type in its shape; scales by words."""
    m, k = 64, 128
    shapes = {"fp8": "st_16x128_s", "fp4": "st_16x64_s", "fp6": "st_16x32_s"}
    for kind in TYPES:
        a, a_values = operand(kind, m, k, 1)
        sa, a_factors = scales(64, k, 3)
        lanes = registers(sa, 16)
        expected, check = product(a_values * a_factors, a_values * a_factors)
        shared, cols = shapes[kind[:3]], count(kind, k)
        batch.add(
            kind,
            f"""extern __shared__ alignment_dummy __shm[];
            shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
            using tile = st<{kind}, {m}, {cols}, {shared}>;
            using scale_tile = st<fp8e8m0, 16, 64, st_16x64_s>;
            tile &s = al.allocate<tile>(); scale_tile &ss = al.allocate<scale_tile>();
            {matrix("a", kind, m, cols)}
            auto *scales = reinterpret_cast<fp8e8m0 *>(g.sa);
            gl<fp8e8m0, -1, 1, 16, 64> scale_gl(scales, 1, nullptr, nullptr, nullptr);
            group<1>::load(s, a, {{0, 0, 0, 0}}); group<1>::load(ss, scale_gl, {{0, 0, 0, 0}});
            wait_and_barrier();
            const fp8e8m0_4 sa = reinterpret_cast<const unsigned *>(ss.data)[laneid()];
            rt<{kind}, {m}, {cols}, row_l, {shape(16, kind)}> ta; load(ta, s);
            rt_fl<{m}, {m}, col_l> d; zero(d);
            mma_ABt_scaled(d, ta, ta, d, &sa, &sa); store(g.d, d, {{0, 0, 0, 0}});""",
            a=a,
            sa=torch.cat([lanes, torch.zeros(3, 64, dtype=torch.int32)]),
            shared=a.numel() + 1024,
            expected={"d": expected},
            check=check,
        )
    counters = batch.run("gfx950", profile=True)
    assert not any(c["lds_bank_conflict"] for c in counters.values())


def test_unscaled(arch: str, batch: Batch) -> None:
    """mma_ABt of e5m2 in the target's format, and of pairs of fp4 on gfx950."""
    bf8 = torch.float8_e5m2 if arch == "gfx950" else torch.float8_e5m2fnuz
    for rt_shape, m, k in (("rt_16x32_s", 16, 64), ("rt_32x16_s", 32, 32), ("rt_16x128_s", 16, 128)):
        generator = torch.Generator().manual_seed(1)
        values = torch.randn(2 * m, k, generator=generator).to(bf8)
        expected, check = product(values.double(), values.double())
        batch.add(
            rt_shape,
            f"""{matrix("a", "fp8e5m2", 2 * m, k)} rt_fp8e5m2<{2 * m}, {k}, row_l, {rt_shape}> a_;
            load(a_, a, {{0, 0, 0, 0}}); rt_fl<{2 * m}, {2 * m}, col_l, rt_{m}x{m}_s> d; zero(d);
            mma_ABt(d, a_, a_, d); store(g.d, d, {{0, 0, 0, 0}});""",
            a=values.view(torch.uint8),
            expected={"d": expected},
            check=check,
        )
    if arch == "gfx950":
        for kind in SMALL:
            for side, k in ((16, 128), (32, 64)):
                a, values = operand(kind, 2 * side, k, 1)
                expected, check = product(values, values)
                batch.add(
                    f"{kind} {side}",
                    f"""{matrix("a", kind, 2 * side, count(kind, k))}
                    rt<{kind}, {2 * side}, {count(kind, k)}, row_l, {shape(side, kind)}> a_;
                    rt_fl<{2 * side}, {2 * side}, col_l, rt_{side}x{side}_s> d; zero(d);
                    load(a_, a, {{0, 0, 0, 0}}); mma_ABt(d, a_, a_, d); store(g.d, d, {{0, 0, 0, 0}});""",
                    a=a,
                    expected={"d": expected},
                    check=check,
                )
    batch.run(arch)


def test_column_layout_of_128_columns(arch: str, batch: Batch) -> None:
    """A shared tile whose rows run across K, read by `load` into rt_16x128_s in the column layout."""
    fp8 = torch.float8_e4m3fn if arch == "gfx950" else torch.float8_e4m3fnuz
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(128, 128, generator=generator).to(fp8)
    for first in (0, 48):
        rows = values.double()[:, first : first + 64].T
        expected, check = product(rows, rows)
        batch.add(
            f"columns from {first} on",
            f"""extern __shared__ alignment_dummy __shm[];
            shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
            using tile = st<fp8e4m3, 128, 128, st_16x128_s>;
            tile &s = al.allocate<tile>();
            {matrix("a", "fp8e4m3", 128, 128)}
            group<1>::load(s, a, {{0, 0, 0, 0}});
            wait_and_barrier();
            rt<fp8e4m3, 64, 128, col_l, rt_16x128_s> ta; load(ta, s, {first});
            rt_fl<64, 64, col_l> d; zero(d);
            mma_ABt(d, ta, ta, d); store(g.d, d, {{0, 0, 0, 0}});""",
            a=values.view(torch.uint8),
            shared=values.numel(),
            expected={"d": expected},
            check=check,
        )
    batch.run(arch)


def test_conversions(arch: str, batch: Batch) -> None:
    """float to and from e5m2, pairs of fp4 and scales."""
    bf8 = torch.float8_e5m2 if arch == "gfx950" else torch.float8_e5m2fnuz
    x = torch.randn(16, 32, generator=torch.Generator().manual_seed(1)) * 8
    x[0, :4] = torch.tensor([1e6, -1e6, float("inf"), 57344.0])
    batch.add(
        "e5m2",
        """rt_fl<16, 32, row_l, rt_16x32_s> a, back; load(a, g.x, {0, 0, 0, 0});
        rt_fp8e5m2<16, 32, row_l, rt_16x32_s> b; copy(b, a); copy(back, b);
        store(g.out, back, {0, 0, 0, 0});""",
        x=x,
        expected={"out": x.clamp(-57344, 57344).to(bf8).float()},
    )
    # Values between two codes, ties among them, beyond the largest, and each code itself.
    y = torch.cat(
        [E2M1, (E2M1[1:] + E2M1[:-1]) / 2, torch.tensor([7.0, 100.0, 0.2, 0.3, 4.9, 5.1, 0.74, 0.76, 1e-9])]
    )
    y = torch.cat([y, -y]).float()
    y = torch.cat([y, y[: 128 - len(y)], y[: 80 - len(y)]])[:128]
    distance = (y.double().abs()[:, None] - E2M1).abs()
    # Ties go to the even code: the last of the nearest where it is even, else the first.
    nearest = distance == distance.min(1, keepdim=True).values
    codes = (
        torch.where(nearest, torch.arange(8) % 2 * 100 + torch.arange(8), torch.tensor(1000)).min(1).values
        % 100
    )
    values = (E2M1[codes] * torch.where(y < 0, -1.0, 1.0).double()).float()
    batch.add(
        "e2m1",
        """const int i = 2 * laneid();
        const float2 pair = {g.y[{i}], g.y[{i + 1}]};
        const auto packed = base_types::convertor<fp4e2m1_2, float2>::convert(pair);
        const float2 back = base_types::convertor<float2, fp4e2m1_2>::convert(packed);
        g.out[{i}] = back.x; g.out[{i + 1}] = back.y;""",
        y=y,
        expected={"out": values},
        check=close(0),
    )
    z = torch.cat([torch.exp2(torch.arange(-63.0, 64.0)) * 1.5, torch.tensor([1.0])])
    batch.add(
        "e8m0",
        """for (int i = laneid(); i < 128; i += 64)
            g.out[{i}] = base_types::convertor<float, fp8e8m0>::convert(
                base_types::convertor<fp8e8m0, float>::convert(g.z[{i}]));""",
        z=z,
        expected={"out": torch.exp2(torch.floor(torch.log2(z)))},
    )
    batch.run(arch)


def nearest(table: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Codes, the sign as the highest bit, of the numbers nearest to x; ties to the even code; saturating."""
    size = x.double().abs()
    distance = (size.clamp(max=table[-1].item())[..., None] - table).abs()
    near = distance == distance.min(-1, keepdim=True).values
    codes = torch.arange(len(table))
    even = torch.where(near, codes + codes % 2 * 1000, 10000).min(-1).values % 1000
    return even + (torch.signbit(x) * len(table)).long()


@pytest.mark.parametrize(
    ("on", "wide"), [("gfx950", "float"), ("gfx950", "bf16"), ("gfx950", "half"), ("gfx942", "float")]
)
def test_small_floats(on: str, batch: Batch, wide: str) -> None:
    """Tiles to fp4 and fp6 with and without block scales, through all of memory, and back; both layouts."""
    dtype = {"float": torch.float32, "bf16": torch.bfloat16, "half": torch.float16}[wide]
    # Without conversion instructions each number takes a dozen instructions: one base tile there.
    m, k = (32, 256) if on == "gfx950" else (16, 128)
    generator = torch.Generator().manual_seed(3)
    for kind, table in SMALL.items():
        x = torch.randn(m, k, generator=generator) * torch.exp2(
            torch.randint(-3, 4, (m, k), generator=generator)
        )
        # Ties, the largest number and beyond, each with both signs.
        ties = (table[1:] + table[:-1]) / 2
        x[0, : len(ties)], x[1, : len(ties)] = ties.float(), -ties.float()
        x[2, :4] = torch.tensor([1000.0, -1000.0, float("inf"), -float("inf")])
        x = x.to(dtype)
        stored, factors = scales(m, k, 5)
        lanes = registers(stored, 16)
        codes, scaled = nearest(table, x), nearest(table, x.double() / factors)
        values = table[codes % len(table)] * (1 - 2 * (codes // len(table)).double())
        n = k // count(kind, k)
        small = f"rt<{kind}, {m}, {count(kind, k)}, row_l, {shape(16, kind)}>"
        turned = shape(16, kind).removeprefix("rt_").removesuffix("_s").split("x")
        outs = " ".join(matrix(name, kind, m, count(kind, k)) for name in ("plain", "divided"))
        batch.add(
            f"{kind} {wide}",
            f"""{outs} {small} a, b; rt<{wide}, {m}, {k}, row_l, rt_shape<16, 128, 32>> x, back;
            load(x, g.x, {{0, 0, 0, 0}}); copy(a, x); store(plain, a, {{0, 0, 0, 0}});
            copy(back, a); store(g.back, back, {{0, 0, 0, 0}});
            fp8e8m0_4 s[{lanes.shape[0]}];
            for (int i = 0; i < {lanes.shape[0]}; i++) s[i] = g.scales[i * 64 + laneid()];
            copy_scaled(b, x, s); store(divided, b, {{0, 0, 0, 0}});""",
            x=x,
            scales=lanes,
            expected={
                "plain": packed(kind, codes),
                "divided": packed(kind, scaled),
                "back": values.to(dtype),
            },
        )
        # In the column layout rows are along K: what is stored is the transposed matrix, group by group.
        column = f"rt_shape<{turned[1]}, {turned[0]}, {16 if n == 2 else 8}>"
        batch.add(
            f"{kind} {wide} col_l",
            f"""rt<{kind}, {count(kind, k)}, {m}, col_l, {column}> a;
            rt<{wide}, {k}, {m}, col_l, rt_shape<128, 16, 32>> x, back;
            load(x, g.x, {{0, 0, 0, 0}}); copy(a, x); copy(back, a); store(g.back, back, {{0, 0, 0, 0}});""",
            x=x.T.contiguous(),
            expected={"back": values.T.contiguous().to(dtype)},
        )
    batch.run(on)


def test_fp6_elements(arch: str, batch: Batch) -> None:
    """Every code of fours of fp6 to floats and back."""
    for kind, table in list(SMALL.items())[1:]:
        codes = torch.arange(64).reshape(1, 64)
        values = torch.cat([table, -table]).float()
        batch.add(
            kind,
            f"""if (laneid() < 16) {{
                const auto *fours = reinterpret_cast<const {kind} *>(g.codes);
                const float4 x = base_types::convertor<float4, {kind}>::convert(fours[laneid()]);
                g.x[{{4 * laneid()}}] = x.x; g.x[{{4 * laneid() + 1}}] = x.y;
                g.x[{{4 * laneid() + 2}}] = x.z; g.x[{{4 * laneid() + 3}}] = x.w;
                auto *back = reinterpret_cast<{kind} *>(g.back);
                back[laneid()] = base_types::convertor<{kind}, float4>::convert(x);
            }}""",
            codes=packed(kind, codes),
            expected={"x": values, "back": packed(kind, codes)},
        )
    batch.run(arch)


def test_other_target_is_refused() -> None:
    source = """#include "kittens.cuh"
    using namespace kittens;
    __global__ void wrong(fp8e8m0_4 s) {
        rt_fp8e4m3<16, 128> a; rt_fl<16, 16, col_l> d; zero(d); zero(a);
        mma_ABt_scaled(d, a, a, d, &s, &s);
    }"""
    with pytest.raises(CompileError) as caught:
        wb.compile(source, arch="gfx942", name="wrong.hip")
    first = next(d for d in caught.value.diagnostics if d.severity == "error")
    assert "only gfx950 (CDNA4) has matrix instructions with block scales" in first.message
