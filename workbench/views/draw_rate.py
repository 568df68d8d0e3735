"""Redraw rate of a live page: soon after an event, but seldom enough to cost a run little."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable

INTERVAL = 0.1
"""Seconds between two updates, at least."""

IDLE = 4.0
"""Minimum pause after drawing, as a multiple of its work: live figures must not cost more than a fifth of the
run that they show."""

BUSY = 1.5
"""Minimum pause after a drawing, as a multiple of its duration."""


class DrawRate:
    """When figures, and lines of text, may be drawn again.

    Attributes:
        figures, lines: earliest next time of each, by `time.monotonic`; 0 is at once.

    Args:
        draw: a method that a timer calls; its object is not kept alive.
    """

    def __init__(self, draw: Callable[[], None]) -> None:
        self._draw = weakref.WeakMethod(draw)
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._next = 0.0
        self.figures = 0.0
        self.lines = 0.0

    def wait(self, *, figures: bool) -> float:
        """Seconds to wait before the next drawing; writing a line of text delays no figure."""
        return (self.figures if figures else max(self.figures, self.lines)) - time.monotonic()

    def draw_in(self, seconds: float) -> None:
        """Schedules a drawing, unless an earlier one is scheduled; never within `INTERVAL`."""
        seconds = max(seconds, INTERVAL)
        moment = time.monotonic() + seconds
        with self._lock:
            if self._timer is not None:
                if self._next <= moment:
                    return
                self._timer.cancel()
            self._next = moment
            self._timer = threading.Timer(seconds, self._due)
            self._timer.daemon = True
            self._timer.start()

    def draw_now(self) -> None:
        """Draws what `draw_in` scheduled, now and in this thread; does nothing if nothing is scheduled."""
        if self._timer is not None:
            self.cancel()
            self._due()

    def cancel(self) -> None:
        """Cancels the drawing that `draw_in` scheduled."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def drawn(self, took: float, worked: float, *, figures: bool) -> None:
        """Sets the pause after a drawing, from its elapsed seconds and this thread's CPU seconds."""
        # Elapsed time includes waiting for other processes, which does not hold up the run; CPU time does.
        self.lines = time.monotonic() + max(INTERVAL - took, IDLE * worked, BUSY * took)
        if figures:
            self.figures = self.lines

    def asked(self) -> None:
        """After a requested drawing, which does not delay the next one."""
        self.figures = time.monotonic() + INTERVAL

    def _due(self) -> None:
        draw = self._draw()
        if draw is not None:
            draw()
