"""`torch.cuda.Event` on the emulated device: a HIP event, whose times are modelled as a program's are.

PyTorch's own work is done by this computer's processor and is no device's, so where no kernel ran between two
events the time is this computer's.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

from workbench.errors import UsageError
from workbench.runtime import Device


def event_class(device: Device) -> type:
    """The class that takes the place of `torch.cuda.Event` for a device."""

    class Event:
        """A moment; everything before it has ended when it is recorded."""

        def __init__(self, *_: Any, **__: Any) -> None:
            self._wall: float | None = None
            with device.hip() as hip:
                self._handle = hip.call("hipEventCreate")

        def __del__(self) -> None:
            # Python may be shutting down, with HIP already gone.
            with contextlib.suppress(Exception), device.hip() as hip:
                hip.api.hipEventDestroy(self._handle)

        def record(self, stream: Any = None) -> None:
            with device.hip() as hip:
                hip.call("hipEventRecord", self._handle, None)
            self._wall = time.perf_counter()

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
