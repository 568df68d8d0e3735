"""The shape of a launch, and the record of one that was made."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import LaunchError
from workbench.runtime import Device, LaunchRecord


def index(value: Any) -> int:
    """An integer as Python's own.

    Raises:
        TypeError: it is not an integer; True, which Python counts as 1, is most likely a misplaced argument.
    """
    if isinstance(value, bool):
        raise TypeError(f"{value} is not an integer")
    return int(operator.index(value))


def _dims(name: str, value: Any) -> tuple[int, int, int]:
    if type(value) is int and value > 0:
        return value, 1, 1
    parts = value if isinstance(value, (tuple, list)) else (value,)
    try:
        dims = tuple(index(part) for part in parts)
    except TypeError:
        dims = ()
    if not 1 <= len(dims) <= 3 or any(d < 1 for d in dims):
        hint = "; // divides integers to an integer" if any(isinstance(p, float) for p in parts) else ""
        raise LaunchError(f"{name} is {value!r}; expected one to three positive integers (x, y, z){hint}")
    x, y, z = (*dims, 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class Launch:
    """The shape of one launch.

    Attributes:
        grid: work-groups in x, y, z; an int or a shorter tuple is filled up with ones.
        block: work-items of a work-group in x, y, z; filled up in the same way.
        dynamic_shared: bytes of dynamic shared memory (LDS) of a work-group.
        cooperative: True if work-groups may wait for each other, as in `grid.sync()`: all must fit on the
            device at once.
    """

    grid: Any
    block: Any
    dynamic_shared: int = 0
    cooperative: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", _dims("grid", self.grid))
        object.__setattr__(self, "block", _dims("block", self.block))


@dataclass
class Arguments:
    """Arguments of a launch, by position and by name."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass
class LastLaunch:
    """A past launch, with everything needed to repeat it.

    Attributes:
        launch: grid, block and dynamic LDS.
        arguments: returns the launch's arguments; None if they are gone because nothing references them.
        device: device that ran the launch.
        record: observations of the launch.
        argument_bytes: bytes of the argument block.
    """

    launch: Launch
    arguments: Callable[[], Arguments | None] = field(repr=False)
    device: Device
    record: LaunchRecord
    argument_bytes: int

    @property
    def args(self) -> tuple[Any, ...]:
        """Arguments by position; empty if they are gone."""
        return (self.arguments() or Arguments()).args

    @property
    def kwargs(self) -> dict[str, Any]:
        """Arguments by name; empty if they are gone."""
        return (self.arguments() or Arguments()).kwargs
