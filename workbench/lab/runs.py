"""Runs outside `%%hipkittens` cells, sent to the extension's history; cells report their own runs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from workbench.events import Event, shape_of
from workbench.lab.payload import Time

if TYPE_CHECKING:
    from workbench.history.results import RecordedRun
    from workbench.origin import Figure

RUNS = 200
"""Number of latest runs in one message: the history's limit per notebook (`LIMIT` in src/history.ts)."""

RUNS_SECONDS = 0.25
"""Seconds between two messages to the front end."""


class Runs:
    """Sends times, profiles, verifications, sanitizer results and failures outside C++ cells, in batches.

    Args:
        send: called with each message.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._runs: deque[dict[str, Any]] = deque(maxlen=RUNS)
        self._timer: threading.Timer | None = None
        self._told = 0.0
        self.reported_by_cell = False

    def take(self, event: Event) -> None:
        """Takes an event of the hub."""
        if event.kind == "progress":
            # A sweep of small shapes publishes hundreds of events a second.
            if event.data["done"] >= event.data["total"] or event.seconds > self._told + RUNS_SECONDS:
                self._told = event.seconds
                self._send({"event": "progress", "name": event.name, **event.data})
            return
        run = None if self.reported_by_cell else _run(event)
        if run is None:
            return
        with self._lock:
            self._runs.append(run)
            if self._timer is None:
                self._timer = threading.Timer(RUNS_SECONDS, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Sends the runs since the last time."""
        with self._lock:
            runs = list(self._runs)
            self._runs.clear()
            self._timer = None
        if runs:
            self._send({"event": "runs", "runs": runs})


def recorded(run: RecordedRun) -> dict[str, Any]:
    """A run of the file in the form of the extension's run history."""
    findings, first = run.finding_count, run.findings[0].message if run.findings else ""
    place = run.kind, run.seconds, run.kernel, run.shape
    entry = _entry(*place, run.time, run.verified, run.error, findings, first)
    return {**entry, "notebook": run.session.notebook}


def _run(event: Event) -> dict[str, Any] | None:
    """An event in the form of the extension's run history; None if it is not a run."""
    figure, verified, error, findings, first = None, None, "", None, ""
    shape: Mapping[str, Any] = {}
    if event.kind == "failed":
        shape, error = shape_of(event.data), event.data["error"]
    elif event.kind == "verify":
        verified, shape = bool(event.data["passed"]), event.data["shape"]
    elif event.kind == "sanitize":
        findings, first, shape = event.data["findings"], event.data["first"], event.data["shape"]
    elif event.kind == "counted":
        shape, first = event.data["shape"], event.data["reason"]
    elif event.kind in ("time", "profile"):
        timing = event.data.timing if event.kind == "profile" else event.data
        figure, shape = timing.median, timing.shape
    else:
        return None
    kind = event.data["kind"] if event.kind == "failed" else event.kind
    if kind == "counted":
        kind = "profile"
    return _entry(kind, event.seconds, event.name, shape, figure, verified, error, findings, first)


def _entry(
    kind: str,
    seconds: float,
    name: str,
    shape: Mapping[str, Any],
    time: Figure | None,
    verified: bool | None,
    error: str,
    findings: int | None,
    first: str,
) -> dict[str, Any]:
    """A line of the extension's run history (`IHistoryEntry` in src/history.ts).

    Args:
        findings: number of the sanitizer's findings, and `first` the first of them; None if it did not run.
    """
    size = ", ".join(f"{key}={value}" for key, value in shape.items())
    return {
        "kind": kind,
        # The history identifies a run by its time, and a small launch takes less than a millisecond.
        "at": datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds"),
        "module": name,
        "kernel": "",
        "time": None if time is None else asdict(Time.from_figure(time)),
        "verified": verified,
        "changes": [text for text in (size, first.partition("\n")[0]) if text],
        "error": error,
        **({} if findings is None else {"findings": findings}),
    }
