"""Our GEMMs beside the best times that AITER's tuner published. Modelled against measured by others.

    python tests/benchmarks/tuned.py --published 40 [--seed 1] [--out build/tuned] [--largest 2e11]
    python tests/benchmarks/tuned.py --published all

A row is a problem of `tests/data/published_times.jsonl` with the least time of all implementations that the
tuner took kernel times of. Like is compared with like:

- Both are kernel times (docs/model_error.md), without a launch's overhead outside of its kernels. Ours
  has all steps.
- The tuner takes up to 101 copies of its operands in turn, and writes nothing between (aiter/test_common.py
  of its repository). So ours are modelled with caches without dirty lines; and where 101 copies fit the
  Infinity Cache, as a launch that finds its operands there. A step also finds the results of the step before
  in the cache.
- AITER's preshuffled implementations rearrange B before the clock starts; ours takes B in its plain layout.

Times are stored by problem with a digest of kernels and model, so that a run continues where the last one
ended.
"""

from __future__ import annotations

import hashlib
import json
import random
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from model_error import digest
from published_times import Problem, Row, published

import workbench as wb
from workbench.operators.launch_target import Target, resolve
from workbench.profile.counting import counted
from workbench.profile.machine import machine
from workbench.profile.model import TimeModel
from workbench.profile.timing import modelled

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
COPIES = 101
"""Copies of its operands that the tuner uses in turn."""
CLASSES = ((64, "M up to 64"), (512, "M to 512"), (2048, "M to 2048"), (1 << 30, "M above 2048"))


@dataclass(frozen=True)
class Beside:
    """A problem, the best published time of it and ours, in microseconds.

    Attributes:
        chosen: the implementation that the operator chose.
        bound: what its longest step is bound by.
    """

    row: Row
    us: float
    chosen: str
    bound: str

    @property
    def ratio(self) -> float:
        """Ours over the best published."""
        return self.us / self.row.us

    @property
    def rows_of_a(self) -> str:
        """The class of M."""
        m = int(self.row.problem.parameters["m"])
        return next(name for most, name in CLASSES if m <= most)


def best_rows() -> list[Row]:
    """The best of AITER's tuned GEMMs for each problem, by name."""
    best: dict[Problem, Row] = {}
    for row in published():
        tuned = row.group == "gemm" and row.implementation.startswith("AITER") and row.quantity == "kernel"
        if tuned and (row.problem not in best or row.us < best[row.problem].us):
            best[row.problem] = row
    return sorted(best.values(), key=lambda row: str(row.problem))


def flops(problem: Problem) -> float:
    """Operations of a problem."""
    sizes = problem.parameters
    return 2.0 * int(sizes["m"]) * int(sizes["n"]) * int(sizes["k"])


def sample(rows: list[Row], count: int | None, seed: int) -> list[Row]:
    """Some of the rows, drawn by a seed; all where `count` is None: a run that is stopped is a sample."""
    return random.Random(seed).sample(rows, len(rows) if count is None else min(count, len(rows)))


def all_copies(problem: Problem) -> float:
    """Bytes of the tuner's copies of a problem's operands and results."""
    spec = wb.kernels[problem.kernel]
    bytes_of = spec.bytes
    assert bytes_of is not None, f"{spec.name} does not state its bytes"
    return COPIES * bytes_of(spec.shape(problem.parameters, arch=wb.device(f"emulated:{problem.gpu}").arch))


def as_the_tuner(target: Target, problem: Problem) -> list[TimeModel]:
    """The model's times of a target's steps, with what the tuner's loop leaves in the caches."""
    first, *later = target.launches()
    in_cache = all_copies(problem) <= machine(problem.gpu).infinity_cache_bytes
    models = []
    for step, warm in ((first, in_cache), *((step, True) for step in later)):
        models.append(modelled(step, counted(step, warm=warm), warm=warm, in_turn=True))
    return models


def kernels_digest() -> str:
    """Digest of the inputs to a modelled time: the model and the sources of the GEMMs."""
    sha = hashlib.sha256(digest().encode())
    for pattern in ("families/gemm*", "gemm/*.py", "include/**/*.cuh"):
        for file in sorted(KERNELS.glob(pattern)):
            sha.update(file.read_bytes())
    return sha.hexdigest()[:12]


