"""Runs outside of cells, reported in batches."""

from __future__ import annotations

import json
from typing import Any

import workbench as wb
from workbench.events import Event, Hub
from workbench.lab.runs import RUNS, Runs


def received(runs: Runs, sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    runs.flush()
    return [run for message in sent for run in message["runs"]]


def test_runs_outside_of_cells_are_told_in_batches() -> None:
    spec = "normalization/rmsnorm"
    shape = {"rows": 4, "cols": 128}
    timed = wb.time(spec, shape=shape, device="emulated:gfx950")
    hub = Hub()
    sent: list[dict[str, Any]] = []
    runs = Runs(sent.append)
    hub.subscribe(runs.take)
    hub.publish("launch", "rmsnorm")
    hub.publish("verify", spec, {"passed": False, "shape": shape, "device": "emulated:gfx950"})
    hub.publish("time", spec, timed)
    verified, time = received(runs, sent)
    assert json.loads(json.dumps(sent)) == sent
    assert (verified["kind"], verified["module"], verified["verified"]) == ("verify", spec, False)
    us = timed.median
    assert time["time"] == {
        "value": us.value,
        "unit": "us",
        "origin": "modelled",
        "provenance": us.provenance,
    }
    assert us.provenance.startswith("modelled, ")
    assert time["changes"] == ["rows=4, cols=128, dtype=bf16"]
    assert time["verified"] is None
    sent.clear()
    for _ in range(3 * RUNS):
        hub.publish("time", spec, timed)
    assert len(received(runs, sent)) >= RUNS
    assert len(sent) <= 3
    sent.clear()
    hub.publish("failed", spec, {"kind": "profile", "error": "wild address", "shape": shape})
    (failed,) = received(runs, sent)
    assert (failed["kind"], failed["error"], failed["verified"]) == ("profile", "wild address", None)
    assert failed["changes"] == ["rows=4, cols=128"]
    assert "findings" not in failed, "the sanitizer was not asked"
    sent.clear()
    counted = {"shape": {}, "device": "emulated:gfx1201", "reason": "no time is modelled"}
    hub.publish("counted", "sums", counted)
    (profiled,) = received(runs, sent)
    assert (profiled["kind"], profiled["module"], profiled["time"]) == ("profile", "sums", None)
    assert (profiled["changes"], profiled["error"]) == (["no time is modelled"], "")
    sent.clear()
    sanitization = {
        "findings": 2,
        "first": "race in shared memory",
        "shape": {},
        "device": "d",
        "code": "",
        "details": (),
    }
    hub.publish("sanitize", "flip", sanitization)
    (sanitized,) = received(runs, sent)
    assert (sanitized["kind"], sanitized["module"], sanitized["findings"]) == ("sanitize", "flip", 2)
    assert (sanitized["changes"], sanitized["error"]) == (["race in shared memory"], "")
    sent.clear()
    runs.reported_by_cell = True
    hub.publish("time", spec, timed)
    assert received(runs, sent) == []


def test_runs_of_one_millisecond_are_distinguished() -> None:
    sent: list[dict[str, Any]] = []
    runs = Runs(sent.append)
    for number in range(3):
        data = {"kind": "time", "error": "", "shape": {}}
        runs.take(Event(number, "failed", "scale", data, seconds=1e9 + number * 1e-4))
    assert len({run["at"] for run in received(runs, sent)}) == 3
