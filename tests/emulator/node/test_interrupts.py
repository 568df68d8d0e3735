"""Ctrl-C during launches: it always arrives, at any moment, and later launches work."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.emulator.node import interrupts  # noqa: E402
from workbench.errors import KernelInterrupt  # noqa: E402
from workbench.runtime import LaunchOptions  # noqa: E402

SOURCE = """#include <hip/hip_runtime.h>
// Who reads the clock may end by itself, and is no deadlock.
__global__ void spin(volatile int *flag) { while (*flag == 0 && __builtin_readcyclecounter() != 0) {} }
__global__ void quick(int *out) { out[threadIdx.x] = threadIdx.x; }
"""


def interrupt() -> None:
    """Signals the main thread itself: a signal to the process may go to another thread first."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_an_interrupt_at_any_moment_arrives() -> None:
    module = wb.compile(SOURCE, arch="gfx950", name="spin.hip")
    flag, out = torch.zeros(1, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    module["quick"][1, 64](out)
    # Only the interrupt ends it.
    options = LaunchOptions(timeout=0)
    for _ in range(40):
        # Entering a launch takes about a tenth of a millisecond; most of these come meanwhile.
        delay = random.choice((0.0, 1e-4, 3e-4, 1e-3, 0.02)) * random.random()
        timer = threading.Timer(delay, interrupt)
        launcher = module["spin"][2, 64]
        with pytest.raises(KeyboardInterrupt):
            timer.start() or launcher.kernel.launch(launcher.launch, (flag,), {}, options=options)
        out.zero_()
        module["quick"][1, 64](out)
        assert torch.equal(out, torch.arange(64, dtype=torch.int32))


def test_held_back_until_it_is_delivered() -> None:
    steps = []

    def work() -> None:
        with interrupts.held():
            interrupt()
            steps.append("noted")
            with pytest.raises(KeyboardInterrupt):
                interrupts.deliver()
            interrupts.deliver()
            interrupt()
            steps.append("noted again")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["noted", "noted again"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    interrupts.deliver()


def test_an_interrupt_before_blocking_leaves_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_early(handler: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(interrupts, "_set", too_early)
    with pytest.raises(KeyboardInterrupt), interrupts.held():
        pass
    test_held_back_until_it_is_delivered()


def test_a_handler_of_ones_own_is_called() -> None:
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with interrupts.held():
            with interrupts.held():
                interrupt()
            assert seen == []
            interrupts.deliver()
            assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with interrupts.held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def interrupt_a_launch() -> None:
    """Interrupts a launch once it runs on two threads."""
    while not any(thread.name == "emulated-device" for thread in threading.enumerate()):
        time.sleep(0.001)
    interrupt()


def test_another_launch_takes_no_interrupt_away() -> None:
    """A launch of the main thread sets Python's handler, and another thread's listens in C in front of it."""
    heard, go_on, raised = threading.Event(), threading.Event(), []

    def listen() -> None:
        with interrupts.heard() as look:
            heard.set()
            go_on.wait()
            try:
                look()
            except KeyboardInterrupt:
                raised.append(True)

    def launch_of_the_main_thread(interrupted: bool) -> None:
        with interrupts.held():
            if interrupted:
                interrupt()
        interrupt()

    for inside in (True, False):
        thread = threading.Thread(target=listen)
        thread.start()
        heard.wait()
        with pytest.raises(KeyboardInterrupt):
            launch_of_the_main_thread(inside)
        go_on.set()
        thread.join()
        heard.clear()
        go_on.clear()
    assert raised == [True, True]


def test_an_interrupt_stops_the_launch_of_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_THREADS", "2")
    module = wb.compile(SOURCE, arch="gfx950", name="spin.hip")
    flag, out = torch.zeros(1, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    module["quick"][1, 64](out)
    launcher, raised, ended = module["spin"][2, 64], [], threading.Event()

    def work() -> None:
        try:
            launcher.kernel.launch(launcher.launch, (flag,), {}, options=LaunchOptions(timeout=60))
        except BaseException as error:
            raised.append(type(error))
        ended.set()

    # The main thread waits for the other thread, or for its turn to launch; if it is first, for the
    # interrupt.
    waits = (lambda: thread.join(), lambda: module["quick"][1, 64](out))

    def wait_until_interrupted(wait: Callable[[], object]) -> None:
        thread.start()
        interrupting.start()
        wait()
        interrupting.join()

    for wait in waits:
        thread = threading.Thread(target=work)
        interrupting = threading.Thread(target=interrupt_a_launch)
        with pytest.raises(KeyboardInterrupt):
            wait_until_interrupted(wait)
        interrupting.join()
        # After an interrupted join Python considers the thread ended.
        assert ended.wait(50)
        ended.clear()
    assert raised == [KernelInterrupt] * 2
    # Python's own handler is in its place again.
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    module["quick"][1, 64](out)
    assert torch.equal(out, torch.arange(64, dtype=torch.int32))
