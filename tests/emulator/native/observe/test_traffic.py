"""Recorded traffic and the model of the caches: cases worked out by hand, and a reference cache in Python."""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.errors import UsageError
from workbench.launches import CacheCounts, Hierarchy, TrafficOptions, Watched
from workbench.runtime import LaunchOptions, device

SOURCE = """
#include <hip/hip_runtime.h>
typedef float f4 __attribute__((ext_vector_type(4)));

// Every work-group reads the same `n` vectors of 16 bytes, `passes` times.
__global__ void read(const f4 *x, float *out, int n, int passes) {
    f4 sum = 0;
    for (int pass = 0; pass < passes; pass++)
        for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    if (sum[0] == 1e30f) out[threadIdx.x] = sum[1];
}
// Each work-group reads its own part.
__global__ void stream(const f4 *x, float *out) {
    f4 v = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (v[0] == 1e30f) out[0] = v[1];
}
__global__ void fill(float *out, int stride, int lanes) {
    if ((int)threadIdx.x < lanes) out[(blockIdx.x * blockDim.x + threadIdx.x) * stride] = 1.0f;
}
__global__ void scattered(const float *x, float *out, int n, unsigned lines, unsigned seed) {
    float sum = 0;
    unsigned state = seed;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        sum += x[(state >> 8) % lines * 32 + threadIdx.x % 32];
    }
    if (sum == 1e30f) out[0] = sum;
}
// Two waves read the two halves of 16 rows' lines, line after line; rows are `row` vectors apart.
__global__ void halves(const f4 *x, float *out, int row, int lines) {
    int lane = threadIdx.x % 64, half = threadIdx.x / 64;
    f4 sum = 0;
    for (int i = 0; i < lines; i++) sum += x[lane / 4 * row + i * 8 + half * 4 + lane % 4];
    if (sum[0] == 1e30f) out[threadIdx.x] = sum[1];
}
// A wave reads 32 rows of a line each in four pieces, and waits for none before the last.
__global__ void pieces(const f4 *x, float *out) {
    const f4 *row = x + (blockIdx.x * 32 + threadIdx.x / 2) * 8 + threadIdx.x % 2;
    f4 sum = row[0] + row[2] + row[4] + row[6];
    if (sum[0] == 1e30f) out[threadIdx.x] = sum[1];
}
// A work-group's tile needs `a` lines of its row of tiles and `b` of its column at each of `steps` steps.
__global__ void tile(const float *x, float *out, int columns, int a, int b, int rows, int steps) {
    int row = blockIdx.x / columns, column = blockIdx.x % columns, lane = threadIdx.x;
    if (lane >= a + b) return;
    int panel = lane < a ? row * a + lane : rows * a + column * b + lane - a;
    float sum = 0;
    for (int i = 0; i < steps; i++) sum += x[(panel * steps + i) * 32];
    if (sum == 1e30f) out[0] = sum;
}
__global__ void add(int *out) { atomicAdd(&out[threadIdx.x], 1); }
// Wave 1 loads eight lines, and behind the barrier wave 0 the first of them.
__global__ void after(const float *x, float *out) {
    float v = 0;
    if (threadIdx.x >= 64)
        for (int i = 0; i < 8; i++) v += x[i * 32 + threadIdx.x % 32];
    __syncthreads();
    if (threadIdx.x < 64) v = x[threadIdx.x % 32];
    out[threadIdx.x] = v;
}
"""

LINE = 128
MB = 1 << 20
ACTUAL = Hierarchy(xcds=8, units=32, l1_bytes=32 << 10, l2_bytes=4 * MB, mall_bytes=256 * MB)


@pytest.fixture(scope="module")
def module():
    return wb.compile(SOURCE, arch="gfx950", name="traffic.hip")


def run(kernel, grid, block, *args, **options):
    record = kernel.launch(
        wb.Launch(grid, block, 0),
        args,
        {},
        device=device("emulated:gfx950"),
        options=LaunchOptions(count=True, profile=True, traffic=TrafficOptions(**options)),
    )
    return record


