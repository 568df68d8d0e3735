"""The loop that measures times on a GPU: warm-up, caches cleared, runs until the median is stable."""

from __future__ import annotations

import contextlib
import statistics
import time as clock
from collections.abc import Callable, Iterator, Sequence

from workbench.origin import Figure, Origin
from workbench.progress import track
from workbench.runtime import Device

CACHE_CLEAR_BYTES = 512 << 20
"""Bytes to write between measured runs, so that none finds its data in a cache: twice the Infinity Cache."""

MIN_RUNS, MAX_RUNS = 20, 2000
WARM_UP_RUNS = 10
EMULATED_MIN_RUNS, EMULATED_WARM_UP_RUNS = 3, 1
"""On software that plays the GPU, where a run takes seconds and the next one hardly differs."""
MAX_SECONDS = 10.0
STABLE = 0.005
"""Measuring stops when half the median's 95% interval is below this fraction of the median."""


def measure(
    run: Callable[[], Sequence[float]], name: str, device: Device, *, warm: bool = False
) -> list[Sequence[float]]:
    """Times of runs, until the median of their sums is stable or `MAX_SECONDS` have passed.

    Args:
        run: runs the target once and returns the microseconds of each of its launches.
        name: name of the target, for the progress bar.
        device: the GPU.
        warm: keep the contents of the caches from the previous run. Otherwise they are cleared before each
            run, but not between its launches: a later launch finds an earlier one's data there.
    """
    warm_up, fewest = WARM_UP_RUNS, MIN_RUNS
    if device.origin is Origin.EMULATED:
        warm_up, fewest = EMULATED_WARM_UP_RUNS, EMULATED_MIN_RUNS
    with contextlib.ExitStack() as stack:
        # A copy to the device after the caches were cleared would fill them.
        stack.enter_context(device.keeping_copies())
        clear = None if warm else stack.enter_context(cache_clearer(device))
        for _ in range(warm_up):
            run()
        samples: list[Sequence[float]] = []
        until = clock.monotonic() + MAX_SECONDS
        for _ in track(range(MAX_RUNS), f"time {name}"):
            if clear is not None:
                clear()
            samples.append(run())
            is_over = clock.monotonic() > until or is_stable([sum(sample) for sample in samples])
            if len(samples) >= fewest and is_over:
                break
    return samples


def quantiles(samples: Sequence[float], device: Device) -> tuple[Figure, Figure, Figure]:
    """Median, 10% and 90% quantile of event times in microseconds."""
    deciles = statistics.quantiles(samples, n=10)
    source = f"HIP events, {device.name}"
    median, low, high = (
        Figure(microseconds, "us", device.origin, source)
        for microseconds in (statistics.median(samples), deciles[0], deciles[-1])
    )
    return median, low, high


def is_stable(samples: Sequence[float]) -> bool:
    """True if the median is known to `STABLE`: half the distance between the ranks n/2 +- 0.98 sqrt(n).

    These ranks bound the median with 95% confidence (binomial distribution of ranks, normal approximation).
    """
    ordered = sorted(samples)
    n = len(ordered)
    half = 0.98 * n**0.5
    low, high = max(0, int(n / 2 - half)), min(n - 1, int(n / 2 + half))
    return (ordered[high] - ordered[low]) / 2 <= STABLE * ordered[n // 2]


@contextlib.contextmanager
def cache_clearer(device: Device) -> Iterator[Callable[[], None]]:
    """A function that writes enough of a GPU's memory to replace everything in its caches."""
    with device.hip() as hip:
        buffer = hip.call("hipMalloc", CACHE_CLEAR_BYTES)

        def clear() -> None:
            hip.call("hipMemset", buffer, 0, CACHE_CLEAR_BYTES)
            hip.call("hipDeviceSynchronize")

        try:
            yield clear
        finally:
            hip.api.hipFree(buffer)
