"""When loads of an emulated device complete: at once, or as late as hardware's may.

An emulated device does each load when it is issued, and a GPU some time before the `s_waitcnt` that waits
for it. Code that does not wait enough, or overwrites data that is still being read, is right here and wrong
there. On request loads of memory change their registers, loads to LDS change LDS, and LDS instructions have
their effect, at the last moment that the waits allow, or at an earlier time that follows from a seed
(native/run/late.c). A program that waits for everything it uses gives the same bits. The launch's own setting
comes first, then a `with late_loads(...)` block, then HIPKITTENS_LATE. With the sanitizer, which checks the
order itself, and on a tape, loads complete at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from workbench import settings
from workbench.approximation import checked_seed
from workbench.errors import UsageError

VARIABLE = "HIPKITTENS_LATE"
LAST = "last"


@dataclass(frozen=True, slots=True)
class Lateness:
    """Selects when loads complete.

    Attributes:
        seed: seed of the delays; the same seed gives the same results. None: at the last moment.
    """

    seed: int | None = None

    def __str__(self) -> str:
        """The text for `HIPKITTENS_LATE`."""
        return LAST if self.seed is None else str(self.seed)


_chosen: ContextVar[Lateness | None] = ContextVar("lateness", default=None)


def lateness_of(when: object, origin: str) -> Lateness:
    """The setting for "last" or a seed.

    Args:
        origin: origin of the value, for the message.

    Raises:
        UsageError: the value is neither.
    """
    if isinstance(when, str) and when != LAST:
        raise UsageError(f"{origin} is {when!r}; expected {LAST!r}, or a seed, a whole number from 0 on")
    return Lateness(None if when == LAST else checked_seed(when, origin))


def default_lateness() -> Lateness | None:
    """The setting of launches that specify none; None: loads complete at once.

    Raises:
        UsageError: HIPKITTENS_LATE is neither "last" nor a seed.
    """
    setting = _chosen.get()
    if setting is not None:
        return setting
    text = settings.value_of(VARIABLE)
    return lateness_of(int(text) if text.isdecimal() else text, VARIABLE) if text else None


@contextmanager
def late_loads(when: int | str = LAST) -> Iterator[None]:
    """Makes loads of emulated devices complete late in a `with` block; for this thread.

    Args:
        when: "last", the last moment that the waits allow; or a seed, from which the time follows.

    Raises:
        UsageError: the value is neither.
    """
    token = _chosen.set(lateness_of(when, "late_loads"))
    try:
        yield
    finally:
        _chosen.reset(token)
