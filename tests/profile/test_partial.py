"""Launches that run only some work-groups: estimates of the rest equal a full run."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.launches import Hierarchy, LaunchOptions, StepOptions, TrafficOptions
from workbench.profile import partial
from workbench.runtime import device

SOURCE = """#include <hip/hip_runtime.h>
__global__ void rows(float *out, int axis) {
  int turns = axis == 0 ? 3 : axis == 1 ? blockIdx.y : blockIdx.x ^ blockIdx.y;
  float v = 0;
  for (int i = 0; i < turns; i++) { __asm__ volatile(""); v = v * 2 + i; }
  out[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = v;
}
__global__ void bump(int *out) { atomicAdd(out, 1); }
// Each work-group reads 64 lines of its own and 64 that its like in other rounds of 8 work-groups read, too.
__global__ void panels(const float *x, float *out) {
  float sum = 0;
  for (int i = 0; i < 64; i++) {
    sum += x[(blockIdx.x * 64 + i) * 32 + threadIdx.x % 32];
    sum += x[((gridDim.x + blockIdx.x % 8) * 64 + i) * 32 + threadIdx.x % 32];
  }
  if (sum == 1e30f) out[0] = sum;
}
"""
GRID = (24, 20, 1)
WHERE = "emulated:gfx950"


def run(axis, steps):
    module = wb.compile(SOURCE, arch="gfx950", name="rows.hip")
    out = torch.zeros(24 * 20 * 64)
    options = LaunchOptions(count=True, steps=steps)
    launch = wb.Launch(GRID, 64, 0)
    return module["rows"].launch(
        launch, (out, axis), {}, device=device("emulated:gfx950"), options=options
    ), out


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_rest_follows_from_what_ran(axis):
    also = partial.further_groups(GRID, 64)
    assert also is not None
    assert len(also) < 24 * 20 // 2
    part, out = run(axis, StepOptions(alone_from=1, also=also))
    whole, _ = run(axis, StepOptions())
    ran = set(np.flatnonzero(part.steps.executed).tolist())
    assert ran == {*also, *part.steps.groups}
    assert not part.steps.is_whole
    if axis == 0:
        assert set(torch.nonzero(out.view(-1, 64)[:, 0]).flatten().tolist()) == ran
    assert partial.follows(part.steps, GRID) == (axis < 2)
    if axis < 2:
        assert np.array_equal(part.steps.executed, whole.steps.executed)
        assert np.array_equal(part.steps.hashes, whole.steps.hashes)
        estimate = partial.Part.from_record(part)
        assert estimate.share == pytest.approx(
            sum(part.counts.values()) / sum(whole.counts.values()), rel=0.02
        )
        assert sum(estimate.counts.values()) == pytest.approx(sum(whole.counts.values()), rel=0.01)
        if axis == 0:
            assert estimate.counts == whole.counts


@pytest.mark.parametrize(("kilobytes", "fits"), [(32, False), (256, True)])
def test_later_rounds_hit_the_infinity_cache(kilobytes, fits):
    """Two rounds stand for six; data read in every round stays in the cache where two rounds' lines fit."""
    groups, at_once = 48, 8
    module = wb.compile(SOURCE, arch="gfx950", name="rows.hip")
    x, out = torch.zeros((groups + 8) * 64 * 32), torch.zeros(1)
    options = LaunchOptions(count=True, traffic=TrafficOptions(), steps=StepOptions())
    launch = wb.Launch(groups, 64, 0)
    record = module["panels"].launch(launch, (x, out), {}, device=device(WHERE), options=options)
    small = {"l1_bytes": 512, "l2_bytes": 8192, "mall_bytes": 1024 * kilobytes}
    caches = Hierarchy(xcds=2, units=4, **small)
    rounds = partial.Rounds.from_steps(
        record.steps, at_once, lambda first: record.traffic.replay(caches, 1, first=first)
    )
    assert rounds.blocks[2] == pytest.approx(groups / at_once * rounds.blocks[0])
    whole = record.traffic.replay(caches, 1)
    cold, warm = rounds.cold(), rounds.warm()
    assert cold.total.l2_reads == whole.total.l2_reads == warm.total.l2_reads
    assert cold.total.mall_read_misses == pytest.approx(whole.total.mall_read_misses, rel=0.05)
    private, shared = groups * 64, at_once * 64
    again = record.traffic.replay(caches, 1, rounds=2).total.mall_read_misses
    assert whole.total.mall_read_misses == (private + shared if fits else 2 * private)
    assert warm.total.mall_read_misses == (private if fits else 2 * private)
    assert again == warm.total.mall_read_misses
    (levels,) = (np.sum(list(replayed.levels.values()), axis=0) for replayed in (cold,))
    assert levels.sum() == 2 * private


def test_small_launches_and_atomics_run_as_a_whole():
    assert partial.further_groups(GRID, 480) is None
    module = wb.compile(SOURCE, arch="gfx950", name="rows.hip")
    assert partial.may_be_partial(module["rows"].instructions)
    assert not partial.may_be_partial(module["bump"].instructions)


def test_a_large_problem_is_timed_from_a_part_of_it(monkeypatch):
    def timed():
        return wb.time(
            "activations/silu_and_mul", shape={"rows": 16384, "cols": 256}, device="emulated:gfx950"
        )

    part = timed()
    monkeypatch.setattr(partial, "may_be_partial", lambda _: False)
    whole = timed()
    assert part.median.value == pytest.approx(whole.median.value, rel=0.05)
    assert part.model.parts["valu"] == pytest.approx(whole.model.parts["valu"], rel=1e-6)
