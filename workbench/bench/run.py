"""`bench`: verifies and times our and others' implementations of operators, and stores the results."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.bench.cases import cases, cost, named, product_name, published_of
from workbench.bench.engine import Engine, Outcome, Task
from workbench.bench.results import OURS, Result, Store, key_of
from workbench.bench.rivals import chosen_rivals, run_rival
from workbench.bench.run_case import run_case
from workbench.bench.setting import source_digest
from workbench.display import Plotted
from workbench.errors import UsageError
from workbench.events import hub
from workbench.operators import Published, Shape, kernels
from workbench.progress import bar
from workbench.runtime import Device
from workbench.runtime.registry import device as device_named

LARGEST = 3e12
"""Operations of the largest problem that an emulated device runs by default."""


class BenchResult(Plotted, Sequence[Result]):
    """Results of a benchmark.

    Attributes:
        path: the file that holds it; None for memory.
        figure: time over problems, or TFLOP/s or TB/s, of all implementations, with published figures.
    """

    def __init__(self, results: Iterable[Result], path: Path | None = None) -> None:
        self._results = tuple(results)
        self.path = path

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        return self._results[index]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def operators(self) -> list[str]:
        """Names of the operators, without variants and settings, in order."""
        return list(dict.fromkeys(base(record.operator) for record in self))

    def of(self, operator: str) -> BenchResult:
        """The results of one operator."""
        return BenchResult(record for record in self if base(record.operator) == operator)

    @property
    def published(self) -> dict[str, list[Published]]:
        """Published figures, by operator."""
        return {name: published_of(kernels[name]) for name in self.operators if name in kernels}

    @property
    def title(self) -> str:
        """Origin and product of the times, such as "modelled on MI355X"."""
        kinds = {(record.origin, record.product) for record in self if not record.failure}
        return "; ".join(f"{origin} on {product}" for origin, product in sorted(kinds)) or "no times"

    def __repr__(self) -> str:
        lines = [f"{len(self)} results, {self.title}"]
        for record in self:
            time = f"{record.us:10.4g} us" if not record.failure else record.failure
            lines.append(f"  {record.operator:36} {record.implementation:24} {time}")
        return "\n".join(lines)


def base(operator: str) -> str:
    """An operator's name without its variant and settings."""
    return operator.partition(":")[0].partition("[")[0]


def bench(
    operators: Iterable[str] | str | None = None,
    *,
    shapes: str | Sequence[Shape] = "published",
    device: str | None = None,
    against: Sequence[str] = (),
    out: str | Path | None = None,
    cluster: Any = None,
    largest: float = LARGEST,
    figures: bool = False,
    again: bool = False,
    seconds: float = 1800.0,
    log: Callable[[str], None] | None = None,
) -> BenchResult:
    """Times operators on problems for which others published figures, and verifies each before timing it.

    On a GPU it measures as `wb.time` does; on an emulated device it models, and states the expected error.
    It writes each result at once; if you stop it, the next run continues.

    Args:
        operators: names, optionally with a variant, or categories such as "gemm"; None for all.
        shapes: "published"; "own" for all shapes of the specs; or a list of shapes.
        device: device, such as "MI355X", "gfx942" or "gpu:0"; None for the default device.
        against: other implementations: "triton" (Liger-Kernel's, flash-linear-attention's and ours, if Triton
            is installed); "flydsl" (in processes of `exec`, with its checkout on Python's path); on a GPU
            also "pytorch" and "pytorch-compiled".
        out: folder for `results.sqlite`; None keeps results in memory.
        cluster: cluster to run on, as in `wb.sweep`; cases that measure on a GPU take the resource "GPU".
        largest: operations of the largest problem to run on an emulated device.
        figures: also run the points of HipKittens' figures that need a variant or settings.
        again: also time cases that `out` already has from the same sources.
        seconds: time limit of one case.
        log: called with a line for each result; without it, a bar shows progress.

    Raises:
        UnknownKernel, UsageError, DeviceError, ShapeError
    """
    where = device_named(device)
    names = [operators] if isinstance(operators, str) else operators
    todo = cases(names, shapes, where, figures)
    rivals = chosen_rivals(against, where)
    if not todo:
        raise UsageError(f"bench: no problems for {where.name} in {', '.join(named(names))}")
    store = Store(None if out is None else Path(out) / "results.sqlite")
    stored = {record.key: record for record in store}
    tasks: dict[str, tuple[Callable[..., Result], tuple[Any, ...]]] = {}
    for case in todo:
        tasks[key_of(case.name, case.shape, OURS, where.name)] = (run_case, (case, where.name))
        for rival in rivals:
            if not case.settings and rival.takes(case):
                key = key_of(case.name, case.shape, rival.name, where.name)
                tasks[key] = (run_rival, (rival.name, case, where.name))
    left = {key: task for key, task in tasks.items() if again or not _is_known(stored.get(key), where)}
    work = {key: cost(task[1][-2].spec, task[1][-2].shape) for key, task in left.items()}
    too_large: dict[str, Result] = {}
    if where.observes:
        for key in [key for key, size in work.items() if size > _limit(tasks[key], largest)]:
            size, (function, arguments) = work.pop(key), left.pop(key)
            why = Outcome(key, failure=f"not run: {size:.3g} operations, more than --largest allows")
            # Reported, but not stored: it would replace an earlier run's result.
            too_large[key] = failed((function, arguments), why, where)
    engine = Engine(
        cluster,
        seconds=seconds,
        resources={} if where.observes or cluster is None else {"GPU": 1},
        before=None if where.observes or cluster is None else compile_case,
    )
    progress = Progress(work, log)
    for outcome in engine.run(_run, [Task(key, task) for key, task in left.items()]):
        result = outcome.value if outcome.value is not None else failed(tasks[outcome.key], outcome, where)
        store.add(result)
        progress.add(outcome.key, result)
    progress.close()
    results = {record.key: record for record in store} | too_large
    store.close()
    result = BenchResult([results[key] for key in tasks if key in results], store.path)
    hub.publish("bench", ", ".join(result.operators[:3]), {"results": len(result)})
    return result


