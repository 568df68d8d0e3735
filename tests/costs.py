"""The processor time that each function's tests took, with their child processes: `--record-costs FILE`.

`tests/tiers.py` reads it. Functions that it runs whole anyway are left out.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiers


def processor_time() -> float:
    """Seconds that this process and those of its children that ended have taken."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Recorder:
    """A plugin of pytest, in each worker and in the process that collects their reports."""

    def __init__(self, file: Path | None, least: float = tiers.SECONDS) -> None:
        self.file = file
        self.least = least
        self.seconds: Counter[str] = Counter()
        self.last = processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report = yield
        now = processor_time()
        # A report's attributes travel from a worker with it.
        report.processor_time, self.last = now - self.last, now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid.partition("[")[0]] += getattr(report, "processor_time", 0.0)

    def pytest_sessionfinish(self) -> None:
        if not self.file:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("w", newline="") as stream:
            lines = csv.writer(stream, lineterminator="\n")
            lines.writerow(("function", "seconds"))
            for function, seconds in sorted(self.seconds.items()):
                if seconds >= self.least:
                    lines.writerow((function, f"{seconds:.1f}"))
