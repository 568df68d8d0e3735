"""Threads that are reused from one launch to the next."""

from __future__ import annotations

import os
import threading

import pytest

from workbench.emulator.node import helpers


def test_a_helper_does_one_thing_after_another_in_one_thread() -> None:
    helper, seen = helpers.Helper(), list[int]()
    for _ in range(3):
        helper.start(lambda: seen.append(threading.get_ident()))
        assert helper.wait(10)
    assert len(seen) == 3
    assert len({*seen, threading.get_ident()}) == 2


def test_it_is_waited_for_until_it_has_ended() -> None:
    helper, go = helpers.Helper(), threading.Event()

    def work() -> None:
        go.wait(10)

    helper.start(work)
    assert not helper.wait(0.01)
    go.set()
    assert helper.wait(10)


def test_a_helper_survives_failed_work(monkeypatch: pytest.MonkeyPatch) -> None:
    failures, seen = list[threading.ExceptHookArgs](), list[int]()
    monkeypatch.setattr(threading, "excepthook", failures.append)
    helper = helpers.Helper()
    helper.start(lambda: seen.append(1 // len(seen)))
    assert helper.wait(10)
    helper.start(lambda: seen.append(1))
    assert helper.wait(10)
    assert seen == [1]
    assert [each.exc_type for each in failures] == [ZeroDivisionError]


def test_returned_memory_is_reused_but_not_by_a_child_process() -> None:
    helper = helpers.Helper()
    helpers.given_back(helper)
    child = os.fork()
    if child == 0:
        mine = helpers.taken()
        done = threading.Event()
        mine.start(done.set)
        os._exit(0 if mine is not helper and done.wait(10) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert helpers.taken() is helper
