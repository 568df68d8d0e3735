"""The dashboard's state: runs of this session and earlier ones, the run that is shown, the baselines."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from workbench.events import Event, shape_of
from workbench.history.changes import Changes
from workbench.history.recorder import Recorder
from workbench.history.results import History, RecordedRun
from workbench.operators import Published, Shape, kernels, shape_text
from workbench.origin import Figure
from workbench.profile.results import ProfileResult
from workbench.profile.timing import TimeResult
from workbench.theme import SERIES

if TYPE_CHECKING:
    from workbench.profile.training_step import StepProfile

RUNS = 1000
"""Number of runs that a board keeps."""

FAILURES = 100
"""Number of failed launches and measurements that a board keeps."""

PAST = 500
"""Number of latest runs of earlier sessions that are offered."""

BASELINE_SECONDS = 2.0
"""Seconds for which baselines read from the file stay valid."""

CELL = ".hip"
"""Ending of notebook cells' names among compiled sources."""

NOTES = 100
"""Number of lines of the log that a board keeps."""

NOTE_CHARACTERS = 400

PROFILES = 100
"""Number of latest runs that keep their counters."""


@dataclass(frozen=True)
class Run:
    """One timing or profiling run.

    Attributes:
        number: counts up from 1, over the board's life.
        timing: time of the run.
        profile: counters of the run; None if it was only timed, or is no longer among the recent ones.
        verified: True if the last verification of the same code, shape and device before it passed; None if
            there was none.
        seconds: Unix time of the run.
        session: Unix time at which the run's session began; 0 for this session.
    """

    number: int
    timing: TimeResult
    profile: ProfileResult | None = field(default=None, repr=False)
    verified: bool | None = None
    seconds: float = 0.0
    session: float = 0.0

    @classmethod
    def recorded(cls, run: RecordedRun, *, whole: bool = False) -> Run:
        """A run of the file that ended well.

        Args:
            whole: True to also load counters and timing details, which takes longer.
        """
        assert run.time is not None
        plain = TimeResult(run.kernel, run.device, run.shape, run.time, run.time, run.time, 0, code=run.code)
        timing = (run.timing if whole else None) or plain
        profile = run.profile if whole else None
        return cls(run.number, timing, profile, run.verified, run.seconds, run.session.started)

    @property
    def name(self) -> str:
        return self.timing.name

    @property
    def time(self) -> Figure:
        return self.timing.median

    @property
    def label(self) -> str:
        size = shape_text(self.timing.shape)
        return f"#{self.number} {self.name}{f' ({size})' if size else ''}"


@dataclass(frozen=True)
class Failure:
    """A launch or a measurement that an exception ended.

    Attributes:
        number: counted with the runs.
        kind: the operation that failed: "run", "time", "profile", "verify" or "sanitize".
        name: name of the kernel or spec.
        shape: shape, if known.
        device: name of the device; "" if none was chosen yet.
        text: first line of the message.
        seconds: Unix time of the failure.
    """

    number: int
    kind: str
    name: str
    shape: Shape
    device: str
    text: str
    seconds: float


@dataclass(frozen=True)
class Sanitized:
    """One or several launches that the sanitizer checked.

    Attributes:
        number: counted with the runs.
        name: kernel, spec or program.
        shape, device: shape and device name of the launch.
        findings: number of findings.
        first: first line of the first finding; "" if there is none.
        seconds: Unix time of the check.
        session: Unix time at which its session began; 0 for this session.
    """

    number: int
    name: str
    shape: Shape
    device: str
    findings: int
    first: str
    seconds: float
    session: float = 0.0

    @classmethod
    def of_event(cls, number: int, event: Event) -> Sanitized:
        """A sanitized launch of this session, from its event."""
        facts = event.data
        place = event.name, dict(facts["shape"]), facts["device"]
        return cls(number, *place, facts["findings"], _short(facts["first"]), event.seconds)

    @classmethod
    def recorded(cls, run: RecordedRun) -> Sanitized:
        """A sanitized launch from the history file."""
        first = run.findings[0].message.partition("\n")[0] if run.findings else ""
        count = run.finding_count or 0
        place = run.kernel, run.shape, run.device
        return cls(run.number, *place, count, _short(first), run.seconds, run.session.started)


@dataclass(frozen=True)
class Pinned:
    """A pinned run, as baseline.

    Attributes:
        run: the pinned run.
        shapes: times of its kernel over shapes when it was pinned.
        name: name of the baseline.
    """

    run: Run
    shapes: Sequence[TimeResult]
    name: str = ""


@dataclass(frozen=True)
class Note:
    """A line of the log.

    Attributes:
        seconds: Unix time of the event.
        kind: type of the event, such as "compile".
        text: description of the event.
        good: True for a success, False for a failure; None for neither.
    """

    seconds: float
    kind: str
    text: str
    good: bool | None = None


