"""Tasks that stand in for candidates: they compile and run nothing."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def square(n: int, folder: str = "") -> int:
    """A candidate; it leaves a file for each time that it ran."""
    if folder:
        (Path(folder) / f"{n} {os.getpid()} {time.monotonic_ns()}").touch()
        time.sleep(0.005)
    return n * n


def troubled(n: int, folder: str) -> int:
    """Candidate 1 faults, 2 hangs and 3 kills its process, always; 4 kills its process the first time."""
    if n == 1:
        raise ValueError("candidate 1 faults")
    if n == 2:
        time.sleep(600)
    first = Path(folder) / "first"
    if n == 3 or (n == 4 and not first.exists()):
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return n * n


def pid() -> int:
    return os.getpid()
