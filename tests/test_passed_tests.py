"""A second run omits exactly the tests that passed in the first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent

CONFTEST = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
import passed_tests
import pytest

def pytest_addoption(parser):
    parser.addoption("--record-passed")
    parser.addoption("--skip-passed")

def pytest_configure(config):
    file = config.getoption("--record-passed")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(passed_tests.Recorder(Path(file)))

def pytest_collection_modifyitems(config, items):
    passed = passed_tests.read(config.getoption("--skip-passed"))
    items[:] = [item for item in items if not passed_tests.covers(passed, item)]

@pytest.fixture
def in_this_tier():
    return len

@pytest.fixture
def breaks_afterwards():
    yield
    raise OSError
"""

SAMPLE = """
import pytest

def test_passes(): pass
def test_fails(): assert 0
def test_of_drawn_cases(in_this_tier): pass
def test_breaks_afterwards(breaks_afterwards): pass
@pytest.mark.parametrize("text", ["a b", "c"])
def test_with_parameters(text): pass
@pytest.mark.skip
def test_skipped(): pass
"""


def run(folder: Path, *arguments: str) -> list[str]:
    """The lines that pytest prints."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return result.stdout.splitlines()


def test_only_what_passed_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    record = tmp_path / "folder" / "passed"
    run(tmp_path, f"--record-passed={record}")
    assert record.read_text().splitlines() == [
        "test_sample.py::test_passes",
        "test_sample.py::test_of_drawn_cases",
        "test_sample.py::test_with_parameters[a b]",
        "test_sample.py::test_with_parameters[c]",
    ]
    left = run(tmp_path, f"--skip-passed={record}", "--collect-only")
    assert [line.removeprefix("test_sample.py::") for line in left if "::" in line] == [
        "test_fails",
        "test_of_drawn_cases",
        "test_breaks_afterwards",
        "test_skipped",
    ]
