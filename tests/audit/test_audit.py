"""Audits of small sources: clean, with a race, with a missing wait, wrong, broken, and one that hangs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from workbench.audit import Certainty, KernelRecord, Limits, Report, Result, audit
from workbench.audit.records import SCHEMA_FILE
from workbench.errors import UsageError

CHECKOUT = Path(__file__).with_name("checkout")
LIMITS = Limits(build=300, run=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Outside of this checkout.
    return Path(shutil.copytree(CHECKOUT, tmp_path_factory.mktemp("audit") / "small"))


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return audit(folder, folder.parent / "out", target="gfx950", only=".hip", limits=LIMITS)


def of(report: Report, name: str) -> KernelRecord:
    return next(kernel for kernel in report.kernels if kernel.source == name)


def test_a_clean_kernel_has_no_findings(report: Report) -> None:
    kernel = of(report, "clean.hip")
    assert (kernel.result, kernel.findings, kernel.proof, kernel.repair) == (Result.RIGHT, (), None, None)
    assert kernel.launches == 1
    assert kernel.text == "0 of 128 differ: PASSED"


def test_a_race_is_proven_and_repaired(report: Report, folder: Path, tmp_path: Path) -> None:
    kernel = of(report, "race.hip")
    assert kernel.result is Result.WRONG
    write, read = 7, 8
    races = [finding for finding in kernel.findings if finding.category == "race"]
    assert races
    assert all(finding.certainty is Certainty.PROVEN for finding in races)
    lines = {place.line for finding in races for place in (finding.place, finding.related) if place}
    assert lines == {write, read}
    assert kernel.repair is not None
    assert "+    __syncthreads();" in kernel.repair.patch.splitlines()
    assert kernel.repair.cost is not None
    assert -0.5 < kernel.repair.cost < 1
    # The patch applies to the original, and gives the clean kernel.
    copy = shutil.copytree(folder, tmp_path / "copy")
    words = ["git", "apply", "-p1", "-"]
    subprocess.run(words, input=kernel.repair.patch, text=True, cwd=copy, check=True)
    code = [line for line in (copy / "race.hip").read_text().splitlines() if not line.startswith("//")]
    clean = [line for line in (copy / "clean.hip").read_text().splitlines() if not line.startswith("//")]
    assert code == clean


def test_a_missing_wait_changes_results_of_late_loads(report: Report) -> None:
    kernel = of(report, "wait.hip")
    # Loads come at once by default.
    assert kernel.result is Result.RIGHT
    (finding,) = kernel.findings
    assert (finding.category, finding.certainty) == ("missing wait", Certainty.PROVEN)
    assert finding.place is not None
    assert finding.place.line == 8
    assert finding.related is not None
    assert finding.related.line == 7
    assert kernel.proof is not None
    assert kernel.proof.differences > 0
    assert "=" in kernel.proof.setting
    assert kernel.repair is not None
    assert kernel.repair.about == "a wait for vmcnt(0) before line 8"


def test_wrong_arithmetic_has_no_finding(report: Report) -> None:
    kernel = of(report, "wrong.hip")
    assert (kernel.result, kernel.findings, kernel.repair) == (Result.WRONG, (), None)


def test_a_source_that_does_not_build_says_why(report: Report) -> None:
    kernel = of(report, "broken.hip")
    assert kernel.result is Result.NOT_BUILT
    assert kernel.text == "use of undeclared identifier 'undeclared'"


def test_the_report_is_clean_json_and_nothing_changed(report: Report, folder: Path) -> None:
    jsonschema.validate(json.loads(report.to_json()), json.loads(SCHEMA_FILE.read_text()))
    assert report.exit_status == 1
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in CHECKOUT.iterdir())


def test_a_second_audit_reads_what_is_there(report: Report, folder: Path) -> None:
    lines: list[str] = []
    again = audit(folder, folder.parent / "out", target="gfx950", only=".hip", log=lines.append)
    assert again == report
    assert not lines


def test_a_script_that_hangs_is_ended(folder: Path, tmp_path: Path) -> None:
    limits = Limits(run=1)
    (kernel,) = audit(folder, tmp_path, target="gfx942", only="hang", limits=limits).kernels
    assert (kernel.result, kernel.text) == (Result.FAILS, "not done after 1 s")


def test_kernels_side_by_side_have_the_same_results(report: Report, folder: Path, tmp_path: Path) -> None:
    other = audit(folder, tmp_path, target="gfx950", only="broken", limits=LIMITS, jobs=2)
    alone = of(report, "broken.hip")
    assert [replace(k, build_seconds=alone.build_seconds) for k in other.kernels] == [alone]


def test_an_interrupt_ends_what_runs(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = tmp_path / "small" / "hang.py"
    script.parent.mkdir()
    script.write_text(
        "import os, pathlib, time  # load_inline\n"
        f"pathlib.Path({str(started)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    words = [sys.executable, "-m", "workbench", "audit", str(script), "--target", "gfx950", "--jobs", "2"]
    words += ["--out", str(tmp_path / "out")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not (started.is_file() and started.read_text()):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    process.terminate()
    output, _ = process.communicate(timeout=60)
    assert "interrupted; the same command continues" in output
    # Nothing could be run.
    assert process.returncode == 2
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert Report.of_json((tmp_path / "out" / "audit.json").read_text()).kernels == ()


def test_jobs_is_positive(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="jobs is 0; expected a positive number"):
        audit(folder, tmp_path, jobs=0)


def test_a_folder_without_kernels_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(UsageError, match="no kernel source; expected programs"):
        audit(tmp_path, tmp_path / "out")
