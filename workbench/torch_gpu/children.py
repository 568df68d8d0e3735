"""Children of `multiprocessing` by spawn or forkserver: PyTorch's "cuda" is the device there too.

A forked one has what its parent has.
"""

from __future__ import annotations

import contextlib
import multiprocessing.spawn
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from workbench.patches import Patches
from workbench.runtime import Device

Opener = Callable[[str], None]
"""Opens the door to a device, by its name, for the rest of the process; a function that can be pickled."""


class _Door:
    """Opens the door where it is unpickled: a child does so before it imports the main module."""

    def __init__(self, device: str, opener: Opener) -> None:
        self._device, self._opener = device, opener

    def __reduce__(self) -> tuple[Opener, tuple[str]]:
        return self._opener, (self._device,)


@contextlib.contextmanager
def spawned_inside(device: Device, opener: Opener) -> Iterator[None]:
    """While it lasts, children open the door to the device."""
    prepare = multiprocessing.spawn.get_preparation_data

    @wraps(prepare)
    def preparation(*arguments: Any) -> dict[str, Any]:
        return {**prepare(*arguments), "hipkittens": _Door(device.name, opener)}

    with Patches() as patches:
        patches.replace(multiprocessing.spawn, "get_preparation_data", preparation)
        yield


__all__ = ["spawned_inside"]
