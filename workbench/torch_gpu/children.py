"""Children of `multiprocessing` by spawn or forkserver: PyTorch's "cuda" is the device there too.

A forked one has what its parent has.
"""

from __future__ import annotations

import contextlib
import multiprocessing.spawn
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from workbench.patches import Patches
from workbench.runtime import Device

_Opens = Callable[[str], AbstractContextManager[Device]]

_entered: list[AbstractContextManager[Device]] = []


class _Door:
    """Opens the door where it is unpickled: a child does so before it imports the main module."""

    def __init__(self, door: _Opens, device: str) -> None:
        self._door, self._device = door, device

    def __reduce__(self) -> tuple[Any, tuple[_Opens, str]]:
        return _enter, (self._door, self._device)


def _enter(opens: _Opens, device: str) -> None:
    door = opens(device)
    door.__enter__()
    # What it changed stays until the process ends.
    _entered.append(door)


@contextlib.contextmanager
def spawned_inside(door: _Opens, device: Device) -> Iterator[None]:
    """While it lasts, children open the door to this device.

    Args:
        door: a function of a module, which children import.
    """
    prepare = multiprocessing.spawn.get_preparation_data

    @wraps(prepare)
    def preparation(*arguments: Any) -> dict[str, Any]:
        return {**prepare(*arguments), "hipkittens": _Door(door, device.name)}

    with Patches() as patches:
        patches.replace(multiprocessing.spawn, "get_preparation_data", preparation)
        yield


__all__ = ["spawned_inside"]
