"""Work that a page does not wait for: the latest of what was asked, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Latest:
    """Runs jobs one at a time; of those that wait, only the latest.

    Args:
        failed: is told of what a job raised; nobody sees what a thread raises.
    """

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        self._lock = threading.Lock()
        self._job: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None

    def run(self, job: Callable[[], None]) -> None:
        """Runs a job soon, in place of one that has not begun."""
        with self._lock:
            self._job = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="workbench-views", daemon=True)
                self._thread.start()

    @property
    def is_asked(self) -> bool:
        """Whether another job waits, so that the present one may stop."""
        return self._job is not None

    def wait(self, seconds: float | None = None) -> None:
        """Waits until nothing is left to do."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _work(self) -> None:
        while True:
            with self._lock:
                job, self._job = self._job, None
                if job is None:
                    self._thread = None
                    return
            try:
                job()
            except Exception as error:
                self._failed(error)
