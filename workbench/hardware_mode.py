"""One switch for all in which an emulated device is kinder or stricter than hardware.

`with as_hardware()`, HIPKITTENS_AS_HARDWARE and `exec --as-hardware` together set what has settings of its
own: loads come late (`workbench.lateness`), transcendental instructions err (`workbench.approximation`), and
accesses beyond memory continue where hardware lets them (`workbench.bounds`). What is set for a launch, in a
block inside, or by one of their own variables goes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.approximation import SEEDS, approximate
from workbench.bounds import hardware_bounds
from workbench.lateness import late_loads
from workbench.settings import LAST


@contextmanager
def as_hardware(when: int | str = LAST) -> Iterator[None]:
    """Has emulated devices do inside a `with` block whatever hardware may do; for this thread.

    Loads come late, `v_rcp`, `v_exp` and the like err within their published bounds, and accesses beyond
    shared memory or a tensor continue with a warning where hardware lets them. A kernel that is right for
    several `when` does not owe it to the emulated device. The sanitizer has loads at once, and finds the
    causes. On a GPU nothing changes.

    Args:
        when: "last": loads come at the last moment that the waits allow; or a seed, by which their time is
            drawn. The errors are those of the seed, or of 1.

    Raises:
        UsageError: the value is neither.
    """
    with late_loads(when), approximate(SEEDS[0] if when == LAST else int(when)), hardware_bounds():
        yield
