"""The arithmetic of an emulated device's matrix instructions: fast, or exact to the bit.

`fast` rounds after each product, as fp32 code on a CPU does; `exact` gives the bits of an MI300X
(docs/numerics.md). The device's name comes first ("emulated:gfx942,numerics=exact"), then a `with
numerics(...)` block, then HIPKITTENS_NUMERICS; the default is fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from workbench import settings
from workbench.errors import UsageError

FAST, EXACT = "fast", "exact"
CHOICES = (FAST, EXACT)
VARIABLE = "HIPKITTENS_NUMERICS"

_chosen: ContextVar[str | None] = ContextVar("numerics", default=None)


def checked(value: str, origin: str) -> str:
    """The value, checked to be one of `CHOICES`.

    Args:
        origin: origin of the value, for the message.

    Raises:
        UsageError: there is no such choice.
    """
    if value not in CHOICES:
        raise UsageError(f"{origin} is {value!r}; expected {' or '.join(map(repr, CHOICES))}")
    return value


def default_numerics() -> str:
    """The choice for devices whose name does not make one.

    Raises:
        UsageError: HIPKITTENS_NUMERICS is not one of them.
    """
    return _chosen.get() or checked(settings.value_of(VARIABLE) or FAST, VARIABLE)


@contextmanager
def numerics(choice: str) -> Iterator[None]:
    """Chooses how emulated devices compute in a `with` block, unless their name does; for this thread.

    Args:
        choice: "exact" or "fast".

    Raises:
        UsageError: the value is neither.
    """
    token = _chosen.set(checked(choice, "numerics"))
    try:
        yield
    finally:
        _chosen.reset(token)
