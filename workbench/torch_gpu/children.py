"""Children of `multiprocessing` by spawn or forkserver: PyTorch's "cuda" is the device there too.

A forked child inherits its parent's state.
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
"""Makes "cuda" a device, by its name, for the rest of the process; a function that can be pickled."""


class _Door:
    """Makes "cuda" the device when it is unpickled, which a child does before it imports the main module."""

    def __init__(self, device: str, opener: Opener) -> None:
        self._device, self._opener = device, opener

    def __reduce__(self) -> tuple[Opener, tuple[str]]:
        return self._opener, (self._device,)


@contextlib.contextmanager
def spawned_inside(device: Device, opener: Opener) -> Iterator[None]:
    """In this context, "cuda" is the device in child processes too."""
    prepare = multiprocessing.spawn.get_preparation_data

    @wraps(prepare)
    def preparation(*arguments: Any) -> dict[str, Any]:
        return {**prepare(*arguments), "hipkittens": _Door(device.name, opener)}

    with Patches() as patches:
        patches.replace(multiprocessing.spawn, "get_preparation_data", preparation)
        yield


__all__ = ["spawned_inside"]