def _run(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    return function(*arguments)


def compile_case(function: Callable[..., Result], arguments: tuple[Any, ...]) -> None:
    """Compiles what a case will run, where no GPU is needed; its code is then in the cache."""
    case, device = arguments[-2], device_named(arguments[-1])
    if function is run_case:
        case.spec.steps_of(case.shape, arch=device.arch)


def failed(task: tuple[Callable[..., Result], tuple[Any, ...]], outcome: Outcome, device: Device) -> Result:
    """The result of a case whose worker was lost, that took too long, or that is too large."""
    arguments = task[1]
    case, name = arguments[-2], arguments[0] if task[0] is run_rival else OURS
    return Result(
        case.name,
        dict(case.shape),
        name,
        device.name,
        product_name(device),
        failure=outcome.failure,
        source=source_digest(case.operator, device),
        seconds=outcome.seconds,
    )


def _limit(task: tuple[Callable[..., Result], tuple[Any, ...]], largest: float) -> float:
    """Operations of the largest problem for a task: others' launches run completely, ours only in part."""
    return largest / 10 if task[0] is run_rival else largest


def _is_known(result: Result | None, device: Device) -> bool:
    """True if a result is still valid, its sources being unchanged; a case that was too large may run now."""
    if result is None or result.failure.startswith("not run"):
        return False
    return result.source == source_digest(base(result.operator), device)


class Progress:
    """Progress of a benchmark, with an estimate of the remaining time.

    The remaining cases are weighted by the fourth root of their operations: compiling and verifying take the
    same time at any size, and only part of a large launch is emulated. Over 192 problems, in any order, the
    estimate was between half and twice the actual time.

    Args:
        work: operations of each case, by key.
        log: called with one line for each result; None to show a bar.
    """

    def __init__(self, work: dict[str, float], log: Callable[[str], None] | None) -> None:
        self._left: dict[str, float] = {key: max(size, 1.0) ** 0.25 for key, size in work.items()}
        self._log = log
        self._total = len(work)
        self._began = time.monotonic()
        self._done_work = 0.0
        self._bar: Any = None
        self._stack = contextlib.ExitStack()
        if log is None and work:
            self._bar = self._stack.enter_context(bar("bench", len(work)))

    @property
    def done(self) -> int:
        """Cases that are done."""
        return self._total - len(self._left)

    def seconds_left(self) -> float:
        """Estimated seconds for the remaining cases; 0 before the first is done."""
        spent = time.monotonic() - self._began
        if not self.done or not self._left:
            return 0.0
        return float(spent / self._done_work * sum(self._left.values()))

    def add(self, key: str, result: Result) -> None:
        """Counts one result."""
        self._done_work += self._left.pop(key, 0.0)
        left = self.seconds_left()
        if self._bar is not None:
            self._bar(f"bench, {duration(left)} left: {result.operator}")
        elif self._log is not None:
            outcome = f"{result.us:.4g} us {result.origin}" if not result.failure else result.failure
            self._log(
                f"[{self.done}/{self._total}, {duration(left)} left] {result.problem}: "
                f"{result.implementation}: {outcome}"
            )

    def close(self) -> None:
        """Removes the bar."""
        self._stack.close()


def duration(seconds: float) -> str:
    """A duration as text, such as "3 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
