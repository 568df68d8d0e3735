"""Our GEMMs beside the best published: caches hold what the tuner's loop leaves in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench.operators.launch_target import resolve
from workbench.profile.machine import machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from best_published import COPIES, all_copies, as_the_tuner
from published_times import Problem


def gemm(m: int, n: int, k: int) -> Problem:
    return Problem("gemm/bf16", f"m={m} n={n} k={k}", "MI355X")


def test_the_copies_of_a_problem() -> None:
    assert all_copies(gemm(16, 256, 512)) == COPIES * 2 * (16 * 512 + 256 * 512 + 16 * 256)


@pytest.mark.parametrize("n", [256, 4096])
def test_a_time_does_not_depend_on_earlier_launches(n: int) -> None:
    """Before its first launch a kernel has no arguments; the time is the same, and longer without caches."""
    problem = gemm(16, n, 512)
    fits = all_copies(problem) <= machine("MI355X").infinity_cache_bytes
    assert fits == (n == 256)
    device = wb.device("emulated:MI355X")
    first, again = (
        sum(
            step.time.value
            for step in as_the_tuner(
                resolve(problem.kernel, shape=problem.parameters, device=device), problem
            )
        )
        for _ in range(2)
    )
    assert first == again
