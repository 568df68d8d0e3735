"""Explicit-register tiles: ranges, loads, stores, multiplication, maps, conversions; sanitizer clean."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
import torch
from tile_cases import DTYPES, FP8, SHAPES, Batch, close, distinct, random

import workbench as wb
from workbench.errors import CompileError
from workbench.targets import TILE_TARGETS

CORNER = "{0, 0, 0, 0}"

FIRST = 96
"""The first pinned VGPR; the compiler has those below."""

PIN = "using namespace ducks::art;"


@dataclass
class PinnedBatch(Batch):
    """Cases whose kernels leave registers from FIRST on to explicit-register tiles."""

    def source(self) -> str:
        whole = super().source()
        for case in self.cases:
            ends = [int(end) for end in re.findall(r"range<\d+, (\d+)>", case.body)]
            pins = f"KITTENS_PINS_FROM({FIRST}, {max([0, *(end - 255 for end in ends)])})"
            kernel = f"__global__ __launch_bounds__({case.threads})\nvoid {case.name}("
            whole = whole.replace(kernel, f"{pins} {kernel}")
        return whole

    def run(self, arch: str, *, profile: bool = False) -> dict[str, dict[str, int]]:
        """Results, waits and wait states."""
        with wb.sanitizing() as watch:
            counters = super().run(arch, profile=profile)
        watch.check()
        return counters


@pytest.fixture
def pinned() -> PinnedBatch:
    return PinnedBatch()


class Registers:
    """Hands out VGPRs from FIRST on and AGPRs from a0 on."""

    def __init__(self) -> None:
        self.next = {"v": FIRST, "a": 256}

    def tile(self, name: str, file: str, kind: str, rows: int, cols: int, layout: str, shape: str) -> str:
        """Declares a tile in separate registers. "turned:..." is a shape with exchanged sides."""
        turned = shape.startswith("turned:")
        base_rows, base_cols, stride = SHAPES[shape.removeprefix("turned:")]
        if turned:
            base_rows, base_cols = base_cols, base_rows
        size = {"float": 4, "fp8e4m3": 1}.get(kind, 2)
        registers = base_rows * base_cols // 64 * size // 4
        total = registers * (rows // base_rows) * (cols // base_cols)
        first = self.next[file]
        self.next[file] = first + total + total % 2
        assert self.next[file] <= (256 if file == "v" else 512)
        spelled = f"rt_shape<{base_rows}, {base_cols}, {stride}>" if turned else shape
        return f"""art<{kind}, {rows}, {cols}, {layout}, {spelled},
            split_many_t<type_list<range<{first}, {first + total - 1}>>, {registers}>> {name};"""


def test_ranges() -> None:
    """Lists of ranges are cut and transposed at compile time."""
    source = """#include "kittens.cuh"
    using namespace kittens; using namespace kittens::ducks::art;
    template <typename A, typename B> constexpr bool same = detail::is_same<A, B>;
    using list = type_list<range<0, 7>, range<256, 259>>;
    static_assert(same<split_many_t<list, 4>, type_list<range<0, 3>, range<4, 7>, range<256, 259>>>);
    static_assert(split_many_t<list, 1>::size == 12 && range<4, 7>::size == 4);
    static_assert(same<get_nth_range_t<split_many_t<list, 2>, 4>, range<256, 257>>);
    using one = split_one<0, 7, 4>;
    static_assert(one::end == 3 && same<one::head, range<0, 3>> && same<one::tail, type_list<range<4, 7>>>);
    static_assert(same<split_many<list, 4>::first, one::type>);
    static_assert(same<split_many<list, 4>::rest, type_list<range<256, 259>>>);
    using six = split_many_t<type_list<range<0, 5>>, 1>;
    static_assert(same<transpose_2d<six, 2, 3>, type_list<range<0, 0>, range<3, 3>, range<1, 1>, range<4, 4>,
                                                          range<2, 2>, range<5, 5>>>);
    static_assert(same<transpose_2d<transpose_2d<six, 2, 3>, 3, 2>, six>);
    using step = transpose_2d_impl<six, 2, 3, 3, 4>;
    static_assert(step::r == 1 && step::c == 1 && step::src_idx == 4);
    static_assert(same<step::current, type_list<range<4, 4>>> && same<step::rest, type_list<range<2, 2>>>);
    using tile = art_fl<32, 16, col_l, rt_16x16_s, split_many_t<type_list<range<8, 15>>, 4>>;
    static_assert(all<tile> && col_layout<tile> && !row_layout<tile>);
    static_assert(tile::height == 2 && tile::width == 1);
    static_assert(tile::first_register<1, 0> == 12 && tile::registers_per_base_tile == 4);
    static_assert(ducks::art_base::all<tile::base_tile_type<1, 0>> && !all<rt_fl<16, 16>>);
    static_assert(same<art_bf<16, 16>::T, bf16> && same<art_hf<16, 16>::T, half>);
    static_assert(same<art_fp8e4m3<16, 128>::T, fp8e4m3> && art_base_fl<>::registers_per_thread == 4);
    """
    for arch in TILE_TARGETS:
        result = wb.compile(source, arch=arch, name="ranges.hip").result
        assert result is not None
        assert not result.diagnostics


T16 = "art_fl<16, 16, row_l, rt_16x16_s, type_list"

WRONG = {
    "art_bf<32, 16> t; zero(t);": "there is one range of registers for each base tile",
    f"{T16}<range<64, 65>, range<66, 67>>> t; zero(t);": "there is one range of registers for each base tile",
    f"{T16}<range<64, 65>>> t; zero(t);": "as many registers",
    f"{T16}<range<65, 68>>> t; zero(t);": "begins with an even one",
    "using t = split_many_t<type_list<range<0, 6>>, 2>; t x;": "a whole number of ranges of that size",
    "using t = range<250, 260>; (void)t::size;": "a range is of VGPRs",
    f"{T16}<range<256, 259>>> t; exp2(t, t);": "vector instructions take VGPRs",
    "art_bf<16, 16, row_l, rt_16x16_s, type_list<range<64, 65>>> t; exp2(t, t);": "are of float tiles",
    f"{T16}<range<64, 67>>> t; art_bf<16, 16> u; mma_ABt(u, t, t, u);": "the accumulators are of float",
    "art_bf<16, 16> t; load(t, x, {0, 0, 0, 0});": "has the global layout's element type",
}


@pytest.mark.parametrize(("body", "says"), WRONG.items())
def test_wrong_program(body: str, says: str) -> None:
    source = f"""#include "kittens.cuh"
    using namespace kittens; using namespace kittens::ducks::art;
    __global__ void wrong(gl<float, -1, -1, -1, -1> x) {{ {body} (void)x; }}"""
    with pytest.raises(CompileError) as caught:
        wb.compile(source, arch="gfx950", name="wrong.hip")
    first = next(d for d in caught.value.diagnostics if d.severity == "error")
    assert says in first.message
    assert len(first.message) < 250, first.message


def test_no_tiles_by_number_on_gfx1201() -> None:
    source = """#include "kittens.cuh"
    using namespace kittens; using namespace kittens::ducks::art;
    __global__ void none() { art_fl<16, 16, row_l, rt_16x16_s, type_list<range<64, 71>>> t; zero(t); }"""
    with pytest.raises(CompileError, match="explicit-register tiles are for CDNA3 and CDNA4"):
        wb.compile(source, arch="gfx1201", name="none.hip")


LOADED = [
    ("bf16", "rt_16x32_s", "row_l"),
    ("bf16", "rt_32x16_s", "row_l"),
    ("half", "rt_16x16_s", "row_l"),
    ("float", "rt_32x32_s", "row_l"),
    ("fp8e4m3", "rt_16x128_s", "row_l"),
    ("bf16", "rt_16x32_4_s", "col_l"),
    ("float", "rt_16x16_s", "col_l"),
]


def matrix(kind: str, rows: int, cols: int, arch: str) -> torch.Tensor:
    if kind == "fp8e4m3":
        return random(rows, cols, seed=rows).to(FP8[arch])
    return distinct(rows, cols, DTYPES[kind], seed=rows)


def test_global(arch: str, pinned: PinnedBatch) -> None:
    """From and to global memory; VGPRs and AGPRs; rows past the end; conversion to other element types."""
    for kind, shape, layout in LOADED:
        rows, cols = 2 * SHAPES[shape][0], 2 * SHAPES[shape][1]
        for file in "va":
            x = matrix(kind, 2 * rows - 3, 2 * cols, arch)
            part = torch.zeros(rows, cols).to(x.dtype)
            part[: rows - 3] = x[rows:, cols:]
            expected = {"out": part, "wide": part.float()}
            pinned.add(
                f"{kind} {shape} {layout} {file}",
                f"""{PIN} {Registers().tile("t", file, kind, rows, cols, layout, shape)}
                load(t, g.x, {{0, 0, 0, 1}}, {{0, 0, 1, 0}}); wait_vmcnt();
                store(g.out, t, {CORNER}); store<2>(g.wide, t, {CORNER}, {CORNER});""",
                x=x,
                expected=expected,
            )
    pinned.take_turns(arch)
    pinned.run(arch)


SHARED = [
    ("bf16", "st_16x32_s", "rt_16x32_s", "row_l"),
    ("bf16", "st_32x32_s", "rt_32x16_s", "row_l"),
    ("bf16", "st_16x16_swizzled_s", "rt_16x16_s", "row_l"),
    ("half", "st_16x16_s", "rt_16x32_s", "row_l"),
    ("float", "st_16x16_s", "rt_16x16_s", "row_l"),
    ("fp8e4m3", "st_16x128_s", "rt_16x128_s", "row_l"),
    ("bf16", "st_16x32_s", "rt_16x32_s", "col_l"),
    ("bf16", "st_16x32_s", "rt_16x32_4_s", "col_l"),
    ("bf16", "st_16x16_swizzled_s", "rt_32x16_4_s", "col_l"),
    ("float", "st_32x32_s", "rt_32x32_s", "col_l"),
]


def test_shared(arch: str, pinned: PinnedBatch) -> None:
    """From and to shared memory, whole and part, VGPRs and AGPRs."""
    for kind, st_shape, shape, layout in SHARED:
        rows, cols = max(32, SHAPES[shape][0]), max(32, SHAPES[shape][1])
        for file in "va":
            x = matrix(kind, rows, 2 * cols, arch)
            registers = Registers()
            pinned.add(
                f"{kind} {st_shape} {shape} {layout} {file}",
                f"""{PIN} extern __shared__ alignment_dummy __shm[];
                shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
                using tile = st<{kind}, {rows}, {2 * cols}, {st_shape}>;
                tile &s = al.allocate<tile>(), &copied = al.allocate<tile>();
                {registers.tile("t", file, kind, rows, 2 * cols, layout, shape)}
                {registers.tile("half", file, kind, rows, cols, layout, shape)}
                group<1>::load(s, g.x, {CORNER}); wait_and_barrier();
                load(t, s); load(half, subtile_inplace<{rows}, {cols}>(s, {{0, 1}}));
                wait_lgkmcnt(); store(copied, t); wait_and_barrier();
                group<1>::store(g.out, copied, {CORNER}); store(g.part, half, {CORNER});""",
                x=x,
                shared=4 * rows * cols * x.element_size(),
                expected={"out": x, "part": x[:, cols:].contiguous()},
            )
    pinned.take_turns(arch)
    pinned.run(arch)


def test_addresses(arch: str, pinned: PinnedBatch) -> None:
    """get_address once, then base tiles one by one at constant distances."""
    for st_shape, shape in (("st_16x32_s", "rt_16x32_s"), ("st_16x16_swizzled_s", "rt_16x16_s")):
        rows, cols = 32, 64
        height, width = rows // SHAPES[shape][0], cols // SHAPES[shape][1]
        x = matrix("bf16", rows, cols, arch)
        positions = [(n, m) for n in range(height) for m in range(width)]
        pinned.add(
            f"{st_shape} {shape}",
            f"""{PIN} extern __shared__ alignment_dummy __shm[];
            shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
            using tile = st_bf<{rows}, {cols}, {st_shape}>;
            tile &s = al.allocate<tile>(), &copied = al.allocate<tile>();
            {Registers().tile("t", "v", "bf16", rows, cols, "row_l", shape)}
            group<1>::load(s, g.x, {CORNER}); wait_and_barrier();
            const uint32_t from = get_address(t, s), to = get_address(t, copied);
            {" ".join(f"load<{n}, {m}>(t, s, from);" for n, m in positions)} wait_lgkmcnt();
            {" ".join(f"store<{n}, {m}>(copied, t, to);" for n, m in positions)} wait_and_barrier();
            group<1>::store(g.out, copied, {CORNER});""",
            x=x,
            shared=4 * rows * cols,
            expected={"out": x},
        )
    # The second of two tiles, by the addresses of the first: one address per pattern of the swizzle.
    moves = {"rt_32x16_s": ("row_l", 2), "rt_16x32_4_s": ("col_l", 4)}
    for shape, (layout, patterns) in moves.items():
        if layout == "col_l" and arch == "gfx942":
            continue
        rows, cols = 32, 64
        height, width = rows // SHAPES[shape][0], cols // SHAPES[shape][1]
        x = matrix("bf16", rows, cols, arch)
        positions = [(n, m) for n in range(height) for m in range(width)]
        back = f"""{" ".join(f"store<{n}, {m}>(lanes, t);" for n, m in positions)} wait_and_barrier();
            group<1>::store(g.out, s[0], {CORNER});"""
        count = f"static_assert(decltype(lanes)::all.count == {patterns});" if arch == "gfx950" else ""
        pinned.add(
            f"lanes {shape}",
            f"""{PIN} extern __shared__ alignment_dummy __shm[];
            shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
            using tile = st_bf<{rows}, {cols}, st_32x32_s>;
            tile (&s)[2] = al.allocate<tile, 2>();
            {Registers().tile("t", "v", "bf16", rows, cols, layout, shape)}
            group<1>::load(s[1], g.x, {CORNER}); wait_and_barrier();
            const lane_addresses<decltype(t), tile> lanes(s[0]); {count}
            {" ".join(f"load<{n}, {m}, sizeof(tile)>(t, lanes);" for n, m in positions)} wait_lgkmcnt();
            {back if layout == "row_l" else f"store(g.out, t, {CORNER});"}""",
            x=x,
            shared=4 * rows * cols,
            expected={"out": x},
        )
    pinned.run(arch)


def test_multiplication(arch: str, pinned: PinnedBatch) -> None:
    """All forms, register files and types, with and without an accumulator, whole and step by step."""
    kinds = [
        ("bf16", "rt_16x32_s"),
        ("half", "rt_32x16_s"),
        ("bf16", "rt_16x16_s"),
        ("fp8e4m3", "rt_16x32_s"),
    ]
    if arch == "gfx950":
        kinds.append(("fp8e4m3", "rt_16x128_s"))
    files = ["vvv", "avv", "vav", "vva", "aav", "ava", "vaa", "aaa"]
    number = 0
    for kind, shape in kinds:
        side, depth, _ = SHAPES[shape]
        m, n, k = 2 * side, side, 2 * depth
        dtype = DTYPES.get(kind, FP8[arch])
        a, b = random(m, k, seed=1).to(dtype), random(n, k, seed=2).to(dtype)
        c = random(m, n, seed=3)
        product = a.double() @ b.double().T
        for form in ("AB", "ABt", "AtB", "AtBt"):
            if shape == "rt_16x128_s" and form != "ABt":
                continue
            a_turned, b_turned = form.startswith("At"), form.endswith("Bt")
            for layout in ("col_l", "row_l"):
                file = files[number % len(files)]
                number += 1
                r = Registers()
                left = (k, m, "col_l", f"turned:{shape}") if a_turned else (m, k, "row_l", shape)
                right = (n, k, "row_l", shape) if b_turned else (k, n, "col_l", f"turned:{shape}")
                accumulator = (m, n, layout, f"rt_{side}x{side}_s")
                steps = [f"{i}, 0, {s}" for s in range(2) for i in range(2)]
                rest = " ".join(f"mma_{form}<{s}>(e, a, b, {'c' if s[-1] == '0' else 'e'});" for s in steps)
                pinned.add(
                    f"{kind} {form} {shape} {layout} {file}",
                    f"""{PIN} {r.tile("a", file[1], kind, *left)} {r.tile("b", file[2], kind, *right)}
                    {r.tile("c", file[0], "float", *accumulator)}
                    {r.tile("d", file[0], "float", *accumulator)}
                    {r.tile("e", file[0], "float", *accumulator)}
                    rt<{kind}, {left[0]}, {left[1]}, {left[2]}, typename decltype(a)::shape> ra;
                    rt<{kind}, {right[0]}, {right[1]}, {right[2]}, typename decltype(b)::shape> rb;
                    rt_fl<{m}, {n}, {layout}, rt_{side}x{side}_s> rc;
                    load(ra, g.a, {CORNER}); load(rb, g.b, {CORNER}); load(rc, g.c, {CORNER});
                    copy(a, ra); copy(b, rb); copy(c, rc);
                    mma_{form}(d, a, b, c); store(g.d, d, {CORNER});
                    mma_{form}(d, a, b); store(g.alone, d, {CORNER});
                    wait_states<2>(); {rest} wait_states<20>(); store(g.steps, e, {CORNER});""",
                    a=a.T if a_turned else a,
                    b=b if b_turned else b.T,
                    c=c,
                    expected={
                        "d": (product + c.double()).float(),
                        "alone": product.float(),
                        "steps": (product + c.double()).float(),
                    },
                    check=close(8, 1e-3),
                    one_target=shape == "rt_16x128_s",
                )
    pinned.take_turns(arch)
    pinned.run(arch)


def test_maps(arch: str, pinned: PinnedBatch) -> None:
    """Element-wise operations on float tiles in both layouts, in place and not."""
    x, y = random(32, 32, seed=1), random(32, 32, seed=2)
    positive = x.abs() + 0.1
    r = Registers()
    tiles = "".join(r.tile(n, "v", "float", 32, 32, "col_l", "rt_16x16_s") for n in ("a", "b", "c"))
    expected = {
        "exp2(c, a);": torch.exp2(positive),
        "log2(c, a);": torch.log2(positive),
        "rcp(c, a);": 1 / positive,
        "rsqrt(c, a);": positive.rsqrt(),
        "sqrt(c, a);": positive.sqrt(),
        "neg(c, a); abs(c, c);": positive,
        "neg(c, b); relu(c, c);": (-y).relu(),
        "add(c, a, b);": positive + y,
        "sub(c, a, b);": positive - y,
        "mul(c, a, b);": positive * y,
        "max(c, a, b);": torch.maximum(positive, y),
        "min(c, a, b);": torch.minimum(positive, y),
        "add(c, a, 1.5f); sub(c, c, 0.25f); mul(c, c, 3.0f);": (positive + 1.5 - 0.25) * 3.0,
        "max(c, a, 0.5f); min(c, c, 1.0f);": positive.clamp(0.5, 1.0),
        "zero(c);": torch.zeros(32, 32),
        "one(c); zero<1, 0>(c);": torch.cat(
            [torch.ones(16, 32), torch.tensor([0.0, 1.0]).repeat_interleave(16).expand(16, 32)]
        ),
        "pos_infty(c); neg(c, c);": torch.full((32, 32), -torch.inf),
        "neg_infty(c); copy(c, b); mul<0, 0>(c, c, 2.0f); exp2<1, 1>(c, a); wait_states<1>();": None,
        "copy(c, b); mov<0, 0, 0, 250>(c);": None,
    }
    mixed = y.clone()
    mixed[:16, :16] *= 2
    mixed[16:, 16:] = torch.exp2(positive[16:, 16:])
    moved = y.clone()
    moved[0:16:4, :16] = 7.0
    special = {17: mixed, 18: moved}
    for i, (statements, value) in enumerate(expected.items()):
        pinned.add(
            statements,
            f"""{PIN} {tiles} rt_fl<32, 32, col_l> ra, rb;
            macros::clobber_gpr<250>(); macros::write_gpr<250>(__builtin_bit_cast(unsigned, 7.0f));
            load(ra, g.a, {CORNER}); load(rb, g.b, {CORNER}); copy(a, ra); copy(b, rb);
            {statements} rt_fl<32, 32, col_l> rc; copy(rc, c); store(g.out, rc, {CORNER});""",
            a=positive,
            b=y,
            expected={"out": special[i] if value is None else value},
            check=close(4),
        )
    pinned.take_turns(arch)
    pinned.run(arch)


def test_vectors(arch: str, pinned: PinnedBatch) -> None:
    """Maps with vectors, in a register or of the compiler's, and reductions, in both layouts."""
    x, v = random(16, 64, seed=1), random(64, seed=2)
    r = Registers()
    tile = r.tile("t", "v", "float", 16, 64, "col_l", "rt_16x16_s")
    rows = v[16:32]
    for name, value in {
        "sub": x - 2 * rows[:, None],
        "add": x + 2 * rows[:, None],
        "mul": x * 2 * rows[:, None],
    }.items():
        for call in (
            f"{name}_row<251>(t, t);",
            f"wait_states<2>(); {' '.join(f'{name}_row<0, {j}, 251>(t, t);' for j in range(4))}",
        ):
            pinned.add(
                f"{name}_row register {call[:12]}",
                f"""{PIN} {tile} __shared__ sv_fl<64> s; group<1>::load(s, g.v, {CORNER}); wait_and_barrier();
                load(t, g.x, {CORNER}); load<251>(subvec_inplace<16>(s, 1)); wait_vmcnt(); wait_lgkmcnt();
                mul<251, 251>(2.0f); {call} store(g.out, t, {CORNER});""",
                x=x,
                v=v,
                expected={"out": value},
                check=close(1),
            )
    y = random(32, 64, seed=4)
    pinned.add(
        "reductions from AGPRs",
        f"""{PIN} {Registers().tile("t", "a", "float", 32, 64, "col_l", "rt_16x16_s")}
        load(t, g.y, {CORNER}); wait_vmcnt(); typename decltype(t)::col_vec r;
        row_max(r, t); store(g.out, r, {CORNER});""",
        y=y,
        expected={"out": y.amax(1)},
    )
    for layout in ("row_l", "col_l"):
        for shape in ("rt_16x16_s", "rt_32x32_s"):
            tile = Registers().tile("t", "v", "float", 32, 64, layout, shape)
            pinned.add(
                f"reductions {layout} {shape}",
                f"""{PIN} {tile} load(t, g.y, {CORNER}); wait_vmcnt(); using tile = decltype(t);
                typename tile::col_vec r; typename tile::row_vec c;
                row_max(r, t); store(g.row_max, r, {CORNER}); row_sum(r, t, r); store(g.row_sum, r, {CORNER});
                col_min(c, t); store(g.col_min, c, {CORNER}); col_sum(c, t, c); store(g.col_sum, c, {CORNER});
                row_min(r, t); store(g.row_min, r, {CORNER});
                col_max(c, t); store(g.col_max, c, {CORNER});""",
                y=y,
                expected={
                    "row_max": y.amax(1),
                    "row_min": y.amin(1),
                    "row_sum": (y.double().sum(1) + y.amax(1)).float(),
                    "col_min": y.amin(0),
                    "col_max": y.amax(0),
                    "col_sum": (y.double().sum(0) + y.amin(0)).float(),
                },
                check=close(8, 1e-5),
            )
            tile = Registers().tile("t", "v", "float", 32, 64, layout, shape)
            pinned.add(
                f"vector maps {layout} {shape}",
                f"""{PIN} {tile} load(t, g.y, {CORNER}); wait_vmcnt(); using tile = decltype(t);
                typename tile::col_vec r; typename tile::row_vec c;
                load(r, g.r, {CORNER}); load(c, g.c, {CORNER});
                sub_row(t, t, r); mul_col(t, t, c); add_row(t, t, r); store(g.out, t, {CORNER});""",
                y=y,
                r=random(32, seed=5),
                c=random(64, seed=6),
                expected={
                    "out": (y - random(32, seed=5)[:, None]) * random(64, seed=6)
                    + random(32, seed=5)[:, None]
                },
                check=close(2, 1e-6),
            )
    pinned.take_turns(arch)
    pinned.run(arch)


