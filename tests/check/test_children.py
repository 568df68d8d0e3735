"""Launches of child processes are sanitized too; a run without launches never passes."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.__main__ import main
from workbench.check.sanitizer import causes
from workbench.errors import AddressFault, NothingSanitized, ProgramTimeout, SanitizerError
from workbench.events import hub
from workbench.kernel import program as kernel_program
from workbench.runtime import reports

PROGRAM = r"""
#include <hip/hip_runtime.h>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
__global__ void raced(float *x) {
    __shared__ float s[256];
    s[threadIdx.x] = threadIdx.x;
    x[threadIdx.x] = s[255 - threadIdx.x];
}
__global__ void clean(float *x) { x[threadIdx.x] = threadIdx.x; }
int main(int count, char **arguments) {
    const char *what = arguments[1];
    if (!strcmp(what, "none")) return 0;
    float *x;
    hipMalloc(&x, 1024);
    if (!strcmp(what, "fork")) {
        // Two processes with the device of the first, which each launch.
        hipDeviceSynchronize();
        for (int i = 0; i < 2; i++)
            if (!fork()) { raced<<<1, 256>>>(x); hipDeviceSynchronize(); _exit(0); }
        while (wait(nullptr) > 0) {}
        return 0;
    }
    if (!strcmp(what, "clean")) clean<<<1, 256>>>(x); else raced<<<1, 256>>>(x);
    hipDeviceSynchronize();
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "wild")) { clean<<<1, 257>>>(x); hipDeviceSynchronize(); }
    return 0;
}
"""
DEVICE = "emulated:gfx950"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "prog.hip"
    path.write_text(PROGRAM)
    return path


def races(findings: Any, lines: Any = (9, 10)) -> bool:
    """True if there are races, each between one wave's read and another wave's write."""
    raced = {finding.line for finding in findings if finding.category == "race"}
    return bool(raced) and raced <= {*lines}


def test_a_program_in_a_block_does_not_pass_unsanitized(program: Path) -> None:
    before = os.environ.get(reports.VARIABLE)
    with wb.sanitizing() as watch:
        assert wb.run_program(program, ["race"], device=DEVICE).exit_code == 0
        assert watch.launches == 1, "known as soon as the process has ended"
    assert os.environ.get(reports.VARIABLE) == before
    [result] = watch.results
    assert (result.name, result.device) == ("raced", DEVICE)
    assert result.process.startswith("prog.hip (process ")
    assert races(result.findings)
    with pytest.raises(
        SanitizerError, match=r"sanitize 1 launch: findings in 1\nsanitize raced of prog\.hip"
    ):
        watch.check()


def test_a_program_by_itself(program: Path) -> None:
    result = wb.run_program(program, ["race"], device=DEVICE, sanitize=True)
    assert (result.exit_code, result.launches, result.stderr) == (0, 1, "")
    assert races(result.findings)
    with pytest.raises(
        SanitizerError, match=r"prog\.hip: 1 launch sanitized, \d findings?\n.*prog\.hip:\d+: race"
    ):
        result.check()
    event = hub.history("sanitize")[-1]
    assert (event.name, event.data["findings"]) == ("prog.hip", len(causes(result.findings)))
    clean = wb.run_program(program, ["clean"], device=DEVICE, sanitize=True).check()
    assert (clean.launches, clean.findings) == (1, ())
    assert repr(clean).endswith("exit status 0, 1 launch sanitized, no findings>")
    plain = wb.run_program(program, ["race"], device=DEVICE).check()
    assert (plain.launches, plain.findings) == (None, ())


def test_a_program_that_is_ended_has_told_until_then(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aborted = wb.run_program(program, ["abort"], device=DEVICE, sanitize=True)
    assert (aborted.exit_code, aborted.launches) == (-6, 1)
    assert races(aborted.findings)
    wild = wb.run_program(program, ["wild"], device=DEVICE, sanitize=True)
    assert wild.launches == 2
    assert {f.category for f in wild.findings} >= {"race", "out of bounds"}
    run = kernel_program._run
    # As if it had been stopped at its time limit.
    monkeypatch.setattr(kernel_program, "_run", lambda *arguments: replace(run(*arguments), code=None))
    with pytest.raises(ProgramTimeout) as caught:
        wb.run_program(program, ["race"], device=DEVICE, sanitize=True)
    assert races(caught.value.result.findings)


def test_processes_that_a_program_forks(program: Path) -> None:
    result = wb.run_program(program, ["fork"], device=DEVICE, sanitize=True)
    assert result.launches == 2
    assert races(result.findings)


def test_zero_launches_never_pass(program: Path) -> None:
    with wb.sanitizing() as watch:
        pass
    assert not watch.passed
    with pytest.raises(NothingSanitized, match="sanitize 0 launches: no launch was sanitized"):
        watch.check()
    with pytest.raises(NothingSanitized, match=r"prog\.hip: it launched nothing, so nothing was sanitized"):
        wb.run_program(program, ["none"], device=DEVICE, sanitize=True).check()
    with pytest.raises(NothingSanitized, match="<lambda> launched nothing"):
        wb.sanitize(lambda: None)


def test_a_process_that_hides_is_no_all_clear(program: Path) -> None:
    with wb.sanitizing() as watch:
        wb.run_program(program, ["race"], device=DEVICE, env={reports.VARIABLE: ""})
    with pytest.raises(NothingSanitized):
        watch.check()


KERNEL = """#include <hip/hip_runtime.h>
__global__ void turn(float *x) {
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[threadIdx.x ^ 64];
}
__global__ void fill(float *x) { x[threadIdx.x] = 1; }
"""
TURN_LINES = 4, 5
CHILD = f"""
import os, sys, torch, workbench as wb
module = wb.compile({KERNEL!r}, arch="gfx950", name="child.hip")
module[sys.argv[1]][1, 128](torch.zeros(128))
os.kill(os.getpid(), 9)
"""


def launch(kernel: str, size: int = 128) -> None:
    module = wb.compile(KERNEL, arch="gfx950", name="child.hip")
    module[kernel][1, 128](torch.zeros(size))


def test_a_python_process_that_kills_itself() -> None:
    with wb.sanitizing() as watch:
        ended = subprocess.run([sys.executable, "-c", CHILD, "turn"], check=False)
    assert ended.returncode == -9
    assert watch.launches == 1
    assert races(watch.findings, TURN_LINES)


@pytest.mark.parametrize(("method", "names"), [("fork", ["turn", "fill"]), ("spawn", ["turn"])])
def test_processes_of_multiprocessing(method: str, names: list[str]) -> None:
    launch("fill")  # The device exists before the fork, and its watchers are inherited.
    context: Any = multiprocessing.get_context(method)
    with wb.sanitizing() as outer, wb.sanitizing() as inner:
        launch("fill")
        children = [context.Process(target=launch, args=(kernel,)) for kernel in names]
        for child in children:
            child.start()
        for child in children:
            child.join()
    assert {child.exitcode for child in children} == {0}
    for watch in (outer, inner):
        assert watch.launches == 1 + len(names)
        [result] = watch.results
        assert result.name == "turn"
        assert races(result.findings, TURN_LINES)
        assert f"process {children[0].pid}" in result.process


def test_a_call_with_launches_here_and_in_a_child() -> None:
    def call() -> None:
        launch("fill")
        subprocess.run([sys.executable, "-c", CHILD, "turn"], check=False)

    result = wb.sanitize(call)
    assert (result.name, result.stopped, result.again) == ("call", False, None)
    assert races(result.findings, TURN_LINES)
    assert "process" in result.process
    ended = wb.sanitize(launch, "fill", 100)
    assert [f.category for f in ended.findings] == ["out of bounds"]
    assert ended.stopped, "the fault ended the call"
    with pytest.raises(AddressFault):
        launch("fill", 100)


def test_the_same_finding_in_many_launches_is_reported_once() -> None:
    with wb.sanitizing() as watch:
        for _ in range(3):
            launch("turn")
    assert len(watch.results) == 3
    assert str(watch).count("sanitize turn on") == 1
    assert "and the same in 2 more launches" in str(watch)
    event = hub.history("sanitize")[-1]
    assert (event.name, event.data["findings"]) == ("turn", len(watch.results[0].causes))


def test_by_hand_findings_are_printed_once(program: Path) -> None:
    result = wb.run_program(program, ["race"], device=DEVICE, env={reports.VARIABLE: reports.PRINT})
    first, *lines = result.stderr.splitlines()
    assert first.startswith("hipkittens: launches of prog.hip (process ")
    assert lines
    assert all(line.startswith(f"hipkittens: sanitize raced on {DEVICE}: ") for line in lines), lines
    assert "prog.hip:10: race in shared memory" in result.stderr or "prog.hip:9: race" in result.stderr
    path = program.with_name("found.jsonl")
    wb.run_program(program, ["race"], device=DEVICE, env={reports.VARIABLE: str(path)})
    [line] = filter(None, path.read_text().splitlines())
    report = json.loads(line)
    assert (report["kernel"], report["device"], report["program"]) == ("raced", DEVICE, "prog.hip")
    assert len(report["findings"]) >= len(lines)


def test_the_command(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HIPKITTENS_DEVICE", DEVICE)
    monkeypatch.chdir(program.parent)
    assert main(["hipcc", "prog.hip", "-o", "prog"]) == 0
    capfd.readouterr()
    assert main(["sanitize", "./prog", "clean"]) == 0
    first, last = capfd.readouterr().err.splitlines()
    assert first == "sanitize 1 launch: nothing found"
    assert last.startswith("hipkittens: 1 launch, ")
    assert last.endswith(", no findings")
    assert main(["sanitize", "./prog", "race"]) == 1
    assert "sanitize raced of prog (process " in capfd.readouterr().err
    assert main(["sanitize", "./prog", "none"]) == 2
    assert "0 launches: no launch was sanitized" in capfd.readouterr().err
    assert main(["sanitize", "./missing"]) == 2
    assert "./missing does not start (No such file" in capfd.readouterr().err


def report(kernel: str) -> reports.LaunchReport:
    return reports.LaunchReport(os.getpid(), "test", kernel, DEVICE)


def _append(path: str, kernel: str) -> None:
    for _ in range(200):
        reports.append(path, report(kernel).line())


def test_processes_append_side_by_side() -> None:
    context = multiprocessing.get_context("fork")
    file = reports.ReportFile()
    names = ["a" * 10, "b" * 3000, "c" * 9000]
    children = [context.Process(target=_append, args=(file.path, name)) for name in names]
    for child in children:
        child.start()
    for child in children:
        child.join()
    kernels = [report.kernel for report in file.new()]
    assert sorted(kernels) == sorted(name for name in names for _ in range(200))
    file.close()


def test_a_part_of_a_line_harms_no_other() -> None:
    file = reports.ReportFile()
    assert file.new() == []
    whole = report("first").line()
    reports.append(file.path, whole)
    # A process was killed while it wrote.
    reports.append(file.path, report("lost").line()[:-20])
    assert [report.kernel for report in file.new()] == ["first"]
    reports.append(file.path, report("second").line())
    assert [report.kernel for report in file.new()] == ["second"]
    file.close()
    with pytest.raises(FileNotFoundError):
        reports.append(file.path, whole)
