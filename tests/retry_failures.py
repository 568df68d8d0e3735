"""Runs pytest, and each test that failed twice more, alone: `python tests/retry_failures.py [arguments]`.

The arguments are pytest's. Among 11,000 tests one that fails once in a hundred runs would reject every
hundredth unrelated change. A test that passes both times is listed as unstable, with its seed, and the run
passes; fix an unstable test before anything else. All else (a test that fails again, an error while
collecting, an interrupt) fails as with pytest.

A test that needs others before it names what to run instead: its property "retry" is that node id.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

REPEATS = 2
"""Number of times that a failed test must pass, each in a separate process."""

MOST_FAILURES = 12
"""More failures than that are not chance, and are not tried again."""


class FailureRecorder:
    """A plugin of pytest: the node ids that run failed tests again, and whether anything else failed."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}
        self.collection_failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests[dict(report.user_properties).get("retry", report.nodeid)] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.collection_failed |= report.failed


def passes_alone(test: str) -> bool:
    """True if a test passes each time, with the seed of the run in which it failed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test]
    return all(subprocess.run(command, check=False).returncode == 0 for _ in range(REPEATS))


def main(arguments: list[str]) -> int:
    recorder = FailureRecorder()
    status = int(pytest.main(arguments, plugins=[recorder]))
    failures = list(recorder.tests)
    if status != pytest.ExitCode.TESTS_FAILED or recorder.collection_failed or not failures:
        return status
    if len(failures) > MOST_FAILURES:
        print(f"{len(failures)} tests failed; more than {MOST_FAILURES} are not tried again")
        return status
    print(f"{len(failures)} failed; each is run again, alone, {REPEATS} times", flush=True)
    unstable = [test for test in failures if passes_alone(test)]
    failing = [test for test in failures if test not in unstable]
    if unstable:
        # tests/conftest.py put the seed there.
        seed = os.environ.get("HIPKITTENS_TEST_SEED", "")
        print(f"unstable, with HIPKITTENS_TEST_SEED={seed}; mend them first:")
        print("\n".join(f"  {test}" for test in unstable))
    if failing:
        print("failed again:")
        print("\n".join(f"  {test}" for test in failing))
    return status if failing else 0


if __name__ == "__main__":
    # The first entry, as under `python -m pytest`.
    sys.path[0] = os.getcwd()
    sys.exit(main(sys.argv[1:]))
