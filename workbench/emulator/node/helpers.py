"""Threads that run a launch's work-groups beside the launching one; they are kept between launches.

Starting a thread and waiting for its end takes as long as a small kernel on one core, and a training step of
a small model makes a hundred launches of a millisecond each.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from workbench.toolchain import cpu

_NAME = "emulated-device"
_IDLE = f"{_NAME}, idle"


class Helper:
    """A thread that runs one piece of work after another."""

    def __init__(self) -> None:
        self._wanted, self._ended = threading.Lock(), threading.Event()
        self._wanted.acquire()
        # A caller must not wait for a run that never began: an interrupt may come in between.
        self._ended.set()
        self._work: Callable[[], None] = _nothing
        # Determined here: the new thread inherits the mask of this one.
        self._processors = cpu.usable_processors()
        # It sleeps between launches, and ends with the process.
        self._thread = threading.Thread(target=self._serve, name=_IDLE, daemon=True)
        self._thread.start()

    def start(self, work: Callable[[], None]) -> None:
        """Starts a task; the previous one must have ended."""
        self._ended.clear()
        self._work = work
        self._wanted.release()

    def wait(self, seconds: float | None = None) -> bool:
        """True once it has ended; waits at most `seconds`, or without limit for None."""
        return self._ended.wait(seconds)

    def _serve(self) -> None:
        cpu.use_processors(self._processors)
        while True:
            self._wanted.acquire()
            self._thread.name = _NAME
            try:
                self._work()
            except BaseException:
                # Reported like an exception that ends a thread; this one must live for the next launch.
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self._thread)))
            finally:
                self._work = _nothing
                self._thread.name = _IDLE
                self._ended.set()


_idle: list[Helper] = []


def taken() -> Helper:
    """An idle thread, reserved for the caller until it is given back."""
    try:
        return _idle.pop()
    except IndexError:
        return Helper()


def given_back(helper: Helper) -> None:
    """Returns a thread whose work has ended, for the next launch."""
    _idle.append(helper)


def _nothing() -> None:
    """True between two pieces of work."""


# A parent's threads do not exist in its child.
os.register_at_fork(after_in_child=_idle.clear)
