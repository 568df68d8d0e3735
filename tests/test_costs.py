"""Costs of tests are written by function, from all workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiers

TESTS = Path(__file__).parent

CONFTEST = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
import costs

def pytest_configure(config):
    file = None if hasattr(config, "workerinput") else Path("out/costs.csv")
    config.pluginmanager.register(costs.Recorder(file, least=0.1))
"""

SAMPLE = """
import subprocess, sys, time
import pytest

BUSY = "import time\\nwhile time.process_time() < 0.2: pass"

@pytest.fixture
def busy():
    subprocess.run([sys.executable, "-c", BUSY])

@pytest.mark.parametrize("number", [1, 2])
def test_busy(busy, number): pass
def test_waits(): time.sleep(0.3)
"""

SHARED = """
import subprocess, sys
import pytest

BUSY = "import time\\nwhile time.process_time() < 0.4: pass"

@pytest.fixture(scope="module")
def library():
    subprocess.run([sys.executable, "-c", BUSY])

def test_first(library): pass
def test_second(library): pass
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_processor_time_by_function(options: tuple[str, ...], tmp_path: Path) -> None:
    """A fixture's child counts, waiting does not; shared time is divided among functions."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "test_shared.py").write_text(SHARED)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    file = tmp_path / "out/costs.csv"
    costs = tiers.costs(file)
    first, second = (f"test_shared.py::test_{name}" for name in ("first", "second"))
    assert list(costs) == ["test_sample.py::test_busy", first, second]
    assert 0.4 <= costs["test_sample.py::test_busy"] < 10
    assert tiers.fixtures(file) == dict.fromkeys((first, second), "test_shared.py::library")
    assert costs[first] == costs[second] >= 0.2
