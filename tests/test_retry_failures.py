"""A run fails for a test that fails again, not for one that passes alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "retry_failures.py"

COUNTED = """
from pathlib import Path

def runs_before(name):
    file = Path(__file__).with_name(name)
    runs = len(file.read_text()) if file.exists() else 0
    file.write_text("." * (runs + 1))
    return runs
"""
"""Counts the runs of a test across processes."""


def run(folder: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_sample.py").write_text(COUNTED + "\n".join(tests))
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(SCRIPT), "-q", "test_sample.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


PASSES = "def test_passes(): runs_before('passes')"
FAILS_ONCE = "def test_fails_once(): assert runs_before('once') != 0"
FAILS_EVERY_SECOND_TIME = "def test_fails_every_second_time(): assert runs_before('second') % 2"
FAILS = "def test_fails(): assert runs_before('fails') < 0"


def test_a_test_that_then_passes_twice_is_listed_as_unstable(tmp_path: Path) -> None:
    result = run(tmp_path, PASSES, FAILS_ONCE)
    assert result.returncode == 0, result.stdout
    _, _, unstable = result.stdout.partition("unstable, with HIPKITTENS_TEST_SEED=")
    assert unstable.splitlines()[1:] == ["  test_sample.py::test_fails_once"]
    assert (tmp_path / "once").read_text() == "..."
    assert (tmp_path / "passes").read_text() == "."


@pytest.mark.parametrize("test", [FAILS, FAILS_EVERY_SECOND_TIME])
def test_a_test_that_fails_again_fails_the_run(tmp_path: Path, test: str) -> None:
    result = run(tmp_path, test, FAILS_ONCE)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert result.stdout.splitlines()[-2:] == [
        "failed again:",
        f"  test_sample.py::{test.split()[1].removesuffix('():')}",
    ]


STEPS = """
import pytest

@pytest.fixture(autouse=True)
def retry_with_the_class(request):
    request.node.user_properties.append(("retry", request.node.parent.nodeid))

class TestSteps:
    def test_first(self): runs_before("first")
    def test_second(self): assert runs_before("second") != 0
"""


def test_a_step_is_run_again_with_those_before_it(tmp_path: Path) -> None:
    result = run(tmp_path, STEPS)
    assert result.returncode == 0, result.stdout
    assert result.stdout.splitlines()[-1] == "  test_sample.py::TestSteps"
    assert (tmp_path / "first").read_text() == "..."
    assert (tmp_path / "second").read_text() == "..."


def test_many_failures_are_no_bad_luck(tmp_path: Path) -> None:
    result = run(tmp_path, *(f"def test_{i}(): assert runs_before('{i}')" for i in range(13)))
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert (tmp_path / "5").read_text() == "."


def test_an_error_while_collecting_fails_the_run(tmp_path: Path) -> None:
    assert run(tmp_path, "import no_such_module").returncode == pytest.ExitCode.INTERRUPTED


def test_a_run_without_failures_runs_once(tmp_path: Path) -> None:
    result = run(tmp_path, PASSES)
    assert result.returncode == 0
    assert (tmp_path / "passes").read_text() == "."
    assert "again" not in result.stdout
