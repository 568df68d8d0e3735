"""What processes launched, for one that started them: each appends a line to a file when it ends."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from workbench.errors import WorkbenchError
from workbench.runtime.reports import append, program

VARIABLE = "HIPKITTENS_TALLY"
"""Environment variable: the file to append to."""


@dataclass(frozen=True)
class Tally:
    """The launches of a process, or of several.

    Attributes:
        launches: that ended.
        seconds: their modelled time on a GPU; None where it is not modelled.
        processes: that launched something.
        program: the name of the first one's file.
    """

    launches: int = 0
    seconds: float | None = 0.0
    processes: int = 0
    program: str = ""

    def __add__(self, other: Tally) -> Tally:
        both = self.seconds is not None and other.seconds is not None
        return Tally(
            self.launches + other.launches,
            (self.seconds or 0.0) + (other.seconds or 0.0) if both else None,
            self.processes + other.processes,
            self.program or other.program,
        )

    def __str__(self) -> str:
        """Such as "12 launches in 2 processes, 340.2 us modelled"."""
        text = f"{self.launches} launch{'es' * (self.launches != 1)}"
        if self.processes > 1:
            text += f" in {self.processes} processes"
        if self.launches and self.seconds is not None:
            text += f", {self.seconds * 1e6:,.1f} us modelled"
        return text


class Clock(Protocol):
    """A node's clock of modelled time."""

    kernel_seconds: float

    def event_made(self) -> None: ...

    def settle(self) -> None: ...


class Launches(Protocol):
    """A node that counts its launches."""

    launches: int

    @property
    def clock(self) -> Clock: ...


def keep(node: Launches) -> None:
    """Has this process append its tally when it ends, where `VARIABLE` asks for it."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    # As if there was an event that can be timed: the clock is on from here.
    node.clock.event_made()
    import concurrent.futures.thread  # noqa: F401  (cannot be imported any more when it is needed)

    append_once = functools.cache(lambda: _append(path, node))
    # What models times is loaded by then, which Python can do until its threads have ended; a process that
    # Python did not begin never comes there.
    threading._register_atexit(append_once)  # type: ignore[attr-defined]
    atexit.register(append_once)


def _append(path: str, node: Launches) -> None:
    if not node.launches:
        return
    try:
        node.clock.settle()
        seconds: float | None = node.clock.kernel_seconds
    except WorkbenchError:
        seconds = None
    line = json.dumps(asdict(Tally(node.launches, seconds, 1, program())))
    # Where it cannot be written, nobody reads it any more.
    with contextlib.suppress(OSError):
        append(path, f"{line}\n".encode())


@contextlib.contextmanager
def of_process(environment: dict[str, str]) -> Iterator[Path]:
    """The file that a process started with this environment, and its children, append to."""
    with tempfile.TemporaryDirectory(prefix="hipkittens-tally-") as folder:
        path = Path(folder) / "launches.jsonl"
        environment[VARIABLE] = str(path)
        yield path


def total(path: Path) -> Tally:
    """The sum of what processes appended to a file; nothing where there is none."""
    result = Tally()
    if not path.is_file():
        return result
    for line in path.read_text().splitlines():
        try:
            result += Tally(**json.loads(line))
        except (ValueError, TypeError):
            continue  # A part of a line, of a process that was killed.
    return result


__all__ = ["VARIABLE", "Tally", "keep", "of_process", "total"]
