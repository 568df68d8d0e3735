"""Errors of transcendental instructions on an emulated device, as large as hardware's may be.

An emulated device rounds `v_rcp`, `v_rsq`, `v_sqrt`, `v_exp` and `v_log` exactly or nearly so, and hardware
need not: code that is right with exact results alone passes here and fails there. On request each result has
an error below the published bound (`codeobject.instructions.accuracy`). It is drawn by a seed, the function
and its argument, so that a run repeats, and that two instructions agree on the same argument, as a GPU's do.
The launch decides, else a `with approximate(...)` block, else HIPKITTENS_APPROXIMATE, else
HIPKITTENS_AS_HARDWARE.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from workbench import settings
from workbench.errors import UsageError

VARIABLE = "HIPKITTENS_APPROXIMATE"
SEEDS = (1, 2, 3)
"""Seeds to try if none is named: in half of the draws a result errs in a given direction."""

_END = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Approximation:
    """Selects the instructions that err, and their errors.

    Attributes:
        seed: seed of the errors; the same seed gives the same results.
        kernel: symbol of the only kernel whose instructions err; "" for all.
        first, end: code object addresses of the instructions that err, from `first` up to but not including
            `end`.
    """

    seed: int
    kernel: str = ""
    first: int = 0
    end: int = _END

    def for_kernel(self, kernel: str) -> Approximation | None:
        """This approximation if it applies to the kernel, else None."""
        return self if self.kernel in ("", kernel) else None


in_block: ContextVar[Approximation | None] = ContextVar("approximation", default=None)


def checked_seed(value: object, origin: str) -> int:
    """The seed as an int, checked to be from 0 to 2**64 - 1.

    Args:
        origin: origin of the value, for the message.

    Raises:
        UsageError: the value is not a whole number in this range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise UsageError(f"{origin} is {value!r}; expected a seed, a whole number from 0 on")
    return value


def seeds_of(value: bool | int, origin: str) -> tuple[int, ...]:
    """The seeds that an argument asks for: none, the usual ones for True, or the seed itself.

    Raises:
        UsageError: the value is invalid.
    """
    if isinstance(value, bool):
        return SEEDS if value else ()
    return (checked_seed(value, origin),)


def default_approximation() -> Approximation | None:
    """The approximation for launches that name none; None if there is no such default.

    Raises:
        UsageError: HIPKITTENS_APPROXIMATE, or HIPKITTENS_AS_HARDWARE in its place, is no seed.
    """
    setting = in_block.get()
    if setting is not None:
        return setting
    text, origin = settings.value_as_hardware(VARIABLE)
    if not text:
        return None
    if origin != VARIABLE and text == settings.LAST:
        return Approximation(SEEDS[0])
    return Approximation(checked_seed(int(text) if text.isdecimal() else text, origin))


@contextmanager
def approximate(seed: int | Approximation) -> Iterator[None]:
    """Lets transcendental instructions of emulated devices err inside a `with` block; for this thread.

    Args:
        seed: seed of the errors.

    Raises:
        UsageError: the seed is invalid.
    """
    approximation = (
        seed if isinstance(seed, Approximation) else Approximation(checked_seed(seed, "approximate"))
    )
    token = in_block.set(approximation)
    try:
        yield
    finally:
        in_block.reset(token)
