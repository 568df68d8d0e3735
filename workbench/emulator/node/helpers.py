"""Threads that run a launch's work-groups beside the launching one; they are kept between launches.

Starting a thread and waiting for its end takes as long as a small kernel on one core, and a training step of
a small model makes a hundred launches of a millisecond each.
"""

from __future__ import annotations

import os
import threading

from workbench.emulator.native import native_library
from workbench.emulator.native.abi import CData
from workbench.toolchain import cpu

_NAME = "emulated-device"
_IDLE = f"{_NAME}, idle"


class Helper:
    """A thread that runs one worker after another, in C (run/helpers.c)."""

    def __init__(self) -> None:
        self._library = native_library()
        self._state = self._library.hk_helper_new()
        if not self._state:
            raise MemoryError
        # Determined here: the new thread inherits the mask of this one.
        self._processors = cpu.usable_processors()
        # It sleeps between launches, and ends with the process.
        self.thread = threading.Thread(target=self._serve, name=_IDLE, daemon=True)
        self.thread.start()

    def start(self, library: CData, worker: CData, slice_nanoseconds: int) -> None:
        """Lets it run a worker's work-groups until none is left; the previous worker must have ended.

        Args:
            library: the functions for the launch's wave size.
            worker: the Worker.
            slice_nanoseconds: duration of a call of hk_run.
        """
        self.thread.name = _NAME
        library.hk_helper_start(self._state, worker, slice_nanoseconds)

    def wait(self, seconds: float) -> bool:
        """True once the worker has ended; waits at most `seconds`."""
        return bool(self._library.hk_helper_wait(self._state, int(seconds * 1e9)))

    def _serve(self) -> None:
        cpu.use_processors(self._processors)
        self._library.hk_helper_serve(self._state)


_idle: list[Helper] = []


def taken() -> Helper:
    """An idle thread, reserved for the caller until it is given back."""
    try:
        return _idle.pop()
    except IndexError:
        return Helper()


def given_back(helper: Helper) -> None:
    """Returns a thread whose work has ended, for the next launch."""
    helper.thread.name = _IDLE
    _idle.append(helper)


# A parent's threads do not exist in its child.
os.register_at_fork(after_in_child=_idle.clear)
