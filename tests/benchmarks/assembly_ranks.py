"""Does the model choose as AITER's tuner did, among its bf16 GEMMs in assembly? Nothing here is measured.

    python tests/benchmarks/assembly_ranks.py CHECKOUT [--launches FOLDER] [--most 18] [--part 0/1]

CHECKOUT is one of ROCm/aiter at the commit of `published_assembly.jsonl`, with each problem's winner.
Its rivals are the other tiles, each with five numbers of parts of K around the winner's, and the kernels that
do not split K. The tuner published no times of theirs, so only the winner's place is known.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from aiter_assembly import MOST_SPLITS, assembly_target, kernels_that_fit
from counted_launches import Launches
from error_document import ASSEMBLY
from published_times import Problem, published

from workbench.errors import WorkbenchError


def rivals(winner: Problem, checkout: Path) -> Iterator[Problem]:
    """The problem by every kernel and number of parts that the tuner could choose, the winner among them."""
    split = int(winner.parameters["split"])
    first = max(1, min(split - 2, MOST_SPLITS - 4))
    for name, splits_k in kernels_that_fit(checkout):
        for parts in range(first, first + 5) if splits_k else (1,):
            shape = " ".join(
                f"{key}={parts if key == 'split' else value}" for key, value in winner.parameters.items()
            )
            yield replace(winner, kernel=f"{ASSEMBLY}{name}", shape=shape)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--launches", type=Path, default=Path("build/launches"), help="counted launches")
    parser.add_argument("--most", type=int, default=18, help="problems, from the smallest on")
    parser.add_argument("--part", default="0/1", help="0/2: every second problem, from the first on")
    options = parser.parse_args()
    launches = Launches(options.launches)
    part, parts = map(int, options.part.split("/"))

    def work(problem: Problem) -> int:
        return int(problem.parameters["m"]) * int(problem.parameters["n"]) * int(problem.parameters["k"])

    problems = sorted({row.problem for row in published("published_assembly")}, key=work)[: options.most]
    places = []
    for winner in problems[part::parts]:
        times = {}
        for problem in rivals(winner, options.checkout):
            try:
                counted = launches.counted(problem, partial(assembly_target, problem, options.checkout))
            except WorkbenchError as error:
                print(f"{problem} was left out: {error}", flush=True)
                continue
            times[problem] = sum(
                each.model(problem.gpu, warm=False, in_turn=True).seconds for each in counted
            )
        best = min(times, key=lambda problem: times[problem])
        places.append(1 + sum(time < times[winner] for time in times.values()))
        longer = times[winner] / times[best]
        print(f"{winner}: place {places[-1]} of {len(times)}, {longer:.3f} of the best, {best}", flush=True)
    print(f"first in {places.count(1)} of {len(places)}, second in {places.count(2)}")


if __name__ == "__main__":
    main()
