"""How `pytest -n` shares the tests among worker processes: what stays together, and what starts first.

A worker runs a group of tests after the other. A group is a file, but for what is listed here: files that use
the same folder are one group; a file of tests that have nothing in common is several, and so is a file of
generated cases, of which a batch has a code object.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any

TOGETHER = {
    "front end": (
        "tests/browser/",
        "tests/lab/test_build.py",
        "tests/lab/test_front_end.py",
        "tests/test_wheel.py",
    ),
}
"""Files, or their folders. The front end is built in the checkout, where wheels take it from."""

SANITIZED = "tests/kernels/generated/test_sanitized.py"

APART = ("tests/notebooks/", SANITIZED)
"""Files whose tests share no fixture and no process: each is a group."""

SECONDS = {
    "front end": 200,
    "tests/kernels/test_art.py": 90,
    "tests/kernels/test_banks.py": 65,
    "tests/emulator/sanitizer/test_seeded.py": 30,
    "tests/emulator/native/ops/test_matrix.py": 25,
    "tests/kernels/test_headers.py": 40,
    "tests/emulator/semantics/test_levels.py": 20,
    "tests/emulator/sanitizer/test_clean.py": 20,
    "tests/emulator/test_compilers.py": 20,
    "tests/codeobject/test_decoder.py": 15,
    "tests/codeobject/test_tables.py": 15,
    "tests/emulator/sanitizer/test_hazards.py": 10,
    "tests/fuzz/test_fuzz.py": 10,
}
"""About how long groups take, on one core from empty caches. Those that are not here are shorter."""

MOST = 8
"""Workers: more of them would wait for the longest group, and each takes 12 seconds to collect the tests."""

MEMORY = 3 << 30
"""Bytes that a worker and what it starts (a compiler, a browser, a notebook's kernel) may take."""

_BATCH = re.compile(r"(tests/kernels/generated/test_\w+\.py)::\w+\[(gfx\w+-\d+)-")


@cache
def group(test: str) -> str:
    """The group of a test, by its node id."""
    batch = _BATCH.match(test)
    if batch is not None:
        return f"{batch[1]}[{batch[2]}]"
    for name, files in TOGETHER.items():
        if test.startswith(files):
            return name
    return test if test.startswith(APART) else test.partition("::")[0]


def count() -> int:
    """Workers for `-n auto`: one for each core up to MOST, as far as there is memory for them."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(cores, memory // MEMORY, MOST))


def turn(test: str) -> tuple[int, float]:
    """What tests are sorted by: long groups first, then others. Batches of generated cases are last: they are
    short, so that workers end together. Sanitized ones are after those that compile them."""
    name = group(test)
    place = 2 if test.startswith(SANITIZED) else 1 if _BATCH.match(test) else 0
    return place, -SECONDS.get(name, 0)


def scheduler(config: Any, log: Any) -> Any:
    """Gives a worker a group after the other, in the order in which the workers collected them."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)
