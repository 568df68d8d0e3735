"""What a dashboard knows: the runs of this process, which one is shown, and what it is compared with."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.events import Event, shape_told
from workbench.origin import Figure
from workbench.profile.profiler import ProfileResult
from workbench.profile.timing import TimeResult
from workbench.spec import Published, Shape, kernels, shape_text

RUNS = 1000
"""Runs that a board keeps."""

FAILURES = 100
"""Failed launches and measurements that a board keeps."""

NOTES = 100
"""Lines of the log that a board keeps."""

NOTE_CHARACTERS = 400

PROFILES = 100
"""Of these, runs that keep their counters: the latest ones."""


@dataclass(frozen=True)
class Run:
    """One timed or profiled run.

    Attributes:
        number: counts up from 1, over the board's life.
        timing: its time.
        profile: its counters; None where it was only timed, or long ago.
        verified: whether the last verification of the same code, shape and device before it passed; None
            where there was none.
        seconds: Unix time.
    """

    number: int
    timing: TimeResult
    profile: ProfileResult | None = field(default=None, repr=False)
    verified: bool | None = None
    seconds: float = 0.0

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
        kind: what failed: "run", "time", "profile", "verify" or "sanitize".
        name: kernel or spec.
        shape: as far as known.
        device: its name, "" where none was chosen yet.
        text: first line of the message.
        seconds: Unix time.
    """

    number: int
    kind: str
    name: str
    shape: Shape
    device: str
    text: str
    seconds: float


@dataclass(frozen=True)
class Pinned:
    """A baseline: the run that was shown, and the times over shapes of its kernel as they were then."""

    run: Run
    shapes: Sequence[TimeResult]


@dataclass(frozen=True)
class Note:
    """A line of the log.

    Attributes:
        seconds: Unix time.
        kind: of the event, such as "compile".
        text: what happened.
        good: None where it is neither good nor bad.
    """

    seconds: float
    kind: str
    text: str
    good: bool | None = None


class Board:
    """Takes events, keeps a bounded number of runs. Safe to call from any thread.

    Attributes:
        shown: the run whose counters are drawn; the latest one unless another was chosen.
        pinned: the baseline.
        launches: launches that were not part of a measurement.
        progress: (name, done, total) of the sweep that is under way; None where there is none.
        version: grows with every change that a view could show.
    """

    def __init__(self, runs: int = RUNS) -> None:
        self._lock = threading.RLock()
        self._runs: deque[Run] = deque(maxlen=runs)
        self._failures: deque[Failure] = deque(maxlen=FAILURES)
        self._verified: dict[Any, bool] = {}
        self._number = 0
        self._chosen: Run | None = None
        self.pinned: Pinned | None = None
        self.launches = 0
        self.progress: tuple[str, int, int] | None = None
        self.version = 0
        self._notes: deque[Note] = deque(maxlen=NOTES)

    def take(self, event: Event) -> None:
        """Adds what an event tells."""
        with self._lock:
            self.version += 1
            if event.kind == "launch":
                self.launches += 1
            elif event.kind == "progress":
                done, total = event.data["done"], event.data["total"]
                self.progress = (event.name, done, total) if done < total else None
            elif event.kind == "verify":
                key = _key(event.name, event.data["shape"], event.data["device"], event.data["code"])
                self._verified[key] = event.data["passed"]
                while len(self._verified) > RUNS:
                    self._verified.pop(next(iter(self._verified)))
            elif event.kind == "time" and isinstance(event.data, TimeResult):
                self._add(event.data, None, event.seconds)
            elif event.kind == "profile" and isinstance(event.data, ProfileResult):
                self._add(event.data.timing, event.data, event.seconds)
            elif event.kind == "failed":
                self._number += 1
                told = event.data
                failure = Failure(
                    self._number,
                    told["kind"],
                    event.name,
                    shape_told(told),
                    told.get("device", ""),
                    _short(told["error"]),
                    event.seconds,
                )
                self._failures.append(failure)
            note = _note(event)
            if note is not None:
                self._notes.append(note)

    @property
    def notes(self) -> list[Note]:
        """What happened beside the runs, oldest first."""
        with self._lock:
            return list(self._notes)

    def _add(self, timing: TimeResult, profile: ProfileResult | None, seconds: float) -> None:
        self._number += 1
        verified = self._verified.get(_key(timing.name, timing.shape, timing.device, timing.code))
        self._runs.append(Run(self._number, timing, profile, verified, seconds))
        if len(self._runs) > PROFILES:
            old = self._runs[-PROFILES - 1]
            if old.profile is not None:
                self._runs[-PROFILES - 1] = replace(old, profile=None)
        if profile is not None:
            self._chosen = None

    def extend(self, events: Iterable[Event]) -> None:
        """Adds several events."""
        for event in events:
            self.take(event)

    @property
    def runs(self) -> list[Run]:
        """Oldest first."""
        with self._lock:
            return list(self._runs)

    @property
    def failures(self) -> list[Failure]:
        """Oldest first; none older than the oldest run that is kept."""
        with self._lock:
            first = self._runs[0].number if len(self._runs) == self._runs.maxlen else 0
            return [failure for failure in self._failures if failure.number > first]

    @property
    def shown(self) -> Run | None:
        with self._lock:
            if self._chosen is not None:
                return self._chosen
            profiled = (r for r in reversed(self._runs) if r.profile is not None)
            return next(profiled, self._runs[-1] if self._runs else None)

    def show(self, number: int) -> None:
        """Shows the run of this number, until another is profiled."""
        with self._lock:
            self._chosen = next((r for r in self._runs if r.number == number), self._chosen)
            self.version += 1

    def pin(self) -> Run | None:
        """Makes the shown run the baseline; gives it back."""
        with self._lock:
            shown = self.shown
            self.pinned = Pinned(shown, self.over_shapes()) if shown is not None else None
            self.version += 1
            return shown

    def unpin(self) -> None:
        """Drops the baseline."""
        with self._lock:
            self.pinned = None
            self.version += 1

    def over_shapes(self) -> list[TimeResult]:
        """The latest time of the shown run's kernel for each shape and device, in order of appearance."""
        with self._lock:
            shown = self.shown
            if shown is None:
                return []
            found: dict[Any, TimeResult] = {}
            for run in self._runs:
                if run.name == shown.name and run.timing.shape:
                    found[_key(run.name, run.timing.shape, run.timing.device)] = run.timing
            return list(found.values())

    def published(self) -> Sequence[Published]:
        """Figures of others for the shown run's kernel."""
        shown = self.shown
        return kernels[shown.name].published if shown is not None and shown.name in kernels else ()


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
        size = shape_text(data["shape"])
        text = f"{event.name} ({size}): {'verified' if good else 'wrong'}"
    elif event.kind == "sanitize":
        good = not data["findings"]
        text = f"{event.name}: {data['first'] or 'nothing found'}"
        if data["findings"] > 1:
            text += f"; {data['findings'] - 1} more"
    elif event.kind == "failed":
        text, good = f"{event.name}, {data['kind']}: {data['error']}", False
    elif event.kind == "sweep":
        text = f"{event.name}: {len(data)} shapes timed"
    elif event.kind == "print":
        text = str(data["text"]).rstrip("\n")
    else:
        return None
    return Note(event.seconds, event.kind, _short(text), good)


def _short(text: str) -> str:
    return text if len(text) <= NOTE_CHARACTERS else f"{text[:NOTE_CHARACTERS]} …"
