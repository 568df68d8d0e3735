"""The order of streams' work on the modelled timeline, with times that are easy to add up."""

from __future__ import annotations

import pickle

from workbench.emulator.node.timeline import Stream, Timeline

NULL = Stream.from_handle(0, 0)
ONE, TWO = Stream.from_handle(0, 0x10), Stream.from_handle(0, 0x20)
APART = Stream.from_handle(0, 0x30, blocking=False)


def test_a_stream_does_its_work_in_order() -> None:
    timeline = Timeline()
    assert timeline.add(ONE, "units", 2.0, gap=0.5) == 0.5
    assert timeline.add(ONE, "units", 1.0, gap=0.5) == 3.0
    assert timeline.moment(ONE) == 4.0


def test_kernels_that_fill_the_gpu_take_turns_and_small_ones_run_beside_each_other() -> None:
    timeline = Timeline()
    timeline.add(ONE, "units", 2.0)
    timeline.add(TWO, "units", 1.0)
    assert (timeline.moment(ONE), timeline.moment(TWO), timeline.moment(NULL)) == (2.0, 3.0, 3.0)
    timeline = Timeline()
    for stream in (ONE, TWO, APART):
        timeline.add(stream, "units", 2.0, share=0.4)
    # Two fit; the third waits for room.
    assert [timeline.moment(s) for s in (ONE, TWO, APART)] == [2.0, 2.0, 4.0]
    # A short one fits into the room beside it.
    assert timeline.add(ONE, "units", 1.0, share=0.4) == 2.0


def test_copies_run_beside_kernels() -> None:
    timeline = Timeline()
    timeline.add(ONE, "units", 2.0)
    assert timeline.add(TWO, "to device", 1.0) == 0.0
    assert timeline.add(TWO, "to host", 1.0) == 1.0


def test_the_null_stream_waits_for_blocking_streams_and_they_for_it() -> None:
    timeline = Timeline()
    timeline.add(ONE, "units", 2.0, share=0.1)
    timeline.add(APART, "units", 9.0, share=0.1)
    assert timeline.add(NULL, "units", 1.0, share=0.1) == 2.0
    assert timeline.add(TWO, "units", 1.0, share=0.1) == 3.0
    assert timeline.moment(Stream.from_handle(0, 0x40, blocking=False)) == 0.0
    # Another device has its own NULL stream.
    assert timeline.moment(Stream.from_handle(1, 0)) == 0.0


def test_waiting() -> None:
    timeline = Timeline()
    timeline.add(ONE, "to device", 2.0)
    timeline.wait(TWO, timeline.moment(ONE))
    assert timeline.add(TWO, "units", 1.0) == 2.0
    assert timeline.moment(APART) == 0.0
    timeline.wait_on_host(timeline.moment(ONE))
    assert timeline.moment(APART) == 2.0
    timeline.wait_on_host()
    assert timeline.moment(APART) == 3.0


def test_finished_streams_and_work_are_forgotten() -> None:
    timeline = Timeline()
    for number in range(1000):
        stream = Stream.from_handle(0, 16 * (number + 1))
        timeline.add(stream, "units", 1.0, share=0.5)
        timeline.wait_on_host(timeline.moment(stream))
    assert timeline.moment(NULL) == 1000.0
    assert len(pickle.dumps(timeline)) < 10_000