@dataclass(frozen=True)
class Progress:
    """A running sweep or long launch.

    Attributes:
        name: kernel or spec.
        done, total: shapes, or work-groups.
        first_seconds, first_done: Unix time of the first report, and the progress then.
        seconds: Unix time of the last report.
    """

    name: str
    done: int
    total: int
    first_seconds: float
    first_done: int
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at the present rate; None before there is one."""
        done, took = self.done - self.first_done, self.seconds - self.first_seconds
        return (self.total - self.done) * took / done if done > 0 and took > 0 else None


class Board:
    """Takes events, keeps a bounded number of runs. Safe to call from any thread.

    With a recorder, runs have the numbers of its file, earlier sessions' runs are available, and baselines
    persist.

    Args:
        runs: maximum number of this session's runs to keep.
        recorder: recorder of this session.

    Attributes:
        shown: run whose counters are drawn; the latest unless the user chose another.
        timed: number of runs in this session, including dropped ones.
        failed: number of failed launches and measurements in this session, including dropped ones.
        launches: launches that were not part of a measurement.
        progress: progress of the current sweep or launch; None if there is none.
        version: grows with every change that a view could show.
    """

    def __init__(self, runs: int = RUNS, recorder: Recorder | None = None) -> None:
        self._recorder = recorder
        self._baselines: dict[str, Pinned] = {}
        self._asked = float("-inf")
        self._compared: str | None = None
        self._compiled: dict[tuple[str, str], str] = {}
        self._place_of: dict[str, tuple[str, str]] = {}
        self._past: list[Run | Sanitized] | None = None
        self._lock = threading.RLock()
        self._most = runs
        self._runs: deque[Run] = deque()
        self._failures: deque[Failure] = deque(maxlen=FAILURES)
        self._sanitized: deque[Sanitized] = deque(maxlen=runs)
        self._verified: dict[Any, bool] = {}
        self._number = 0
        self._chosen: Run | None = None
        self.timed = self.failed = self.launches = 0
        self.progress: Progress | None = None
        self.version = 0
        self._notes: deque[Note] = deque(maxlen=NOTES)
        self._steps: deque[StepProfile] = deque(maxlen=2)

    def take(self, event: Event) -> None:
        """Adds an event."""
        with self._lock:
            self.version += 1
            if event.kind == "launch":
                self.launches += 1
            elif event.kind == "progress":
                done, total = event.data["done"], event.data["total"]
                self._note_progress(event.name, done, total, event.seconds)
            elif event.kind == "verify":
                key = _key(event.name, event.data["shape"], event.data["device"], event.data["code"])
                self._verified[key] = event.data["passed"]
                while len(self._verified) > RUNS:
                    self._verified.pop(next(iter(self._verified)))
            elif event.kind == "time" and isinstance(event.data, TimeResult):
                self._add(event, event.data, None)
            elif event.kind == "profile" and isinstance(event.data, ProfileResult):
                self._add(event, event.data.timing, event.data)
            elif event.kind == "step":
                self._steps.append(event.data)
            elif event.kind == "compile" and event.data.get("code"):
                # The same cell for another target is other code, and makes nothing stale.
                place = (event.name, str(event.data["arch"]))
                self._compiled[place] = event.data["code"]
                self._place_of[event.data["code"]] = place
            elif event.kind == "sanitize":
                self._count(event)
                self._sanitized.append(Sanitized.of_event(self._number, event))
            elif event.kind == "failed":
                self._count(event)
                details = event.data
                failure = Failure(
                    self._number,
                    details["kind"],
                    event.name,
                    shape_of(details),
                    details.get("device", ""),
                    _short(details["error"]),
                    event.seconds,
                )
                self._failures.append(failure)
                self.failed += 1
            note = _note(event)
            if note is not None:
                self._notes.append(note)

    def _note_progress(self, name: str, done: int, total: int, seconds: float) -> None:
        if done >= total:
            self.progress = None
            return
        if self.progress is None or self.progress.name != name or done < self.progress.done:
            self.progress = Progress(name, done, total, seconds, done, seconds)
        else:
            self.progress = replace(self.progress, done=done, total=total, seconds=seconds)

    @property
    def notes(self) -> list[Note]:
        """Log entries for events other than runs, oldest first."""
        with self._lock:
            return list(self._notes)

    def _count(self, event: Event) -> None:
        """Sets the number of the next run to the file's, so that it means the same in any session."""
        recorded = self._recorder.number_of(event) if self._recorder is not None else None
        self._number = recorded if recorded is not None else self._number + 1

    def _add(self, event: Event, timing: TimeResult, profile: ProfileResult | None) -> None:
        self._count(event)
        verified = self._verified.get(_key(timing.name, timing.shape, timing.device, timing.code))
        self._runs.append(Run(self._number, timing, profile, verified, event.seconds))
        self.timed += 1
        if len(self._runs) > self._most:
            # The latest stays, and wrong results rather than right ones, since people look for these
            # afterwards.
            older = list(self._runs)[:-1]
            del self._runs[next((i for i, run in enumerate(older) if run.verified is not False), 0)]
        if len(self._runs) > PROFILES:
            old = self._runs[-PROFILES - 1]
            if old.profile is not None:
                self._runs[-PROFILES - 1] = replace(old, profile=None)
        if profile is not None:
            self._chosen = None

    def extend(self, events: Iterable[Event], dropped: Mapping[str, int] | None = None) -> None:
        """Adds several events.

        Args:
            dropped: number of earlier events by kind that are only counted (`Hub.dropped`).
        """
        earlier = dropped or {}
        with self._lock:
            self.timed += earlier.get("time", 0) + earlier.get("profile", 0)
            self.failed += earlier.get("failed", 0)
            self.launches += earlier.get("launch", 0)
        for event in events:
            self.take(event)

    @property
    def runs(self) -> list[Run]:
        """Runs, oldest first."""
        with self._lock:
            return list(self._runs)

    @property
    def steps(self) -> tuple[StepProfile | None, StepProfile | None]:
        """The latest training step, and the previous one if it was on the same device."""
        with self._lock:
            *before, now = self._steps or (None,)
            alike = before and now is not None and before[0].device == now.device
            return now, before[0] if alike else None

    @property
    def failures(self) -> list[Failure]:
        """Oldest first."""
        with self._lock:
            return list(self._failures)

    @property
    def shown(self) -> Run | None:
        with self._lock:
            if self._chosen is not None:
                return self._chosen
            profiled = (r for r in reversed(self._runs) if r.profile is not None)
            return next(profiled, self._runs[-1] if self._runs else None)

    def show(self, number: int) -> None:
        """Shows the run of this number, of any session, until another is profiled."""
        with self._lock:
            self._chosen = self.find(number) or self._chosen
            self.version += 1

    def find(self, number: int) -> Run | None:
        """The run of this number with its counters, if they are kept; None if there is none."""
        with self._lock:
            run = next((r for r in self._runs if r.number == number), None)
            if run is not None or self._history is None:
                return run
            record = self._history[number]
            return Run.recorded(record, whole=True) if record.time is not None else None

    @property
    def _history(self) -> History | None:
        return History(self._recorder.store) if self._recorder and not self._recorder.failed else None

    @property
    def past(self) -> list[Run]:
        """Runs of earlier sessions that ended well, oldest first, without their counters."""
        return [run for run in self._earlier if isinstance(run, Run)]

    @property
    def sanitized(self) -> list[Sanitized]:
        """Sanitized launches of this and earlier sessions, oldest first."""
        with self._lock:
            return [*(run for run in self._earlier if isinstance(run, Sanitized)), *self._sanitized]

    @property
    def _earlier(self) -> list[Run | Sanitized]:
        """Runs and sanitized launches of earlier sessions, oldest first."""
        with self._lock:
            if self._past is None:
                history, recorder = self._history, self._recorder
                recorded = history.latest(PAST) if history is not None else ()
                self._past = [
                    Run.recorded(run) if run.time is not None else Sanitized.recorded(run)
                    for run in recorded
                    if (run.time is not None or run.finding_count is not None)
                    and recorder is not None
                    and run.session.id != recorder.session
                ]
            return self._past

    @property
    def baselines(self) -> list[Pinned]:
        """Pinned runs, in the order in which they were pinned."""
        with self._lock:
            # Other notebooks pin runs as well; drawing a page asks a dozen times.
            if time.monotonic() > self._asked + BASELINE_SECONDS and (history := self._history) is not None:
                self._asked = time.monotonic()
                self._baselines = {
                    name: self._baselines.get(name) or self._restored(name, run)
                    for name, run in history.baselines.items()
                }
            return list(self._baselines.values())

    def _restored(self, name: str, run: RecordedRun) -> Pinned:
        """A baseline of the file, with the times that its session had until then."""
        assert self._history is not None
        timings: dict[Any, TimeResult] = {}
        for other in self._history.of(run.kernel, session=run.session.id).latest(PAST):
            if other.number <= run.number and other.shape and other.timing is not None:
                timings[_key(other.kernel, other.shape, other.device)] = other.timing
        session_run = next((r for r in self._runs if r.number == run.number), None)
        return Pinned(session_run or Run.recorded(run, whole=True), list(timings.values()), name)

    @property
    def pinned(self) -> Pinned | None:
        """The baseline for comparisons: the chosen one, or the latest of the shown kernel."""
        with self._lock:
            baselines = self.baselines
            if self._compared is not None:
                return next((baseline for baseline in baselines if baseline.name == self._compared), None)
            current = self.shown
            fitting = (
                baseline
                for baseline in reversed(baselines)
                if current is not None and baseline.run.name == current.name
            )
            return next(fitting, None)

    def compare_with(self, name: str | None) -> None:
        """Chooses a baseline by name: "" for none, None for the latest of the shown kernel."""
        with self._lock:
            self._compared = name
            self.version += 1

    def pin(self, name: str = "") -> Run | None:
        """Makes the shown run a baseline, and compares with it; returns it."""
        with self._lock:
            current = self.shown
            if current is not None:
                baseline = name or f"{current.name} #{current.number}"
                if self._history is not None:
                    self._history.pin(current.number, baseline)
                self._baselines[baseline] = Pinned(current, self.over_shapes(), baseline)
                self._compared = None
            self.version += 1
            return current

    def unpin(self, name: str = "") -> None:
        """Drops a baseline; without a name, the one in use."""
        with self._lock:
            pinned = self.pinned
            baseline = name or (pinned.name if pinned is not None else "")
            if self._baselines.pop(baseline, None) is not None and self._history is not None:
                self._history.unpin(baseline)
            if self._compared == baseline:
                self._compared = None
            self.version += 1

    def changes(self, before: int, after: int) -> Changes | None:
        """Differences between two runs; None without a history file, which is where sources are stored."""
        with self._lock:
            return self._history.compare(before, after) if self._history is not None else None

    def moved(self, run: Run, shape: Shape) -> str:
        """Why a run's figures are not those of the sliders; "" if they are."""
        if dict(run.timing.shape) == dict(shape):
            return ""
        was, now = shape_text(run.timing.shape), shape_text(shape)
        return f"these figures are of {was}; the sliders say {now}: press Run"

    def stale(self, run: Run) -> str:
        """Why a run's figures are not those of the code as it is now; "" if they are."""
        with self._lock:
            for digest in run.timing.code.split("+"):
                place = self._place_of.get(digest, ("", ""))
                if place[0].endswith(CELL) and self._compiled[place] != digest:
                    return f"{place[0].removesuffix(CELL)} was recompiled since: time or profile it again"
            return ""

    def hue(self, name: str) -> str:
        """The colour of a kernel on this board: kernels get them in order of appearance."""
        with self._lock:
            names = list(dict.fromkeys([*(run.name for run in self._runs), name]))
            return SERIES[names.index(name) % len(SERIES)]

    def over_shapes(self) -> list[TimeResult]:
        """The latest time of the shown run's kernel for each shape and device, in order of appearance."""
        with self._lock:
            current = self.shown
            if current is None:
                return []
            timings: dict[Any, TimeResult] = {}
            for run in self._runs:
                if run.name == current.name and run.timing.shape:
                    timings[_key(run.name, run.timing.shape, run.timing.device)] = run.timing
            return list(timings.values())

    def published(self) -> Sequence[Published]:
        """Others' figures for the shown run's kernel."""
        current = self.shown
        return kernels[current.name].published if current is not None and current.name in kernels else ()


