"""Launches of child processes: each appends a line to a file when it ends.

Children of `multiprocessing` append one after each launch: nothing runs at their end.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol

from workbench.codeobject import CodeObject
from workbench.codeobject.names import instance_name
from workbench.errors import WorkbenchError
from workbench.launches import LaunchModel, LaunchRecord
from workbench.origin import Figure, Origin
from workbench.runtime.reports import append, program

VARIABLE = "HIPKITTENS_TALLY"
"""Environment variable: the file to append to."""

COUNTERS_VARIABLE = "HIPKITTENS_TALLY_COUNTERS"
"""Environment variable: whether the tally includes counters of each launch."""

TIMES_VARIABLE = "HIPKITTENS_TALLY_TIMES"
"""Environment variable: "0" if the tally has no modelled times, so that the time model is not loaded."""

_SHARE = "%"
"""Unit of counters that are a fraction of a launch's time: for several launches, the mean."""


@dataclass(frozen=True)
class KernelTally:
    """Counted launches of one kernel.

    Attributes:
        name: name of the kernel, with template arguments.
        device: name of the device.
        launches: number of successful launches.
        seconds: their modelled time on a GPU; None if it is not modelled.
        counters: sums of the profile counters, by rocprof's names; for percentages the mean over the
            launches.
    """

    name: str
    device: str
    launches: int
    seconds: float | None
    counters: Mapping[str, Figure] = field(default_factory=dict)

    def __add__(self, other: KernelTally) -> KernelTally:
        number = self.launches + other.launches

        def both(name: str) -> Figure:
            here, there = self.counters.get(name), other.counters.get(name)
            if here is None or there is None:
                figure = here or there
                assert figure is not None
                return figure
            value = here.value + there.value
            if here.unit == _SHARE:
                value = (here.value * self.launches + there.value * other.launches) / number
            # A sum has the worst origin of its parts.
            origin = Origin.MODELLED if Origin.MODELLED in (here.origin, there.origin) else here.origin
            return replace(here, value=value, origin=origin)

        names = dict.fromkeys((*self.counters, *other.counters))
        seconds = _sum(self.seconds, other.seconds)
        counters = {name: both(name) for name in names}
        return replace(self, launches=number, seconds=seconds, counters=counters)

    def __str__(self) -> str:
        """Text such as "twice<float> on emulated:gfx942: 3 launches, 12.0 us modelled"."""
        return f"{self.name} on {self.device}: {launches(self.launches)}{_modelled(self.seconds)}"

    @classmethod
    def of_data(cls, data: Mapping[str, object]) -> KernelTally:
        """A tally from `asdict`'s mapping, after a round trip through JSON."""
        counters = data["counters"]
        assert isinstance(counters, dict)
        figures = {
            name: Figure(f["value"], f["unit"], Origin(f["origin"]), f["source"])
            for name, f in counters.items()
        }
        return cls(**{**data, "counters": figures})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Tally:
    """The launches of a process, or of several.

    Attributes:
        launches: number of launches that ended.
        seconds: their modelled time on a GPU; None if it is not modelled.
        processes: number of processes with at least one launch.
        program: file name of the first process's program.
        stopped: launches that a fault ended.
        kernels: counts for each kernel; empty unless requested.
    """

    launches: int = 0
    seconds: float | None = 0.0
    processes: int = 0
    program: str = ""
    stopped: int = 0
    kernels: tuple[KernelTally, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.launches + other.launches,
            _sum(self.seconds, other.seconds),
            self.processes + other.processes,
            self.program or other.program,
            self.stopped + other.stopped,
            _merged((*self.kernels, *other.kernels)),
        )

    def __str__(self) -> str:
        """Text such as "12 launches in 2 processes, 340.2 us modelled"."""
        text = launches(self.launches)
        if self.processes > 1:
            text += f" in {self.processes} processes"
        if self.launches:
            text += _modelled(self.seconds)
        if self.stopped:
            text += f", {self.stopped} stopped by a fault"
        return text

    @classmethod
    def of_line(cls, line: str) -> Tally:
        """The tally in a line of the file; an empty one for a partial line of a killed process."""
        try:
            data = json.loads(line)
            return cls(**{**data, "kernels": tuple(map(KernelTally.of_data, data["kernels"]))})
        except (ValueError, TypeError, KeyError):
            return cls()


def launches(number: int) -> str:
    """Text such as "12 launches"."""
    return f"{number} launch{'es' * (number != 1)}"


def _modelled(seconds: float | None) -> str:
    return "" if seconds is None else f", {seconds * 1e6:,.1f} us modelled"


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def _merged(kernels: Iterable[KernelTally]) -> tuple[KernelTally, ...]:
    merged: dict[tuple[str, str], KernelTally] = {}
    for kernel in kernels:
        key = kernel.name, kernel.device
        merged[key] = merged[key] + kernel if key in merged else kernel
    return tuple(merged.values())


class Clock(Protocol):
    """A node's clock of modelled time."""

    unmodelled: int

    @property
    def kernel_seconds(self) -> Mapping[str, float]: ...

    def event_made(self) -> None: ...

    def settle(self) -> None: ...


class Launches(Protocol):
    """A node that counts its launches."""

    launches: int
    stopped: int
    counter: Callable[[LaunchRecord, CodeObject, int], None] | None
    after_launch: Callable[[], None] | None

    @property
    def clock(self) -> Clock: ...


