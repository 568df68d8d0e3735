"""When loads of an emulated device complete: at once, or as late as hardware's may.

An emulated device does each load when it is issued, and a GPU some time before the `s_waitcnt` that waits
for it. Code that waits too little, or overwrites what is still being read, is right here and wrong there. On
request loads of memory change their registers, loads to LDS change LDS, and LDS instructions have their
effect, at the last moment that the waits allow, or at a time before it that is drawn by a seed
(native/run/late.c). A program that waits for what it uses gives the same bits. The launch decides, else a
`with late_loads(...)` block, else HIPKITTENS_LATE, else HIPKITTENS_AS_HARDWARE. The sanitizer, which looks at
the order itself, has them at once, and so has a tape.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from workbench import settings
from workbench.approximation import checked_seed
from workbench.errors import UsageError
from workbench.settings import LAST

VARIABLE = "HIPKITTENS_LATE"


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


in_block: ContextVar[Lateness | None] = ContextVar("lateness", default=None)


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
        UsageError: HIPKITTENS_LATE, or HIPKITTENS_AS_HARDWARE in its place, is neither "last" nor a seed.
    """
    setting = in_block.get()
    if setting is not None:
        return setting
    text, origin = settings.value_as_hardware(VARIABLE)
    return lateness_of(int(text) if text.isdecimal() else text, origin) if text else None


@contextmanager
def late_loads(when: int | str = LAST) -> Iterator[None]:
    """Makes loads of emulated devices complete late in a `with` block; for this thread.

    Args:
        when: "last", the last moment that the waits allow; or a seed, from which the time follows.

    Raises:
        UsageError: the value is neither.
    """
    token = in_block.set(lateness_of(when, "late_loads"))
    try:
        yield
    finally:
        in_block.reset(token)