def test_conversions(arch: str, pinned: PinnedBatch) -> None:
    """Between element types (in place too), register files, and tiles of the compiler's; causal masks."""
    x = random(32, 64, seed=1)
    for kind in ("bf16", "half"):
        r = Registers()
        wide = r.tile("wide", "v", "float", 32, 64, "col_l", "rt_16x16_s")
        for file, place in (("v", "apart"), ("a", "apart"), ("v", "in place")):
            narrow = (Registers() if place == "in place" else r).tile(
                "narrow", file, kind, 32, 64, "col_l", "rt_16x16_s"
            )
            if place == "in place":
                # Each base tile's two registers begin at those of its four.
                lists = ", ".join(f"range<{FIRST + 4 * i}, {FIRST + 4 * i + 1}>" for i in range(8))
                narrow = f"art<{kind}, 32, 64, col_l, rt_16x16_s, type_list<{lists}>> narrow;"
            pinned.add(
                f"{kind} {file} {place}",
                f"""{PIN} {wide} {narrow} load(wide, g.x, {CORNER}); wait_vmcnt();
                copy(narrow, wide); store(g.out, narrow, {CORNER});
                typename decltype(narrow)::like compiled; copy(compiled, narrow); zero(narrow);
                store(g.again, compiled, {CORNER});""",
                x=x,
                expected={"out": x.to(DTYPES[kind]), "again": x.to(DTYPES[kind])},
            )
    r = Registers()
    pinned.add(
        "register files",
        f"""{PIN} {r.tile("v", "v", "float", 32, 64, "col_l", "rt_32x32_s")}
        {r.tile("a", "a", "float", 32, 64, "col_l", "rt_32x32_s")} load(v, g.x, {CORNER}); wait_vmcnt();
        accvgpr_write(a, v); zero(v); accvgpr_read(v, a); store(g.out, v, {CORNER});
        copy(v, a); store(g.copied, v, {CORNER}); zero(a); store(g.zero, a, {CORNER});""",
        x=x,
        expected={"out": x, "copied": x, "zero": torch.zeros(32, 64)},
    )
    causal = x[:16, :16].clone()
    causal[torch.ones(16, 16).triu(1).bool()] = -1.0
    for layout in ("col_l", "row_l"):
        pinned.add(
            f"causal {layout}",
            f"""{PIN} {Registers().tile("t", "v", "float", 16, 16, layout, "rt_16x16_s")}
            macros::clobber_gpr<251>(); macros::write_gpr<251>(__builtin_bit_cast(unsigned, -1.0f));
            load(t, g.x, {CORNER}); wait_vmcnt(); make_causal<0, 0, 251>(t, t); store(g.out, t, {CORNER});""",
            x=x[:16, :16].contiguous(),
            expected={"out": causal},
        )
    if arch == "gfx950":
        y = distinct(16, 64, torch.bfloat16)
        pinned.add(
            "swap_layout_inplace",
            f"""{PIN} {Registers().tile("t", "v", "bf16", 16, 64, "col_l", "rt_16x16_s")}
            {Registers().tile("u", "v", "bf16", 16, 64, "col_l", "rt_16x32_s")}
            load(t, g.y, {CORNER}); wait_vmcnt(); swap_layout_inplace(u, t); store(g.out, u, {CORNER});""",
            y=y,
            expected={"out": y},
            one_target=True,
        )
    pinned.take_turns(arch)
    pinned.run(arch)
