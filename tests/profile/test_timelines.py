"""Timelines: every cycle of a wave is on its lane, waits name what they wait for, Perfetto can open it."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise

import pytest

import workbench as wb
from workbench.profile.simulation.unit import REASONS


@pytest.fixture(scope="module")
def line():
    return wb.timeline("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:gfx950")


def test_lanes_are_whole(line):
    assert line.lost == 0
    assert [lane.simd for lane in line.lanes] == sorted(lane.simd for lane in line.lanes)
    for number, lane in enumerate(line.lanes):
        own = sorted((s for s in line.spans if s.lane == number), key=lambda s: s.start)
        assert own[0].start == lane.start
        stalled = sum(s.cycles for s in own if s.reason)
        issued = sum(1 for s in own if not s.reason)
        assert stalled + 4 * issued == pytest.approx(lane.end - lane.start)
        assert all(s.reason in REASONS or not s.reason for s in own)


def test_waits_name_their_load(line):
    waits = [s for s in line.spans if s.reason in ("WAIT_MEMORY", "WAIT_LDS")]
    assert waits
    for span in waits:
        memory = line.kernel.module.instruction(span.waits_for).record.memory
        assert memory is not None
        assert (memory.space.name == "LDS") == (span.reason == "WAIT_LDS")
    late = [s for s in line.spans if s.reason == "AT_BARRIER"]
    assert all(s.waits_for != s.lane and s.waits_for < len(line.lanes) for s in late)
    assert "modelled" in str(line)


def test_perfetto(line, tmp_path):
    told = json.loads(line.to_perfetto(tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [e for e in told if e["ph"] == "X"]
    assert len(slices) == len(line.spans)
    for number in range(len(line.lanes)):
        own = sorted((e for e in slices if e["tid"] == number), key=lambda e: e["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-9 for a, b in pairwise(own))
    names = {e["args"]["name"] for e in told if e["ph"] == "M"}
    assert "SIMD 3" in names


def test_stalls_by_instruction_have_reasons():
    result = wb.profile("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:gfx950")
    found = result.instructions
    assert found.reasons
    for address, by_reason in found.reasons.items():
        assert sum(by_reason.values()) == pytest.approx(found.of(address, "stall_cycles"))
        assert found.executions[address] > 0


def test_a_result_can_be_kept_and_copied():
    result = wb.time("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:gfx950")
    copy = pickle.loads(pickle.dumps(result))
    assert copy.model.simulation.cycles == result.model.simulation.cycles == result.model.cycles
    assert 0 < result.model.activity["mfma"] < 1


def test_a_timeline_survives_pickling(line):
    assert str(pickle.loads(pickle.dumps(line))) == str(line)
