"""A background thread for jobs that a page does not wait for; a newer job replaces one that waits."""

from __future__ import annotations

import threading
from collections.abc import Callable


class JobThread:
    """Runs jobs one at a time; only the latest of the waiting ones.

    Args:
        failed: called with a job's exception, which would otherwise be lost in the thread.
    """

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        self._lock = threading.Lock()
        self._job: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None

    def run(self, job: Callable[[], None]) -> None:
        """Queues a job; it replaces one that has not begun."""
        with self._lock:
            self._job = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="workbench-views", daemon=True)
                self._thread.start()

    @property
    def is_asked(self) -> bool:
        """True if another job is waiting, so that the current one may stop."""
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
