"""A program that the toolchain starts never outlives the call that started it."""

from __future__ import annotations

import signal
import subprocess

import pytest

from workbench.toolchain import process


def test_an_interrupt_while_a_program_starts_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupts once the process exists and has no owner yet."""
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)  # type: ignore[call-overload]
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.run(["sleep", "300"], timeout=300)
    assert [each.returncode for each in started] == [-signal.SIGKILL]


def test_a_time_limit_ends_it() -> None:
    assert process.run(["sleep", "300"], timeout=0.1).returncode is None
