"""Runs while another program holds a lock: they are written after its release, and the session continues."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import HistoryLocked
from workbench.events import Event
from workbench.history import recorder
from workbench.history.recorder import Recorder
from workbench.history.store import Store


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    # However busy the machine is, no run is dropped while a test holds the lock.
    monkeypatch.setattr(recorder, "BACKGROUND_SECONDS", 3600.0)
    writer = Recorder(tmp_path / "runs.sqlite", tmp_path)
    writer.take(failure(1))
    yield writer
    writer.close()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.rollback()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the threads that waited for a lock without success, one per wait."""
    waited: list[str] = []
    write = Store.write

    def noted(store: Store, *arguments: Any) -> int:
        try:
            return write(store, *arguments)
        except HistoryLocked:
            waited.append(threading.current_thread().name)
            raise

    monkeypatch.setattr(Store, "write", noted)
    return waited


def failure(number: int) -> Event:
    return Event(number, "failed", f"k{number}", {"kind": "time", "error": "e"}, 1.0)


def kernels(path: Path) -> list[str]:
    store = Store(path)
    names = [row[0] for row in store.rows("SELECT kernel FROM run ORDER BY number")]
    store.close()
    return names


def wait_for_the_thread() -> None:
    for thread in threading.enumerate():
        if thread.name == "history":
            thread.join(60)


def test_a_run_is_written_once_a_lock_is_released(writer: Recorder, waits: list[str]) -> None:
    with locked(writer.path), warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(2, 8):
            writer.take(failure(number))
        assert waits.count("MainThread") == 1, "each waited for itself"
        assert writer.number_of(failure(7)) is None
        assert kernels(writer.path) == ["k1"], "reading goes on"
    wait_for_the_thread()
    assert kernels(writer.path) == [f"k{n}" for n in range(1, 8)], "all, in their order"
    assert writer.number_of(failure(7)) == 7
    writer.take(failure(8))
    assert writer.number_of(failure(8)) == 8, "at once again"


def test_a_recorder_that_is_closed_first_writes_what_waits(writer: Recorder, waits: list[str]) -> None:
    with locked(writer.path):
        writer.take(failure(2))
        writer.close()
        assert waits.count("MainThread") == 1, "closing waited too"
    wait_for_the_thread()
    assert kernels(writer.path) == ["k1", "k2"]


def test_a_permanent_lock_loses_a_run_and_warns(writer: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "BACKGROUND_SECONDS", 0.0)
    with locked(writer.path), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        writer.take(failure(2))
        wait_for_the_thread()
    (warning,) = caught
    assert "a run is not recorded: " in str(warning.message)
    assert "has locked the history of runs" in str(warning.message)
    writer.take(failure(3))
    assert kernels(writer.path) == ["k1", "k3"]
