"""Ctrl-C during a launch: held back until it can be raised without being lost.

A HIP call goes from Python through C into Python again. An interrupt that Python raises on the way in, before
the function behind the call has begun, ends in ctypes: it is lost, and the call returns what was in a
register. So SIGINT is only noted during a launch; the loop that runs the work-groups checks for it a few
times a second, and an interrupt after that is raised once the launch is over.

Python delivers signals only to its main thread. A launch of another thread listens in C, in front of Python's
handler, so it can be stopped as well.
"""

from __future__ import annotations

import importlib
import os
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

from workbench.emulator.native import native_library

_Handler = Callable[[int, FrameType | None], Any]

# Every launch of the main thread sets the handler twice. `signal` converts arguments and results to
# enumeration members, which takes longer than everything else here.
_plain = importlib.import_module("_signal")
_install: Callable[[int, Any], Any] = _plain.signal
_installed: Callable[[int], Any] = _plain.getsignal
_SIGINT = int(signal.SIGINT)


class _Held:
    """The interrupt that came while it was held back, and its handler."""

    def __init__(self, handler: _Handler) -> None:
        self.handler = handler
        self.thread = threading.get_ident()
        self.arrived: tuple[int, FrameType | None] | None = None

    def note(self, number: int, frame: FrameType | None) -> None:
        self.arrived = number, frame

    def deliver(self) -> None:
        """Call the handler with the interrupt; Python's own raises KeyboardInterrupt."""
        if self.arrived is not None:
            number, frame = self.arrived
            self.arrived = None
            self.handler(number, frame)


_held: _Held | None = None
_listening = False
"""True while a launch in another thread listens for interrupts in C."""


def _set(handler: _Handler) -> None:
    """Python's handler of SIGINT, behind the one in C if a launch listens there: setting it removes C's."""
    _install(_SIGINT, handler)
    if _listening:
        native_library().hk_hear_interrupts()


def _forked() -> None:
    """In a child process made by a thread other than the launching one: nothing is held back here."""
    global _held
    if _held is not None and _held.thread != threading.get_ident():
        _install(_SIGINT, _held.handler)
        _held = None


os.register_at_fork(after_in_child=_forked)


def held() -> AbstractContextManager[None]:
    """Notes SIGINT instead of raising it, in the main thread; it is raised at `deliver` or at the end."""
    return _Holding()


class _Holding:
    """See `held`; a class, since a launch enters and leaves it."""

    _holder: _Held | None = None

    def __enter__(self) -> None:
        global _held
        handler = _installed(_SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        if _held is not None or not is_main or not callable(handler):
            return
        self._holder = holder = _Held(handler)
        # An interrupt may also come during either of the two, before it is blocked.
        try:
            _held = holder
            _set(holder.note)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        global _held
        if self._holder is not None:
            _held = None
            _set(self._holder.handler)
            self._holder.deliver()


def deliver() -> None:
    """Raise the interrupt that was held back, if one was; for the main thread, where it can be caught."""
    if _held is not None and threading.current_thread() is threading.main_thread():
        _held.deliver()


def heard() -> AbstractContextManager[Callable[[], None]]:
    """A function that raises pending interrupts in the calling thread; for one launch at a time.

    Raises:
        KeyboardInterrupt: from the returned function, in any thread.
    """
    return _Hearing()


class _Hearing:
    """See `heard`; a class, since a launch enters and leaves it."""

    _listens = False

    def __enter__(self) -> Callable[[], None]:
        if threading.current_thread() is threading.main_thread():
            return deliver
        global _listening
        library = native_library()
        _listening = self._listens = True
        start = library.hk_hear_interrupts()

        def look() -> None:
            if library.hk_hear_interrupts() != start:
                raise KeyboardInterrupt

        return look

    def __exit__(self, *_: object) -> None:
        global _listening
        if self._listens:
            _listening = False
            native_library().hk_leave_interrupts()


__all__ = ["deliver", "heard", "held"]
