"""Compilers that run at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from workbench.operators.implementation import PreparedStep
from workbench.operators.precompile import Job, compile_all
from workbench.toolchain import cpu


@pytest.fixture
def pinned() -> Iterator[set[int]]:
    """Pins the calling thread to one processor, as OpenMP does; returns all that it had."""
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("threads can be pinned only where there are two cores")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    yield allowed
    os.sched_setaffinity(0, allowed)


def test_compilers_may_use_every_processor_of_a_pinned_thread(
    pinned: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "usable_processors", lambda: pinned)
    masks: list[set[int]] = []

    def build() -> list[PreparedStep]:
        masks.append(os.sched_getaffinity(0))
        return []

    compile_all([Job("none", {}, "gfx950", build)] * 3, None)
    assert masks == [pinned] * 3
    assert os.sched_getaffinity(0) == {min(pinned)}
