"""Cooperative groups of the HIP headers, against the same groups computed in Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.errors import AddressFault, LaunchError, TrapFault

HEAD = """
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;
"""


def run(body: str, block: int, *arrays: np.ndarray, arch: str = "gfx950", flag: str = "-O3") -> None:
    """Run a kernel of one block; the arrays are int pointers a, b, c, ..., and i is the thread's number."""
    parameters = ", ".join(f"int *{name}" for name, _ in zip("abcdef", arrays, strict=False))
    source = f"{HEAD}__global__ void k({parameters}) {{ int i = threadIdx.x;\n{body}\n}}"
    module = wb.compile(source, arch=arch, name="groups.hip", flags=[flag])
    module["k"][1, block](*[torch.from_numpy(array) for array in arrays])


def bits_of(values: np.ndarray) -> int:
    return sum(1 << place for place, value in enumerate(values) if value)


@pytest.mark.parametrize(
    ("arch", "flag", "size"),
    [
        ("gfx950", "-O0", 32),
        ("gfx950", "-O3", 4),
        ("gfx950", "-O3", 64),
        ("gfx942", "-O3", 32),
        ("gfx90a", "-O3", 16),
    ],
)
def test_a_tile_of_a_block(generator: np.random.Generator, arch: str, flag: str, size: int) -> None:
    block = 192
    values = generator.integers(-4, 5, block).astype(np.int32)
    out = np.full((16, block), -99, np.int32)
    run(
        f"""
    auto tile = cg::tiled_partition<{size}>(cg::this_thread_block());
    cg::thread_block_tile<{size}> plain = tile;
    int v = a[i], *out = b + i, same;
    out[0] = tile.thread_rank();
    out[192] = tile.size() + 1000 * plain.num_threads();
    out[2 * 192] = tile.meta_group_rank() + 1000 * tile.meta_group_size();
    out[3 * 192] = tile.shfl(v, 3) + 100 * plain.shfl_xor(v, 1);
    out[4 * 192] = tile.shfl_down(v, 2) + 100 * tile.shfl_up(v, 1);
    out[5 * 192] = (int)tile.ballot(v > 0);
    out[6 * 192] = (int)(tile.ballot(v > 0) >> 32);
    out[7 * 192] = tile.any(v == 4) + 2 * tile.all(v < 4);
    out[8 * 192] = (int)tile.match_any(v);
    out[9 * 192] = (int)tile.match_all(v / 8, same) + same;
    out[10 * 192] = cg::reduce(tile, v, cg::plus<int>()) + 1000 * cg::reduce(tile, v, cg::greater<int>());
    out[11 * 192] = cg::inclusive_scan(tile, v);
    out[12 * 192] = cg::exclusive_scan(tile, v, cg::plus<int>());
    out[13 * 192] = cg::exclusive_scan(tile, v, cg::less<int>());
    out[14 * 192] = cg::inclusive_scan(tile, v, [](int x, int y) {{ return 3 * x + y; }});
    tile.sync();
    auto half = cg::tiled_partition<{size // 2}>(tile);
    out[15 * 192] = half.thread_rank() + 100 * half.meta_group_rank() + 10000 * half.meta_group_size();""",
        block,
        values,
        out,
        arch=arch,
        flag=flag,
    )
    rank = np.arange(block) % size
    rows = values.reshape(-1, size)

    def per_row(function: Callable[[np.ndarray], object]) -> np.ndarray:
        """The result for each thread from its tile's values: one number or one for each thread."""
        return np.concatenate([np.broadcast_to(np.asarray(function(row)), size) for row in rows])

    def word(row: np.ndarray, shift: int = 0) -> int:
        low = bits_of(row) >> shift & 0xFFFFFFFF
        return low - (low >> 31 << 32)

    places = np.arange(size)
    before = per_row(lambda row: np.r_[np.iinfo(np.int32).max, np.minimum.accumulate(row)[:-1]])

    def folded(row: np.ndarray) -> np.ndarray:
        # The operation is not associative: the result of a scan by doubling steps.
        result = row.astype(np.int64)
        for step in (1, 2, 4, 8, 16, 32):
            if step < size:
                result = np.where(places >= step, 3 * np.roll(result, step) + result, result)
        return result.astype(np.uint64).astype(np.uint32).view(np.int32)

    assert out[0].tolist() == rank.tolist()
    assert (out[1] == 1001 * size).all()
    assert (out[2] == np.arange(block) // size + 1000 * (block // size)).all()
    assert (out[3] == per_row(lambda row: row[3]) + 100 * per_row(lambda row: row[places ^ 1])).all()
    down = per_row(lambda row: row[np.where(places + 2 < size, places + 2, places)])
    assert (out[4] == down + 100 * per_row(lambda row: row[np.maximum(places - 1, 0)])).all()
    assert (out[5] == per_row(lambda row: word(row > 0))).all()
    assert (out[6] == per_row(lambda row: word(row > 0, 32))).all()
    assert (out[7] == per_row(lambda row: int((row == 4).any()) + 2 * int((row < 4).all()))).all()
    assert (out[8] == per_row(lambda row: [word(row == value) for value in row])).all()
    assert (out[9] == word(np.ones(size)) + 1).all()
    assert (out[10] == per_row(lambda row: row.sum() + 1000 * row.max())).all()
    assert (out[11] == per_row(np.cumsum)).all()
    assert (out[12] == per_row(lambda row: np.cumsum(row) - row)).all()
    assert (out[13] == before).all()
    assert (out[14] == per_row(folded)).all()
    thread = np.arange(block)
    assert (out[15] == thread % (size // 2) + 100 * (thread % size // (size // 2)) + 20000).all()


@pytest.mark.parametrize(
    ("arch", "flag"), [("gfx950", "-O0"), ("gfx950", "-O3"), ("gfx942", "-O3"), ("gfx90a", "-O3")]
)
def test_the_threads_that_are_active(generator: np.random.Generator, arch: str, flag: str) -> None:
    values = generator.integers(0, 6, 64).astype(np.int32)
    values[generator.integers(0, 64)] = 5
    out = np.full((10, 64), -99, np.int32)
    run(
        """
    int v = a[i], *out = b + i, same;
    if (v > 1) {
        auto group = cg::coalesced_threads();
        out[0] = group.size() + 100 * group.thread_rank();
        out[64] = group.shfl(v, 2) + 10 * group.shfl_down(v, 3) + 100 * group.shfl_up(v, 1);
        out[128] = (int)group.ballot(v == 5);
        out[192] = group.any(v == 1) + 2 * group.all(v > 1) + 4 * group.any(v == 5);
        out[256] = (int)group.match_any(v) ^ (int)group.match_all(int(v > 0), same) * same;
        out[320] = cg::reduce(group, v, cg::plus<int>()) + 1000 * cg::inclusive_scan(group, v);
        auto part = cg::tiled_partition(group, 8);
        out[384] = part.size() + 100 * part.thread_rank() + 10000 * part.meta_group_rank() +
                   1000000 * part.meta_group_size();
        auto half = cg::binary_partition(group, v & 1);
        out[448] = half.size() + 100 * half.thread_rank() + 10000 * half.meta_group_rank();
        cg::thread_group any = group;
        cg::sync(any);
        out[512] = cg::group_size(any) + 100 * cg::thread_rank(any) + 10000 * any.is_valid();
        int leader = 0;
        if (group.thread_rank() == 0) leader = atomicAdd(c, (int)group.size());
        out[576] = group.shfl(leader, 0) + group.thread_rank();
    }""",
        64,
        values,
        out,
        counter := np.full(1, 7, np.int32),
        arch=arch,
        flag=flag,
    )
    active = np.flatnonzero(values > 1)
    active_values, count = values[active], len(active)
    rank = np.arange(count)

    def low(bits: int) -> int:
        return (bits & 0xFFFFFFFF) - (bits >> 31 & 1) * (1 << 32)

    got = out[:, active]
    assert (np.delete(out, active, 1) == -99).all()
    assert (got[0] == count + 100 * rank).all()
    down = np.where(rank + 3 < count, active_values[(rank + 3) % count], active_values)
    assert (
        got[1] == active_values[2 % count] + 10 * down + 100 * active_values[np.maximum(rank - 1, 0)]
    ).all()
    assert (got[2] == low(bits_of(active_values == 5))).all()
    assert (got[3] == 6).all()
    everyone = low((1 << count) - 1)
    assert got[4].tolist() == [low(bits_of(active_values == value)) ^ everyone for value in active_values]
    assert (got[5] == active_values.sum() + 1000 * np.cumsum(active_values)).all()
    parts = -(-count // 8)
    sizes = np.where(rank // 8 == parts - 1, count - 8 * (parts - 1), 8)
    assert (got[6] == sizes + 100 * (rank % 8) + 10000 * (rank // 8) + 1000000 * parts).all()
    odd = active_values & 1
    among = np.where(odd, np.cumsum(odd) - 1, np.cumsum(1 - odd) - 1)
    assert (got[7] == np.where(odd, odd.sum(), count - odd.sum()) + 100 * among + 10000 * odd).all()
    assert (got[8] == count + 100 * rank + 10000).all()
    assert (got[9] == 7 + rank).all()
    assert counter[0] == 7 + count


def test_a_partition_whose_size_is_known_at_run_time() -> None:
    out = np.zeros((3, 100), np.int32)
    run(
        """
    cg::thread_group part = cg::tiled_partition(cg::this_thread_block(), a[0]);
    b[i] = part.size();
    b[100 + i] = part.thread_rank();
    part.sync();
    cg::thread_group smaller = cg::tiled_partition(part, 4);
    b[200 + i] = smaller.size() + 100 * smaller.thread_rank();""",
        100,
        np.array([16], np.int32),
        out,
    )
    i = np.arange(100)
    assert (out[0] == np.where(i < 96, 16, 4)).all()
    assert (out[1] == i % 16).all()
    assert (out[2] == 4 + 100 * (i % 4)).all()
    with pytest.raises(wb.KernelFault, match="the size is a power of two, at most 64"):
        run(
            "a[i] = cg::tiled_partition(cg::this_thread_block(), a[0]).size();", 64, np.full(64, 12, np.int32)
        )


def test_a_block_that_copies_and_waits_in_two_steps(generator: np.random.Generator) -> None:
    source = generator.integers(0, 1 << 30, 4 * 96 + 1).astype(np.int32)
    out = np.zeros((2, 4 * 96), np.int32)
    run(
        """
    __shared__ alignas(16) int tiles[2][96];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tiles[0], a, sizeof tiles[0]);
    block.sync();
    for (int t = 0; t < 4; ++t) {
        if (t < 3) cg::memcpy_async(block, tiles[(t + 1) & 1], a + 96 * (t + 1), sizeof tiles[0]);
        auto token = block.barrier_arrive();
        int i = block.thread_rank();
        if (i < 96) b[96 * t + i] = tiles[t & 1][95 - i];
        block.barrier_wait(static_cast<decltype(token) &&>(token));
    }
    // Bytes that no word holds, by a tile, and the smaller of two counts.
    auto tile = cg::tiled_partition<32>(block);
    char *bytes = (char *)(b + 384);
    if (i < 32) cg::memcpy_async(tile, bytes + 1, (const char *)a + 2, 37u);
    if (i < 32) cg::memcpy_async(tile, b + 400, 9u, (const int *)a, 5u);
    cg::wait(tile);
    cg::wait_prior<1>(block);
    if (i == 0) b[500] = block.dim_threads().x + 1000 * block.group_index().x + block.thread_index().y;""",
        128,
        source,
        out.reshape(-1),
    )
    assert (out[0].reshape(4, 96) == source[:384].reshape(4, 96)[:, ::-1]).all()
    copied = out[1, :16].view(np.uint8)
    assert copied[1:38].tolist() == source.view(np.uint8)[2:39].tolist()
    assert not copied[0]
    assert not copied[38:].any()
    assert out[1, 16:25].tolist() == [*source[:5], 0, 0, 0, 0]
    assert out[1, 116] == 128


def test_structures_of_up_to_32_bytes_travel() -> None:
    out = np.zeros((64, 4), np.int64)
    source = f"""{HEAD}
struct Four {{ long long v[4]; __device__ friend Four operator+(Four a, const Four &b) {{
    for (int j = 0; j < 4; ++j) a.v[j] += b.v[j]; return a; }} }};
__global__ void k(Four *out) {{
    long long i = threadIdx.x;
    Four mine{{{{i, 2 * i, i << 33, 1}}}};
    out[i] = cg::reduce(cg::tiled_partition<16>(cg::this_thread_block()), mine, cg::plus<Four>());
}}"""
    wb.compile(source, name="groups.hip", arch="gfx950")["k"][1, 64](torch.from_numpy(out))
    sums = np.arange(64).reshape(4, 16).sum(1).repeat(16)
    assert (out == np.stack([sums, 2 * sums, sums << 33, np.full(64, 16)], 1)).all()


def test_what_a_tile_cannot_be_is_said() -> None:
    for size in (48, 128):
        with pytest.raises(wb.CompileError, match="a power of two of threads, at most the 64 of a wave"):
            run(
                f"a[i] = cg::tiled_partition<{size}>(cg::this_thread_block()).size();",
                64,
                np.zeros(64, np.int32),
            )


@pytest.mark.parametrize(("arch", "flag"), [("gfx950", "-O0"), ("gfx950", "-O3"), ("gfx942", "-O3")])
def test_partitions_by_a_label(generator: np.random.Generator, arch: str, flag: str) -> None:
    values = generator.integers(-2, 3, 64).astype(np.int32)
    values[5], values[40] = -2, -1
    out = np.full((3, 64), -99, np.int32)
    run(
        """
    int v = a[i], *out = b + i;
    if (v > -2) {
        auto part = cg::labeled_partition(cg::coalesced_threads(), v);
        out[0] = part.size() + 100 * part.thread_rank() + 10000 * part.meta_group_rank() +
                 1000000 * part.meta_group_size();
        out[64] = cg::reduce(part, i, cg::plus<int>());
    }
    auto part = cg::labeled_partition(cg::tiled_partition<16>(cg::this_thread_block()), (unsigned char)v);
    out[128] = cg::reduce(part, i, cg::greater<int>()) + 100 * part.size();""",
        64,
        values,
        out,
        arch=arch,
        flag=flag,
    )
    active = np.flatnonzero(values > -2)
    labels = list(dict.fromkeys(values[active].tolist()))
    for lane in range(64):
        tile = lane // 16 * 16
        same = [other for other in range(tile, tile + 16) if values[other] == values[lane]]
        assert out[2, lane] == max(same) + 100 * len(same)
        if lane not in active:
            assert out[:2, lane].tolist() == [-99, -99]
            continue
        part = [other for other in active if values[other] == values[lane]]
        number = labels.index(values[lane])
        expected = len(part) + 100 * part.index(lane) + 10000 * number + 1000000 * len(labels)
        assert out[:2, lane].tolist() == [expected, sum(part)]


def test_a_float_sum_is_that_of_a_tree_of_neighbours(generator: np.random.Generator) -> None:
    values = generator.standard_normal(64).astype(np.float32)
    out = np.zeros((2, 64), np.int32)
    run(
        """
    float v = __int_as_float(a[i]);
    b[i] = __float_as_int(cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), v, cg::plus<float>()));
    if (i < 23) b[64 + i] = __float_as_int(cg::reduce(cg::coalesced_threads(), v, cg::plus<float>()));""",
        64,
        values.view(np.int32),
        out,
    )

    def tree(row: np.ndarray) -> np.float32:
        while len(row) > 1:
            pairs = [row[i] + row[i + 1] for i in range(0, len(row) - 1, 2)]
            row = np.array([*pairs, *row[2 * len(pairs) :]], np.float32)
        return row[0]

    sums = out.view(np.float32)
    assert (sums[0] == np.repeat([tree(values[:32]), tree(values[32:])], 32)).all()
    assert (sums[1, :23] == tree(values[:23])).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("cg::reduce(cg::this_thread_block(), i, cg::plus<int>())", "a tile whose size is known"),
        (
            "cg::reduce(cg::coalesced_threads(), i, [](int x, int y) { return 0.5 * (x + y); })",
            "gives values of the type that it takes",
        ),
        ("cg::reduce(cg::coalesced_threads(), i)", "no matching function"),
        ("cg::coalesced_threads().match_any((short)i)", "values that are matched are int"),
    ],
)
def test_what_rocm_refuses_is_refused(call: str, words: str) -> None:
    with pytest.raises(wb.CompileError, match=words):
        run(f"a[i] = {call};", 64, np.zeros(64, np.int32))


def test_a_vote_of_a_tile_needs_all_of_its_threads() -> None:
    out = np.zeros(64, np.int32)
    with pytest.raises(TrapFault, match=r"groups.hip:6: .*mask 0xffffffff00000000, .* lanes 32-39 "):
        run(
            "auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
            "if (i < 40) a[i] = tile.any(i == 7);",
            64,
            out,
        )


GRID = f"""{HEAD}
__global__ void turn(int *a, int *out, int n) {{
    auto grid = cg::this_grid();
    const int i = grid.thread_rank();
    a[i] = i;
    grid.sync();
    out[i] = a[(i + 64) % n];
}}
__global__ void valid(int *out) {{
    out[0] = cg::this_grid().is_valid() + 2 * cg::this_multi_grid().is_valid();
}}
__global__ void grids(int *out) {{ out[0] = cg::this_multi_grid().num_grids(); }}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_barrier_of_a_grid_is_for_cooperative_launches(arch: str) -> None:
    module = wb.compile(GRID, arch=arch, name="grid.hip")
    a, out, flag = (
        torch.zeros(512, dtype=torch.int32),
        torch.zeros(512, dtype=torch.int32),
        torch.ones(1).int(),
    )
    for _ in range(2):
        module["turn"].cooperative[8, 64](a, out.zero_(), 512)
        assert out.tolist() == [(i + 64) % 512 for i in range(512)]
    module["valid"].cooperative[1, 1](flag)
    assert flag.item() == 1
    module["valid"][1, 1](flag)
    assert flag.item() == 0
    with pytest.raises(AddressFault, match=r"grid.hip:9: .*hipLaunchCooperativeKernel.*kernel\.coop"):
        module["turn"][8, 64](a, out, 512)
    # In the launch after a stopped one nothing has arrived.
    module["turn"].cooperative[8, 64](a, out.zero_(), 512)
    assert out[0] == 64
    with pytest.raises(AddressFault, match="hipLaunchCooperativeKernel"):
        module["grids"][1, 1](flag)
    module["grids"].cooperative[1, 1](flag)
    assert flag.item() == 0
    with pytest.raises(LaunchError, match="hipErrorCooperativeLaunchTooLarge"):
        module["turn"].cooperative[100_000, 1024](a, out, 512)


def test_the_barrier_of_a_grid_sanitized() -> None:
    module = wb.compile(GRID, arch="gfx950", name="grid.hip")
    a, out = torch.zeros(512, dtype=torch.int32), torch.zeros(512, dtype=torch.int32)
    wb.sanitize(module["turn"].cooperative[8, 64], a, out, 512).check()
    report = wb.sanitize(module["turn"][8, 64], a, out, 512)
    assert any("hipLaunchCooperativeKernel" in finding.message for finding in report.findings)


def test_a_null_pointer_of_another_kernel_is_no_barrier() -> None:
    module = wb.compile("__global__ void k(int *a) { a[8] = 1; }", arch="gfx950", name="null.hip")
    with pytest.raises(AddressFault) as caught:
        module["k"][1, 1](0)
    assert "Cooperative" not in str(caught.value)


PROGRAM = (
    GRID
    + """
#include <cstdio>
int main() {
    int n = 256, *a, *out, wrong = 0, held[256];
    if (hipMalloc(&a, sizeof held) || hipMalloc(&out, sizeof held)) return 1;
    void *arguments[] = {&a, &out, &n};
    hipLaunchAttribute attribute = {};
    attribute.id = hipLaunchAttributeCooperative;
    hipLaunchConfig_t config = {};
    config.gridDim = dim3(4), config.blockDim = dim3(64), config.attrs = &attribute, config.numAttrs = 1;
    for (int way = 0; way < 2; ++way) {
        attribute.val.cooperative = 1;
        hipError_t error = way ? hipLaunchCooperativeKernel(turn, dim3(4), dim3(64), arguments, 0, nullptr)
                               : hipLaunchKernelExC(&config, (const void *)turn, arguments);
        if (error || hipMemcpy(held, out, sizeof held, hipMemcpyDeviceToHost)) return 2 + way;
        for (int i = 0; i < n; i++) wrong += held[i] != (i + 64) % n;
    }
    printf("%d wrong\\n", wrong);
    attribute.val.cooperative = 0;
    hipError_t error = hipLaunchKernelExC(&config, (const void *)turn, arguments);
    printf("%s\\n", hipGetErrorName(error ? error : hipDeviceSynchronize()));
}
"""
)


def test_a_program_launches_for_a_grid() -> None:
    result = wb.run_program(PROGRAM)
    assert result.stdout.split("\n")[:2] == ["0 wrong", "hipErrorIllegalAddress"]
    assert "hipLaunchCooperativeKernel" in result.stderr
