"""Distribution of tests among the worker processes of `pytest -n`: the groups, and their order. A worker runs
one group of tests after another. A group is a file, except for those listed here: files that use the same
folder are one group, and unrelated tests of a file are separate groups.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from functools import cache
from typing import Any

from workbench.errors import WorkbenchError
from workbench.targets import TILE_TARGETS
from workbench.toolchain import warm

TOGETHER = {
    "front end": (
        "tests/browser/",
        "tests/lab/test_build.py",
        "tests/lab/test_front_end.py",
        "tests/test_wheel.py",
    ),
}
"""Files, or their folders. The front end is built in the checkout, where wheels take it from."""

GENERATED = "tests/kernels/generated/"
SANITIZED = f"{GENERATED}test_sanitized.py"

APART = ("tests/notebooks/", GENERATED)
"""Files, or their folders, whose tests share no fixture and no process: each is a group."""

OPERATORS = "tests/kernels/test_operators.py"
"""Its tests of one operator form a group: they share drawn shapes, compiled and translated code."""

MOST = 8
"""Workers: more of them would wait for the longest group, and each takes seconds to collect the tests."""

MEMORY = 3 << 30
"""Bytes that a worker and its children (a compiler, a browser, a notebook's kernel) may take."""


@cache
def group(test: str) -> str:
    """The group of a test, by its node id."""
    for name, files in TOGETHER.items():
        if test.startswith(files):
            return name
    if test.startswith(OPERATORS):
        return re.sub(r"::.*\[(.*?)(-gfx\w+)?\]$", r"::\1", test)
    return test if test.startswith(APART) else test.partition("::")[0]


def count() -> int:
    """Workers for `-n auto`: one for each core and one more, since the worker that drives the browser mostly
    waits for it; up to MOST, limited by memory."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(cores + 1, memory // MEMORY, MOST))


def precompile_headers() -> None:
    """Precompiles the headers of kernels while the workers collect.

    Otherwise it happens after the first compilation that misses them, at a low priority. Workers that take
    all cores leave little for that, and meanwhile parse the headers with each compilation.
    """

    def precompile() -> None:
        with suppress(WorkbenchError, OSError):
            for target in TILE_TARGETS:
                warm(target)

    threading.Thread(target=precompile, daemon=True, name="precompile").start()


def turn(test: str) -> int:
    """The key by which tests are sorted. Groups come first, since they take long; generated tests are last,
    since each is short, so that workers end together; sanitized ones are after those that compile them."""
    if test.startswith(GENERATED):
        return 3 if test.startswith(SANITIZED) else 2
    return 0 if group(test) in TOGETHER else 1


def scheduler(config: Any, log: Any) -> Any:
    """A scheduler that gives workers one group after another, in the order of collection."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        """A test that ends its worker fails, once, and the worker's remaining tests go to other workers.

        Of a worker that ended, xdist hands out all groups again: those that are done, as groups without a
        test, after which no worker asks for more work, and the test that ended it, to end the next one.
        """

        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

        def remove_node(self, node: Any) -> str | None:
            assigned = self.assigned_work.pop(node)
            tests = [(name, test) for name, of in assigned.items() for test, done in of.items() if not done]
            if not tests:
                return None
            (_, crashed), *left = tests
            for name, test in left:
                self.workqueue.setdefault(name, {})[test] = False
            for other in self.nodes:
                self._reschedule(other)
            return crashed

        def _reschedule(self, node: Any) -> None:
            if node not in self.registered_collections:
                return  # it replaces another worker and is still collecting
            super()._reschedule(node)
            # A worker begins a test when it knows the next one.
            while (
                self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2
            ):
                self._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Groups(config, log)
