"""Overhead of a launch in addition to its kernel's work, by the clock that measures it.

A profiler's kernel time starts when the command processor dispatches the first work-group and ends when the
last has drained. Events around a launch also see the command processor handle packets, and, in the usual loop
that waits between runs, the host. Published tables are mostly of the second kind: nothing in them is below
6 us.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A definition of a kernel's time.

    Attributes:
        name: "kernel", "events" or "graph".
        description: description in words.
        seconds: seconds that it adds to a profiler's kernel time.
        source: source of `seconds`.
    """

    name: str
    description: str
    seconds: float
    source: str


DISPATCH_SECONDS = 0.6e-6
"""Dispatch and drain, within a profiler's kernel time: the shortest that rocprofv3 showed on an MI350X, for a
kernel of one work-group (jhinpan/flydsl-kernel-profiling-lib).

The 1,799 ns that it showed for one wave with one LDS instruction, while it read counters (HipKittens'
analysis/paper_experiments/phases/ds_write_b64), include that kernel's own fetches and loads."""

QUANTITIES: Mapping[str, Quantity] = {
    quantity.name: quantity
    for quantity in (
        Quantity("kernel", "kernel time, as a profiler reports it", 0.0, "by definition"),
        Quantity(
            "events",
            "events around a launch in a benchmark loop",
            4.5e-6,
            "launch cost of a kernel on MI300X, kog.ai as others cite it; published tables start at 6 us",
        ),
        Quantity(
            "graph",
            "events around a graph of one launch",
            11.6e-6,
            "4.5 us of events, and the 7.1 us by which a graph's median exceeds that of events in eight rows "
            "of vec_add, 33.5 and 67.1 million numbers on MI350X (jhinpan/flydsl-kernel-profiling-lib): no "
            "kernel of the comparison. Another estimate of 11: an rmsnorm of 1 x 7168 takes 12.96 to 13.12 "
            "us this way, and 2.0 us in rocprofv3",
        ),
    )
}
"""Clocks by name. Published times are compared with modelled times of the same kind."""
