"""What launches do that name no choice: as `with` blocks and the environment have it."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench import approximation, bounds, lateness, schedules, settings
from workbench.approximation import Approximation
from workbench.emulator.node import limits
from workbench.lateness import Lateness
from workbench.schedules import Schedule


class Defaults(NamedTuple):
    """Choices of a launch that makes none.

    Attributes:
        schedule: deviations from the plain order; None for none.
        approximation: errors of transcendental instructions; None for none.
        lateness: when loads complete; None for at once.
        exact_shared: True if an access beyond the kernel's shared memory is a fault.
        timeout: time limit in seconds; None for no limit.
    """

    schedule: Schedule | None
    approximation: Approximation | None
    lateness: Lateness | None
    exact_shared: bool
    timeout: float | None


_VARIABLES = (
    schedules.VARIABLE,
    approximation.VARIABLE,
    lateness.VARIABLE,
    bounds.SHARED,
    settings.AS_HARDWARE,
    limits.TIMEOUT,
)
_BLOCKS = (approximation.in_block, lateness.in_block, bounds.in_block)
_last: tuple[Any, Defaults] | None = None


def launch_defaults() -> Defaults:
    """The calling thread's defaults, read again where a variable or a block has changed since the last call.

    Raises:
        UsageError: a variable has no valid value.
    """
    global _last
    key = settings.values_of(_VARIABLES), *[block.get() for block in _BLOCKS]
    last = _last
    if last is not None and last[0] == key:
        return last[1]
    defaults = Defaults(
        schedules.default_schedule(),
        approximation.default_approximation(),
        lateness.default_lateness(),
        bounds.is_exact(bounds.SHARED),
        limits.time_limit(None),
    )
    _last = key, defaults
    return defaults
