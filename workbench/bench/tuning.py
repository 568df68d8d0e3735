"""`tune`: which implementation of an operator, with which settings, is fastest for some problems."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbench.bench.cases import Case
from workbench.bench.engine import Engine, Outcome, Task
from workbench.bench.results import Result, Store
from workbench.bench.run import base
from workbench.bench.run_case import run_case
from workbench.bench.setting import source_digest
from workbench.display import Plotted
from workbench.errors import UsageError, WorkbenchError
from workbench.events import hub
from workbench.operators import KernelSpec, Shape, Tuned, shape_text, spec_of
from workbench.operators.settings import why_not
from workbench.operators.tunables import settings_text
from workbench.operators.variants import read_tuning
from workbench.progress import bar
from workbench.runtime import Device
from workbench.runtime.registry import device as device_named

TOGETHER = 8
"""Candidates that a search asks for at a time."""


@dataclass(frozen=True)
class Candidate:
    """One way to compute a problem.

    Attributes:
        variant: variant of the operator; "" if it has none.
        settings: settings of the variant's tunables that differ from the defaults.
    """

    variant: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Variant and settings, such as "ping_pong, window=8"."""
        return ", ".join(filter(None, (self.variant, settings_text(self.settings)))) or "as it is"


@dataclass(frozen=True)
class Trial:
    """The result of a candidate on one problem.

    Attributes:
        shape: shape of the problem.
        candidate: the candidate.
        result: its time, or why there is none.
    """

    shape: Shape
    candidate: Candidate
    result: Result


class TuneResult(Plotted):
    """The result of a search.

    Attributes:
        operator, device: names of the tuned operator and of the device.
        trials: timed or failed candidates, in the order of their results.
        pruned: by problem as text, candidates that cannot fit and were never compiled, each with the reason.
        rows: the choice for each problem, as a row of the tuning table.
        figure: candidates as lines over their settings, the best and the untuned one marked.
    """

    def __init__(
        self,
        operator: str,
        device: Device,
        trials: Sequence[Trial],
        pruned: Mapping[str, Mapping[str, str]],
        default: Mapping[str, Candidate],
        at_least: float,
    ) -> None:
        self.operator, self.device = operator, device
        self.trials, self.pruned = tuple(trials), pruned
        self._default, self._at_least = default, at_least

    @property
    def shapes(self) -> list[Shape]:
        """The problems, in order."""
        return list({shape_text(trial.shape): trial.shape for trial in self.trials}.values())

    def of(self, shape: Shape) -> list[Trial]:
        """The candidates of a problem that have a time, the fastest first."""
        timed = (t for t in self.trials if t.shape == shape and not t.result.failure)
        return sorted(timed, key=lambda trial: trial.result.us)

    def untuned(self, shape: Shape) -> Trial | None:
        """The trial of a problem's untuned choice; None if it failed."""
        default = self._default[shape_text(shape)]
        return next((trial for trial in self.of(shape) if trial.candidate == default), None)

    def best(self, shape: Shape) -> Trial | None:
        """The fastest candidate if it gains enough over the untuned one; otherwise the untuned one."""
        timed, before = self.of(shape), self.untuned(shape)
        if not timed:
            return None
        worth = before is None or timed[0].result.us < before.result.us * (1 - self._at_least)
        return timed[0] if worth else before

    @property
    def rows(self) -> list[Tuned]:
        """The rows of the table, in the order in which they are searched."""
        tuned = []
        for shape in self.shapes:
            best, before = self.best(shape), self.untuned(shape)
            if best is not None:
                setting = best.result.setting
                source = f"{self.device.name}, {setting.get('compiler', '')}, sources {best.result.source}"
                tuned.append(
                    Tuned(
                        dict(shape),
                        best.candidate.variant,
                        dict(best.candidate.settings),
                        round(best.result.us, 4),
                        round(before.result.us, 4) if before is not None else 0.0,
                        best.result.origin,
                        source,
                    )
                )
        return tuned

    @property
    def table(self) -> dict[str, list[Tuned]]:
        """The tuning table: rows by target."""
        return {self.device.arch: self.rows}

    def save(self, folder: str | Path) -> Path:
        """Writes the table to `<folder>/<category>/<operator>.json`, beside rows of other problems there.

        If `HIPKITTENS_TUNING` names the folder, every process uses the table.

        Returns:
            the file.
        """
        path = Path(folder) / f"{self.operator}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            read_tuning(path)  # A damaged table is reported, not overwritten.
        table: dict[str, list[Any]] = json.loads(path.read_text()) if path.is_file() else {}
        new = [asdict(row) for row in self.rows]
        shapes = [row["shape"] for row in new]
        others = [r for r in table.get(self.device.arch, ()) if Tuned.from_row(r).shape not in shapes]
        table[self.device.arch] = [*new, *others]
        lines = [
            f' "{arch}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
            for arch, rows in table.items()
        ]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return path

    def __repr__(self) -> str:
        failed = sum(1 for trial in self.trials if trial.result.failure)
        cut = sum(map(len, self.pruned.values()))
        lines = [
            f"{self.operator} on {self.device.name}: {len(self.trials)} candidates, {failed} failed, "
            f"{cut} more cannot fit"
        ]
        for shape in self.shapes:
            best, before = self.best(shape), self.untuned(shape)
            if best is None:
                lines.append(f"  {shape_text(shape)}: nothing ran")
                continue
            than = f", untuned {before.result.us:.4g}" if before is not None else ""
            time = f"{best.result.us:.4g} us {best.result.origin}{than}"
            lines.append(f"  {shape_text(shape)}: {best.candidate.name}, {time}")
        return "\n".join(lines)


