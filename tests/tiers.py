"""The tests of each tier: `make test-quick` for an edit, `make test` for a commit, `make test-all` for all.

    python tests/tiers.py    # what test-quick runs

In `make test` a function's tests may take SECONDS of processor time. Of those that take longer the run's seed
draws so many that they take that on average, so that all have their turn. CI runs a twentieth of them
besides, another one with each commit (`--tier=commit`). Of the files that drive a browser both run a third.
docs/tests.md has what each part costs.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from workers import OPERATORS, group

TIERS = ("test", "commit", "all")

RESULTS = re.compile(rf"{OPERATORS}::test_results\[(.*)-(gfx\w+)\]$")
"""For each operator the results of one target are compared: only these find most faults of its kernels."""

OF_EACH_TARGET = ("attention/forward", "gemm/bf16", "normalization/rmsnorm")
"""Operators whose results are also compared on each target beyond `TILE_TARGETS`. Few operators are written
for those, so that a draw alone would leave some out."""

TARGET = re.compile(r"gfx\w+")

COSTS = Path(__file__).parent / "data" / "test_costs.csv"
"""Functions of tests, the seconds of processor time that all their cases take together, and the costly
fixture that they share with others of their file (tests/costs.py); recorded by
`HIPKITTENS_CACHE=$(mktemp -d) make test-all ARGS=--record-costs=tests/data/test_costs.csv` on a machine that
has nothing else to do, since tests take less where an earlier run compiled their kernels."""

SECONDS = 0.25
"""Seconds of processor time that a function's tests may take in `make test`, on average over its seeds."""

OF_THE_SOURCES = (
    "tests/docs/test_transcript",
    "tests/test_docs",
    "tests/test_dtypes",
    "tests/test_imports",
    "tests/test_page",
    "tests/test_public_names",
    "tests/views/test_gallery",
)
"""Prefixes of the names of tests that read the sources, and always run: a change anywhere may break them."""

AT_LEAST: tuple[tuple[str, int], ...] = (
    *((test, 1) for test in OF_THE_SOURCES),
    ("tests/kernels/generated/", 6),
    (OPERATORS, 1000),
    # PyTorch's rules, by code that operators share; compilations that run nothing; a measurement's own tests.
    ("tests/kernels/test_habits.py", 1000),
    ("tests/kernels/test_host_pass.py", 1000),
    ("tests/kernels/test_kernel_costs.py", 1000),
    ("tests/kernels/", 16),
)
"""Prefixes of tests' names, and n: at least one in n of them runs: few others find the same faults.

The first prefix that fits counts.
"""

QUICK: tuple[str, ...] = (
    "tests/codeobject",
    "tests/targets",
    "tests/emulator/semantics/test_vector.py",
    "tests/emulator/semantics/test_scalar.py",
    "tests/emulator/semantics/test_packed.py",
    "tests/emulator/translate",
    "tests/operators/test_spec.py",
    "tests/kernel/test_arguments.py",
    "tests/check",
    "tests/test_docs.py",
    "tests/test_dtypes.py",
    "tests/test_imports.py",
    "tests/test_public_names.py",
    "tests/test_tiers.py",
)
"""Files and folders of `make test-quick`."""


OF_A_COMMIT = 20
"""CI draws one in this many costly tests by the commit, and more if `make test` does."""

BROWSER = "tests/browser/"
BROWSER_FILES = 3
"""One in so many files that drive a browser runs, except in `make test-all`: they share a server, so that one
worker runs them in turn and CI would wait for it. A journey's steps need each other, so files are drawn."""


BUILT_FOR = {"x86-64-v4-software-amx": 68}
"""Levels of CPU in names of tests, and n: one seed in n draws their tests, all together, since the first of
them builds the emulated device's library for the level (17 s of processor time)."""


def number(drawn: str, seed: str) -> int:
    """A number from the seed and a name, the same in every process."""
    return int.from_bytes(hashlib.sha256(f"{seed} {drawn}".encode()).digest()[:4], "big")


@cache
def _records(file: Path) -> tuple[dict[str, str], ...]:
    with file.open(newline="") as lines:
        return tuple(csv.DictReader(lines))


@cache
def fixtures(file: Path = COSTS) -> dict[str, str]:
    """The costly fixture that a function shares with others of its file, by function, as `FILE::FIXTURE`."""
    return {
        row["function"]: f"{row['function'].partition('::')[0]}::{row['fixture']}"
        for row in _records(file)
        if row["fixture"]
    }


@cache
def costs(file: Path = COSTS) -> dict[str, float]:
    """Seconds of processor time by function; those that are not recorded take less than SECONDS.

    Functions that share a fixture are drawn together, so each has the mean of theirs.
    """
    seconds = {row["function"]: float(row["seconds"]) for row in _records(file)}
    users = defaultdict(list)
    for function, fixture in fixtures(file).items():
        users[fixture].append(function)
    for functions in users.values():
        mean = sum(map(seconds.__getitem__, functions)) / len(functions)
        seconds.update(dict.fromkeys(functions, mean))
    return seconds


def share(test: str) -> int:
    """The number n such that one in n of a function's tests runs in `make test`."""
    costly = math.ceil(costs().get(test.partition("[")[0], 0.0) / SECONDS)
    most = next((most for start, most in AT_LEAST if test.startswith(start)), costly)
    return max(1, min(costly, most))


def runs(test: str, tier: str, seed: str) -> bool:
    """True if a test, by its node id, runs in a tier, `test`, `commit` or `all`, with a seed."""
    if tier == "all":
        return True
    if test.startswith(BROWSER):
        return number(test.partition("::")[0], seed) % BROWSER_FILES == 0
    for level, one_in in BUILT_FOR.items():
        if level in test:
            return number(level, seed) % (one_in if tier == "test" else OF_A_COMMIT) == 0
    if tier == "test" and (match := RESULTS.match(test)):
        from workbench import kernels
        from workbench.targets import TILE_TARGETS

        name, target = match.groups()
        targets = sorted(kernels[name].targets)
        if name in OF_EACH_TARGET:
            if target not in TILE_TARGETS:
                return True
            targets = sorted(TILE_TARGETS)
        return target == targets[number(name, seed) % len(targets)]
    one_in = min(share(test), OF_A_COMMIT) if tier == "commit" else share(test)
    if one_in == 1:
        return True
    # Tests that share a compilation are drawn together.
    if fixture := fixtures().get(test.partition("[")[0]):
        drawn = " ".join((fixture, *TARGET.findall(test)))
    else:
        whole = group(test)
        drawn = test if whole == test.partition("::")[0] else whole
    return number(drawn, seed) % one_in == 0


def cases(count: int, tier: str) -> int:
    """Number of its `count` random cases that a test tries: a tenth in `test`, else all."""
    return -(-count // 10) if tier == "test" else count


if __name__ == "__main__":
    print(*QUICK)
