"""Runs a compiler so that it and everything that it started end, in time or at an interrupt."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from workbench.toolchain.source_text import source_bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """Exit status and output of a program that has ended.

    Attributes:
        returncode: exit status, negative for a signal; None if it was stopped at its time limit.
        stdout: text on standard output.
        stderr: text on standard error.
    """

    returncode: int | None
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Standard output and standard error together."""
        return self.stdout + self.stderr


class Group:
    """Programs that threads run at the same time, and that one call stops together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._stopped = False

    def add(self, process: subprocess.Popen[bytes]) -> None:
        """Add a program that was started; after `stop` it is stopped at once."""
        with self._lock:
            self._running.append(process)
            stopped = self._stopped
        if stopped:
            _kill(process)

    def stop(self) -> None:
        """Kill those that are still running; `run` returns for each."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _kill(process)


def run(
    command: Sequence[str],
    *,
    timeout: float,
    text: str = "",
    environment: Mapping[str, str] | None = None,
    group: Group | None = None,
) -> Finished:
    """Run `command` with `text` as its standard input.

    The program gets its own process group, and the whole group is killed at the time limit, at Ctrl-C and at
    any other exception, so that no linker or front end outlives its driver.

    Args:
        timeout: seconds that it may run.
        group: programs to stop together with this one.

    Raises:
        OSError: the program cannot be started.
    """
    process: subprocess.Popen[bytes] | None = None
    try:
        with _signals_wait():
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment) if environment is not None else None,
                start_new_session=True,
            )
        if group is not None:
            group.add(process)
        out, err = process.communicate(source_bytes(text), timeout=timeout)
    except BaseException as error:
        if process is not None:
            stop(process)
        if isinstance(error, subprocess.TimeoutExpired):
            return Finished(None, "", "")
        raise
    return Finished(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Handles signals that end the caller after the block: a half-started program would continue alone."""
    if threading.current_thread() is not threading.main_thread():
        yield  # No handler runs in this thread.
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(handler := signal.getsignal(number))
    }
    try:
        for number in handlers:
            signal.signal(number, lambda *arguments: came.append(arguments))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for sent, frame in came:
            handlers[signal.Signals(sent)](sent, frame)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a process started by `run` with its whole group and wait for it."""
    _kill(process)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
