"""Children of `multiprocessing` by spawn or forkserver: PyTorch's "cuda" is the device there too.

A forked one has what its parent has.
"""

from __future__ import annotations

import contextlib
import multiprocessing.spawn
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from workbench.patches import Patches
from workbench.runtime import Device

_entered: list[AbstractContextManager[Device]] = []


class _Door:
    """Opens the door where it is unpickled: a child does so before it imports the main module."""

    def __init__(self, device: str) -> None:
        self._device = device

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _enter, (self._device,)


def _enter(device: str) -> None:
    from workbench.torch_gpu.context import torch_as_gpu

    door = torch_as_gpu(device)
    door.__enter__()
    # What it changed stays until the process ends.
    _entered.append(door)


@contextlib.contextmanager
def spawned_inside(device: Device) -> Iterator[None]:
    """While it lasts, children are told of the door."""
    prepare = multiprocessing.spawn.get_preparation_data

    @wraps(prepare)
    def preparation(*arguments: Any) -> dict[str, Any]:
        return {**prepare(*arguments), "hipkittens": _Door(device.name)}

    with Patches() as patches:
        patches.replace(multiprocessing.spawn, "get_preparation_data", preparation)
        yield


__all__ = ["spawned_inside"]
