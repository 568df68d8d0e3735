"""When the work of streams would begin and end on a GPU, from the time that each piece takes there."""

from __future__ import annotations

from typing import NamedTuple

_LEGACY, _PER_THREAD = 1, 2
_INTERVALS = 64
_STREAMS = 64


class Stream(NamedTuple):
    """A stream with the facts that order its work.

    Attributes:
        device: ordinal of the device.
        handle: HIP's handle; NULL is hipStreamLegacy.
        blocking: True if it and the NULL stream wait for each other.
    """

    device: int
    handle: int
    blocking: bool = True

    @classmethod
    def from_handle(cls, device: int, handle: int, *, blocking: bool = True) -> Stream:
        """The stream that a HIP handle names."""
        return cls(device, handle or _LEGACY, blocking)

    @property
    def is_legacy(self) -> bool:
        return self.handle == _LEGACY


class Interval(NamedTuple):
    """Seconds in which work keeps a share of an engine busy."""

    start: float
    end: float
    share: float


class Timeline:
    """Seconds since the first piece of work.

    The work of a stream runs in order. The work of several streams overlaps as far as the engine has room:
    kernels run beside each other if they leave compute units free, and a copy runs beside kernels. The host
    takes no time to send work, and waits where the program waits.
    """

    def __init__(self) -> None:
        self._host = 0.0
        self._ends: dict[Stream, float] = {}
        self._busy: dict[tuple[int, str], list[Interval]] = {}

    def moment(self, stream: Stream) -> float:
        """Time at which all of a stream's work, and what it waits for, has ended."""
        ends = [self._host, self._ends.get(stream, 0.0)]
        if stream.blocking:
            ends += [
                end
                for other, end in self._ends.items()
                if other.device == stream.device and other.blocking and stream.is_legacy != other.is_legacy
            ]
        return max(ends)

    def add(
        self, stream: Stream, engine: str, seconds: float, *, share: float = 1.0, gap: float = 0.0
    ) -> float:
        """Sends work to a stream.

        Args:
            engine: engine that does the work.
            share: share of the engine that it takes, 0 to 1.
            gap: seconds on the stream before it.

        Returns:
            start time in seconds.
        """
        busy = self._busy.setdefault((stream.device, engine), [])
        start = _first_free(busy, self.moment(stream) + gap, seconds, share)
        busy.append(Interval(start, start + seconds, share))
        del busy[:-_INTERVALS]
        self._ends[stream] = start + seconds
        if len(self._ends) > _STREAMS:
            self._ends = {other: end for other, end in self._ends.items() if end > self._host}
        return start

    def wait(self, stream: Stream, moment: float) -> None:
        """Makes a stream wait for a moment."""
        self._ends[stream] = max(self.moment(stream), moment)

    def wait_on_host(self, moment: float | None = None) -> None:
        """Makes the host wait for a moment; None for all work."""
        self._host = max([self._host, *self._ends.values()] if moment is None else [self._host, moment])


def _first_free(busy: list[Interval], ready: float, seconds: float, share: float) -> float:
    """The first time from which an engine has room for work, for its whole duration."""
    later = [interval for interval in busy if interval.end > ready]
    starts = sorted({ready, *(interval.end for interval in later)})
    return next(start for start in starts if _peak(later, start, start + seconds) + share <= 1.0 + 1e-9)


def _peak(busy: list[Interval], start: float, end: float) -> float:
    """The largest share of an engine that is busy at once between two moments."""
    during = [interval for interval in busy if interval.start < end and interval.end > start]
    begins = [max(start, interval.start) for interval in during]
    return max(
        (sum(i.share for i in during if i.start <= at < i.end) for at in begins),
        default=0.0,
    )
