"""Modelled and other times of launches; the model takes one nanosecond per instruction, so that every time is
known."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

import workbench as wb
from workbench.emulator.node import clock
from workbench.emulator.node.device import node
from workbench.errors import UsageError, WorkbenchError
from workbench.kernel import Launcher
from workbench.launches import LaunchOptions, LaunchRecord, LaunchTimes
from workbench.runtime import device
from workbench.targets import product

DEVICE = "emulated:gfx950"
SOURCE = """#include <hip/hip_runtime.h>
__global__ void spin(float *out, int n) {
    for (int i = 0; i < n; ++i) asm volatile("s_nop 0");
    out[threadIdx.x] = n;
}
__global__ void upTo(float *out, const int *n) {
    for (int i = 0; i < *n; ++i) asm volatile("s_nop 0");
    out[threadIdx.x] = *n;
}
"""
GAP = 1.0


class Nanoseconds:
    """A model in which an instruction takes 1 ns, warm or cold, with a gap of 1 s before each launch."""

    gap, graph_gap = GAP, 2 * GAP

    def __init__(self) -> None:
        self.records: list[LaunchRecord] = []

    def times(self, code: bytes, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
        assert record.counts is not None
        assert record.traffic is not None
        assert record.steps is not None
        self.records.append(record)
        seconds = 1e-9 * sum(record.counts.values())
        return LaunchTimes(seconds, seconds / 2, 0.0, 1.0, argument_bytes)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Nanoseconds:
    nanoseconds = Nanoseconds()
    monkeypatch.setattr(clock, "_loaded_model", nanoseconds)
    monkeypatch.setattr(node(), "clock", clock.Clock(node().memory, node().clock._products))
    return nanoseconds


class Event:
    def __init__(self) -> None:
        with device(DEVICE).hip() as hip:
            self.handle = hip.call("hipEventCreate")

    def record(self) -> None:
        with device(DEVICE).hip() as hip:
            hip.call("hipEventRecord", self.handle, None)

    def seconds_until(self, other: Event) -> float:
        with device(DEVICE).hip() as hip:
            return float(hip.call("hipEventElapsedTime", self.handle, other.handle)) / 1e3

    def destroy(self) -> None:
        with device(DEVICE).hip() as hip:
            hip.call("hipEventDestroy", self.handle)


@pytest.fixture
def events(model: Nanoseconds) -> Iterator[list[Event]]:
    recorded = [Event() for _ in range(3)]
    yield recorded
    for event in recorded:
        event.destroy()
    assert not node().clock.active
    assert not node().clock._steps


@pytest.fixture
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx950")


def executed(launch: Launcher, *args: object) -> int:
    """Instructions of a launch, counted separately."""
    record = launch.kernel.launch(launch.launch, args, {}, options=LaunchOptions(count=True))
    assert record.counts is not None
    return sum(record.counts.values())


def test_more_kinds_than_are_modelled_take_time_in_proportion_to_their_work(
    module: wb.Module, events: list[Event], model: Nanoseconds
) -> None:
    out = torch.zeros(64)
    launch = module["spin"][2, 64]
    sizes = [*range(clock.MOST_OBSERVED), 300, 5000]
    total = 0.0
    events[0].record()
    for n in sizes:
        launch(out, n)
    events[1].record()
    elapsed = events[0].seconds_until(events[1])
    assert len(model.records) == clock.MOST_OBSERVED
    assert len({record.grid for record in model.records}) == 1
    total = sum(1e-9 * executed(launch, out, n) + GAP for n in sizes)
    # HIP's milliseconds are a float.
    assert elapsed == pytest.approx(total, rel=1e-6)


def test_repeated_launches_run_as_always_and_find_the_cache_warm(
    module: wb.Module, events: list[Event], model: Nanoseconds
) -> None:
    out, other = torch.zeros(64), torch.zeros(64)
    launch = module["spin"][1, 64]
    events[0].record()
    launch(out, 100)
    events[1].record()
    for _ in range(4):
        launch(out, 100)
    # The same kind of launch in other memory is not modelled again; none of its data is in a cache.
    launch(other, 100)
    events[2].record()
    cold = 1e-9 * executed(launch, out, 100)
    assert events[0].seconds_until(events[1]) == pytest.approx(cold + GAP, rel=1e-6)
    assert events[1].seconds_until(events[2]) - 5 * GAP == pytest.approx(4 * cold / 2 + cold, abs=1e-6)
    assert len(model.records) == 1


def test_work_that_the_memory_decides_counts(
    module: wb.Module, events: list[Event], model: Nanoseconds
) -> None:
    out, n = torch.zeros(64), torch.tensor([10], dtype=torch.int32)
    launch = module["upTo"][1, 64]
    launch(out, n)
    few = executed(launch, out, n)
    events[0].record()
    n.fill_(1000)
    launch(out, n)
    events[1].record()
    assert len(model.records) == 0
    many = executed(launch, out, n)
    assert many > 10 * few
    assert events[0].seconds_until(events[1]) - GAP == pytest.approx(1e-9 * many / 2, abs=1e-7)


def test_observers_of_a_launch_get_the_requested_records(module: wb.Module, events: list[Event]) -> None:
    out = torch.zeros(64)
    launch = module["spin"][1, 64]
    record = launch.kernel.launch(launch.launch, (out, 3), {}, options=LaunchOptions(count=True))
    assert record.counts
    assert record.traffic is record.steps is None
    assert not record.counters
    assert module["spin"][1, 64](out, 4).counts is None


@pytest.mark.parametrize("exact", [False, True])
def test_a_sanitized_or_exact_launch_takes_the_same_time(
    module: wb.Module, events: list[Event], exact: bool
) -> None:
    out = torch.zeros(64)
    launch = module["spin"][2, 64]
    options = LaunchOptions(numerics="exact") if exact else LaunchOptions(sanitize=True)
    events[0].record()
    record = launch.kernel.launch(launch.launch, (out, 50), {}, options=options)
    events[1].record()
    assert record.findings == ()
    seconds = 1e-9 * executed(launch, out, 50) + GAP
    assert events[0].seconds_until(events[1]) == pytest.approx(seconds, rel=1e-6)


def test_nothing_is_observed_without_events_that_can_be_timed(
    module: wb.Module, model: Nanoseconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock.Clock, "launch", None)
    out = torch.zeros(64)
    module["spin"][1, 64](out, 5)
    with device(DEVICE).hip() as hip:
        untimed = hip.call("hipEventCreateWithFlags", 2)
        module["spin"][1, 64](out, 5)
        hip.call("hipEventDestroy", untimed)
    monkeypatch.setenv(clock.VARIABLE, clock.HOST)
    event = Event()
    module["spin"][1, 64](out, 5)
    event.destroy()


def test_what_waits_to_be_modelled_is_bounded(
    module: wb.Module, events: list[Event], model: Nanoseconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "_MOST_WAITING", 3)
    out = torch.zeros(64)
    for n in range(8):
        module["spin"][3, 64](out, n)
    assert len(node().clock._waiting) == 3
    assert not model.records
    events[0].record()
    events[1].record()
    events[0].seconds_until(events[1])
    # A request models the waiting launches to make room.
    for n in range(8, 14):
        module["spin"][3, 64](out, n)
    assert len(model.records) >= 6


def test_launches_without_a_modelled_time_go_on(
    module: wb.Module, events: list[Event], model: Nanoseconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(code: bytes, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
        raise WorkbenchError("no time is modelled for this product")

    monkeypatch.setattr(clock, "_MOST_WAITING", 3)
    out = torch.zeros(64)
    events[0].record()
    events[1].record()
    events[0].seconds_until(events[1])
    monkeypatch.setattr(model, "times", refuse)
    for n in range(8):
        module["spin"][1, 64](out, n)
    assert out.tolist() == [7.0] * 64
    events[1].record()
    with pytest.raises(WorkbenchError, match="no time is modelled"):
        events[0].seconds_until(events[1])


def test_a_wrong_choice_is_an_error(model: Nanoseconds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(clock.VARIABLE, "wall")
    with pytest.raises(UsageError, match=r"HIPKITTENS_EVENT_TIMES is 'wall'; expected 'modelled' or 'host'"):
        Event()


def test_a_product_without_a_model_has_the_hosts_clock_and_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(clock, "_labelled", False)
    assert clock.can_model(product("MI300X"))
    assert not clock.can_model(product("MI210"))
    for _ in range(2):
        clock.label(product("MI210"))
    text = capsys.readouterr().err
    assert text == (
        "hipkittens: times of HIP events are this computer's clock: there is no timing model of MI210\n"
    )
    monkeypatch.setattr(clock, "_labelled", False)
    monkeypatch.setenv(clock.VARIABLE, clock.HOST)
    clock.label(product("MI300X"))
    assert capsys.readouterr().err == ""


def test_a_child_process_does_not_wait_for_its_parents_threads(model: Nanoseconds) -> None:
    lock = node().clock._lock
    with lock:
        node().clock.forked()
        thread = threading.Thread(target=node().clock.settle, daemon=True)
        thread.start()
        thread.join(timeout=60)
        assert not thread.is_alive()
