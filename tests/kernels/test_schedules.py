"""Building blocks of schedules: timing, order, and results of tile streams and AGPRs."""

from __future__ import annotations

import pytest
import torch
from tile_cases import FP8, Batch, close, random

import workbench as wb
from workbench.errors import CompileError
from workbench.runtime import device

TURNS = 5


def run(source: str, arch: str, launch: wb.Launch, **arguments: object) -> None:
    """Compiles a source with one kernel, `test`, without a warning, and launches it."""
    text = f'#include "kittens.cuh"\nusing namespace kittens;\nusing namespace kittens::schedules;\n{source}'
    module = wb.compile(text, arch=arch, name="schedule.hip", flags=("-Wall", "-Wextra"))
    assert not module.result.diagnostics, "\n".join(d.message for d in module.result.diagnostics)
    module["test"].launch(launch, (), arguments, device=device(f"emulated:{arch}"))


def test_ping_pong_takes_turns(arch: str) -> None:
    """Tickets taken in the clusters show that the halves of the work-group are always in different ones."""
    tickets = torch.full((2, TURNS, 2, 4), -1, dtype=torch.int32)
    counter = torch.zeros(1, dtype=torch.int32)
    run(
        f"""__global__ __launch_bounds__(512) void test(int *tickets, int *counter) {{
            using schedule = ping_pong<8>;
            const auto draw = [&](int turn, int cluster) {{
                if (laneid() == 0)
                    tickets[((schedule::half() * {TURNS} + turn) * 2 + cluster) * 4 + warpid() % 4] =
                        atomicAdd(counter, 1);
            }};
            const auto memory = [&](auto turn) {{ draw(turn, 0); }};
            const auto compute = [&](auto turn) {{ draw(turn, 1); }};
            schedule::run([] {{}}, [&] {{ schedule::turns<0, {TURNS}>(memory, compute); }}, [] {{}});
        }}""",
        arch,
        wb.Launch(1, 512),
        tickets=tickets,
        counter=counter,
    )
    # Cluster c of turn t is at time 2 t + c, and one later for the upper half, exactly.
    times: dict[int, list[int]] = {}
    for half in range(2):
        for turn in range(TURNS):
            for cluster in range(2):
                times.setdefault(2 * turn + cluster + half, []).extend(tickets[half, turn, cluster].tolist())
    drawn = [sorted(times[time]) for time in sorted(times)]
    assert [len(t) for t in drawn] == [4, *[8] * (2 * TURNS - 1), 4]
    assert [ticket for time in drawn for ticket in time] == list(range(16 * TURNS)), drawn


def test_ping_pong_waits_for_reads(arch: str) -> None:
    """Reads of the memory cluster before a compute cluster have arrived when that cluster ends."""
    source = """__global__ __launch_bounds__(512) void test(float *out) {
        __shared__ float shared[512];
        shared[threadIdx.x] = static_cast<float>(threadIdx.x);
        float sum = 0;
        const auto read = [&](auto turn) { sum += shared[(threadIdx.x + turn * 64) % 512]; };
        ping_pong<8>::run([] {}, [&] { ping_pong<8>::turns<0, 3>(read, [](auto) {}); },
                          [&] { out[threadIdx.x] = sum; });
    }"""
    out = torch.zeros(512)
    run(source, arch, wb.Launch(1, 512), out=out)
    at = torch.arange(512)
    assert torch.equal(out, (at + (at + 64) % 512 + (at + 128) % 512).float())


