"""Recorded runs as objects: found by number, name of a baseline, kernel or session."""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench.codeobject.occupancy import Occupancy
from workbench.display import Shown
from workbench.errors import HistoryError, UsageError
from workbench.history import recorder
from workbench.history.changes import Changes, Side, changes
from workbench.history.codec import decode
from workbench.history.store import Store, unpacked
from workbench.kernel import Module, Resources
from workbench.launches import CacheCounts, LaunchRecord, Replayed
from workbench.operators import Shape, shape_text
from workbench.origin import Expected, Figure, Origin
from workbench.profile.model import TimeModel
from workbench.profile.results import ProfileResult
from workbench.profile.timing import TimeResult
from workbench.runtime.findings import Finding, findings_text

CLASSES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        CacheCounts, Expected, Figure, Finding, LaunchRecord, Occupancy, Origin, ProfileResult, Replayed,
        Resources, TimeModel, TimeResult,
    )
}  # fmt: skip
"""Classes that may occur in stored results."""


@dataclass(frozen=True)
class Session:
    """A kernel's life, from its start to its restart.

    Attributes:
        id: 12 hexadecimal digits.
        started: Unix time.
        notebook: its file's name; "" if none is known.
        host, python, workbench: the computer's name, and versions.
    """

    id: str
    started: float
    notebook: str
    host: str
    python: str
    workbench: str


@dataclass(frozen=True)
class RecordedRun(Shown):
    """A recorded run.

    Attributes:
        number: counts up over all notebooks of the folder.
        session: the session that made it.
        seconds: Unix time of the run.
        kind: "time", "profile" or "sanitize"; for a failed run, the operation that failed.
        kernel: kernel or spec.
        shape, device: shape of the problem and name of the device.
        code: `Module.digest` of the code that ran; several modules' digests are joined by "+".
        time: median time; None if the run failed or was sanitized.
        verified: True if the last verification of the same code, shape and device before it passed.
        error: first line of the error that ended it; "" without one.
        revision, branch, modified: git state of the folder.
        baselines: names under which it is pinned.
        finding_count: number of the sanitizer's findings; None if it did not run.
    """

    number: int
    session: Session
    seconds: float
    kind: str
    kernel: str
    shape: Shape
    device: str
    code: str
    time: Figure | None
    verified: bool | None
    error: str
    revision: str
    branch: str
    modified: bool | None
    baselines: tuple[str, ...]
    finding_count: int | None
    _store: Store = field(repr=False, compare=False)

    @cached_property
    def _result(self) -> Any:
        rows = self._store.rows("SELECT result FROM run WHERE number = ?", (self.number,))
        if not rows or rows[0][0] is None:
            return None
        try:
            return decode(json.loads(unpacked(rows[0][0])), CLASSES)
        except (ValueError, KeyError, zlib.error):
            return None  # From a version with other fields.

    @property
    def profile(self) -> ProfileResult | None:
        """Its counters; None if it was only timed, long ago, or recorded by a version with other fields."""
        return self._result if isinstance(self._result, ProfileResult) else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The sanitizer's findings and notes; also empty if only their number is stored."""
        return self._result if self.finding_count is not None and isinstance(self._result, tuple) else ()

    @property
    def outcome(self) -> str:
        """The outcome as text, such as "12.3 us", "3 findings", or the reason of a failure."""
        if self.finding_count is not None:
            return findings_text(self.finding_count)
        return str(self.time) if self.time is not None else self.error

    @property
    def timing(self) -> TimeResult | None:
        """Its time with all details; None as for `profile`."""
        if isinstance(self._result, TimeResult):
            return self._result
        if self.profile is not None:
            return self.profile.timing
        if self.time is None:
            return None
        return TimeResult(
            self.kernel, self.device, self.shape, self.time, self.time, self.time, 0, code=self.code
        )

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """The modules that ran, from their machine code; empty if that is no longer stored."""
        answers = [
            self._store.rows("SELECT digest, name, elf FROM code WHERE digest = ?", (digest,))
            for digest in filter(None, self.code.split("+"))
        ]
        stored = [rows[0] for rows in answers if rows and rows[0]["elf"] is not None]
        with self._store.checked():
            modules = tuple(Module(unpacked(row["elf"]), name=row["name"]) for row in stored)
            if [module.digest for module in modules] != [row["digest"] for row in stored]:
                raise ValueError("machine code is not what was written")
        return modules

    def _of_code(self, column: str) -> str:
        rows = [
            self._store.rows(f"SELECT {column} FROM code WHERE digest = ?", (digest,))
            for digest in filter(None, self.code.split("+"))
        ]
        return "\n".join(dict.fromkeys(str(row[0][0]) for row in rows if row and row[0][0]))

    @cached_property
    def source(self) -> str:
        """The C++ that it was compiled from; "" if there was none."""
        return self._of_code("source")

    @cached_property
    def compiler(self) -> str:
        return self._of_code("compiler")

    @cached_property
    def options(self) -> str:
        """The compiler's command line after its name."""
        return self._of_code("options")

    @property
    def label(self) -> str:
        size = shape_text(self.shape)
        return f"#{self.number} {self.kernel}{f' ({size})' if size else ''}"

    @property
    def side(self) -> Side:
        """The run as one side of a comparison."""
        return Side(
            self.label,
            {
                "kernel": self.kernel,
                "shape": shape_text(self.shape),
                "device": self.device,
                "compiler": self.compiler,
                "options": self.options,
                "git": self.revision + (" with changes" if self.modified else ""),
                "branch": self.branch,
                "workbench": self.session.workbench,
                "python": self.session.python,
                "host": self.session.host,
                "code": self.code,
            },
            self.source,
            self.modules,
            self.time,
            self.profile.counters if self.profile is not None else {},
        )

    def __str__(self) -> str:
        return f"{self.label} on {self.device}: {self.outcome}"

    __repr__ = __str__


