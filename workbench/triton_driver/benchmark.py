"""Triton's benchmark functions on an emulated device: modelled time, never that of the emulation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from triton import runtime

from workbench.errors import ModelledTime, UsageError
from workbench.kernel import recording
from workbench.profile.timing import time
from workbench.targets import is_timed, target


def modelled(
    call: Callable[[], Any],
    *_: Any,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    grad_to_none: Sequence[Any] | None = None,
    **_more: Any,
) -> Any:
    """Modelled milliseconds of `call`'s launches, instead of `triton.testing.do_bench`; it warns about that.

    A call that launches no kernel, such as PyTorch's operators on the CPU, has no time: nan, with a warning.
    On a device without modelled times, the call runs once, and the result is nan with a warning.

    Args:
        call: function with launches; it is called once, and its launches are repeated once to count them.
        quantiles: the result has as many values, all equal: a model has no noise.
        return_mode: "all" gives a list of one value; "mean", "median", "min" and "max" the value.
        grad_to_none: tensors whose gradients are dropped before the call.

    Raises:
        UsageError: `return_mode` is not one of these.
    """
    if return_mode not in ("all", "mean", "median", "min", "max"):
        raise UsageError(f"return_mode is {return_mode!r}; expected all, mean, median, min or max")
    for tensor in grad_to_none or ():
        tensor.grad = None
    if not _is_timed():
        call()
        _say(f"do_bench: no time is modelled for {runtime.driver.active.device.label}: nan")
        return _as_asked(math.nan, quantiles, return_mode)
    with recording() as launches:
        try:
            milliseconds = time(call).median.value / 1e3
        except UsageError:
            if launches:
                raise
            _say("do_bench: the call launched no kernel on the emulated device; its time is not known: nan")
            milliseconds = math.nan
        else:
            _say(f"do_bench: times are modelled for {launches[-1][1].device.label}, not measured")
    return _as_asked(milliseconds, quantiles, return_mode)


def _as_asked(milliseconds: float, quantiles: Sequence[float] | None, return_mode: str) -> Any:
    """One time in the form of do_bench's result."""
    if quantiles is not None:
        return milliseconds if len(quantiles) == 1 else [milliseconds] * len(quantiles)
    return [milliseconds] if return_mode == "all" else milliseconds


def _is_timed() -> bool:
    return is_timed(target(runtime.driver.active.device.arch))


def quietly_modelled(
    call: Callable[[], Any], *, quantiles: Sequence[float] | None = None, **options: Any
) -> Any:
    """`modelled` for the autotuner, which only compares: without its message.

    On a device without modelled times, each configuration runs once and takes as long as the others, so the
    autotuner takes the first that runs; a warning says so.
    """
    if not _is_timed():
        call()
        _say(
            f"autotuner: no time is modelled for {runtime.driver.active.device.label}; it takes the first "
            "configuration that runs"
        )
        return _as_asked(0.0, quantiles, "mean")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelledTime)
        return modelled(call, quantiles=quantiles, **options)


def _say(text: str) -> None:
    """Python's warnings show it once per calling line."""
    warnings.warn(text, ModelledTime, stacklevel=3)
