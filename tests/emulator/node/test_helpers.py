"""Threads that are reused from one launch to the next."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import torch

import workbench as wb
from workbench.emulator.node import helpers

SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void count(int *x, int turns) {
    for (volatile int i = 0; i < turns; i++) {}
    x[blockIdx.x * blockDim.x + threadIdx.x]++;
}"""


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch, set_pace: Callable[..., None]) -> Callable[..., None]:
    """Launches 64 work-groups on three threads."""
    monkeypatch.setenv("HIPKITTENS_THREADS", "3")
    set_pace(first_slice=0)

    def on(arch: str = "gfx950") -> None:
        x = torch.zeros(64 * 64, dtype=torch.int32)
        wb.compile(SOURCE, arch=arch, name="count.hip")["count"][64, 64](x, 20)
        assert (x == 1).all()

    return on


def _idle() -> set[int]:
    return {helper.thread.ident or 0 for helper in helpers._idle}


def test_launches_of_both_wave_sizes_use_the_same_threads(launch: Callable[..., None]) -> None:
    launch()
    threads = _idle()
    assert len(threads) >= 2
    assert {thread.name for thread in threading.enumerate() if thread.ident in threads} == {
        "emulated-device, idle"
    }
    for arch in ("gfx950", "gfx1201", "gfx942"):
        launch(arch)
        assert _idle() == threads


def test_a_child_process_has_threads_of_its_own(launch: Callable[..., None]) -> None:
    launch()
    before = _idle()
    child = os.fork()
    if child == 0:
        ended = 1
        with contextlib.suppress(BaseException):
            assert not helpers._idle
            launch()
            ended = 0 if helpers._idle else 2
        os._exit(ended)
    assert os.waitpid(child, 0)[1] == 0
    assert _idle() == before


# Prints the masks of the main thread and of a helper, and the number of threads that a launch uses.
_MASKS = """
import json, os, time
os.sched_setaffinity(0, {allowed})
{then}
from workbench.emulator.node import dispatch, helpers
from workbench.toolchain import cpu
masks = [os.sched_getaffinity(0)]
helper = helpers.Helper()
for _ in range(1000):
    if len(masks) > 1 and masks[-1] == cpu.usable_processors():
        break
    time.sleep(0.01)
    masks[1:] = [os.sched_getaffinity(helper.thread.native_id)]
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
