"""Writes timed, profiled and sanitized runs from the hub's events into the file of runs.

Nothing of the workbench's heavy parts is imported here: `%load_ext workbench` starts a recorder. The file is
made with the first run, not before.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import HistoryError, HistoryLocked
from workbench.events import Event, Hub, hub, shape_of
from workbench.history.codec import encode
from workbench.history.store import Store, packed, store_path

NOT_KEPT = frozenset(
    {
        *(f"ProfileResult.{name}" for name in ("rocprof", "instructions", "again", "kernel", "whole")),
        *(f"LaunchRecord.{name}" for name in ("counts", "traffic", "steps", "findings", "accesses")),
        *("TimeModel.simulation", "Replayed.levels", "TimeResult.wall"),
    }
)
"""Fields of results that belong to their process, or are too large: simulated waves, a tool's output."""

GIT_SECONDS = 5.0
"""Seconds for which git's state of the folder is cached."""

KINDS = frozenset({"time", "profile", "verify", "sanitize", "failed"})
"""Events that are recorded."""

NUMBERS = 5000
"""Events whose numbers in the file are known."""

BACKGROUND_SECONDS = 10.0
"""Seconds for which writing a run is retried in the background while the file is locked."""

RETRY_SECONDS = 0.1
"""Seconds between two attempts to write."""

VERIFIED = 1000
"""Number of verifications to remember for later runs."""


@dataclass(frozen=True)
class GitState:
    """Git's state of a folder; "" and None without a repository.

    Attributes:
        revision: commit of HEAD, 12 digits.
        branch: name of the branch; "" if HEAD is detached.
        modified: True if tracked files differ from HEAD.
    """

    revision: str = ""
    branch: str = ""
    modified: bool | None = None


def git_state(folder: Path) -> GitState:
    """The git state of a folder."""
    command = ["git", "-C", str(folder), "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        # Takes no lock that the user's `git commit` would run into.
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
        run = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True, env=environment)
    except (OSError, subprocess.SubprocessError):
        return GitState()
    lines = run.stdout.splitlines()
    headers = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# ") and line.count(" ") > 1)
    revision, branch = headers.get("branch.oid", ""), headers.get("branch.head", "")
    return GitState(
        "" if revision.startswith("(") else revision[:12],
        "" if branch.startswith("(") else branch,
        any(not line.startswith("#") for line in lines),
    )


def notebook() -> str:
    """Path of this kernel's notebook, according to Jupyter's server; "" elsewhere."""
    return os.environ.get("JPY_SESSION_NAME", "")


def folder() -> Path:
    """The notebook's folder, or else the current folder."""
    path = Path(notebook())
    return path.parent if path.is_absolute() and path.parent.is_dir() else Path.cwd()


