"""`torch.distributed` under `torch_as_gpu`: processes, each with the device, exchange tensors of the CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import torch
import torch.distributed as distributed

from workbench.patches import Patches

_NCCL, _GLOO = "nccl", "gloo"


@contextlib.contextmanager
def collectives_on_host() -> Iterator[None]:
    """In this context, the backend "nccl" is "gloo", which has the same collectives for CPU tensors."""
    if not distributed.is_available():
        yield
        return

    def by_gloo(make: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(make)
        def made(*args: Any, **options: Any) -> Any:
            # Only NCCL's groups are bound to a device.
            kept = {name: _backend(value) for name, value in options.items() if name != "device_id"}
            return make(*map(_backend, args), **kept)

        return made

    def without_devices(barrier: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(barrier)
        def waited(*args: Any, device_ids: Any = None, **options: Any) -> Any:
            return barrier(*args, **options)

        return waited

    changes = {"init_process_group": by_gloo, "new_group": by_gloo, "barrier": without_devices}
    with Patches() as patches:
        for owner in (distributed, torch.distributed.distributed_c10d):
            for name, change in changes.items():
                patches.replace(owner, name, change(getattr(owner, name)))
            patches.replace(owner, "is_nccl_available", lambda: True)
        yield


def _backend(value: Any) -> Any:
    """The value, with gloo for NCCL, alone or for a kind of device: "cpu:gloo,cuda:nccl"."""
    if isinstance(value, str) and _NCCL in value.replace(":", ",").split(","):
        return _GLOO
    return value


__all__ = ["collectives_on_host"]