def candidates(
    spec: KernelSpec, shape: Shape, arch: str
) -> tuple[list[Candidate], dict[str, str], Candidate]:
    """Candidates for a complete shape, the pruned ones with reasons, and the untuned choice."""
    fit: list[Candidate] = []
    pruned: dict[str, str] = {}
    for variant in spec.variants or ("",):
        implementation = spec.variant(variant) if variant else spec
        for settings in implementation.tunables.combinations():
            candidate = Candidate(variant, implementation.tunables.differing(settings))
            reason = why_not(implementation, settings, shape, arch)
            if reason:
                pruned[candidate.name] = reason
            else:
                fit.append(candidate)
    return fit, pruned, Candidate(spec.untuned_variant(shape, arch=arch) or "")


def tune(
    operator: KernelSpec | str,
    shapes: Sequence[Shape] | None = None,
    *,
    budget: int = 64,
    device: str | None = None,
    cluster: Any = None,
    out: str | Path | None = None,
    seconds: float = 600.0,
    seed: int = 0,
    at_least: float = 0.01,
    log: Callable[[str], None] | None = None,
) -> TuneResult:
    """Searches for the fastest implementation and settings of an operator, problem by problem.

    It drops candidates that cannot fit (shared memory, registers, limits of a variant) before it compiles
    anything. If the budget suffices, it tries all that remain; otherwise Optuna selects some. Each is
    verified before it is timed: measured on a GPU, modelled on an emulated device.

    Args:
        operator: an operator of the library, or its name.
        shapes: problems; None for the operator's own.
        budget: maximum number of candidates for each problem.
        device: device, such as "MI355X" or "gpu:0"; None for the default device.
        cluster: where candidates run: None for this process, "local", a number of worker processes, or the
            address of a Dask scheduler.
        out: folder for `tuning.sqlite`, from which a stopped search continues; None keeps results in memory.
        seconds: time limit of a candidate.
        seed: seed of Optuna's sampler.
        at_least: relative gain over the untuned choice that a candidate needs to be chosen.
        log: called with a line for each candidate; without it, a bar shows progress and the best so far.

    Raises:
        UsageError: the operator is not in a library or has nothing to choose from, or the budget is 0.
        ShapeError: the operator does not support a shape.
        WorkbenchError: a search is needed, and Optuna is not installed.
    """
    spec = spec_of(operator, "tune")
    if spec.folder is None or ":" in spec.name or "[" in spec.name:
        raise UsageError(f"tune: {spec.name} is a part of an operator; expected one such as 'gemm/bf16'")
    if budget < 1:
        raise UsageError(f"tune: budget is {budget}; expected the number of candidates, 1 or more")
    where = device_named(device)
    full = [spec.shape(shape, arch=where.arch) for shape in (spec.shapes if shapes is None else shapes)]
    store = Store(None if out is None else Path(out) / "tuning.sqlite")
    engine = Engine(
        cluster,
        seconds=seconds,
        resources={} if where.observes or cluster is None else {"GPU": 1},
        before=None if where.observes or cluster is None else compile_candidate,
    )
    search = _Search(spec, where, store, engine, log)
    try:
        for shape in full:
            search.shape(shape, budget, seed)
    finally:
        store.close()
    result = TuneResult(spec.name, where, search.trials, search.pruned, search.default, at_least)
    hub.publish("tune", spec.name, {"candidates": len(result.trials)})
    return result