def read(module, size, passes, groups=1, hierarchy=ACTUAL, **options):
    x, out = aligned(size // 4), torch.zeros(256)
    record = run(module["read"], groups, 256, x, out, size // 16, passes, **options)
    return record.traffic.replay(hierarchy, 1)


def aligned(elements, dtype=torch.float32):
    """A tensor that begins at a multiple of 4 KB, so that its lines can be counted by hand."""
    size = torch.zeros(1, dtype=dtype).element_size()
    raw = torch.zeros(elements + 4096 // size, dtype=dtype)
    shift = -raw.data_ptr() % 4096 // size
    return raw[shift : shift + elements]


def test_streaming_hits_nothing(module):
    x, out = aligned(64 * 256 * 4), torch.zeros(1)
    record = run(module["stream"], 64, 256, x, out)
    total = record.traffic.replay(ACTUAL, 8).total
    lines = 64 * 256 * 16 // LINE
    # A wave's load covers whole lines, so L1 has no hits either.
    assert total.l2_reads == total.l2_misses == total.fabric_reads == total.mall_read_misses == lines
    assert (total.l1_reads, total.l1_read_hits, total.l2_hits) == (lines, 0, 0)


def test_a_second_pass_over_what_fits_hits(module):
    """1 MB fits L2 and not L1: the first pass misses, the second hits."""
    x, out = aligned(MB // 4), torch.zeros(256)
    total = run(module["read"], 1, 256, x, out, MB // 16, 2).traffic.replay(ACTUAL, 1).total
    assert (total.l2_hits, total.l2_misses) == (MB // LINE, MB // LINE)
    assert total.l2_hit_rate == 0.5
    nine = read(module, MB, 10).total
    assert nine.l2_hit_rate == pytest.approx(0.9, abs=0.001)


def test_what_fits_l1_asks_l2_once(module):
    total = read(module, 16 << 10, 4).total
    assert total.l2_hits == 0
    assert total.l2_reads == pytest.approx((16 << 10) / LINE, abs=1)
    assert total.l1_read_hits / total.l1_reads == pytest.approx(0.75, abs=0.01)


def test_lines_beyond_the_capacity_are_evicted_before_reuse(module):
    """Least recently used, in a loop over more than the cache: every line is evicted just before its next
    use."""
    total = read(module, 8 * MB, 2).total
    assert total.l2_hits == 0
    assert total.mall_read_hits == total.mall_read_misses


def test_a_repeated_launch_hits_the_infinity_cache(module):
    """L1 and L2 start empty again; nothing that stays in the Infinity Cache is written to HBM twice."""
    x, out = aligned(MB // 4), torch.zeros(256)
    traffic = run(module["read"], 1, 256, x, out, MB // 16, 1).traffic
    once, again = (traffic.replay(ACTUAL, 1, rounds=rounds).total for rounds in (1, 2))
    assert once.mall_read_misses == MB // LINE
    assert (again.mall_read_hits, again.mall_read_misses) == (MB // LINE, 0)
    assert again.l2_misses == once.l2_misses
    filled = run(module["fill"], 4, 256, aligned(1024), 1, 256).traffic
    assert [filled.replay(ACTUAL, 1, rounds=n).total.memory_bytes_written for n in (1, 2)] == [4096, 0]
    # Half the size, least recently used: every line is evicted before its next use.
    small = replace(ACTUAL, mall_bytes=MB // 2)
    assert traffic.replay(small, 1, rounds=2).total.mall_read_hits == 0
    # A third launch finds what the second found.
    assert traffic.replay(ACTUAL, 1, rounds=3).total == again


def test_dies_do_not_share_l2(module):
    """Work-groups 0 and 1 are on different dies, 0 and 8 on one."""
    two = read(module, MB, 1, groups=2)
    assert [d.l2_reads > 0 for d in two.dies] == [True, True] + [False] * 6
    assert two.total.l2_hits == 0
    assert two.total.mall_read_hits == two.total.mall_read_misses == two.dies[0].l2_reads
    nine = read(module, MB, 1, groups=9)
    assert nine.dies[0].l2_hits == nine.dies[0].l2_misses == nine.dies[1].l2_misses
    assert nine.dies[1].l2_hits == 0


def test_order_decides_which_die(module):
    x, out = torch.zeros(MB // 4), torch.zeros(256)
    traffic = run(module["read"], 16, 256, x, out, MB // 16, 1).traffic
    assert traffic.replay(ACTUAL, 1).total.l2_hit_rate == pytest.approx(0.5)
    # Idle work-groups between the relevant ones are impossible, but any order of equal work-groups gives
    # the same.
    order = random.Random(1).sample(range(16), 16)
    assert traffic.replay(ACTUAL, 1, order).total == traffic.replay(ACTUAL, 1).total
    for wrong in ([0] * 16, list(range(15)), [*range(15), 99]):
        with pytest.raises(UsageError, match="each of 16 work-groups once"):
            traffic.replay(ACTUAL, 1, wrong)


@pytest.mark.parametrize(
    ("stride", "lanes", "halves", "sectors"), [(1, 256, 2, 0), (32, 256, 0, 1), (16, 256, 0, 2)]
)
def test_writes(module, stride, lanes, halves, sectors):
    """Whole lines leave L2 as requests of 64 bytes, scattered dwords of 32; nothing is fetched."""
    out = aligned(4 * 256 * stride)
    total = run(module["fill"], 4, 256, out, stride, lanes).traffic.replay(ACTUAL, 1).total
    lines = 4 * 256 * stride * 4 // LINE
    assert total.fabric_writes_64 == lines * halves
    assert total.fabric_writes_32 == lines * sectors
    assert total.l2_writes == lines * max(halves, sectors)
    assert total.fabric_reads == total.l2_reads == 0
    assert total.memory_bytes_written == lines * (halves * 64 + sectors * 32)


def test_atomics_happen_in_l2(module):
    out = aligned(256, torch.int32)
    total = run(module["add"], 16, 256, out).traffic.replay(ACTUAL, 1).total
    assert out.tolist() == [16] * 256
    # 8 lines of 2 requests; on each die the first work-group fetches them, the second finds them.
    assert total.l2_atomics == 16 * 8 * 2
    assert (total.l2_misses, total.l2_hits) == (8 * 8 * 2, 8 * 8 * 2)
    assert total.fabric_reads == 64


class Lru:
    def __init__(self, size, ways):
        self.ways, self.count = ways, size // LINE // ways
        self.sets = [OrderedDict() for _ in range(self.count)]

    def has(self, line):
        folded = line ^ line >> 11 ^ line >> 22 ^ line >> 33
        ways = self.sets[folded % self.count]
        if hit := line in ways:
            ways.move_to_end(line)
        else:
            if len(ways) == self.ways:
                ways.popitem(last=False)
            ways[line] = True
        return hit


def test_against_a_reference(module):
    """One wave, in its own order, against a different implementation of the caches."""
    seed, n, lines = random.randrange(1 << 31), 3000, 400
    print("seed", seed)
    # For what models caches a tensor of a MiB begins at a multiple of 2 MiB, wherever it lies really.
    # Its lines are in the sets that they would have from 0 on, in another order of sets.
    x, out = torch.zeros(MB // 4), torch.zeros(1)
    traffic = run(module["scattered"], 1, 64, x, out, n, lines, seed).traffic
    small = Hierarchy(
        xcds=1, units=1, l1_bytes=4 << 10, l2_bytes=16 << 10, mall_bytes=32 << 10, l1_ways=4, l2_ways=8
    )
    got = traffic.replay(small, 1).total
    l1, l2, mall = Lru(4 << 10, 4), Lru(16 << 10, 8), Lru(32 << 10, 16)
    hits = [0, 0, 0]
    state = seed
    for _ in range(n):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        line = (state >> 8) % lines
        for level, cache in enumerate((l1, l2, mall)):
            if cache.has(line):
                hits[level] += 1
                break
    assert [got.l1_read_hits, got.l2_read_hits, got.mall_read_hits] == hits
    assert min(hits) > 100
    assert got.l1_reads == n


def test_threads_do_not_matter(module, monkeypatch):
    results = []
    x, out = aligned(MB // 16), torch.zeros(256)
    for threads, limit in (("1", 1 << 23), ("2", 1 << 23), ("1", 4096), ("2", 4096)):
        monkeypatch.setenv("HIPKITTENS_THREADS", threads)
        record = run(module["read"], 48, 256, x, out, MB // 64, 2, limit=limit)
        results.append(record.traffic.replay(ACTUAL, 1))
    assert results[0] == results[1]
    assert results[2] == results[3]
    assert results[0].sampling == 0
    assert results[2].sampling > 0


def test_sampling_is_near(module):
    size, groups = 2 * MB, 24
    whole, sampled = read(module, size, 2, groups), read(module, size, 2, groups, limit=1 << 15)
    assert (whole.sampling, sampled.sampling > 2) == (0, True)
    assert sampled.total.l2_hit_rate == pytest.approx(whole.total.l2_hit_rate, abs=0.01)
    # One in 32 of 16,384 lines is sampled: 512, give or take 23.
    assert sampled.total.l2_requests == pytest.approx(whole.total.l2_requests, rel=0.2)


def test_a_sample_includes_its_share_of_lines_a_power_of_two_apart(module):
    """L1 has the other half of each line, and also in a sample, where it is 64 times as small."""
    groups, row, lines = 16, 65536 // 16, 512
    x, out = aligned(16 * row * 4), torch.zeros(128)
    results = [
        run(module["halves"], groups, 128, x, out, row, lines, limit=limit).traffic.replay(ACTUAL, 1)
        for limit in (1 << 23, 1 << 13)
    ]
    assert (results[0].sampling, results[1].sampling > 4) == (0, True)
    for result in results:
        assert result.total.l1_read_hits == pytest.approx(0.5 * result.total.l1_reads, rel=0.02)
        # One in 64 or in 32 of 8,192 lines is sampled, depending on the address of `x`: 128, give or take 11.
        assert result.total.l1_reads == pytest.approx(groups * 2 * 16 * lines, rel=0.5)


def test_loads_that_nothing_is_waited_between_go_at_once(module):
    """16 waves of a unit touch twice the lines of L1, each its own four times in a row: L2 is asked once."""
    groups = 16
    x, out = aligned(groups * 32 * LINE // 4), torch.zeros(64)
    unit = replace(ACTUAL, xcds=1, units=1)
    total = run(module["pieces"], groups, 64, x, out).traffic.replay(unit, groups).total
    assert (total.l1_reads, total.l2_reads) == (4 * groups * 32, groups * 32)


def windowed(number, rows, columns, window, chunk, xcds=8):
    """The tile of a work-group by algorithm 1 of HipKittens' paper (arXiv 2511.08083), as [row, column]."""
    xcd, local = number % xcds, number // xcds
    turn = local // chunk * xcds * chunk + xcd * chunk + local % chunk
    if number >= rows * columns // (xcds * chunk) * xcds * chunk:
        turn = number
    first = turn // (window * columns) * window
    height, rest = min(rows - first, window), turn % (window * columns)
    return first + rest % height, rest // height


def test_hits_by_the_order_of_tiles_are_those_of_hardware(module):
    """Hit rates that the paper read on an MI355X, of a GEMM of 9216 with tiles of 192 x 256.

    Here everything is a 64th: lines of a panel, L2 and Infinity Cache. Of row-major order hardware's L2 hits
    55 %, less than its sharing allows to work-groups that run in step; that is not modelled.
    """
    rows, columns, steps, a, b = 48, 36, 144, 3, 4
    x, out = aligned((rows * a + columns * b) * steps * 32), torch.zeros(1)
    traffic = run(module["tile"], rows * columns, 64, x, out, columns, a, b, rows, steps).traffic
    small = replace(ACTUAL, l1_bytes=LINE, l1_ways=1, l2_bytes=ACTUAL.l2_bytes // 64, mall_bytes=4 * MB)
    for window, chunk, l2, mall in ((7, 216, 0.79, 0.24), (5, 25, 0.75, 0.93)):
        tiles = (windowed(i, rows, columns, window, chunk) for i in range(rows * columns))
        total = traffic.replay(small, 1, [row * columns + column for row, column in tiles]).total
        assert total.l2_hit_rate == pytest.approx(l2, abs=0.05)
        hits = total.mall_read_hits / (total.mall_read_hits + total.mall_read_misses)
        assert hits == pytest.approx(mall, abs=0.07)


def test_waves_wait_for_one_another_at_barriers(module):
    """Wave 0 reads again, behind the barrier, the first of the lines that wave 1 reads before it.

    A cache of four lines has lost it by then; without the barrier the two waves would read it together.
    """
    x, out = aligned(32 * 32), torch.zeros(128)
    traffic = run(module["after"], 1, 128, x, out).traffic
    four = {"l1_bytes": LINE, "l2_bytes": 4 * LINE, "mall_bytes": LINE}
    small = Hierarchy(xcds=1, units=1, l1_ways=1, l2_ways=4, mall_ways=1, **four)
    total = traffic.replay(small, 1).total
    assert (total.l2_reads, total.l2_read_hits) == (9, 0)


def test_sites_add_up_to_the_counters(module):
    x, out = torch.zeros(MB // 16), torch.zeros(256)
    record = run(module["read"], 3, 256, x, out, 1000, 2)
    sites = record.traffic.sites()
    assert set(sites) <= set(record.counts)
    c = record.counters
    assert sum(s.bytes for s in sites.values()) == c["global_bytes_read"] + c["global_bytes_written"]
    assert sum(s.accesses for s in sites.values()) == c["global_read_lines_64"] + c["global_write_lines_64"]
    lines = c["global_read_lines_128"] + c["global_write_lines_128"]
    assert sum(s.line_bytes for s in sites.values()) == LINE * lines


def test_lines_are_there_until_released(module):
    x, out = torch.zeros(4096), torch.zeros(256)
    traffic = run(module["read"], 1, 256, x, out, 1024, 1).traffic
    assert traffic.replay(ACTUAL, 1).total != CacheCounts()
    before = traffic.sites()
    traffic.release()
    assert traffic.sites() == before
    with pytest.raises(UsageError, match="were released"):
        traffic.replay(ACTUAL, 1)
    with pytest.raises(UsageError, match="were released"):
        run(module["read"], 1, 256, x, out, 1024, 1, lines=False).traffic.replay(ACTUAL, 1)


def test_who_wrote(module):
    out = torch.zeros(1000)
    watched = Watched(out.data_ptr(), 4, 1000)
    traffic = run(module["fill"], 3, 256, out, 1, 200, watched=(watched,)).traffic
    writers = traffic.writers()
    assert np.array_equal(writers[:768], np.where(np.arange(768) % 256 < 200, np.arange(768) // 256, -1))
    assert np.array_equal(writers >= 0, out.numpy() != 0)


def test_tensors_begin_at_lines_as_on_a_gpu(module):
    """PyTorch's begin at any multiple of 64 bytes here; hipMalloc's are at multiples of 256."""
    raw, out = torch.zeros(4096 * 4 + 1024), torch.zeros(1)
    counts = []
    for shift in (0, 16, 40):
        x = raw[shift : shift + 4096 * 4]
        record = run(module["stream"], 16, 256, x, out)
        counts.append(
            (record.traffic.replay(ACTUAL, 1).total.l2_reads, record.counters["global_read_lines_128"])
        )
    assert counts == [(4096 * 16 // LINE, 4096 * 16 // LINE)] * 3


def test_memory_of_many_small_work_groups_is_bounded(module):
    """Streams are counted against the limit too: 4096 of 8 lines each are more than 8192 lines."""
    elements = 1024 * 256
    x, out = aligned(elements * 4), torch.zeros(1)
    record = run(module["stream"], 1024, 256, x, out, limit=8192)
    replayed = record.traffic.replay(ACTUAL, 8)
    assert replayed.sampling > 3
    assert replayed.total.l2_hits == 0
    assert replayed.total.l2_reads == pytest.approx(elements * 16 / LINE, rel=0.15)
