"""Timelines: every cycle of a wave is on its lane, waits name their causes, Perfetto can open it."""

from __future__ import annotations

import json
import pickle
import re
from itertools import pairwise

import pytest

import workbench as wb
from workbench.profile.simulation.unit import REASONS

SHAPE = {"m": 256, "n": 256, "k": 256}


@pytest.fixture(scope="module")
def line():
    return wb.timeline("gemm/bf16", shape=SHAPE, device="emulated:gfx950")


def test_lanes_are_whole(line):
    assert line.lost == 0
    assert [lane.simd for lane in line.lanes] == sorted(lane.simd for lane in line.lanes)
    for number, lane in enumerate(line.lanes):
        spans = sorted((s for s in line.spans if s.lane == number), key=lambda s: s.start)
        assert spans[0].start == lane.start
        stalled = sum(s.cycles for s in spans if s.reason)
        issued = sum(1 for s in spans if not s.reason)
        assert stalled + 4 * issued == pytest.approx(lane.end - lane.start)
        assert all(s.reason in REASONS or not s.reason for s in spans)


def test_waits_name_their_load(line):
    waits = [s for s in line.spans if s.reason in ("WAIT_MEMORY", "WAIT_LDS")]
    assert waits
    for span in waits:
        memory = line.kernel.module.instruction(span.waits_for).record.memory
        assert memory is not None
        assert (memory.space.name == "LDS") == (span.reason == "WAIT_LDS")
    late = [s for s in line.spans if s.reason == "AT_BARRIER"]
    assert all(s.waits_for != s.lane and s.waits_for < len(line.lanes) for s in late)
    assert line.error == wb.time("gemm/bf16", shape=SHAPE, device="emulated:gfx950").median.error
    assert line.error.rows
    assert f"modelled, {line.error.short}" in str(line)


_COUNT = {"type": "integer", "minimum": 0}
_TIME = {"type": "number", "minimum": 0}
_META = {
    "process_name": {"name": {"type": "string"}},
    "thread_name": {"name": {"type": "string"}},
    "thread_sort_index": {"sort_index": _COUNT},
}
TRACE_EVENTS = {
    "type": "object",
    "required": ["traceEvents", "displayTimeUnit", "otherData"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "traceEvents": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["ph", "pid", "tid", "name", "args"],
                "properties": {"pid": {"type": "integer", "minimum": 1}, "tid": _COUNT},
                "oneOf": [
                    {
                        "required": ["ts", "dur", "cat"],
                        "properties": {
                            "ph": {"const": "X"},
                            "ts": _TIME,
                            "dur": _TIME,
                            "tid": {"minimum": 1},
                        },
                    },
                    *(
                        {
                            "properties": {
                                "ph": {"const": "M"},
                                "name": {"const": name},
                                "args": {"required": list(args), "properties": args},
                            }
                        }
                        for name, args in _META.items()
                    ),
                ],
            },
        },
    },
}
"""Schema of a trace viewer's input, by the Trace Event Format: complete and metadata events."""


def test_perfetto(line, tmp_path):
    trace = json.loads(line.to_perfetto(tmp_path / "trace.json").read_text())
    validator = pytest.importorskip("jsonschema").Draft202012Validator(TRACE_EVENTS)
    events = trace["traceEvents"]
    few = [e for e in events if e["ph"] == "M"] + events[-200:]
    assert [error.message for error in validator.iter_errors({**trace, "traceEvents": few})] == []
    slices = [e for e in events if e["ph"] == "X"]
    assert not validator.is_valid({**trace, "traceEvents": [{**slices[0], "dur": -1}]})
    assert {e["pid"] for e in events} == {1}
    threads = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    assert list(threads.values()) == sorted(
        e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"
    )
    (whole,) = (e for e in slices if e["tid"] == threads["kernel"])
    assert "a nanosecond here is a cycle of 0.417 ns" in whole["name"]
    assert line.error.short in whole["name"]
    assert line.error.short in trace["otherData"]["times"]
    assert len(slices) == len(line.spans) + 1
    for number, lane in enumerate(line.lanes):
        thread = threads[f"SIMD {lane.simd}, work-group {lane.group}, wave {lane.wave}"]
        lane_slices = sorted((e for e in slices if e["tid"] == thread), key=lambda e: e["ts"])
        # Perfetto rounds both to nanoseconds, and drops slices that are then empty or overlap.
        whole_ns = [(round(1000 * e["ts"]), round(1000 * e["dur"])) for e in lane_slices]
        assert [ts for ts, _ in whole_ns] == sorted(s.start for s in line.spans if s.lane == number)
        assert all(ts + dur <= after for (ts, dur), (after, _) in pairwise(whole_ns))
        assert sum(dur for _, dur in whole_ns) == lane.end - lane.start
        assert all(dur > 0 for _, dur in whole_ns)


def test_waits_in_perfetto_name_their_causes(line, tmp_path):
    events = json.loads(line.to_perfetto(tmp_path / "trace.json").read_text())["traceEvents"]
    waits = {e["name"]: e["args"] for e in events if e["ph"] == "X" and "waits for" in e["args"]}
    assert re.fullmatch(r"\w+ at 0x[0-9a-f]+", waits[REASONS["WAIT_MEMORY"]]["waits for"])
    assert re.fullmatch(r"SIMD \d, work-group \d+, wave \d+", waits[REASONS["AT_BARRIER"]]["waits for"])
    assert all(re.fullmatch(r".*\.(cpp|cuh|h):\d+", args["source"]) for args in waits.values())


def test_stalls_by_instruction_have_reasons():
    result = wb.profile("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:gfx950")
    profile = result.instructions
    assert profile.reasons
    for address, by_reason in profile.reasons.items():
        assert sum(by_reason.values()) == pytest.approx(profile.value(address, "stall_cycles"))
        assert profile.executions[address] > 0


def test_a_result_can_be_stored_and_copied():
    result = wb.time("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:gfx950")
    copy = pickle.loads(pickle.dumps(result))
    assert copy.model.simulation.cycles == result.model.simulation.cycles == result.model.cycles
    assert 0 < result.model.activity["mfma"] < 1


def test_a_timeline_survives_pickling(line):
    assert str(pickle.loads(pickle.dumps(line))) == str(line)
