"""Tests are shared among workers by groups that keep together what belongs together."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "kernels" / "generated"))

import workers
from tile_batches import Batch, Kernel, case_id

ROOT = Path(__file__).parents[1]


def test_a_batch_of_generated_cases_is_a_group() -> None:
    groups = set()
    for index in (1, 11):
        batch = Batch("some family", "gfx950", index)
        for name in ("first", "second"):
            kernel = Kernel(name, "gfx950")
            batch.add(kernel)
            kernel.case(f"load-2-{name}", "out", lambda given: given["x"])
            test = f"tests/kernels/generated/test_grid.py::test_grid[{case_id(kernel.cases[0])}]"
            groups.add(workers.group(test))
    assert groups == {f"tests/kernels/generated/test_grid.py[gfx950-{index}]" for index in (1, 11)}


def test_what_is_built_in_the_checkout_is_one_group() -> None:
    tests = [
        "tests/browser/test_lab.py::TestJourney::test_run",
        "tests/lab/test_front_end.py::test_front_end[jest]",
        "tests/test_wheel.py::test_wheel_runs_a_kernel_in_a_new_environment",
    ]
    assert len({workers.group(test) for test in tests}) == 1
    assert workers.group("tests/lab/test_index.py::test_a") == "tests/lab/test_index.py"


def test_long_groups_come_first_and_small_batches_last() -> None:
    tests = [
        "tests/codeobject/test_elf.py::test_a",
        "tests/emulator/native/ops/test_matrix.py::test_a",
        "tests/kernels/generated/test_sanitized.py::test_nothing_found[gfx950-masks-0]",
        "tests/kernels/generated/test_grid.py::test_grid[gfx950-0-load]",
        "tests/test_wheel.py::test_a",
    ]
    assert [tests.index(test) for test in sorted(tests, key=workers.turn)] == [4, 1, 0, 3, 2]


FILES = {*workers.APART, *workers.SECONDS, *sum(workers.TOGETHER.values(), ())} - workers.TOGETHER.keys()


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_is_listed_is_there(name: str) -> None:
    assert (ROOT / name).exists()
