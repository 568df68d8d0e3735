"""Threads that are reused from one launch to the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


# Prints the masks of the main thread and of a helper, and the number of threads that a launch uses.
_MASKS = """
import json, os
os.sched_setaffinity(0, {allowed})
{then}
from workbench.emulator.node import dispatch, helpers
masks = [os.sched_getaffinity(0)]
helper = helpers.Helper()
helper.start(lambda: masks.append(os.sched_getaffinity(0)))
assert helper.wait(10)
print(json.dumps([*map(sorted, masks), dispatch.thread_count()]))
"""


def _masks(allowed: set[int], then: str, **environment: str) -> tuple[list[int], list[int], int]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "HIPKITTENS_T"))}
    program = _MASKS.format(allowed=allowed, then=then)
    output = subprocess.check_output([sys.executable, "-c", program], env=inherited | environment)
    main, helper, threads = json.loads(output)
    return main, helper, threads


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="threads can be pinned only where there are two cores",
)
class TestAffinity:
    @property
    def first(self) -> int:
        return min(os.sched_getaffinity(0))

    @property
    def second(self) -> int:
        return sorted(os.sched_getaffinity(0))[1]

    def test_openmp_pins_the_main_thread_only(self) -> None:
        both = {self.first, self.second}
        main, helper, threads = _masks(both, "import torch", OMP_PROC_BIND="true")
        if len(main) > 1:
            # libgomp reads the places from sysfs, which a small container may lack.
            pytest.skip("OpenMP does not pin the main thread on this system")
        assert (set(helper), threads) == (both, 2)

    def test_no_helper_leaves_the_cores_that_the_process_was_allowed(self) -> None:
        only = [self.second]
        assert _masks({*only}, "import torch", OMP_PROC_BIND="true") == (only, only, 1)

    def test_a_program_that_pins_itself_is_obeyed(self) -> None:
        pin = f"os.sched_setaffinity(0, {{{self.second}}})"
        assert _masks({self.first, self.second}, pin) == ([self.second], [self.second], 1)
