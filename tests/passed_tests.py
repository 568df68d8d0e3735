"""Tests that passed in one run are omitted from the next: `--record-passed FILE`, then `--skip-passed FILE`.

Continuous integration runs `make test` on a machine with nothing installed, then all tests on one that has
compilers and a browser. Tests that passed on the first need not run again; skipped and failed ones do.
"""

from __future__ import annotations

from pathlib import Path

import pytest


class Recorder:
    """A plugin of pytest: writes the node ids of tests that passed in all their phases, one per line."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.passed: dict[str, None] = {}
        self.other: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.other.add(report.nodeid)
        elif report.when == "call":
            self.passed[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        names = [name for name in self.passed if name not in self.other]
        self.file.write_text("".join(f"{name}\n" for name in names))


def read(file: str | None) -> frozenset[str]:
    """The node ids in a file; none without a file."""
    return frozenset(Path(file).read_text().splitlines()) if file else frozenset()


def covers(passed: frozenset[str], item: pytest.Item) -> bool:
    """True if a test passed completely; only some of the random cases are tried."""
    return item.nodeid in passed and "in_this_tier" not in getattr(item, "fixturenames", ())