class History(Shown):
    """Recorded runs, oldest first: `[number]` is a run by its number, `["name"]` a baseline.

    Attributes:
        path: the file.
    """

    def __init__(self, store: Store, where: str = "", values: Sequence[Any] = ()) -> None:
        self._store = store
        self._where = where
        self._values = tuple(values)
        self.path = store.path

    @cached_property
    def _runs(self) -> tuple[RecordedRun, ...]:
        return tuple(_read(self._store, self._where, self._values))

    def of(self, kernel: str = "", *, session: str = "", notebook: str = "") -> History:
        """Filters runs by kernel, by session and by the file name of the session's notebook."""
        filters = [
            ("kernel = ?", kernel),
            ("session = ?", session),
            ("session IN (SELECT id FROM session WHERE notebook = ?)", notebook),
        ]
        more = [(text, value) for text, value in filters if value]
        where = " AND ".join(filter(None, (self._where, *(text for text, _ in more))))
        return History(self._store, where, (*self._values, *(value for _, value in more)))

    def latest(self, count: int) -> tuple[RecordedRun, ...]:
        """The last of these runs, oldest first."""
        where = f"WHERE {self._where} " if self._where else ""
        first = self._store.rows(
            f"SELECT number FROM run {where}ORDER BY number DESC LIMIT 1 OFFSET ?", (*self._values, count)
        )
        if not first:
            return tuple(self)
        more = " AND ".join(filter(None, (self._where, "number > ?")))
        return tuple(_read(self._store, more, (*self._values, first[0][0])))

    @property
    def kernels(self) -> list[str]:
        """Names of what ran, the latest first."""
        return list(dict.fromkeys(run.kernel for run in reversed(self._runs)))

    @property
    def baselines(self) -> dict[str, RecordedRun]:
        """Pinned runs by name, in the order in which they were pinned."""
        names = self._store.rows("SELECT name, run FROM baseline ORDER BY pinned, rowid")
        runs = {run.number: run for run in _read(self._store, "number IN (SELECT run FROM baseline)")}
        return {row["name"]: runs[row["run"]] for row in names if row["run"] in runs}

    def pin(self, run: int | str | RecordedRun, name: str = "") -> RecordedRun:
        """Keeps a run as a baseline.

        Args:
            run: number of the run, or the run itself.
            name: name of the baseline; without one, the run's kernel and number. A name in use moves to this
                run.

        Raises:
            HistoryError: there is no such run, or the run has no time.
        """
        recorded = self._one(run)
        if recorded.time is None:
            raise HistoryError(
                f"{recorded.label} was not timed, and a baseline needs a time: pin a run that was"
            )
        baseline = name or f"{recorded.kernel} #{recorded.number}"
        self._store.write(
            "INSERT OR REPLACE INTO baseline(name, run, pinned) VALUES (?, ?, julianday('now'))",
            (baseline, recorded.number),
        )
        self._forget()
        return recorded

    def unpin(self, name: str) -> None:
        """Drops a baseline; the run stays.

        Raises:
            HistoryError: no baseline has this name.
        """
        if name not in self.baselines:
            raise HistoryError(f"there is no baseline {name!r}; baselines: {_listed(self.baselines)}")
        self._store.write("DELETE FROM baseline WHERE name = ?", (name,))
        self._forget()

    def compare(
        self, before: int | str | RecordedRun, after: int | str | RecordedRun | None = None
    ) -> Changes:
        """Compares two runs: facts, source, machine code and counters.

        Args:
            before, after: numbers, names of baselines, or runs. Without `after`, the latest run of the
                same kernel that succeeded.

        Raises:
            HistoryError: there is no such run.
        """
        first = self._one(before)
        if after is None:
            good = [run for run in History(self._store).of(first.kernel) if run.time is not None]
            if not good:
                raise HistoryError(f"no run of {first.kernel} succeeded; name one to compare with")
            after = good[-1]
        return changes(first.side, self._one(after).side)

    def _one(self, run: int | str | RecordedRun) -> RecordedRun:
        if isinstance(run, RecordedRun):
            return run
        if isinstance(run, str):
            if run not in self.baselines:
                raise HistoryError(f"there is no baseline {run!r}; baselines: {_listed(self.baselines)}")
            return self.baselines[run]
        if isinstance(run, bool) or not isinstance(run, int):
            raise UsageError(
                f"got a {type(run).__name__}; expected a run, its number, or the name of its baseline"
            )
        matches = list(_read(self._store, "number = ?", (run,)))
        if not matches:
            raise HistoryError(f"{self.path} has no run #{run}; wb.history() lists all runs")
        return matches[0]

    def _forget(self) -> None:
        self.__dict__.pop("_runs", None)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._runs[index]
        if isinstance(index, int) and index < 0:
            return self._runs[index]
        return self._one(index)

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[RecordedRun]:
        return iter(self._runs)

    def __repr__(self) -> str:
        return "\n".join(map(str, self._runs)) or f"no runs in {self.path}"