def compile_candidate(case: Case, device: str, *_: Any) -> None:
    """Compiles what a candidate will run, where no GPU is needed; its code is then in the cache."""
    case.spec.steps_of(case.shape, arch=device_named(device).arch)


class _Search:
    """Candidates of one operator, problem by problem."""

    def __init__(
        self,
        spec: KernelSpec,
        device: Device,
        store: Store,
        engine: Engine,
        log: Callable[[str], None] | None,
    ) -> None:
        self.spec, self.device, self.store, self.engine, self.log = spec, device, store, engine, log
        self.known = {
            record.key: record for record in store if record.source == source_digest(spec.name, device)
        }
        self.trials: list[Trial] = []
        self.pruned: dict[str, Mapping[str, str]] = {}
        self.default: dict[str, Candidate] = {}

    def shape(self, shape: Shape, budget: int, seed: int) -> None:
        """Times a problem's candidates, as many as the budget allows."""
        fit, self.pruned[shape_text(shape)], default = candidates(self.spec, shape, self.device.arch)
        self.default[shape_text(shape)] = default
        if len(fit) < 2:
            there = fit[0].name if fit else "nothing"
            raise UsageError(
                f"tune: of {self.spec.name} only {there} takes {shape_text(shape)} on {self.device.arch}; "
                "expected an operator with variants or tunables"
            )
        # The untuned choice, which all others are compared with, comes first.
        fit.sort(key=lambda candidate: candidate != default)
        with bar(f"tune {self.spec.name}", min(len(fit), budget), visible=self.log is None) as self._bar:
            if len(fit) <= budget:
                self._run(shape, fit)
            else:
                _search(fit, budget, seed, lambda some: self._run(shape, some))

    def _run(self, shape: Shape, some: Sequence[Candidate]) -> list[Trial]:
        """Times candidates, except those whose time is already known."""
        by_key: dict[str, tuple[Candidate, Case]] = {}
        trials: list[Trial] = []
        for candidate in some:
            name = f"{self.spec.name}:{candidate.variant}" if candidate.variant else self.spec.name
            case = Case(name, shape, candidate.settings)
            result = self.known.get(_key(case, self.device))
            if result is not None:
                trials.append(self._add(Trial(shape, candidate, result)))
            else:
                by_key[_key(case, self.device)] = candidate, case
        tasks = [Task(key, (case, self.device.name)) for key, (_, case) in by_key.items()]
        for outcome in self.engine.run(run_case, tasks):
            candidate, case = by_key[outcome.key]
            result = outcome.value if outcome.value is not None else _failed(case, outcome, self.device)
            self.store.add(result)
            self.known[outcome.key] = result
            trials.append(self._add(Trial(shape, candidate, result)))
        return trials

    def _add(self, trial: Trial) -> Trial:
        self.trials.append(trial)
        times = [t.result.us for t in self.trials if t.shape == trial.shape and not t.result.failure]
        best = f"best {min(times):.4g} us" if times else "none yet"
        self._bar(f"tune {self.spec.name}, {best}")
        if self.log is not None:
            now = trial.result.failure or f"{trial.result.us:.4g} us {trial.result.origin}"
            self.log(f"{shape_text(trial.shape)}: {trial.candidate.name}: {now}; {best}")
        return trial


