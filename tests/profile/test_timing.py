"""Measuring on a GPU: the loop around HIP events, with times from the test."""

from __future__ import annotations

import random
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

import workbench as wb
from workbench.errors import DeviceError
from workbench.operators.launch_target import Part, Target
from workbench.origin import Figure, Origin
from workbench.profile import counting, measuring, timing
from workbench.runtime import Device, gpu
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
def cleared(gpu_machine, monkeypatch):
    count = []
    monkeypatch.setattr(measuring, "cache_clearer", lambda device: nullcontext(lambda: count.append(1)))
    monkeypatch.setattr(Device, "keeping_copies", lambda device: nullcontext())
    return count


def test_stable_times_need_few_runs(cleared):
    def times():
        yield from [500.0] * measuring.WARM_UP_RUNS
        while True:
            yield 10.0

    launch, calls = target(times())
    result = timing.time_target(launch)
    assert result.runs == measuring.MIN_RUNS
    assert result.code == KERNEL.module.digest
    # The caches are cleared before each measured run, and warm-up runs are not in the result.
    assert len(cleared) == measuring.MIN_RUNS
    assert len(calls) == measuring.MIN_RUNS + measuring.WARM_UP_RUNS
    assert result.median.value == result.high.value == 10.0
    assert result.origin is Origin.MEASURED
    assert result.rate.value == pytest.approx(100.0)
    assert "measured" in str(result)


def test_software_that_plays_the_gpu_needs_fewer(cleared, monkeypatch):
    monkeypatch.setattr(gpu, "stand_in", lambda: "a model")
    launch, calls = target(iter([500.0, 10.0, 10.0, 10.0]))
    result = timing.time_target(launch)
    assert (result.runs, len(cleared), len(calls)) == (3, 3, 4)
    assert result.low.value == result.median.value == result.high.value == 10.0


def test_noisy_times_need_more(cleared):
    seed = 1234
    noise = random.Random(seed)

    def times():
        while True:
            yield noise.gauss(100.0, 3.0)

    launch, _ = target(times())
    result = timing.time_target(launch)
    assert measuring.MIN_RUNS < result.runs < measuring.MAX_RUNS, f"seed {seed}"
    assert result.median.value == pytest.approx(100.0, rel=0.02), f"seed {seed}"
    assert result.low.value < result.median.value < result.high.value


def test_steps_are_measured_in_turn_and_add_up(cleared):
    order = []

    def step(name, microseconds):
        def run(options):
            order.append((name, len(cleared)))
            return SimpleNamespace(kernel=name, elapsed=Figure(microseconds, "us", Origin.MEASURED, "events"))

        return Part(name, KERNEL, run)

    launch = Target("op", GPU, (step("first", 10.0), step("second", 30.0)), {"n": 4}, {})
    result = timing.time_target(launch)
    assert result.median.value == result.low.value == 40.0
    assert [step.median.value for step in result.steps] == [10.0, 30.0]
    # Caches are cleared only before the first step of a measured run.
    measured = order[2 * measuring.WARM_UP_RUNS :]
    assert measured[:4] == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]
    warm = timing.time_target(launch, warm=True)
    assert warm.warm
    assert len(cleared) == result.runs


def test_a_call_is_measured_by_the_same_loop(cleared, monkeypatch):
    """PyTorch's events have milliseconds; the rest is as for kernels."""
    calls = []

    class Event:
        def __init__(self, *, enable_timing):
            assert enable_timing

        def record(self):
            self.calls = len(calls)

        def synchronize(self):
            pass

        def elapsed_time(self, end):
            assert end.calls == self.calls + 1
            return 0.25

    monkeypatch.setattr(torch.cuda, "Event", Event)
    result = timing.measure_call(lambda: calls.append(1), "library", GPU)
    assert result.median.value == result.low.value == result.high.value == 250.0
    assert (result.name, result.device, result.origin) == ("library", GPU.name, Origin.MEASURED)
    assert result.runs == len(cleared) == measuring.MIN_RUNS
    assert len(calls) == measuring.MIN_RUNS + measuring.WARM_UP_RUNS


def test_a_call_on_an_emulated_device_is_an_error():
    with pytest.raises(DeviceError, match="library runs on a GPU only"):
        timing.measure_call(lambda: None, "library", wb.device("emulated:gfx950"))


def test_a_device_without_events_is_an_error(cleared):
    launch, _ = target(iter([None] * 100))
    with pytest.raises(DeviceError, match="gpu:0 gave no event time for k"):
        timing.time_target(launch)


def test_counters_of_a_gpu_are_an_error_that_says_what_to_do():
    launch, _ = target(iter([1.0]))
    with pytest.raises(DeviceError, match=r'wb\.profile.*device="emulated:gfx950"'):
        counting.counted(launch)


@pytest.mark.parametrize("shape", [{"m": 16, "n": 16, "k": 32}, {"m": 256, "n": 256, "k": 512}])
def test_the_parts_of_a_modelled_time_add_up(shape):
    """Units work at the same time: the total is the busiest, the wait beyond it and the launch."""
    result = wb.time("gemm/bf16", shape=shape, device="emulated:gfx950")
    model, parts = result.model, result.model.breakdown
    longest = next(iter(parts))
    assert model.waiting > 0
    assert list(parts)[-2:] == ["waiting", "launch"]
    assert sum(parts[key].value for key in (longest, "waiting", "launch")) == pytest.approx(
        model.seconds * 1e6
    )
    assert f"waves wait for {model.waiting * 1e6:.3g} us" in str(result)
