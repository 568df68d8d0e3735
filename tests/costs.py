"""The processor time that each function's tests took, with their child processes: `--record-costs FILE`.

`tests/tiers.py` reads it. Functions that always run are omitted. The first test that uses a shared fixture,
such as a compiled library, sets it up, so its time is divided among all functions that use it. Functions that
take less time than their fixture are drawn together, by its name; otherwise each draw would set it up.
"""

from __future__ import annotations

import csv
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
        self.users: defaultdict[str, set[str]] = defaultdict(set)
        self.last = processor_time()
        # Seconds of a worker's shared fixtures, and of those that the current test set up.
        self.fixtures: Counter[str] = Counter()
        self.setups: Counter[str] = Counter()

    def pytest_collection_finish(self) -> None:
        self.last = processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        start = processor_time()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function" and fixturedef.baseid.endswith(".py"):
                self.setups[f"{fixturedef.baseid}::{fixturedef.argname}"] += processor_time() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report = yield
        now = processor_time()
        self.fixtures += self.setups
        file = item.nodeid.partition("::")[0]
        names = [f"{file}::{name}" for name in getattr(item, "fixturenames", ())]
        # A worker sends a report with its attributes.
        report.fixture_times = dict(self.setups)
        report.shared_fixtures = [name for name in names if name in self.fixtures]
        report.processor_time = now - self.last - self.setups.total()
        self.setups.clear()
        self.last = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        function = report.nodeid.partition("[")[0]
        self.seconds[function] += getattr(report, "processor_time", 0.0)
        self.seconds.update(getattr(report, "fixture_times", {}))
        for fixture in getattr(report, "shared_fixtures", ()):
            self.users[fixture].add(function)

    def pytest_sessionfinish(self) -> None:
        if not self.file:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        shared: dict[str, str] = {}
        for fixture in sorted(self.users, key=self.seconds.__getitem__):
            seconds, users = self.seconds.pop(fixture), self.users[fixture]
            for function in users:
                if seconds >= max(self.least, self.seconds[function]):
                    shared[function] = fixture.rpartition("::")[2]
                self.seconds[function] += seconds / len(users)
        with self.file.open("w", newline="") as stream:
            lines = csv.writer(stream, lineterminator="\n")
            lines.writerow(("function", "seconds", "fixture"))
            for function, seconds in sorted(self.seconds.items()):
                if seconds >= self.least or function in shared:
                    lines.writerow((function, f"{seconds:.1f}", shared.get(function, "")))
