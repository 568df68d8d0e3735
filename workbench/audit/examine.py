"""Audits one kernel source: builds, runs and sanitizes it, and searches for a proof and a repair."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from workbench.audit.build import Workplace
from workbench.audit.certainty import certainty_of
from workbench.audit.limits import Limits
from workbench.audit.patches import (
    MOST,
    MOST_IN_FLIGHT,
    Insertion,
    applied,
    candidates,
    places,
    relaxed,
    remaining,
    unified,
)
from workbench.audit.records import (
    SCHEMA,
    FindingRecord,
    KernelRecord,
    Place,
    ProofRecord,
    RepairRecord,
    Result,
)
from workbench.audit.signature import signatures
from workbench.audit.sources import KernelSource, Kind, makefile_text
from workbench.audit.trial import Trial, run_proof, run_trial
from workbench.errors import WorkbenchError
from workbench.runtime.findings import Cause

_MODULE_REFERENCE = "PyTorch in float64, for the signature of its function"
_OWN_REFERENCE = "its own check"
_SCRIPT_REFERENCE = "the test script beside it"


def examine(source: KernelSource, folder: Path, limits: Limits) -> KernelRecord:
    """Result of one kernel source; whatever goes wrong is in the result.

    Args:
        folder: folder for the copy of its checkout; the next source may use it.
    """
    record = KernelRecord(
        source.name,
        source.target,
        digest(source),
        Result.NOT_RUN,
        "",
        date=datetime.now(UTC).date().isoformat(),
    )
    if reason := _not_run(source):
        return replace(record, text=reason)
    workplace = Workplace(source, folder, limits)
    try:
        return _examined(record, workplace)
    except (WorkbenchError, OSError, ValueError, RuntimeError) as error:
        # The other kernel sources go on.
        return replace(record, result=Result.FAILS, text=f"{type(error).__name__}: {error}"[:500])
    finally:
        workplace.restore()


def _not_run(source: KernelSource) -> str:
    """Why a source cannot be run; "" if it can."""
    if source.kind is Kind.CODE_OBJECT:
        return "a code object alone has neither arguments nor a reference"
    if source.kind is Kind.SCRIPT and importlib.util.find_spec("triton") is None:
        text = source.path.read_text(encoding="utf-8", errors="replace")
        if re.search(r"^\s*(?:import|from) triton\b", text, re.MULTILINE):
            return "Triton is not installed"
    if not source.target:
        return "no emulated device has its target"
    return ""


def _examined(record: KernelRecord, workplace: Workplace) -> KernelRecord:
    source = workplace.source
    sizes = tuple(map(str, workplace.sizes))
    record = replace(record, sizes=sizes)
    built = workplace.build()
    record = replace(record, build_seconds=round(built.seconds, 1))
    if built.product is None:
        return replace(record, result=Result.NOT_BUILT, text=built.reason)
    if source.kind is Kind.MODULE and workplace.script is None and not signatures(workplace.text):
        return replace(record, text="it is built; its module binds no function with known arguments")
    trial = run_trial(workplace, built.product, sanitize=True)
    record = replace(record, launches=trial.launches, run_seconds=round(trial.seconds, 1), text=trial.text)
    if not trial.launches and not trial.has_failed:
        return record
    result = _result(trial, bool(sizes))
    reference = _MODULE_REFERENCE if source.kind is Kind.MODULE else _OWN_REFERENCE
    if workplace.script is not None:
        reference = f"{_SCRIPT_REFERENCE}, {workplace.script.name}"
    record = replace(record, result=result, reference=reference if trial.verdict is not None else "")
    proof, repair = None, None
    if remaining(trial):
        if not trial.has_failed:
            proof = _proof(workplace, built.product)
        repair = _repair(workplace, built.product, trial)
    if result is Result.UNCONFIRMED:
        # The findings may follow from the size, unless a repair of them is enough.
        if repair is None:
            return record
        record = replace(record, result=Result.WRONG)
    is_proven = bool(proof and proof.setting) or (repair is not None and trial.verdict is False)
    findings = tuple(_finding(workplace, trial, cause, is_proven) for cause in trial.causes)
    return replace(record, findings=findings, proof=proof, repair=repair)


def _result(trial: Trial, is_smaller: bool) -> Result:
    if trial.has_failed:
        return Result.FAILS
    if trial.verdict is None:
        return Result.UNCHECKED
    if trial.verdict:
        return Result.RIGHT
    # A source may not be made for the sizes that the audit runs it with.
    return Result.UNCONFIRMED if is_smaller else Result.WRONG


def _proof(workplace: Workplace, product: Path) -> ProofRecord | None:
    """The search for an order of waves and loads that hardware allows and that changes the results."""
    is_called = workplace.source.kind is Kind.MODULE and workplace.script is None
    compared = "elements" if is_called else "printed bytes"
    search = run_proof(workplace, product)
    return ProofRecord(search.setting, search.differences, search.tried, compared) if search else None


@dataclass(frozen=True)
class _Repaired:
    """A source with insertions that was built and run.

    Attributes:
        insertions: in the order in which they were found.
        trial: its sanitized run.
        product: a copy of what was built.
    """

    insertions: tuple[Insertion, ...]
    trial: Trial
    product: Path


def _repair(workplace: Workplace, product: Path, broken: Trial) -> RepairRecord | None:
    """A certified repair of all races and missing waits together; None if none was certified."""
    file = str(workplace.path)
    # Before another build replaces the product.
    before = run_trial(workplace, product, timed=True).modelled
    best = _Repaired((), broken, product)
    builds = 0
    try:
        while causes := remaining(best.trial):
            better = None
            for insertion in candidates(causes[0], workplace.text, file, best.insertions):
                if builds == MOST or insertion in best.insertions:
                    break
                builds += 1
                repaired = _repaired(workplace, (*best.insertions, insertion))
                if repaired is not None and _is_gone(causes[0], best.insertions, repaired):
                    better = repaired
                    break
            if better is None:
                return None
            best = better
        if best.trial.verdict is not True:
            return None
        best = _relaxed(workplace, best)
        after = run_trial(workplace, best.product, timed=True).modelled
        cost = _cost(before, after, {broken.kernel_of(c.first) for c in remaining(broken)})
        about = ", and ".join(map(str, sorted(best.insertions, key=lambda each: each.line)))
        patch = unified(workplace.source.name, workplace.original, best.insertions)
        return RepairRecord(patch, about, cost)
    finally:
        workplace.path.write_text(workplace.text, encoding="utf-8")


def _repaired(workplace: Workplace, insertions: tuple[Insertion, ...]) -> _Repaired | None:
    """Builds and runs the source with insertions; None if it does not build or run."""
    built = workplace.build(applied(workplace.text, insertions))
    if built.product is None:
        return None
    # The next build writes the same file. A module has to keep its name.
    product = Path(shutil.copy2(built.product, tempfile.mkdtemp(dir=workplace.root.parent)))
    trial = run_trial(workplace, product, sanitize=True)
    return None if trial.has_failed else _Repaired(insertions, trial, product)


def _relaxed(workplace: Workplace, best: _Repaired) -> _Repaired:
    """The repair with each wait for all loads relaxed to the largest count that is still certified."""
    for place, insertion in enumerate(best.insertions):
        low, high = 0, MOST_IN_FLIGHT
        while insertion.waits_for_memory and high - low > 1:
            # Most waits have to be for all loads, which one build shows.
            count = min(max(2 * low, 1), (low + high) // 2) if high == MOST_IN_FLIGHT else (low + high) // 2
            changed = list(best.insertions)
            changed[place] = relaxed(insertion, count)
            other = _repaired(workplace, tuple(changed))
            if other is not None and other.trial.verdict is True and not remaining(other.trial):
                best, low = other, count
            else:
                high = count
    return best


def _is_gone(cause: Cause, before: Sequence[Insertion], repaired: _Repaired) -> bool:
    """Whether a run has no cause any more of this kind between the same lines of the source."""
    lines = places(cause, before)
    return not any(
        other.first.category == cause.first.category and places(other, repaired.insertions) == lines
        for other in remaining(repaired.trial)
    )


def _cost(before: Mapping[str, float], after: Mapping[str, float], kernels: Iterable[str]) -> float | None:
    """Modelled time of the repaired kernels over the original's, less 1."""
    names = [kernel for kernel in kernels if kernel]
    times = [
        sum(seconds for name, seconds in modelled.items() if any(map(name.startswith, names)))
        for modelled in (before, after)
    ]
    return round(times[1] / times[0] - 1, 4) if all(times) else None


