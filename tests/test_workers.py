"""Tests are distributed among workers by groups of related tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import workers

ROOT = Path(__file__).parents[1]


def test_tests_that_share_nothing_are_groups_of_their_own() -> None:
    tests = [f"tests/kernels/generated/test_grid.py::test_grid[gfx950-grid-{i}]" for i in range(3)]
    assert len({workers.group(test) for test in tests}) == 3


def test_tests_of_an_operator_are_one_group() -> None:
    tests = [
        "tests/kernels/test_operators.py::test_results[gemm/bf16-gfx950]",
        "tests/kernels/test_operators.py::test_hard_inputs[gemm/bf16-gfx942]",
        "tests/kernels/test_operators.py::test_is_an_operator_of_pytorch[gemm/bf16]",
    ]
    other = "tests/kernels/test_operators.py::test_results[gemm/bf16_gated-gfx950]"
    assert len({workers.group(test) for test in tests}) == 1
    assert workers.group(other) != workers.group(tests[0])


def test_tests_that_build_in_the_checkout_are_one_group() -> None:
    tests = [
        "tests/browser/test_lab.py::TestJourney::test_run",
        "tests/lab/test_front_end.py::test_front_end[test]",
        "tests/test_wheel.py::test_wheel_runs_a_kernel_in_a_new_environment",
    ]
    assert len({workers.group(test) for test in tests}) == 1
    assert workers.group("tests/lab/test_index.py::test_a") == "tests/lab/test_index.py"


def test_the_longest_group_is_first_and_small_ones_are_last() -> None:
    tests = [
        "tests/codeobject/test_elf.py::test_a",
        "tests/kernels/generated/test_sanitized.py::test_nothing_found[gfx950-masks-0]",
        "tests/kernels/generated/test_grid.py::test_grid[gfx950-grid-0]",
        "tests/test_wheel.py::test_a",
    ]
    assert [tests.index(test) for test in sorted(tests, key=workers.turn)] == [3, 0, 2, 1]


FILES = {*workers.APART, workers.OPERATORS, *sum(workers.TOGETHER.values(), ())}


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_is_listed_is_there(name: str) -> None:
    assert (ROOT / name).exists()


def test_a_test_that_ends_its_worker_fails_alone(tmp_path: Path) -> None:
    """Alone or in a group with others, it fails, all other tests run, and the run ends."""
    conftest = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import workers
workers.APART = ("tests/test_apart.py",)

def pytest_xdist_make_scheduler(config, log):
    return workers.scheduler(config, log)
"""
    tests = """
import os, pytest

@pytest.mark.parametrize("i", range(6))
def test_it(i):
    if i == 3:
        os._exit(1)
"""
    (tmp_path / "tests").mkdir()
    for name, text in {"conftest": conftest, "test_apart": tests, "test_group": tests}.items():
        (tmp_path / "tests" / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "-n1", "-rf", "--rootdir", "."]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    for name in ("apart", "group"):
        assert f"crashed while running 'tests/test_{name}.py::test_it[3]'" in run.stdout
    assert "2 failed, 10 passed" in run.stdout, run.stdout
