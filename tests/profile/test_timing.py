"""Measuring on a GPU: the loop around HIP events, with event times made by the test."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from workbench.errors import DeviceError
from workbench.operators.launch_target import Part, Target
from workbench.origin import Figure, Origin
from workbench.profile import timing
from workbench.runtime import Device
from workbench.runtime.backend import Node
from workbench.runtime.gpu import GpuBackend

GPU = Device(Node("gpu:0", "gfx950", 0), GpuBackend())
KERNEL = SimpleNamespace(module=SimpleNamespace(digest="0123456789abcdef"))


def target(times):
    calls = []

    def run(options):
        calls.append(options)
        value = next(times)
        elapsed = None if value is None else Figure(value, "us", Origin.MEASURED, "HIP events")
        return SimpleNamespace(kernel="k", elapsed=elapsed)

    return Target("k", GPU, (Part("", KERNEL, run),), {"n": 4}, {"flops": 10**9}), calls


@pytest.fixture
def cleared(monkeypatch):
    count = []
    monkeypatch.setattr(timing, "_cache_clearer", lambda device: lambda: count.append(1))
    return count


def test_stable_times_need_few_runs(cleared):
    def times():
        yield from [500.0] * timing.WARM_UP_RUNS
        while True:
            yield 10.0

    launch, calls = target(times())
    result = timing.time_target(launch)
    assert result.runs == timing.MIN_RUNS
    assert result.code == KERNEL.module.digest
    # The caches are cleared before each measured run, and warm-up runs are not in the result.
    assert len(cleared) == timing.MIN_RUNS
    assert len(calls) == timing.MIN_RUNS + timing.WARM_UP_RUNS
    assert result.median.value == result.high.value == 10.0
    assert result.origin is Origin.MEASURED
    assert result.rate.value == pytest.approx(100.0)
    assert "measured" in str(result)


def test_noisy_times_need_more(cleared):
    seed = 1234
    noise = random.Random(seed)

    def times():
        while True:
            yield noise.gauss(100.0, 3.0)

    launch, _ = target(times())
    result = timing.time_target(launch)
    assert timing.MIN_RUNS < result.runs < timing.MAX_RUNS, f"seed {seed}"
    assert result.median.value == pytest.approx(100.0, rel=0.02), f"seed {seed}"
    assert result.low.value < result.median.value < result.high.value


def test_a_device_without_events_says_so(cleared):
    launch, _ = target(iter([None] * 100))
    with pytest.raises(DeviceError, match="gpu:0 gave no event time for k"):
        timing.time_target(launch)


def test_counters_of_a_gpu_are_an_error_that_says_what_to_do():
    launch, _ = target(iter([1.0]))
    with pytest.raises(DeviceError, match=r'wb\.profile.*device="emulated:gfx950"'):
        timing.counted(launch)
