"""Times under `torch_as_gpu`: `torch.cuda.Event` is a HIP event, whose times are modelled like a program's.

PyTorch's own work is done by this computer's processor, not by a device, so if no kernel ran between two
events, the time is this computer's. Python's own clock can be made to show the same.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

# Python's own clock, even if `time` gets another one later.
from time import perf_counter
from typing import Any

import torch

from workbench.errors import UsageError
from workbench.patches import Patches
from workbench.runtime import Device


def event_class(device: Device) -> type:
    """The class that replaces `torch.cuda.Event` for a device."""

    class Event:
        """A moment; everything before it has ended when it is recorded."""

        def __init__(self, *_: Any, **__: Any) -> None:
            self._wall: float | None = None
            with device.hip() as hip:
                self._handle = hip.call("hipEventCreate")

        @property
        def cuda_event(self) -> int:
            """HIP's handle of it."""
            return int(self._handle)

        event_id = cuda_event

        @property
        def device(self) -> torch.device:
            return torch.device("cuda", 0)

        def __del__(self) -> None:
            # Python may be shutting down, with HIP already gone.
            with contextlib.suppress(Exception), device.hip() as hip:
                hip.api.hipEventDestroy(self._handle)

        def record(self, stream: Any = None) -> None:
            with device.hip() as hip:
                hip.call("hipEventRecord", self._handle, None)
            self._wall = perf_counter()

        def query(self) -> bool:
            return True

        def synchronize(self) -> None:
            pass

        def wait(self, stream: Any = None) -> None:
            pass

        def elapsed_time(self, end: Event) -> float:
            """Milliseconds until another event.

            Raises:
                UsageError: one of them was not recorded.
            """
            if self._wall is None or end._wall is None:
                raise UsageError("elapsed_time: an event was not recorded; expected event.record() before")
            with device.hip() as hip:
                modelled = float(hip.call("hipEventElapsedTime", self._handle, end._handle))
            return modelled or (end._wall - self._wall) * 1e3

    return Event


class _PerfCounter:
    """Seconds that advance from one reading to the next as between two events."""

    def __init__(self, event: type) -> None:
        self._event = event
        self._lock = threading.Lock()
        self._seconds = perf_counter()
        self._last = event()
        self._last.record()

    def __call__(self) -> float:
        with self._lock:
            now = self._event()
            now.record()
            self._seconds += self._last.elapsed_time(now) / 1e3
            self._last = now
            return self._seconds


@contextlib.contextmanager
def modelled_clock(event: type) -> Iterator[None]:
    """In this context, `time.perf_counter` and `perf_counter_ns` return modelled time.

    Between two readings the modelled time of the kernels that ran passes or, if there were none, this
    computer's time. Code that imported these functions by name earlier keeps Python's own.

    Args:
        event: event class of a device, from `event_class`.
    """
    counter = _PerfCounter(event)
    with Patches() as patches:
        patches.replace(time, "perf_counter", counter)
        patches.replace(time, "perf_counter_ns", lambda: round(counter() * 1e9))
        yield
