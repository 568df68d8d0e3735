"""Notifies listeners of every call of an operator, on real tensors and on "meta"."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workbench.operators.parameters import Shape


@dataclass(frozen=True)
class Called:
    """A call of an operator.

    Attributes:
        operator: name of the operator.
        shape: complete shape of the call.
        launches: number of launches that follow; 0 if the tensors are on "meta", where nothing runs.
    """

    operator: str
    shape: Shape
    launches: int = 0


_listeners: list[Callable[[Called], None]] = []


def is_heard() -> bool:
    """True if anybody listens to calls."""
    return bool(_listeners)


def tell(call: Called) -> None:
    """Notifies listeners, before a call's launches."""
    for listener in _listeners:
        listener(call)


@contextlib.contextmanager
def listening(listener: Callable[[Called], None]) -> Iterator[None]:
    """Calls `listener` with each call in the block, on any thread: autograd has its own threads on a GPU."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
