"""The shape of a launch, and what is kept of one that was made."""

from __future__ import annotations

import contextlib
import operator
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from workbench.errors import LaunchError
from workbench.runtime import Device, LaunchRecord


def _dims(name: str, value: Any) -> tuple[int, int, int]:
    parts = value if isinstance(value, (tuple, list)) else (value,)
    try:
        dims = tuple(int(operator.index(part)) for part in parts)
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
        block: work-items of a work-group in x, y, z; likewise.
        dynamic_shared: bytes of dynamic shared memory (LDS) of a work-group.
    """

    grid: Any
    block: Any
    dynamic_shared: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", _dims("grid", self.grid))
        object.__setattr__(self, "block", _dims("block", self.block))


Held = Callable[[], Any]
"""Gives a value; None for a tensor that is gone and that nobody kept."""


def held(value: Any, keeps: bool) -> Held:
    """A value, kept alive or not."""
    if not keeps:
        with contextlib.suppress(TypeError):  # of numbers, which cost nothing to keep
            return weakref.ref(value)
    return partial(lambda kept: kept, value)


@dataclass
class LastLaunch:
    """A launch that was made, with what is needed to make it again.

    What it holds is alive until the kernel is launched again or dropped, where its launch said so.
    """

    launch: Launch
    positional: tuple[Held, ...] = field(repr=False)
    named: dict[str, Held] = field(repr=False)
    device: Device
    record: LaunchRecord
    argument_bytes: int

    @property
    def args(self) -> tuple[Any, ...]:
        """Arguments by position."""
        return tuple(get() for get in self.positional)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Arguments by name."""
        return {name: get() for name, get in self.named.items()}
