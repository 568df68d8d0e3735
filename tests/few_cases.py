"""A selection of another project's test cases, each in a separate process, for pytest plugins."""

from __future__ import annotations

import math
import os
import resource
import signal
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

WAITED = 8
"""Limit of a case's wall time, as a multiple of its CPU time."""


def numbers(value: Any) -> Iterator[int]:
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield max(value, 1)
    elif isinstance(value, (tuple, list)):
        for member in value:
            yield from numbers(member)


def selection(items: Sequence[pytest.Item], count: int) -> list[pytest.Item]:
    """The smallest cases of a function, first those with a new dtype, layout, switch or other non-number."""

    def parameters(item: pytest.Item) -> dict[str, Any]:
        params: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
        return params

    ordered = sorted(items, key=lambda item: math.prod(numbers(list(parameters(item).values()))))
    seen: set[tuple[str, str]] = set()
    fresh, rest = [], []
    for item in ordered:
        kinds = {(k, str(v)) for k, v in parameters(item).items() if not list(numbers(v))}
        (fresh if kinds - seen else rest).append(item)
        seen |= kinds
    return [*fresh, *rest][:count]


def by_function(items: Sequence[pytest.Item]) -> dict[str, dict[str, list[pytest.Item]]]:
    """The cases of each test function of each file."""
    files: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        file, _, name = item.nodeid.partition("::")
        files.setdefault(file, {}).setdefault(name.partition("[")[0], []).append(item)
    return files


def run_in_process(item: pytest.Item, seconds: float) -> tuple[float, str]:
    """Runs a case in a fork, which may crash or be killed without ending the other cases.

    A launch is in C, so no exception could end it.

    Args:
        seconds: of CPU time that it may take.

    Returns:
        the CPU seconds that it took, and what ended it, if not itself: "too long", "signal 11".
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        for clock, number, factor in (
            (signal.ITIMER_PROF, signal.SIGPROF, 1),
            (signal.ITIMER_REAL, signal.SIGALRM, WAITED),
        ):
            signal.signal(number, signal.SIG_DFL)
            signal.setitimer(clock, seconds * factor)
        runtestprotocol(item, log=False, nextitem=None)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        late = number in (signal.SIGPROF, signal.SIGALRM)
        return spent, "too long" if late else f"signal {number}"
    return spent, f"exit {os.WEXITSTATUS(status)}" if status else ""
