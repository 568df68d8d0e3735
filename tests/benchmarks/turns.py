"""Times of calls that take turns, so that what else the computer does falls on all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    """Median seconds of a call.

    Attributes:
        wall: by the clock; other programs lengthen it.
        processor: of all threads together; little of what other programs do shows in it.
    """

    wall: float
    processor: float


def in_turns(calls: Sequence[Callable[[], object]], repeat: int) -> list[Times]:
    """Each call's times, one after the other in every round; a first round does not count."""
    taken: list[list[tuple[float, float]]] = [[] for _ in calls]
    for _ in range(repeat + 1):
        for call, times in zip(calls, taken, strict=True):
            wall, processor = time.perf_counter(), time.process_time()
            call()
            times.append((time.perf_counter() - wall, time.process_time() - processor))
    result = []
    for times in taken:
        wall, processor = zip(*times[1:], strict=True)
        result.append(Times(statistics.median(wall), statistics.median(processor)))
    return result
