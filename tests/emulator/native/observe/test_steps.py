"""Paths of waves: blocks in order, costs of memory instructions, and waves with equal paths."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.launches import LaunchOptions, StepOptions, TrafficOptions
from workbench.runtime import device
from workbench.targets import TILE_TARGETS

SOURCE = """#include <hip/hip_runtime.h>
__global__ void turns(const float *x, float *out) {
  __shared__ float table[128];
  float v = x[threadIdx.x];
  for (int i = 0; i < blockIdx.x % 3; i++) { __asm__ volatile(""); v = v * x[i] + 1; }
  table[(threadIdx.x % 64) * 2] = v;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = table[threadIdx.x % 64];
}
"""


def run(arch, options, groups=30):
    module = wb.compile(SOURCE, arch=arch, name="turns.hip")
    x, out = torch.ones(128), torch.zeros(128 * groups)
    record = module["turns"].launch(
        wb.Launch(groups, 128, 0), (x, out), {}, device=device(f"emulated:{arch}"), options=options
    )
    return record, module


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_ways(arch):
    record, module = run(arch, LaunchOptions(count=True, profile=True, steps=StepOptions(groups=30)))
    steps = record.steps
    assert steps.groups == tuple(range(30))
    kinds = [set(steps.hashes[first::3].tolist()) for first in range(3)]
    assert [len(kind) for kind in kinds] == [1, 1, 1]
    assert len(set.union(*kinds)) == 3

    executed: dict[int, int] = {}
    served = 0
    for group in steps.groups:
        ran = 0
        for wave in steps.waves_of(group):
            assert not wave.cut
            for step in wave.steps:
                if step["block"] < 0:
                    served += int(step["lds_cycles"])
                    assert module.instruction(steps.text + 4 * int(step["place"])).record.memory is not None
                    continue
                ran += 1
                for address in steps.blocks[step["block"]]:
                    executed[address] = executed.get(address, 0) + 1
        assert ran == steps.executed[group]
    assert executed == {address: count for address, count in record.counts.items() if count}
    assert served == record.counters["lds_cycles"]


def test_only_some_work_groups_are_profiled():
    """The lines of the others are recorded anyway; counters that would be too low are absent."""
    some, _ = run("gfx950", LaunchOptions(count=True, traffic=TrafficOptions(), steps=StepOptions(groups=5)))
    every, _ = run("gfx950", LaunchOptions(count=True, profile=True, traffic=TrafficOptions()))
    assert len(some.steps.groups) == 5
    assert {0, 29} <= set(some.steps.groups)
    assert some.counters == {}
    assert {a: s.bytes for a, s in some.traffic.sites().items() if s.bytes} == {
        a: s.bytes for a, s in every.traffic.sites().items() if s.bytes
    }
    assert np.all(some.steps.executed > 0)
    assert some.counts == every.counts


def test_copies_and_plain_launches():
    record, _ = run("gfx950", LaunchOptions(steps=StepOptions(groups=2)))
    copy = pickle.loads(pickle.dumps(record.steps))
    assert np.array_equal(copy.waves_of(0)[0].steps, record.steps.waves_of(0)[0].steps)
    plain, _ = run("gfx950", LaunchOptions(count=True))
    assert plain.steps is None


@pytest.mark.parametrize(("total", "groups"), [(1, 24), (24, 24), (25, 24), (65536, 24), (7, 2)])
def test_chosen_groups(total, groups):
    indices = StepOptions(groups).chosen(total)
    assert list(indices) == sorted(set(indices))
    assert len(indices) == min(total, groups)
    assert indices[0] == 0
    assert indices[-1] == total - 1


LANES = 64
TURNS = """#include <hip/hip_runtime.h>
extern "C" __global__ void narrow(const unsigned short *x, int at, int apart, unsigned *out) {
    out[threadIdx.x] = x[at + apart * (int)threadIdx.x];
}
typedef float f4 __attribute__((ext_vector_type(4), aligned(4)));
extern "C" __global__ void wide(const float *x, int at, int, f4 *out) {
    out[threadIdx.x] = *(const f4 *)(x + at + 4 * (int)threadIdx.x);
}
"""


def expected_turns(first, apart, width):
    """Sixteen lanes at once in one piece of 64 bytes, else four, once per piece; wide accesses by fours."""
    starts = [first + apart * lane for lane in range(LANES)]

    def pieces(some):
        return len({at // 64 for start in some for at in range(start, start + width)})

    turns = 0
    for group in range(0, LANES, 16):
        if width <= 4 and pieces(starts[group : group + 16]) == 1:
            turns += 1
        else:
            quads = range(group, group + 16, 4)
            turns += sum(pieces(starts[quad : quad + 4]) if width <= 4 else 1 for quad in quads)
    return turns


@pytest.mark.parametrize(
    ("kernel", "at", "apart", "turns"),
    [
        ("narrow", 0, 1, 4),
        ("narrow", 1, 1, 12),
        ("narrow", 0, 8, 16),
        ("narrow", 1, 8, 16),
        ("narrow", 25, 8, 32),
        ("narrow", 0, 64, 64),
        ("wide", 0, 8, 16),
        ("wide", 4, 8, 16),
    ],
)
def test_turns_of_l1(kernel, at, apart, turns):
    """A wave of neighbouring narrow lanes takes 4, one of quads 16, and more where quads straddle pieces."""
    module = wb.compile(TURNS, arch="gfx950", name="narrow.hip")
    x = torch.zeros(1 << 13, dtype=torch.float32 if kernel == "wide" else torch.uint16)
    out = torch.zeros(LANES * 4, dtype=x.dtype if kernel == "wide" else torch.uint32)
    options = LaunchOptions(count=True, profile=True, steps=StepOptions(groups=1))
    steps = (
        module[kernel]
        .launch(
            wb.Launch(1, LANES, 0), (x, at, apart, out), {}, device=device("emulated:gfx950"), options=options
        )
        .steps
    )
    (wave,) = steps.waves_of(0)
    costs = [step for step in wave.steps if step["block"] < 0]
    (load,) = (
        step
        for step in costs
        if module.instruction(steps.text + 4 * int(step["place"])).record.pipeline == "vmem_load"
    )
    element, width = (2, 2) if kernel == "narrow" else (4, 16)
    assert load["turns"] == turns == expected_turns(at * element, 2 * apart, width)
