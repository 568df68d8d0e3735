"""Audits a kernel source in a process of its own, several of them side by side.

    python -m workbench.audit.alone

reads a pickled request from its standard input, and writes the record as JSON to the file that this names.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from workbench.audit.examine import digest, examine
from workbench.audit.limits import Limits
from workbench.audit.records import KernelRecord, Result
from workbench.audit.sources import KernelSource
from workbench.cache import write_atomically

_GRACE = 10.0
"""Seconds that a process has to end its own children."""

_LAST = 300
"""Characters of the output of a process that failed."""


class Children:
    """Processes that audit kernel sources.

    Args:
        jobs: number of processes at a time, which share the processors.
    """

    def __init__(self, jobs: int) -> None:
        self._threads = max(1, (os.cpu_count() or 1) // jobs)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._is_ended = False

    def examine(self, source: KernelSource, folder: Path, limits: Limits) -> KernelRecord:
        """`examine` in a process of its own; a record that says so if the process fails."""
        file = folder / "record.json"
        file.unlink(missing_ok=True)
        request = folder / "request.pickle"
        request.write_bytes(pickle.dumps((source, folder, limits, file)))
        variables = {**os.environ}
        for name in ("HIPKITTENS_THREADS", "OMP_NUM_THREADS"):
            variables.setdefault(name, str(self._threads))
        with request.open("rb") as content:
            process = self._started(content.fileno(), variables)
            output, _ = process.communicate()
        with self._lock:
            self._running.discard(process)
        if file.is_file():
            return KernelRecord.of_data(json.loads(file.read_text(encoding="utf-8")))
        if self._is_ended:
            raise KeyboardInterrupt
        text = f"its audit ended with status {process.returncode}: {output.strip()[-_LAST:]}"
        return KernelRecord(source.name, source.target, digest(source), Result.FAILS, text)

    def _started(self, request: int, variables: dict[str, str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._is_ended:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                [sys.executable, "-m", "workbench.audit.alone"],
                stdin=request,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=variables,
                # The interrupt of a terminal is for the audit, which ends them.
                start_new_session=True,
            )
            self._running.add(process)
        return process

    def end(self) -> None:
        """Ends all processes with what they started, and starts none any more."""
        with self._lock:
            self._is_ended = True
            running = list(self._running)
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()


def _end(number: int, frame: FrameType | None) -> None:
    # An exception, so that the processes below end, too.
    raise SystemExit(128 + number)


def main() -> None:
    signal.signal(signal.SIGTERM, _end)
    # Only the audit that started this process writes to its standard input.
    source, folder, limits, file = pickle.load(sys.stdin.buffer)
    record = examine(source, folder, limits)
    write_atomically(file, json.dumps(asdict(record), ensure_ascii=False).encode())


if __name__ == "__main__":
    main()


__all__ = ["Children"]
