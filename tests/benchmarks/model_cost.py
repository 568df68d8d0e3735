"""What a modelled time costs on this computer: wall and processor seconds of `wb.time`, by problem.

    python tests/benchmarks/model_cost.py [--only gemm-8192 ...] [--parts]

Each problem is timed once before in a small shape, so that compiling and translating are not in the figure;
its inputs are. Goals are of wall seconds on two cores that do nothing else: on a busy computer half of the
processor's seconds is the least that the wall could be. `--parts` says which functions they go to.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from dataclasses import dataclass

import workbench as wb

DEVICE = "emulated:MI355X"


@dataclass(frozen=True)
class Case:
    """A problem and its goal.

    Attributes:
        kernel, shape: what is timed.
        small: the shape that is timed before.
        goal: wall seconds on two quiet cores.
    """

    kernel: str
    shape: dict[str, int]
    small: dict[str, int]
    goal: float


def cube(side: int) -> dict[str, int]:
    """A square problem."""
    return {"m": side, "n": side, "k": side}


CASES = {
    "rmsnorm-16384": Case(
        "normalization/rmsnorm", {"rows": 16384, "cols": 1024}, {"rows": 256, "cols": 1024}, 1
    ),
    "gemm-8192": Case("gemm/bf16", cube(8192), cube(1024), 10),
    "gemm-16384": Case("gemm/bf16", cube(16384), cube(1024), 20),
}


def run(case: Case, profiler: cProfile.Profile | None) -> tuple[float, float, float]:
    """Wall and processor seconds of a case, and its modelled microseconds."""
    wb.time(case.kernel, shape=case.small, device=DEVICE)
    if profiler is not None:
        profiler.enable()
    wall, processor = time.perf_counter(), time.process_time()
    found = wb.time(case.kernel, shape=case.shape, device=DEVICE)
    spent = time.perf_counter() - wall, time.process_time() - processor
    if profiler is not None:
        profiler.disable()
    return *spent, found.median.value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES)
    parser.add_argument("--parts", action="store_true", help="the functions that take longest")
    options = parser.parse_args()
    print(f"{'case':14} {'goal s':>7} {'wall s':>7} {'processor s':>12} {'modelled us':>12}")
    for name, case in CASES.items():
        if options.only and name not in options.only:
            continue
        profiler = cProfile.Profile() if options.parts else None
        wall, processor, us = run(case, profiler)
        print(f"{name:14} {case.goal:7g} {wall:7.2f} {processor:12.2f} {us:12.1f}", flush=True)
        if profiler is not None:
            pstats.Stats(profiler).sort_stats("tottime").print_stats(14)


if __name__ == "__main__":
    main()