def _key(case: Case, device: Device) -> str:
    return Result(case.name, dict(case.shape), "HipKittens workbench", device.name, device.product).key


def _failed(case: Case, outcome: Outcome, device: Device) -> Result:
    return Result(
        case.name,
        dict(case.shape),
        "HipKittens workbench",
        device.name,
        device.product,
        failure=outcome.failure,
        source=source_digest(base(case.operator), device),
        seconds=outcome.seconds,
    )


def _search(
    fit: Sequence[Candidate], budget: int, seed: int, run: Callable[[Sequence[Candidate]], list[Trial]]
) -> None:
    """Candidates that Optuna chooses, a few at a time, as many as the budget allows, after the first."""
    try:
        import optuna
    except ImportError as error:
        raise WorkbenchError(
            f"{len(fit)} candidates are more than the budget of {budget}, and Optuna, which would choose, is "
            f"not installed ({error}): pip install 'hipkittens-workbench[cluster]', or allow as many"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(
        seed=seed, constant_liar=True, n_startup_trials=min(10, budget // 2 + 1)
    )
    study = optuna.create_study(sampler=sampler)
    spaces: dict[str, dict[str, list[Any]]] = {}
    for candidate in fit:
        space = spaces.setdefault(candidate.variant, {})
        for name, value in candidate.settings.items():
            if value not in space.setdefault(name, [None]):
                space[name].append(value)
    by_name = {candidate.name: candidate for candidate in fit}
    # The untuned choice first, so that there is a time to compare with.
    untuned = {f"{fit[0].variant} {name}": None for name in spaces[fit[0].variant]}
    study.enqueue_trial({"variant": fit[0].variant, **untuned})
    seen: set[str] = set()
    while len(seen) < min(budget, len(fit)):
        batch: list[tuple[Any, Candidate]] = []
        while len(batch) < TOGETHER and len(seen) < min(budget, len(fit)):
            asked, found_one = _next(study, spaces, by_name, seen)
            candidate = found_one or next(untried for untried in fit if untried.name not in seen)
            seen.add(candidate.name)
            batch.append((asked, candidate))
        trials = {trial.candidate.name: trial for trial in run([candidate for _, candidate in batch])}
        for asked, candidate in batch:
            result = trials[candidate.name].result
            if asked is not None:
                failed = optuna.trial.TrialState.FAIL if result.failure else None
                study.tell(asked, None if failed else result.us, state=failed)


def _next(
    study: Any, spaces: Mapping[str, Any], by_name: Mapping[str, Candidate], seen: set[str]
) -> tuple[Any, Candidate | None]:
    """A new candidate that fits, with Optuna's trial; (None, None) if the sampler finds none."""
    from optuna.trial import TrialState

    for _ in range(20):
        asked = study.ask()
        candidate = _suggested(asked, spaces, by_name)
        if candidate is not None and candidate.name not in seen:
            return asked, candidate
        # Reported as pruned, so that the sampler looks elsewhere.
        study.tell(asked, state=TrialState.FAIL)
    return None, None


def _suggested(
    trial: Any, spaces: Mapping[str, Mapping[str, list[Any]]], by_name: Mapping[str, Candidate]
) -> Candidate | None:
    """The sampler's next candidate; None if it cannot fit."""
    variant = trial.suggest_categorical("variant", list(spaces))
    settings = {
        name: trial.suggest_categorical(f"{variant} {name}", values)
        for name, values in spaces[variant].items()
    }
    proposal = Candidate(variant, {name: value for name, value in settings.items() if value is not None})
    return by_name.get(proposal.name)
