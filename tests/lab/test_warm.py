"""Imports ahead of time."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest
from IPython.core.events import EventManager, available_events

from workbench.lab import warm


def test_imports_ahead_begin_after_the_cell_and_only_in_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, built = threading.Event(), []
    monkeypatch.setattr(warm, "load", begun.set)
    monkeypatch.setattr(warm, "build_emulated_later", lambda: built.append(True))
    shell = SimpleNamespace(kernel=object())
    shell.events = EventManager(shell, available_events)
    warm.start(shell)  # type: ignore[arg-type]
    assert built
    assert not begun.is_set()
    shell.events.trigger("post_run_cell", None)
    assert begun.wait(20)
    assert shell.events.callbacks["post_run_cell"] == []
    warm.start(SimpleNamespace(events=None))  # type: ignore[arg-type]
    assert len(built) == 1


def test_imports_ahead_leave_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "PACKAGES", ("no_such_package", "wave"))
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    warm.load()
    assert "wave" in sys.modules
