"""Audits kernel sources: builds, runs and sanitizes each, and searches for proofs and repairs."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from workbench.audit.build import Workplace
from workbench.audit.certainty import certainty_of
from workbench.audit.limits import Limits
from workbench.audit.patches import (
    MOST,
    Insertion,
    applied,
    candidates,
    places,
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
    Report,
    Result,
)
from workbench.audit.signature import signatures
from workbench.audit.sources import KernelSource, Kind, kernel_sources, makefile_text, revision_of
from workbench.audit.trial import Trial, run_trial
from workbench.check.schedules import prove
from workbench.errors import UsageError, WorkbenchError
from workbench.runtime.findings import Cause
from workbench.schedules import VARIABLE

Told = Callable[[str], None]

_MODULE_REFERENCE = "PyTorch in float64, for the signature of its function"
_OWN_REFERENCE = "its own check"
_ORDERS = 16
"""Orders of waves and loads that are tried for a proof."""


def audit(
    path: str | Path,
    out: str | Path,
    *,
    target: str | None = None,
    only: str = "",
    limits: Limits | None = None,
    jobs: int = 1,
    minutes: float | None = None,
    again: bool = False,
    told: Told = lambda line: None,
) -> Report:
    """Audits a checkout, a folder or a source file, and continues an audit that was stopped.

    Args:
        out: folder for results: a JSON file a kernel source and target. Those that it has are not run again.
        target: only this target.
        only: only sources with this text in their path.
        limits: of the processes of a kernel source.
        jobs: kernel sources at a time.
        minutes: after these, no other kernel source is begun.
        again: True to run those again whose results are there.
        told: gets a line for each kernel source that is done.

    Raises:
        UsageError: there is no such path, or nothing in it is a kernel source.
    """
    sources = kernel_sources(Path(path))
    selected = [s for s in sources if target in (None, s.target) and only in s.name]
    if not selected:
        what = f"{len(sources)} kernel sources, none of them selected" if sources else "no kernel source"
        raise UsageError(
            f"audit: {path} has {what}; expected programs or Python modules with HIP kernels (.cpp, .cu, "
            ".hip), or Triton scripts"
        )
    folder = Path(out) / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    begin = datetime.now(UTC)
    limits = limits or Limits()

    copies = threading.local()

    def record_of(source: KernelSource) -> KernelRecord | None:
        file = folder / f"{digest(source)}.json"
        if not again and (stored := _stored(file)) is not None:
            return stored
        if minutes is not None and (datetime.now(UTC) - begin).total_seconds() > 60 * minutes:
            return None
        if not hasattr(copies, "folder"):
            copies.folder = tempfile.mkdtemp(dir=scratch)
        record = examine(source, Path(copies.folder), limits)
        file.write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False), encoding="utf-8")
        told(f"{record.source} on {record.target or 'no target'}: {record.result}: {record.text}"[:300])
        return record

    with (
        tempfile.TemporaryDirectory(prefix="hipkittens-audit-", ignore_cleanup_errors=True) as scratch,
        ThreadPoolExecutor(jobs) as pool,
    ):
        records = [record for record in pool.map(record_of, selected) if record is not None]
    root = selected[0].root
    return Report(root.name, revision_of(root), _tool(), tuple(records))


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
    if source.kind is Kind.MODULE and not signatures(workplace.text):
        return replace(record, text="it is built; its module binds no function with known arguments")
    trial = run_trial(workplace, built.product, sanitize=True)
    record = replace(record, launches=trial.launches, run_seconds=round(trial.seconds, 1), text=trial.text)
    if not trial.launches and not trial.has_failed:
        return record
    result = _result(trial, bool(sizes))
    reference = _MODULE_REFERENCE if source.kind is Kind.MODULE else _OWN_REFERENCE
    record = replace(record, result=result, reference=reference if trial.verdict is not None else "")
    proof, repair = None, None
    if remaining(trial):
        if not trial.has_failed:
            proof = _proof(workplace, built.product)
        repair = _repair(workplace, trial)
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


def _proof(workplace: Workplace, product: Path) -> ProofRecord:
    """The search for an order of waves and loads that hardware allows and that changes the results."""
    compared = "elements" if workplace.source.kind is Kind.MODULE else "printed bytes"
    try:
        proof = prove(lambda: run_trial(workplace, product).outputs, tries=_ORDERS)
    except UsageError:
        return ProofRecord("", 0, 0, compared)
    if proof is None:
        return ProofRecord("", 0, _ORDERS, compared)
    return ProofRecord(f"{VARIABLE}={proof.schedule}", proof.differences, proof.tried, compared)


def _repair(workplace: Workplace, broken: Trial) -> RepairRecord | None:
    """A certified repair of all races and missing waits together; None if none was certified."""
    file = str(workplace.path)
    insertions: list[Insertion] = []
    current, builds = broken, 0
    try:
        while (causes := remaining(current)) and builds < MOST:
            better = None
            for insertion in candidates(causes[0], workplace.text, file, insertions):
                if builds == MOST or insertion in insertions:
                    break
                builds += 1
                trial = _trial_of(workplace, [*insertions, insertion])
                if trial is not None and _is_gone(causes[0], insertions, trial, [*insertions, insertion]):
                    better = insertion, trial
                    break
            if better is None:
                return None
            insertions.append(better[0])
            current = better[1]
        if remaining(current) or current.verdict is not True:
            return None
        cost = _cost(workplace, insertions, {broken.kernel_of(c.first) for c in remaining(broken)})
        about = ", and ".join(map(str, sorted(insertions, key=lambda each: each.line)))
        return RepairRecord(unified(workplace.source.name, workplace.original, insertions), about, cost)
    finally:
        workplace.path.write_text(workplace.text, encoding="utf-8")


def _trial_of(workplace: Workplace, insertions: Sequence[Insertion]) -> Trial | None:
    """Sanitized run of the source with insertions; None if it does not build or run."""
    built = workplace.build(applied(workplace.text, insertions))
    if built.product is None:
        return None
    trial = run_trial(workplace, built.product, sanitize=True)
    return None if trial.has_failed else trial


def _is_gone(cause: Cause, before: Sequence[Insertion], trial: Trial, after: Sequence[Insertion]) -> bool:
    """Whether a run has no cause any more of this kind between the same lines of the source."""
    lines = places(cause, before)
    return not any(
        other.first.category == cause.first.category and places(other, after) == lines
        for other in remaining(trial)
    )


def _cost(workplace: Workplace, insertions: Sequence[Insertion], kernels: Iterable[str]) -> float | None:
    """Modelled time of the repaired kernels over the original's, less 1."""
    times = []
    for text in (workplace.text, applied(workplace.text, insertions)):
        built = workplace.build(text)
        if built.product is None:
            return None
        modelled = run_trial(workplace, built.product, timed=True).modelled
        times.append(sum(s for name, s in modelled.items() if any(name.startswith(k) for k in kernels if k)))
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
    content = hashlib.sha256(f"{SCHEMA} {_tool()} {source.name} {source.target}".encode())
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
def _tool() -> str:
    return f"hipkittens-workbench {importlib.metadata.version('hipkittens-workbench')}"


def _stored(file: Path) -> KernelRecord | None:
    try:
        return KernelRecord.of_data(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, KeyError, TypeError, ValueError):
        return None


__all__ = ["audit", "digest", "examine"]
