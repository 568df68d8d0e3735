"""`torch.autocast("cuda")` if `cuda_means_cpu` has the tensors on the CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch.amp.autocast_mode import autocast

from workbench.patches import Patches


@contextlib.contextmanager
def autocast_reaches_cpu() -> Iterator[None]:
    """In a `with` block, CUDA's autocast also casts what the CPU computes.

    PyTorch casts by a tensor's real device, so CUDA's own switch would change nothing. It is set as well,
    since programs query it. The operators with the lower precision are those that PyTorch lists for the CPU.
    """
    enter: Callable[..., Any] = autocast.__enter__
    leave: Callable[..., Any] = autocast.__exit__

    def entered(region: Any) -> Any:
        if region.device == "cuda":
            region.on_host = autocast("cpu", region.fast_dtype, region._enabled, region._cache_enabled)
            enter(region.on_host)
        return enter(region)

    def left(region: Any, *error: Any) -> Any:
        result = leave(region, *error)
        if region.device == "cuda":
            leave(region.on_host, *error)
        return result

    with Patches() as patches:
        patches.replace(autocast, "__enter__", entered)
        patches.replace(autocast, "__exit__", left)
        yield
