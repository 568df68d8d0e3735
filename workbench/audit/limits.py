"""Child processes under limits of time and memory; whatever they start ends with them.

Limits of time are of processor time: on a busy computer a build takes longer, and is not worse for it. A
process that sleeps is ended after as much wall time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GRACE = 5.0
"""Seconds between the request to end and the end."""

_INTERVALS = (0.05, 2.0)
"""Seconds between two looks at a process: from its start on, and at most."""

_PATIENCE = 10
"""Wall time in limits after which a process is ended in any case."""

_ASLEEP = 0.005
"""Processor time in wall time below which a process counts as asleep."""

_LAST = 1 << 20
"""Bytes of output that are read: the last ones."""


@dataclass(frozen=True)
class Limits:
    """Limits of the processes of one kernel.

    Attributes:
        build: seconds of processor time of a build.
        run: seconds of processor time of a run.
        memory: bytes that a process and all that it starts may hold.
        proof: seconds of wall time of the search for an order of waves and loads that changes results.
    """

    build: float = 400.0
    run: float = 300.0
    memory: int = 8 << 30
    proof: float = 180.0


@dataclass(frozen=True)
class Ended:
    """A process that ended.

    Attributes:
        status: exit status; None if a limit ended it.
        output: the end of its output and error output.
        seconds: wall time.
        limit: the limit that ended it, in words; "" for none.
    """

    status: int | None
    output: str
    seconds: float
    limit: str = ""

    @property
    def passed(self) -> bool:
        return self.status == 0


def run_limited(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], *, seconds: float, memory: int
) -> Ended:
    """Runs a command in a session of its own, and ends all of it at a limit.

    Args:
        seconds: of processor time of all its processes; where /proc is absent, of wall time.
        memory: bytes of resident memory of all its processes together; not watched where /proc is absent.
    """
    begin = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        limit, interval = "", _INTERVALS[0]
        try:
            while process.poll() is None and not limit:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(interval)
                    break
                # All processes of the computer are looked at, by every job.
                interval = min(1.2 * interval, _INTERVALS[1])
                processor, resident = used(process.pid)
                if _is_late(time.monotonic() - begin, processor, seconds):
                    limit = f"not done after {seconds:g} s"
                elif resident > memory:
                    limit = f"needs more than {memory / 2**30:.1f} GiB of memory"
        finally:
            # Also what it left running.
            end(process)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _LAST))
        text = output.read().decode("utf-8", "replace")
    return Ended(None if limit else process.returncode, text, time.monotonic() - begin, limit)


def end(process: subprocess.Popen[Any]) -> None:
    """Ends a process that began a session, and all that it left running."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        if process.poll() is not None:
            # Only the processes that it left are there.
            continue
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    process.wait()


def _is_late(wall: float, used: float, seconds: float) -> bool:
    """Whether a process is past its limit."""
    return used > seconds or (wall > seconds and used < _ASLEEP * wall) or wall > _PATIENCE * seconds


def used(group: int) -> tuple[float, int]:
    """Seconds of processor time, and bytes of resident memory, of a process group."""
    ticks = pages = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name of the program, in parentheses, may have spaces.
            fields = file.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                # Its own, and those of the children that it waited for.
                ticks += sum(map(int, fields[11:15]))
                pages += int(fields[21])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")


__all__ = ["Ended", "Limits", "end", "run_limited", "used"]
