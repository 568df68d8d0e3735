"""wb.sanitize and %%hipkittens --sanitize: findings on the lines of the cell, faults among them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from IPython.utils.capture import capture_output

import workbench as wb
from workbench.errors import SanitizerError

RACE = """
__global__ void flip(const float *x, float *out) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  SYNC;
  out[threadIdx.x] = s[threadIdx.x ^ 64];
}
"""
NO_BARRIER = '__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront")'
READ_LINE = 6


def run(shell: Any, line: str, cell: str) -> dict[str, Any]:
    with capture_output() as out:
        shell.run_cell_magic("hipkittens", line, cell)
    told: dict[str, Any] = out.outputs[0].data
    return told


def test_a_cell_shows_squiggles_where_the_race_is(shell: Any) -> None:
    wrong = RACE.replace("SYNC", NO_BARRIER)
    run(shell, "raced", wrong)
    shell.user_ns["raced"]["flip"][1, 128](torch.arange(128.0), torch.zeros(128))
    data = run(shell, "raced --sanitize", wrong)
    told = data["application/vnd.hipkittens.cell+json"]
    assert told["run"]["kind"] == "sanitize"
    found = [d for d in told["diagnostics"] if d["source"] == "sanitizer"]
    # The cell's first line is the magic itself.
    [finding] = [d for d in found if d["option"] == "race" and d["line"] == READ_LINE + 1]
    assert finding["severity"] == "error"
    assert "race in shared memory" in finding["message"]
    assert "race" in data["text/html"]
    right = RACE.replace("SYNC", "__syncthreads()")
    clean = run(shell, "raced --sanitize", right)
    assert clean["application/vnd.hipkittens.cell+json"]["diagnostics"] == []


def test_result_says_who_and_where() -> None:
    module = wb.compile(RACE.replace("SYNC", NO_BARRIER), arch="gfx950", name="race.hip")
    result = wb.sanitize(module["flip"][1, 128], torch.arange(128.0), torch.zeros(128))
    assert not result
    [finding] = [f for f in result.findings if f.category == "race" and f.line == READ_LINE]
    # Wave 0 has its turn first, so wave 1 is the one that reads what another wrote.
    assert (finding.file, finding.wave, finding.lane) == ("race.hip", 1, 0)
    assert finding.count == 64
    with pytest.raises(SanitizerError, match=r"race\.hip:6: race in shared memory"):
        result.check()


def test_a_fault_is_a_finding_and_the_result_is_repeatable() -> None:
    source = "__global__ void k(float *x) { x[threadIdx.x] = 1.0f; }"
    module = wb.compile(source, arch="gfx950", name="fault.hip")
    first, second = (wb.sanitize(module["k"][1, 64], torch.zeros(63)) for _ in range(2))
    assert first.stopped
    [finding] = first.findings
    assert finding.category == "out of bounds"
    assert (finding.line, finding.wave, finding.lane) == (1, 0, 63)
    assert "past the end" in finding.message
    assert [f.pc for f in first.findings] == [f.pc for f in second.findings]
