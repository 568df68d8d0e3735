"""The chip around the compute unit: extrapolation respects the limits of memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.launches import STEP, CacheCounts, LaunchOptions, Replayed, StepOptions, WaveSteps
from workbench.operators.launch_target import resolve
from workbench.profile.counters import Tally
from workbench.profile.launch import DISPATCH_SECONDS
from workbench.profile.model import evicted_lines
from workbench.profile.simulation import chip
from workbench.targets import MI355X, PRODUCTS

LINE = 128
COPY = """#include <hip/hip_runtime.h>
extern "C" __global__ void copy(const float4 *from, float4 *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}
"""

CAUSAL = """#include <hip/hip_runtime.h>
extern "C" __global__ void causal(const float *from, float *to) {
    __shared__ float held[24 << 10];  // One work-group fills a compute unit.
    held[threadIdx.x] = from[0];
    float sum = 0;
    for (int i = 0; i < 4 + 8 * (int)blockIdx.y; ++i) sum = __builtin_sinf(sum + held[i]);
    to[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}
"""


def counted(read, written):
    counts = CacheCounts(mall_read_misses=read // LINE, memory_bytes_written=written)
    return Tally("gfx950", 1, replayed=Replayed((counts,), 1))


def test_a_copy_takes_as_long_as_memory_needs_for_its_bytes():
    """Three of eleven rounds are simulated, and no other round's loads overlap the last of them."""
    groups, bytes_each = 22 << 10, 256 * 16
    source, to = (torch.zeros(groups * bytes_each // 4) for _ in range(2))
    kernel = wb.compile(COPY, arch="gfx950", name="copy.hip")["copy"]
    model = wb.time(kernel[groups, 256], source, to, device="emulated:MI355X").model
    assert model is not None
    assert model.simulation is not None
    assert model.overhead == DISPATCH_SECONDS
    moved = groups * bytes_each
    peak = float(MI355X.hbm_bytes_per_second) / 100
    # Both fit the Infinity Cache, which clearing the caches left full: each line evicts one.
    needed = moved / (peak * MI355X.hbm_read) + 2 * moved / (peak * MI355X.hbm_write)
    assert needed <= model.simulation.seconds <= 1.15 * needed


def test_a_repeated_copy_takes_what_the_infinity_cache_needs():
    """None of it goes to HBM, which bounds the first one; written data bypasses the cache too."""
    groups, bytes_each = 6 << 10, 256 * 16
    source, to = (torch.zeros(groups * bytes_each // 4) for _ in range(2))
    kernel = wb.compile(COPY, arch="gfx950", name="copy.hip")["copy"]
    first, again = (
        wb.time(kernel[groups, 256], source, to, device="emulated:MI355X", warm=warm)
        for warm in (False, True)
    )
    assert (first.warm, again.warm) == (False, True)
    assert "as the launch before left them" in str(again)
    assert again.model is not None
    assert again.model.activity["hbm"] == 0
    needed = 2 * groups * bytes_each / float(MI355X.infinity_cache_achievable) * 1e6
    assert needed <= again.median.value <= first.median.value / 1.5


def test_what_the_infinity_cache_puts_out():
    held = float(MI355X.infinity_cache_bytes)
    some = int(held) // 8
    assert evicted_lines(counted(some, some), MI355X) == pytest.approx(1)
    # With ten times the cache's size, the first tenth evicts old content, the rest its own lines.
    large = 5 * int(held)
    assert evicted_lines(counted(large, large), MI355X) == pytest.approx((1 + 9 * 0.5) / 10)
    assert evicted_lines(counted(large, 0), MI355X) == pytest.approx(0.2)
    assert evicted_lines(counted(0, 0), MI355X) == 0
    # In a loop without clearing it is full of the launch's own lines.
    assert evicted_lines(counted(some, 3 * some), MI355X, clean=True) == pytest.approx(0.75)
    assert evicted_lines(counted(0, 0), MI355X, clean=True) == 0
    without = next(product for product in PRODUCTS if not product.infinity_cache_bytes)
    assert evicted_lines(counted(3 * some, some), without) == pytest.approx(0.25)


def test_what_passes_the_infinity_cache_puts_nothing_out():
    """Non-temporal reads evict no dirty lines; non-temporal writes go to memory themselves."""
    some = int(MI355X.infinity_cache_bytes) // 8
    assert evicted_lines(counted(2 * some, some), MI355X, streamed=(1.0, 0.0)) == pytest.approx(1 / 3)
    assert evicted_lines(counted(2 * some, some), MI355X, streamed=(1.0, 1.0)) == pytest.approx(1 / 3)
    assert evicted_lines(counted(2 * some, some), MI355X, streamed=(0.5, 0.0)) == pytest.approx(2 / 3)
    assert evicted_lines(counted(2 * some, 0), MI355X, streamed=(1.0, 0.0)) == 0


STREAM = """#include <hip/hip_runtime.h>
extern "C" __global__ void plain(const int *from, int *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}
extern "C" __global__ void streaming(const int *from, int *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = __builtin_nontemporal_load(from + i);
}
"""


def test_non_temporal_loads_of_a_first_launch_cost_what_they_read():
    """The cache is full of the clearing's lines: a plain load evicts one of these, others none."""
    groups, threads = 4 << 10, 256
    source, to = (torch.zeros(groups * threads, dtype=torch.int32) for _ in range(2))
    module = wb.compile(STREAM, arch="gfx950", name="stream.hip")
    plain, streaming = (
        wb.time(module[name][groups, threads], source, to, device="emulated:MI355X").model.simulation
        for name in ("plain", "streaming")
    )
    # Plain: a read and an eviction for each load, an eviction for each store; streaming: none for a load.
    assert streaming.memory[3] / plain.memory[3] == pytest.approx(2 / 3, abs=0.05)


def test_lengths_that_nobody_recorded_lie_between_those_that_were(monkeypatch):
    """As in causal attention: simulating 12 of 48 lengths gives the time of simulating all."""
    lengths, of_each = 48, 32
    source, to = torch.zeros(8 * lengths), torch.zeros(lengths * of_each * 64)
    kernel = wb.compile(CAUSAL, arch="gfx950", name="causal.hip")["causal"]
    launch = kernel[(of_each, lengths), 64]
    target = resolve(launch, kwargs={"from": source, "to": to}, device="emulated:MI355X")
    code = {instruction.address: instruction for instruction in kernel.instructions}

    def run(groups, kinds):
        monkeypatch.setattr(chip, "MOST_KINDS", kinds)
        steps = target.run(LaunchOptions(count=True, steps=StepOptions(groups=groups))).steps
        return chip.simulate_chip(steps, code, kernel.occupancy(64), MI355X, 2.4e9, {})

    few, whole = run(24, 12), run(lengths * of_each, lengths)
    assert (few.kinds, whole.kinds) == (12, lengths)
    assert few.cycles == pytest.approx(whole.cycles, rel=0.002)
    assert few.memory == pytest.approx(whole.memory, rel=0.002)


@pytest.mark.parametrize(
    ("path", "polls", "once"),
    [
        # A loop of one block, of two, and none: blocks that load nothing shared stay as often as they ran.
        ([0, 3, 3, 3, 3, 5], {3}, [0, 3, 5]),
        ([0, 2, 3, 2, 3, 2, 3, 2, 5], {3}, [0, 2, 3, 5]),
        ([0, 2, 2, 1, 2, 1, 5], {3}, [0, 2, 2, 1, 2, 1, 5]),
        ([0, 3, -1, 3, 5], {3}, [0, 3, -1, 5]),
    ],
)
def test_a_wave_polls_once(path, polls, once):
    steps = np.zeros(len(path), np.dtype(list(STEP)))
    steps["block"] = path
    assert chip.without_polls(WaveSteps(steps, False), polls).steps["block"].tolist() == once


def test_a_work_group_that_waited_is_no_longer_than_another():
    def wave(*path):
        steps = np.zeros(len(path), np.dtype(list(STEP)))
        steps["block"] = path
        return [WaveSteps(steps, False)]

    # Block 3 polls. Of the third work-group, which polled a thousand times, no path was recorded.
    paths = {0: wave(0, 3, 5), 1: wave(0, *[3] * 98, 5)}
    steps = SimpleNamespace(
        groups=(0, 1),
        hashes=np.array([1, 2, 3]),
        executed=np.array([3, 100, 1002]),
        waves_of=paths.__getitem__,
    )
    kinds, mix = chip.kinds_of(steps, {3})
    assert [kind.executed for kind in kinds] == [3, 3]
    assert mix.per_group([5.0, 5.0]).tolist() == [5, 5, 5]
    # Where no block polls, each of them is work.
    kinds, mix = chip.kinds_of(steps)
    assert [kind.executed for kind in kinds] == [3, 100]
    assert mix.per_group([5.0, 50.0]).tolist() == pytest.approx([5, 50, 501])
