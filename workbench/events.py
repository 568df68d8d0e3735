"""Events of this process, such as launches, profiles, sweeps and verifications, for views to subscribe to.

This module imports nothing of the workbench: code with results publishes them here, views subscribe, and
neither depends on the other. The history is bounded and keeps its events alive, so publish small facts, or
results without tensors.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

HISTORY = 500
"""Number of events of each kind that a hub keeps for views that open later."""


@dataclass(frozen=True)
class Event:
    """One thing that happened in this process, such as a compilation or a launch.

    Attributes:
        number: counts up from 1.
        kind: "launch", "time", "profile", "counted" (a profile without a time), "verify", "sweep", "progress"
            (of a sweep or a launch), "compile", "sanitize", "step" (a training step's profile), "print" (what
            a kernel printed) or "failed" (see `Hub.failures`).
        name: kernel or spec.
        data: facts for this kind: plain values, or a result.
        seconds: Unix time.
    """

    number: int
    kind: str
    name: str
    data: Any = field(repr=False)
    seconds: float = 0.0


Listener = Callable[[Event], None]
_NO_FACTS: Mapping[str, Any] = {}


class _Failures:
    """See `Hub.failures`."""

    __slots__ = ("_event", "_hub")

    def __init__(self, hub: Hub, *event: Any) -> None:
        self._hub, self._event = hub, event

    def __enter__(self) -> None: ...

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            self._hub.failed(error, *self._event)


class Hub:
    """Takes events and passes them on, from any thread.

    Args:
        history: events kept of each kind: many launches leave the few failures before them.
    """

    def __init__(self, history: int = HISTORY) -> None:
        self._lock = threading.Lock()
        self._events: dict[str, deque[Event]] = defaultdict(lambda: deque(maxlen=history))
        self._published: Counter[str] = Counter()
        self._listeners: list[Listener] = []
        self._number = 0
        self._muted = threading.local()

    def publish(self, kind: str, name: str, data: Any = None) -> None:
        """Notifies all listeners; one that fails is dropped with a warning, and the publisher continues."""
        if getattr(self._muted, "depth", 0):
            return
        with self._lock:
            self._number += 1
            event = Event(self._number, kind, name, data, time.time())
            self._events[kind].append(event)
            self._published[kind] += 1
            listeners = tuple(self._listeners)
        self._tell(event, listeners)

    def _tell(self, event: Event, listeners: tuple[Listener, ...]) -> None:
        for listener in listeners:
            try:
                listener(event)
            except Exception as error:
                self.unsubscribe(listener)
                warnings.warn(f"a view stopped listening after {type(error).__name__}: {error}", stacklevel=2)

    def progress(self, name: str, done: int, total: int) -> None:
        """Notifies listeners of a launch's progress, even inside `muted`; it is not stored."""
        event = Event(0, "progress", name, {"done": done, "total": total}, time.time())
        with self._lock:
            listeners = tuple(self._listeners)
        self._tell(event, listeners)

    @contextlib.contextmanager
    def muted(self) -> Iterator[None]:
        """Suppresses this thread's events: the many launches of one measurement are one event."""
        self._muted.depth = getattr(self._muted, "depth", 0) + 1
        try:
            yield
        finally:
            self._muted.depth -= 1

    def failures(self, kind: str, name: str, **facts: Any) -> AbstractContextManager[None]:
        """An exception that leaves the block is published once, as "failed", and propagates.

        Its data is {"kind": what failed, "error": the first line of the message, **facts}, with what the
        exception's own attribute `facts` adds. Inside `muted`, this is left to the code that muted.
        """
        return _Failures(self, kind, name, facts)

    def failed(self, error: Exception, kind: str, name: str, facts: Mapping[str, Any] = _NO_FACTS) -> None:
        """Publishes an exception as `failures` does; for code that each launch runs."""
        # Marked on the exception: a reference to it would keep its frames' tensors alive.
        if not getattr(self._muted, "depth", 0) and not vars(error).get("_told"):
            vars(error)["_told"] = True
            text = str(error).strip().partition("\n")[0] or type(error).__name__
            facts = {**getattr(error, "facts", {}), **facts}
            self.publish("failed", name, {"kind": kind, "error": text, **facts})

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` with each event from now on; returns a function that ends that."""
        with self._lock:
            self._listeners.append(listener)
        return lambda: self.unsubscribe(listener)

    def unsubscribe(self, listener: Listener) -> None:
        """Ends a subscription; ending it twice is not an error."""
        with self._lock, contextlib.suppress(ValueError):
            self._listeners.remove(listener)

    def history(self, *kinds: str) -> list[Event]:
        """Stored events, oldest first; only of these kinds if any are named."""
        with self._lock:
            queues = [queue for kind, queue in self._events.items() if not kinds or kind in kinds]
            return sorted(itertools.chain(*queues), key=lambda event: event.number)

    def dropped(self) -> Counter[str]:
        """Number of events of each kind that are no longer stored."""
        with self._lock:
            return self._published - Counter({kind: len(queue) for kind, queue in self._events.items()})

    def clear(self) -> None:
        """Forgets the history."""
        with self._lock:
            self._events.clear()
            self._published.clear()

    def __len__(self) -> int:
        return sum(map(len, self._events.values()))


def shape_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a "failed" event; "" if it has none, which may be why it failed."""
    shape = data.get("shape")
    return dict(shape) if isinstance(shape, Mapping) else {}


hub = Hub()
"""The hub of this process."""