def beside(rows: Iterable[Row], store: Path) -> list[Beside]:
    """Models each problem that is not in the store, and prints it."""
    store.parent.mkdir(parents=True, exist_ok=True)
    now = kernels_digest()
    lines = store.read_text(encoding="utf-8").splitlines() if store.exists() else []
    stored = {each["problem"]: each for each in map(json.loads, lines) if each["digest"] == now}
    comparisons = []
    for row in rows:
        problem = row.problem
        record = stored.get(str(problem))
        if record is None:
            device = wb.device(f"emulated:{problem.gpu}")
            spec = wb.kernels[problem.kernel]
            steps = as_the_tuner(resolve(problem.kernel, shape=problem.parameters, device=device), problem)
            record = {
                "problem": str(problem),
                "digest": now,
                "us": sum(step.time.value for step in steps),
                "chosen": spec.variant_name(problem.parameters, arch=device.arch) or "",
                "bound": max(steps, key=lambda step: step.time.value).bound_text,
            }
            with store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        comparisons.append(Beside(row, record["us"], record["chosen"], record["bound"]))
        print(line_of(comparisons[-1]), flush=True)
    return comparisons


def kept(store: Path) -> list[Beside]:
    """Rows of a store by the current kernels and model."""
    if not store.exists():
        return []
    lines = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]
    rows = {str(row.problem): row for row in best_rows()}
    last = {record["problem"]: record for record in lines if record["digest"] == lines[-1]["digest"]}
    return [
        Beside(rows[name], record["us"], record["chosen"], record["bound"]) for name, record in last.items()
    ]


def section(comparisons: list[Beside]) -> str:
    """The part of docs/tuning.md: medians, and the largest ratios with their bounds."""
    rows = sorted(comparisons, key=lambda row: -row.ratio)[:10]
    worst = "\n".join(
        f"| {row.ratio:.2f} | `{row.row.problem.kernel}` | {row.row.problem.shape} | {row.us:.2f} | "
        f"{row.row.us:.2f}, {row.row.implementation} | {row.chosen} | {row.bound} |"
        for row in rows
    )
    return (
        "## Beside the best published\n\n"
        f"{len(comparisons)} of {len(best_rows()):,} problems of AITER's tuner, by\n"
        "`python tests/benchmarks/tuned.py --published all`, which takes those of at most 2e11 operations\n"
        "in an order drawn by a seed, and can be stopped; ours modelled, theirs measured\n"
        "([gemm.md](gemm.md)).\n\n"
        f"```\n{summary(comparisons)}\n```\n\n"
        "The largest, with what bounds ours:\n\n"
        "| ours over theirs | operator | problem | ours, us | best published, us | chosen | bound |\n"
        f"|{' --- |' * 7}\n{worst}\n"
    )


def line_of(ours: Beside) -> str:
    """A row as text."""
    best, p = ours.row, ours.row.problem
    return (
        f"{ours.ratio:5.2f}  {p.kernel.removeprefix('gemm/'):9} {p.gpu} {p.shape:40} ours {ours.us:8.2f} "
        f"best {best.us:8.2f}  {ours.chosen}; {ours.bound}; {best.implementation}"
    )


def summary(comparisons: list[Beside]) -> str:
    """Medians and largest ratios by dtype and class of M, and of all."""
    groups: dict[tuple[str, str], list[float]] = {}
    for comparison in comparisons:
        kernel = comparison.row.problem.kernel
        for key in (
            (kernel, comparison.rows_of_a),
            (kernel, "all"),
            ("all", comparison.rows_of_a),
            ("all", "all"),
        ):
            groups.setdefault(key, []).append(comparison.ratio)
    lines = ["operator        class         rows  median  largest  above 1.6"]
    order: Mapping[str, int] = {name: i for i, (_, name) in enumerate((*CLASSES, (0, "all")))}
    for (kernel, name), ratios in sorted(
        groups.items(), key=lambda item: (item[0][0] == "all", item[0][0], order[item[0][1]])
    ):
        lines.append(
            f"{kernel:15} {name:13} {len(ratios):4}  {statistics.median(ratios):6.2f}  {max(ratios):7.2f}  "
            f"{sum(ratio > 1.6 for ratio in ratios):5}"
        )
    return "\n".join(lines)


def report(count: int | None, seed: int, largest: float, store: Path) -> None:
    """Prints the rows of a sample, and medians."""
    rows = best_rows()
    small = [row for row in rows if flops(row.problem) <= largest]
    print(
        f"{len(rows)} problems, {len(small)} of them of at most {largest:.3g} operations"
        + ("" if count is None else f"; {count} of those by seed {seed}")
    )
    print(summary(beside(sample(small, count, seed), store)))
