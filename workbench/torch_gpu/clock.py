"""What time it is on the emulated device: the modelled time of the kernels that compiled modules launched.

Counting what a model needs makes a launch slower, so a call is counted once: its time stands for every later
call of the same function with arguments of the same shapes and types.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.errors import UsageError
from workbench.kernel import Kernel
from workbench.launches import LaunchOptions, LaunchRecord
from workbench.profile.timing import COUNTED, launch_time
from workbench.runtime import Device

_SAID = (
    "hipkittens: torch.cuda.Event: modelled time of the emulated device's kernels; where none ran between "
    "two events, this computer's\n"
)


class Moment(NamedTuple):
    """A reading of the clock.

    Attributes:
        modelled: microseconds of all kernels until then.
        calls: calls that launched some.
        wall: seconds of this computer's clock.
    """

    modelled: float
    calls: int
    wall: float


class Clock:
    """The modelled time of a device since its context was entered."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._modelled = 0.0
        self._calls = 0
        self._known: dict[Hashable, tuple[float, int]] = {}
        self._said = False

    def now(self) -> Moment:
        return Moment(self._modelled, self._calls, time.perf_counter())

    def milliseconds(self, start: Moment, end: Moment) -> float:
        """Time from one moment to another; the first answer says on standard error what it is."""
        if not self._said:
            self._said = True
            sys.stderr.write(_SAID)
        if end.calls != start.calls:
            return (end.modelled - start.modelled) / 1e3
        return (end.wall - start.wall) * 1e3

    @contextlib.contextmanager
    def passing(
        self, call: Hashable, kernels: Callable[[], Mapping[str, Kernel]]
    ) -> Iterator[tuple[LaunchOptions | None, list[list[LaunchRecord]]]]:
        """Around a call that may launch kernels.

        Args:
            call: what is the same for calls that take the same time.
            kernels: those that it may launch, by symbol.

        Returns:
            what its launches are to be asked, and a list that their records are to be put in.
        """
        known = self._known.get(call)
        records: list[list[LaunchRecord]] = []
        yield COUNTED if known is None else None, records
        if known is None:
            known = self._known[call] = self._time([each for told in records for each in told], kernels)
        self._modelled += known[0]
        self._calls += known[1] > 0

    def _time(
        self, records: Sequence[LaunchRecord], kernels: Callable[[], Mapping[str, Kernel]]
    ) -> tuple[float, int]:
        found = kernels() if records else {}
        times = [
            launch_time(found[record.kernel], self.device, record).value
            for record in records
            if record.kernel in found
        ]
        return sum(times), len(times)


def event_class(clock: Clock) -> type:
    """What `torch.cuda.Event` is on the clock's device."""

    class Event:
        """A moment; everything before it has ended when it is recorded."""

        def __init__(self, *_: Any, **__: Any) -> None:
            self._moment: Moment | None = None

        def record(self, stream: Any = None) -> None:
            self._moment = clock.now()

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
            if self._moment is None or end._moment is None:
                raise UsageError("elapsed_time: an event was not recorded; expected event.record() before")
            return clock.milliseconds(self._moment, end._moment)

    return Event