def history(kernel: str = "", *, path: str | Path | None = None) -> History:
    """Lists what you timed, profiled or sanitized in this folder, now and in earlier sessions, with
    baselines.

    `%load_ext workbench` records runs in `.hipkittens/runs.sqlite` beside the notebook; without it, a process
    records them from its first call of `history` on. $HIPKITTENS_HISTORY names another file, or is "off" for
    none.

    Args:
        kernel: only the runs of this kernel or spec.
        path: another file, such as a colleague's.

    Raises:
        HistoryError: the file cannot be used; it is not changed.
        UsageError: $HIPKITTENS_HISTORY is "off", and no path is given.
    """
    if path is not None:
        if not Path(path).is_file():
            raise HistoryError(
                f"{path}: there is no such file; wb.history() without path= takes the folder's own"
            )
        return History(Store(Path(path))).of(kernel)
    recording = recorder.start()
    if recording is None:
        raise UsageError('no history is kept: HIPKITTENS_HISTORY is "off"; name a file with path=')
    return History(recording.store).of(kernel)


def _read(store: Store, where: str = "", values: Sequence[Any] = ()) -> Iterator[RecordedRun]:
    names: dict[int, list[str]] = {}
    for row in store.rows("SELECT name, run FROM baseline ORDER BY pinned"):
        names.setdefault(row["run"], []).append(row["name"])
    sessions = {
        row["id"]: Session(
            *(row[key] for key in ("id", "started", "notebook", "host", "python", "workbench"))
        )
        for row in store.rows("SELECT * FROM session")
    }
    query = (
        "SELECT number, session, seconds, kind, kernel, shape, device, code, value, unit, origin, verified, "
        "error, revision, branch, modified, findings FROM run"
    )
    condition = f" WHERE {where}" if where else ""
    rows = store.rows(f"{query}{condition} ORDER BY number", values)
    unread = []
    for row in rows:
        try:
            with store.checked():
                run = _run(store, row, sessions[row["session"]], names)
        except HistoryError:
            unread.append(f"#{row['number']}")
            continue
        yield run
    if unread:
        warnings.warn(
            f"{store.path}: {len(unread)} runs cannot be read (damaged, or of another version) and are left "
            f"out: {', '.join(unread[:10])}{' ...' if len(unread) > 10 else ''}; the others are whole",
            stacklevel=2,
        )


def _run(store: Store, row: Any, session: Session, names: Mapping[int, Sequence[str]]) -> RecordedRun:
    if any(isinstance(value, bytes) for value in row):
        raise ValueError("a text is not UTF-8")
    has_time = row["value"] is not None
    return RecordedRun(
        number=row["number"],
        session=session,
        seconds=row["seconds"],
        kind=row["kind"],
        kernel=row["kernel"],
        shape=json.loads(row["shape"]),
        device=row["device"],
        code=row["code"],
        time=Figure(row["value"], row["unit"], Origin(row["origin"])) if has_time else None,
        verified=None if row["verified"] is None else bool(row["verified"]),
        error=row["error"],
        revision=row["revision"],
        branch=row["branch"],
        modified=None if row["modified"] is None else bool(row["modified"]),
        baselines=tuple(names.get(row["number"], ())),
        finding_count=row["findings"],
        _store=store,
    )


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names)) or "none; pin a run with .pin(number, name)"


__all__ = ["History", "RecordedRun", "Session", "history"]