class _Counts:
    """Counters of this process's launches, by the kernel's symbol."""

    def __init__(self, model: Callable[[], LaunchModel]) -> None:
        self._model = model
        self.kernels: dict[tuple[str, str], KernelTally] = {}
        os.register_at_fork(after_in_child=self.kernels.clear)

    def __call__(self, record: LaunchRecord, code: CodeObject, argument_bytes: int) -> None:
        figures = self._model().counters(code.data, record, argument_bytes)
        name = instance_name(code.kernels[record.kernel].demangled)
        launch = KernelTally(name, record.device, 1, 0.0, figures)
        key = record.kernel, record.device
        self.kernels[key] = self.kernels[key] + launch if key in self.kernels else launch

    def timed(self, seconds: Mapping[str, float] | None) -> tuple[KernelTally, ...]:
        """The tally with modelled times by the kernel's symbol; None if they are not known."""
        return tuple(
            replace(kernel, seconds=None if seconds is None else seconds.get(symbol))
            for (symbol, _), kernel in self.kernels.items()
        )


def keep(node: Launches, model: Callable[[], LaunchModel]) -> None:
    """Makes this process append its tally when it ends, if `VARIABLE` requests it.

    Args:
        node: the process's launches.
        model: loads the time model.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return
    is_timed = os.environ.get(TIMES_VARIABLE) != "0"
    if is_timed:
        # As if an event had been timed: this starts the clock.
        node.clock.event_made()
    counts = _Counts(model) if os.environ.get(COUNTERS_VARIABLE) else None
    node.counter = counts
    import concurrent.futures.thread  # noqa: F401  (cannot be imported any more when it is needed)

    global _appender
    _appender = appender = _Appender(path, node, counts, may_load=is_timed)
    node.after_launch = appender.launched
    # The time model is loaded by then, which Python can do until its threads have ended. In a process that
    # Python did not start, `leave` loads it.
    threading._register_atexit(appender.append)  # type: ignore[attr-defined]
    atexit.register(appender.append)


def leave() -> None:
    """Appends this process's tally while libraries can still be loaded: its end adds only later launches."""
    if _appender is not None:
        _appender.append()
        _appender.may_load = False


class _Appender:
    """Appends the launches of this process since the last call to the file.

    Attributes:
        may_load: False if the time model must not be loaded any more. Launches have no time then, unless
            earlier ones have.
    """

    def __init__(self, path: str, node: Launches, counts: _Counts | None, *, may_load: bool = True) -> None:
        self.may_load = may_load
        self._path, self._node, self._counts = path, node, counts
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._launches = self._stopped = 0
        self._times: dict[str, float] = {}

    def launched(self) -> None:
        """Notes that a launch has ended, and calls the functions of `first_launch`.

        A child of `multiprocessing` appends it at once: a pool ends it by a signal, and a fork by `_exit`.
        """
        while first_launch:
            first_launch.pop()()
        processes = sys.modules.get("multiprocessing.process")
        if processes is not None and processes.parent_process() is not None:
            self.append()

    def append(self) -> None:
        node = self._node
        if node.launches == self._launches:
            return
        times: dict[str, float] | None = None
        if (self.may_load or self._times) and not node.clock.unmodelled:
            with contextlib.suppress(WorkbenchError):
                node.clock.settle()
                seconds = node.clock.kernel_seconds
                times = {name: s - self._times.get(name, 0.0) for name, s in seconds.items()}
        launched = Tally(
            node.launches - self._launches,
            None if times is None else sum(times.values()),
            0 if self._launches else 1,
            program(),
            node.stopped - self._stopped,
            () if self._counts is None else self._counts.timed(times),
        )
        self._launches, self._stopped = node.launches, node.stopped
        self._times = dict(node.clock.kernel_seconds)
        if self._counts is not None:
            self._counts.kernels.clear()
        # If it cannot be written, its reader is gone.
        with contextlib.suppress(OSError):
            append(self._path, f"{json.dumps(asdict(launched))}\n".encode())


first_launch: list[Callable[[], None]] = []
"""Functions to call once, when the first launch of a process with a tally has ended."""

_appender: _Appender | None = None
"""This process's, if its environment requests a tally."""


@contextlib.contextmanager
def of_process(environment: dict[str, str], *, counters: bool = False, times: bool = True) -> Iterator[Path]:
    """Path of the file to which a process with this environment, and its children, append.

    Args:
        counters: True to also count each launch, which takes longer.
        times: False for no modelled times: each process is 1.5 s faster, which the time model takes to load.
    """
    with tempfile.TemporaryDirectory(prefix="hipkittens-tally-") as folder:
        path = Path(folder) / "launches.jsonl"
        environment[VARIABLE] = str(path)
        environment[COUNTERS_VARIABLE] = "1" if counters else ""
        environment[TIMES_VARIABLE] = "" if times else "0"
        yield path


def total(path: Path) -> Tally:
    """The sum of the processes' lines in a file; empty if there is none."""
    lines = path.read_text().splitlines() if path.is_file() else []
    return sum(map(Tally.of_line, lines), Tally())


__all__ = [
    "COUNTERS_VARIABLE",
    "TIMES_VARIABLE",
    "VARIABLE",
    "KernelTally",
    "Tally",
    "first_launch",
    "keep",
    "launches",
    "leave",
    "of_process",
    "total",
]