def _finding(workplace: Workplace, trial: Trial, cause: Cause, is_proven: bool) -> FindingRecord:
    first = cause.first

    def place(file: str, line: int) -> Place | None:
        return Place(file.removeprefix(f"{workplace.root}/"), line) if line else None

    return FindingRecord(
        category=first.category,
        kernel=trial.kernel_of(first),
        message=first.message.replace(f"{workplace.root}/", ""),
        certainty=certainty_of(first.category, is_proven),
        place=place(first.file, first.line),
        related=place(*first.related) if first.related else None,
        instruction=first.instruction,
        instructions=len(cause.findings),
        count=cause.count,
    )


def digest(source: KernelSource) -> str:
    """Digest of everything that a result depends on: the folder of the source, headers, rules, target."""
    content = hashlib.sha256(f"{SCHEMA} {tool()} {source.name} {source.target}".encode())
    content.update(source.path.read_bytes())
    for path in sorted(source.folder.iterdir()):
        if path.is_file() and path.suffix in (".cpp", ".cu", ".h", ".hpp", ".cuh", ".hip", ".py"):
            content.update(path.read_bytes())
    if source.makefile is not None:
        content.update(makefile_text(source.makefile).encode())
    content.update(_digest_of_headers(source.root).encode())
    return content.hexdigest()[:24]


@cache
def _digest_of_headers(root: Path) -> str:
    content = hashlib.sha256()
    for path in sorted((root / "include").rglob("*")):
        if path.is_file():
            content.update(path.read_bytes())
    return content.hexdigest()


@cache
def tool() -> str:
    return f"hipkittens-workbench {importlib.metadata.version('hipkittens-workbench')}"


__all__ = ["digest", "examine", "tool"]
