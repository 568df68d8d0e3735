"""What a process appends about its launches, and when."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.runtime import tally
from workbench.runtime.tally import Tally, leave, total


class Clock:
    """A clock that knows 2 us of each launch once it has settled, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.settled = 0
        self.kernel_seconds: dict[str, float] = {}
        self.unmodelled = 0

    def settle(self) -> None:
        self.settled += 1
        self.kernel_seconds["k"] = self.kernel_seconds.get("k", 0.0) + 2e-6


@pytest.mark.parametrize(("before", "after"), [(1, 1), (0, 0), (0, 1)])
def test_launches_after_the_end_has_begun(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, before: int, after: int
) -> None:
    """They are counted, and timed unless the time model would have to be loaded for them."""
    node = SimpleNamespace(launches=before, stopped=0, clock=Clock())
    file = tmp_path / "launches.jsonl"
    appender = tally._Appender(str(file), node, None)
    monkeypatch.setattr(tally, "_appender", appender)
    leave()
    assert node.clock.settled == before
    assert total(file).launches == before
    node.launches += after
    appender.append()
    if before:
        assert (total(file).launches, total(file).seconds) == (2, pytest.approx(4e-6))
    else:
        assert total(file) == (Tally(1, None, 1, tally.program()) if after else Tally())
        assert node.clock.settled == 0
