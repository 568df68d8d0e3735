"""Importing the workbench leaves no thread that uses a processor while it has nothing to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Times of all threads but the first, in ns (fields of /proc/PID/schedstat, Documentation/scheduler of Linux).
_PROGRAM = """
import os, time
{}
import numpy
time.sleep(0.2)
spent = 0
for task in os.listdir("/proc/self/task"):
    if int(task) != os.getpid():
        spent += int(open(f"/proc/self/task/{{task}}/schedstat").read().split()[0])
print(spent)
"""


def _idle_milliseconds(statement: str) -> float:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    program = [sys.executable, "-c", _PROGRAM.format(statement)]
    return int(subprocess.check_output(program, env=environment)) / 1e6


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the system does not say how long threads ran"
)
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="NumPy starts no threads on one core")
def test_threads_of_numpy_sleep_at_once() -> None:
    threads = len(os.sched_getaffinity(0)) - 1
    # Without the setting each spins for about 20 ms; waking up and going to sleep takes 0.05 ms.
    assert _idle_milliseconds("import workbench") < 3 * threads
