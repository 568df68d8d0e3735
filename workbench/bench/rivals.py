"""Other implementations beside ours: which of them take part, and how one is verified and timed."""

from __future__ import annotations

import contextlib
import time as clock
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.bench.cases import Case, cost
from workbench.bench.implementations import RIVALS, Inputs, Rival
from workbench.bench.results import Result, failure_text
from workbench.bench.run_case import VERIFIED_WORK, result_of, timed_fields
from workbench.check.compare import compare
from workbench.check.references import widened
from workbench.errors import UsageError, WorkbenchError
from workbench.events import hub
from workbench.operators import KernelSpec, Shape, shape_text
from workbench.profile.timing import measure_call, time
from workbench.runtime import Device
from workbench.runtime.registry import device as device_named
from workbench.triton_driver import triton


def chosen_rivals(against: Sequence[str], device: Device) -> list[Rival]:
    """The implementations of some groups that are installed and run on a device.

    Raises:
        UsageError: there is no such group, nothing of it is installed, or it needs a GPU.
    """
    found = []
    for group in [against] if isinstance(against, str) else against:
        known = [rival for rival in RIVALS if rival.group == group]
        if not known:
            there = ", ".join(dict.fromkeys(rival.group for rival in RIVALS))
            raise UsageError(f"against is {group!r}; expected some of {there}")
        if device.observes and all(rival.gpu_only for rival in known):
            raise UsageError(
                f"{group} runs on a GPU only, and {device.name} is emulated; choose "
                "a GPU, or leave it out of against="
            )
        installed = [rival for rival in known if rival.installed]
        if not installed:
            raise UsageError(f"{group}: {' and '.join(rival.module for rival in known)} are not installed")
        found += installed
    return found


@contextlib.contextmanager
def _driver(rival: Rival, device: Device) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if rival.group == "triton":
            stack.enter_context(triton(device, cuda_means_cpu=device.observes))
        yield


def run_rival(name: str, case: Case, device: str) -> Result:
    """Verifies and times another implementation; a failure of it is a result, too.

    Args:
        name: of the implementation.
        device: its name.
    """
    rival = next(each for each in RIVALS if each.name == name)
    where = device_named(device)
    start = clock.monotonic()
    spec = case.spec
    told: dict[str, Any] = dict(spec.work(case.shape))
    try:
        told |= _verified_and_timed(rival, spec, case.shape, where)
    except (WorkbenchError, RuntimeError, MemoryError, TypeError, ImportError) as error:
        told["failure"] = failure_text(error)
    return result_of(case, rival.name, where, told, start)


def _verified_and_timed(rival: Rival, spec: KernelSpec, shape: Shape, device: Device) -> dict[str, Any]:
    inputs = spec.make_inputs(shape, device=device)
    with _driver(rival, device), hub.muted():
        call = rival.call_of(spec, inputs)
        compared = ""
        if cost(spec, shape) <= VERIFIED_WORK[device.observes]:
            _check(rival, spec, inputs, call(), shape)
            compared = shape_text(shape)
        found = time(call) if device.observes else measure_call(call, rival.name, device)
    if not compared:
        compared = _checked_small(rival, spec, shape, device)
    return {**timed_fields(found, device), "verified": compared}


def _checked_small(rival: Rival, spec: KernelSpec, shape: Shape, device: Device) -> str:
    """Compares the same implementation on a problem that the CPU can compute, too; the shape as text."""
    small = dict(shape)
    for name in ("m", "n", "k", "rows", "batch", "heads", "queries", "keys", "tokens"):
        if name in small:
            least = {"batch": 1, "heads": small.get("heads_kv", 1)}.get(name, 256)
            small[name] = min(int(small[name]), least)
    inputs = spec.make_inputs(small, device=device)
    with _driver(rival, device), hub.muted():
        _check(rival, spec, inputs, rival.call_of(spec, inputs)(), small)
    return shape_text(small)


def _check(rival: Rival, spec: KernelSpec, inputs: Inputs, got: Any, shape: Shape) -> None:
    """Its first output against the reference.

    Raises:
        WorkbenchError: it is wrong.
    """
    wanted = spec.reference(**widened(inputs))
    first, right = (each[0] if isinstance(each, tuple) else each for each in (got, wanted))
    checked = compare(first, right, name=rival.name)
    if not checked.passed:
        raise WorkbenchError(f"wrong at {shape_text(shape)}: {checked}")