def _key(name: str, shape: Shape, device: str, code: str = "") -> Any:
    return (name, device, code, *sorted((k, str(v)) for k, v in shape.items()))


def _note(event: Event) -> Note | None:
    """The log's line for an event; None for those that figures show."""
    data, good = event.data, None
    if event.kind == "compile":
        if data["error"]:
            text, good = data["error"], False
        else:
            took = "cached" if data["cached"] else f"compiled in {data['seconds']:.2f} s"
            count = data["warnings"]
            warnings = f", {count} warning{'s' if count > 1 else ''}" if count else ""
            text = f"{event.name} for {data['arch']}: {took}{warnings}"
    elif event.kind == "verify":
        good = bool(data["passed"])
        # A launch of one's own kernel has no shape.
        size = f" ({shape_text(data['shape'])})" if data["shape"] else ""
        text = f"{event.name}{size}: {'verified' if good else 'wrong'}"
    elif event.kind == "sanitize":
        good = not data["findings"]
        text = f"{event.name}: {data['first'] or 'nothing found'}"
        if data["findings"] > 1:
            text += f"; {data['findings'] - 1} more"
    elif event.kind == "failed":
        text, good = f"{event.name}, {data['kind']}: {data['error']}", False
    elif event.kind == "counted":
        text = f"{event.name} on {data['device']}: counted; {data['reason']}"
    elif event.kind == "sweep":
        text = f"{event.name}: {len(data)} shapes timed"
    elif event.kind == "print":
        text = str(data["text"]).rstrip("\n")
    else:
        return None
    return Note(event.seconds, event.kind, _short(text), good)


def _short(text: str) -> str:
    return text if len(text) <= NOTE_CHARACTERS else f"{text[:NOTE_CHARACTERS]} …"
