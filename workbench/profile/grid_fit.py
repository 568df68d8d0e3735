"""Checks of a launch's grid against its tensors: idle work-groups, and elements that no work-group writes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from workbench.launches import LaunchRecord, Traffic


def remarks(record: LaunchRecord) -> tuple[str, ...]:
    """Remarks on a grid that does not fit, one sentence each; empty if it fits or only some work-groups ran.

    If the grid is too large, the work-groups from some index of x, y or z on write no element of any tensor,
    and run fewer basic blocks than the others, as after a bounds check. If it is too small, the work-groups
    in order have written a tensor without a gap, and only its end is missing. Results that are partial on
    purpose look the same, so these are remarks, not errors.

    Args:
        record: a launch whose `TrafficOptions` watched tensors and whose steps were recorded.
    """
    traffic, steps = record.traffic, record.steps
    if traffic is None or steps is None or not steps.is_whole or not traffic.watched:
        return ()
    wrote = np.zeros(traffic.group_total, dtype=bool)
    sentences = []
    for index, watched in enumerate(traffic.watched):
        writers = traffic.writers(index)
        groups = np.unique(writers[writers >= 0])
        wrote[groups] = True
        sentences += _unwritten(watched.name, writers, len(groups), traffic)
    return (*_idle(record, wrote, steps.executed), *sentences)


def _unwritten(name: str, writers: npt.NDArray[np.int64], groups: int, traffic: Traffic) -> list[str]:
    """A remark on a tensor whose end is not written."""
    written = writers >= 0
    done, count = int(written.sum()), len(writers)
    left = count - done
    # If less than half of a tensor is written, the rest was probably left out on purpose.
    if not left or done <= left or written[done:].any():
        return []
    more = math.ceil(left * groups / done)
    return [
        f"The last {left:,} of {count:,} elements of {name} are written by no work-group. The {groups:,} "
        f"that write it cover {done // groups:,} each: {more:,} more would reach its end."
    ]


def _idle(record: LaunchRecord, wrote: npt.NDArray[np.bool_], executed: npt.NDArray[np.uint64]) -> list[str]:
    """Remarks on idle work-groups at the end of an axis of the grid."""
    if not wrote.any() or wrote.all():
        return []
    # A work-group that works, but whose elements a later one overwrites, runs as many blocks as that one.
    if executed[~wrote].max() >= executed[wrote].min():
        return []
    x, y, z = record.grid
    idle: npt.NDArray[np.bool_] = np.logical_not(wrote).reshape(z, y, x)
    for axis, name, size in ((2, "x", x), (1, "y", y), (0, "z", z)):
        along = np.asarray(np.moveaxis(idle, axis, 0).reshape(size, -1).all(axis=1))
        needed = int((~along).sum())
        others = np.take(idle, range(needed), axis=axis)
        if needed < size and not along[:needed].any() and not others.any():
            return [
                f"{int(idle.sum()):,} of {len(wrote):,} work-groups write nothing and end at once: "
                f"{needed:,} in place of {size:,} in {name} are enough for these tensors."
            ]
    return []