class Recorder:
    """Records the events of one session.

    Attributes:
        path: path of the file.
        session: id of this session.

    Args:
        path: path of the file.
        beside: folder whose git state is recorded.
    """

    def __init__(self, path: Path, beside: Path) -> None:
        self.path = path
        self.session = uuid.uuid4().hex[:12]
        self._beside = beside
        self._started = time.time()
        self._process = os.getpid()
        self._store: Store | None = None
        self._failed = ""
        self._verified: dict[Any, bool] = {}
        self._numbers: dict[int, int] = {}
        self._git = (float("-inf"), GitState())
        self._opening = threading.Lock()
        # Guards the queue below: a thread runs as long as something waits.
        self._turn = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._closed = False

    @property
    def store(self) -> Store:
        """The open file.

        Raises:
            HistoryError: the file cannot be used.
        """
        with self._opening:
            if self._store is None:
                self._store = Store(self.path)
                # Another session may drop old rows as well.
                with contextlib.suppress(HistoryLocked):
                    self._store.thin()
            return self._store

    @property
    def failed(self) -> str:
        """Why nothing is stored any more; "" while all is well."""
        return self._failed

    def take(self, event: Event) -> None:
        """Takes an event of the hub; if the file is locked, a thread writes the run a little later."""
        # A forked process shares the connection, which SQLite does not allow.
        if self._failed or event.kind not in KINDS or os.getpid() != self._process:
            return
        with self._turn:
            if self._waiting:  # in their order
                self._waiting.append(_Waiting.from_event(event))
                return
        if self._tried(event) is None:
            return
        with self._turn:
            self._waiting.append(_Waiting.from_event(event))
            if len(self._waiting) == 1:
                # Not a daemon thread: a process that ends waits until its runs are stored.
                threading.Thread(target=self._write_waiting, name="history").start()

    def close(self) -> None:
        """Closes the file once all waiting runs are written."""
        with self._turn:
            self._closed = True
            if not self._waiting:
                self._close()

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()

    def _tried(self, event: Event) -> HistoryLocked | None:
        """Writes an event; returns the error if writing may be tried again."""
        try:
            self._take(event)
        except HistoryLocked as error:
            return error
        except HistoryError as error:
            self._failed = str(error)
            warnings.warn(f"runs are not recorded: {error}", stacklevel=3)
        return None

    def _write_waiting(self) -> None:
        done = False
        while not done:
            first = self._waiting[0]
            try:
                locked = None if self._failed else self._tried(first.event)
                if locked is not None and time.monotonic() < first.until:
                    time.sleep(RETRY_SECONDS)
                    continue
                if locked is not None:
                    warnings.warn(f"a run is not recorded: {locked}", stacklevel=1)
            except Exception as error:
                # Like the hub's warning for a listener that fails; if warnings are errors, this raises.
                self._failed = self._failed or f"{type(error).__name__}: {error}"
            with self._turn:
                self._waiting.popleft()
                done = not self._waiting
                if done and self._closed:
                    self._close()

    def number_of(self, event: Event) -> int | None:
        """Number that the run or failure of an event has in the file."""
        return self._numbers.get(event.number)

    def _take(self, event: Event) -> None:
        if event.kind == "verify":
            details = event.data
            self._verified[_key(event.name, details["shape"], details["device"], details["code"])] = details[
                "passed"
            ]
            while len(self._verified) > VERIFIED:
                self._verified.pop(next(iter(self._verified)))
        elif event.kind in ("time", "profile"):
            self._add(event)
        elif event.kind == "sanitize":
            details = event.data
            for digest in _digests(event):
                self._keep_code(digest)
            self._insert(
                event,
                details["shape"],
                details["device"],
                kind=event.kind,
                code=details["code"],
                findings=details["findings"],
                result=_result(details["details"]),
            )
        elif event.kind == "failed":
            details = event.data
            self._insert(
                event,
                shape_of(details),
                details.get("device", ""),
                kind=details["kind"],
                error=details["error"],
            )

    def _add(self, event: Event) -> None:
        timing = _timing(event)
        for digest in _digests(event):
            self._keep_code(digest)
        self._insert(
            event,
            timing.shape,
            timing.device,
            kind=event.kind,
            code=timing.code,
            value=timing.median.value,
            unit=timing.median.unit,
            origin=str(timing.median.origin),
            verified=self._verified.get(_key(timing.name, timing.shape, timing.device, timing.code)),
            result=_result(event.data),
        )

    def _insert(self, event: Event, shape: Any, device: str, **more: Any) -> None:
        self._keep_session()
        git = self._state()
        row = {
            "session": self.session,
            "seconds": event.seconds,
            "kernel": event.name,
            "shape": json.dumps(encode(dict(shape)), default=str),
            "device": device,
            "code": "",
            "unit": "",
            "origin": "",
            "error": "",
            "revision": git.revision,
            "branch": git.branch,
            "modified": git.modified,
        }
        self._numbers[event.number] = self.store.insert("run", {**row, **more})
        while len(self._numbers) > NUMBERS:
            self._numbers.pop(next(iter(self._numbers)))

    def _state(self) -> GitState:
        asked, state = self._git
        if time.monotonic() - asked > GIT_SECONDS:
            state = git_state(self._beside)
            self._git = (time.monotonic(), state)
        return state

    def _keep_session(self) -> None:
        if not self._numbers:
            row = {
                "id": self.session,
                "started": self._started,
                "notebook": Path(notebook()).name,
                "host": platform.node(),
                "python": platform.python_version(),
                "workbench": str(vars(sys.modules["workbench"]).get("__version__", "")),
            }
            self.store.insert("session", row, unless_there=True)

    def _keep_code(self, digest: str) -> None:
        from workbench.kernel.code import known_code

        if self.store.rows("SELECT 1 FROM code WHERE digest = ? AND elf IS NOT NULL", (digest,)):
            return
        code = known_code(digest)
        if code is None:
            return
        compiled = code.result
        row = {
            "digest": digest,
            "name": code.name,
            "arch": code.arch,
            "compiler": str(compiled.compiler.version) if compiled is not None else "",
            "options": " ".join(compiled.command[1:]) if compiled is not None else "",
            "source": code.source,
            "elf": packed(code.code),
        }
        self.store.write("DELETE FROM code WHERE digest = ?", (digest,))
        self.store.insert("code", row)


@dataclass(frozen=True)
class _Waiting:
    """An event that could not be written because another process has locked the file.

    Attributes:
        event: the event.
        until: deadline for writing it, on the monotonic clock in seconds.
        codes: code that it ran, referenced because it can be looked up only as long as a reference exists.
    """

    event: Event
    until: float
    codes: tuple[object, ...]

    @classmethod
    def from_event(cls, event: Event) -> _Waiting:
        # The publisher of a run has the kernel loaded.
        from workbench.kernel.code import known_code

        has_code = event.kind in ("time", "profile", "sanitize")
        codes = tuple(map(known_code, _digests(event))) if has_code else ()
        return cls(event, time.monotonic() + BACKGROUND_SECONDS, codes)


def _timing(event: Event) -> Any:
    return event.data.timing if event.kind == "profile" else event.data


def _digests(event: Event) -> list[str]:
    code = event.data["code"] if event.kind == "sanitize" else _timing(event).code
    return [digest for digest in code.split("+") if digest]


def _result(result: Any) -> bytes | None:
    """A result in the form that is stored; None if it cannot be stored, so that only its time is."""
    try:
        return packed(json.dumps(encode(result, NOT_KEPT)))
    except (TypeError, ValueError):
        return None


def _key(name: str, shape: Any, device: str, code: str) -> Any:
    return (name, device, code, *sorted((k, str(v)) for k, v in shape.items()))


_current: Recorder | None = None
_unsubscribe: Callable[[], None] | None = None


def current() -> Recorder | None:
    """The recorder of this process; None if none was started, or recording is off."""
    return _current


def start(source: Hub = hub) -> Recorder | None:
    """Records from now on, and the hub's stored events; None if $HIPKITTENS_HISTORY is "off".

    A second call changes nothing, unless the file is now another one.
    """
    global _current, _unsubscribe
    beside = folder()
    path = store_path(beside)
    if path is None:
        stop()
        return None
    if _current is None or _current.path != path:
        stop()
        _current = Recorder(path, beside)
        for event in source.history():
            _current.take(event)
        _unsubscribe = source.subscribe(_current.take)
    return _current


def stop() -> None:
    """Ends recording, and closes the file."""
    global _current, _unsubscribe
    if _unsubscribe is not None:
        _unsubscribe()
    if _current is not None:
        _current.close()
    _current = _unsubscribe = None