@pytest.mark.parametrize(
    ("computes", "memories", "span"), [(32, 10, 24), (8, 3, 8), (4, 9, 4), (5, 5, 5), (6, 0, 6), (7, 2, 1)]
)
def test_interleave_order(computes: int, memories: int, span: int) -> None:
    """Both kinds in their own order, memory spread evenly over the span, each step before a compute step."""
    log = torch.zeros(computes + memories, dtype=torch.int32)
    run(
        f"""__global__ void test(int *log) {{
            int at = 0;
            interleave<4>::mix<{computes}, {memories}, {span}>([&](auto i) {{ log[at++] = i; }},
                                                              [&](auto j) {{ log[at++] = 1000 + j; }});
        }}""",
        "gfx950",
        wb.Launch(1, 64),
        log=log,
    )
    got = log.tolist()
    assert [x for x in got if x < 1000] == list(range(computes))
    assert [x - 1000 for x in got if x >= 1000] == list(range(memories))
    # Compute steps before each memory step, compared with an even spread.
    before = [sum(y < 1000 for y in got[: got.index(1000 + j)]) for j in range(memories)]
    assert before == [j * span // memories for j in range(memories)]


@pytest.mark.parametrize(
    ("rows", "cols", "window", "shared"),
    [
        (16, 16, 8, 8 + 4),
        (32, 32, 8, 8 + 4),
        (8, 8, 4, 4 + 2),
        (17, 16, None, None),
        (3, 5, None, None),
        (40, 7, None, None),
    ],
)
def test_order_of_tiles(rows: int, cols: int, window: int | None, shared: int | None) -> None:
    """A permutation for any size; the first tiles of each XCD are a block with few row and column blocks."""
    xcds, cus = 8, 32
    tiles = torch.full((2, rows * cols, 2), -1, dtype=torch.int32)
    run(
        f"""__global__ void test(int2 *tiles) {{
            for (int id = static_cast<int>(threadIdx.x); id < {rows * cols}; id += 64) {{
                tiles[id] = windowed_tile(id, {rows}, {cols}, {window or 8});
                tiles[{rows * cols} + id] = chiplet_tile(id, {rows}, {cols});
            }}
        }}""",
        "gfx950",
        wb.Launch(1, 64),
        tiles=tiles,
    )
    everything = {(r, c) for r in range(rows) for c in range(cols)}
    windowed, by_chiplet = ([tuple(t) for t in order.tolist()] for order in tiles)
    assert set(windowed) == set(by_chiplet) == everything
    in_windows = [r // (window or 8) for r, _ in windowed]
    assert in_windows == sorted(in_windows)
    if window is not None:
        for xcd in range(xcds):
            mine = by_chiplet[xcd::xcds][: min(cus, rows * cols // xcds)]
            assert len({r for r, _ in mine}) + len({c for _, c in mine}) == shared


STREAMED = [("bf16", 64, "st_16x64_s", 4), ("bf16", 32, "st_16x32_s", 8), ("float", 16, "st_16x16_s", 2)]


def test_tile_stream(arch: str, batch: Batch) -> None:
    """Tiles along a row, with rows in another order, columns before the first and rows past the end."""
    for dtype, cols, shape, waves in STREAMED:
        torch_type = {"bf16": torch.bfloat16, "float": torch.float32}[dtype]
        rows = 16 * waves
        for skip, missing, turned in [
            (0, 0, False),
            (0, 0, True),
            (8, 5, False),
            (cols, 1, True),
            (cols + 8, 0, False),
        ]:
            x = random(rows, 2 * cols, dtype=torch_type, seed=cols + skip)
            # Row r of the tile is row of[r] of x: the halves of each wave's rows change places, or they stay.
            part = rows // waves
            of = [r // part * part + r % part for r in range(rows)]
            if turned:
                of = [(r // part ^ 1) * part + r % part if r // part % 2 == 0 else r for r in range(rows)]
            padded = torch.cat([torch.zeros(rows, skip, dtype=torch_type), x], 1)
            padded[rows - missing :] = 0
            expected = torch.stack([padded[of, :cols], padded[of, cols : 2 * cols]])
            batch.add(
                f"{dtype} {shape} {waves} waves, {skip} columns before, {missing} rows missing, {turned}",
                f"""using tile = st<{dtype}, {rows}, {cols}, {shape}>;
                struct order {{
                    __host__ __device__ constexpr int operator()(int row) const {{
                        return {int(turned)} && row / {part} % 2 == 0 ? row + {part} : row;
                    }}
                }};
                using stream = tile_stream<{waves}, tile, order>;
                extern __shared__ alignment_dummy __shm[];
                shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
                tile(&tiles)[2] = al.allocate<tile, 2>();
                const auto pitch = static_cast<uint32_t>(g.x.cols() * sizeof({dtype}));
                const i32x4 source = stream::resource(g.x.raw_ptr, pitch * {rows - missing});
                const uint32_t lds = stream::lds_base(tiles[0]);
                constexpr int second = {skip} > {cols} ? {skip} - {cols} : 0;
                const stream begin[2] = {{stream(pitch, {skip}), stream(pitch, second)}};
                begin[0].start(source, 0, lds);
                begin[1].start(source, {skip} > {cols} ? 0 : ({cols} - {skip}) * sizeof({dtype}),
                               lds + static_cast<uint32_t>(sizeof(tile)));
                wait_and_barrier();
                group<{waves}>::store(g.out, tiles[0], {{0, 0, 0, 0}});
                group<{waves}>::store(g.out, tiles[1], {{0, 1, 0, 0}});""",
                x=x,
                expected={"out": expected[None]},
                threads=64 * waves,
                shared=2 * rows * cols * x.element_size(),
            )
    batch.run(arch)


AGPR = {
    "bf16": [("rt_16x32_s", 16), ("rt_16x16_s", 16), ("rt_32x16_s", 32)],
    "half": [("rt_16x32_s", 16), ("rt_32x32_s", 32)],
    "fp8e4m3": [("rt_16x32_s", 16), ("rt_32x16_s", 32)],
}


@pytest.mark.parametrize("dtype", AGPR)
def test_mma_into_agprs(arch: str, batch: Batch, dtype: str) -> None:
    """Every type and both sides, d in both layouts, against the product in float64."""
    torch_type = {"bf16": torch.bfloat16, "half": torch.float16, "fp8e4m3": FP8[arch]}[dtype]
    for shape, side in AGPR[dtype]:
        for layout in ("row_l", "col_l"):
            a, b = (random(rows, 64, seed=rows).to(torch_type) for rows in (64, 32))
            batch.add(
                f"{shape} {layout}",
                f"""using A = rt<{dtype}, 64, 64, row_l, {shape}>;
                rt<{dtype}, 64, 64, row_l, {shape}> a; rt<{dtype}, 32, 64, row_l, {shape}> b;
                rt_fl<64, 32, {layout}, rt_{side}x{side}_s> d;
                load(a, g.a, {{0, 0, 0, 0}}); load(b, g.b, {{0, 0, 0, 0}});
                zero_agpr(d);
                asm volatile("s_waitcnt vmcnt(0)\\n\\ts_nop 1");
                schedules::for_each_index<0, mma_agpr_depth<A>>([&](auto s) {{
                    schedules::for_each_index<0, decltype(d)::height * decltype(d)::width>([&](auto ij) {{
                        mma_ABt_agpr<ij / decltype(d)::width, ij % decltype(d)::width, s>(d, a, b);
                    }});
                }});
                settle_agpr(d);
                store(g.out, d, {{0, 0, 0, 0}});""",
                a=a,
                b=b,
                expected={"out": (a.double() @ b.double().T).float()},
                check=close(16, atol=1e-5),
            )
    batch.run(arch)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("ping_pong<4>::half();", "ping_pong: the work-group has 8 waves, two on each SIMD"),
        ("(void)interleave<8>{};", "interleave: the work-group has 4 waves, one on each SIMD"),
        ("(void)sizeof(tile_stream<4, st_bf<64, 64, st_16x32_s>>);", "the tile is as wide as its base shape"),
        ("(void)sizeof(tile_stream<1, st_bf<256, 32, st_16x32_s>>);", "a wave loads at most 4 KB of a tile"),
        (
            "struct up { constexpr int operator()(int) const { return 0; } };"
            "(void)sizeof(tile_stream<2, st_bf<64, 32, st_16x32_s>, up>);",
            "tile_stream: Rows puts a row further up",
        ),
    ],
)
def test_wrong_use_says_so(body: str, says: str) -> None:
    source = f"""#include "kittens.cuh"
using namespace kittens;
using namespace kittens::schedules;
__global__ void wrong() {{ {body} }}"""
    with pytest.raises(CompileError) as caught:
        wb.compile(source, arch="gfx950", name="wrong.hip")
    assert says in next(d for d in caught.value.diagnostics if d.severity == "error").message
