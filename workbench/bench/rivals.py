"""Other implementations to compare with ours: which of them take part, and how each is verified and timed."""

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
from workbench.torch_gpu import torch_as_gpu
from workbench.triton_driver import triton


def chosen_rivals(against: Sequence[str], device: Device) -> list[Rival]:
    """The implementations of some groups that are installed and run on a device.

    Raises:
        UsageError: there is no such group, none of it is installed, or it needs a GPU.
    """
    rivals = []
    for group in [against] if isinstance(against, str) else against:
        group_rivals = [rival for rival in RIVALS if rival.group == group]
        if not group_rivals:
            there = ", ".join(dict.fromkeys(rival.group for rival in RIVALS))
            raise UsageError(f"against is {group!r}; expected some of {there}")
        if device.observes and all(rival.gpu_only for rival in group_rivals):
            raise UsageError(
                f"{group} runs on a GPU only, and {device.name} is emulated; choose "
                "a GPU, or leave it out of against="
            )
        installed = [rival for rival in group_rivals if rival.installed]
        if not installed:
            raise UsageError(
                f"{group}: {' and '.join(rival.module for rival in group_rivals)} are not installed"
            )
        rivals += installed
    return rivals


@contextlib.contextmanager
def _driver(rival: Rival, device: Device) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if rival.group == "triton":
            stack.enter_context(triton(device, cuda_means_cpu=device.observes))
        if rival.group == "flydsl":
            stack.enter_context(torch_as_gpu(device))
        yield


def run_rival(name: str, case: Case, device: str) -> Result:
    """Verifies and times another implementation; its failure is a result, too.

    Args:
        name: name of the implementation.
        device: name of the device.
    """
    rival = next(candidate for candidate in RIVALS if candidate.name == name)
    where = device_named(device)
    start = clock.monotonic()
    spec = case.spec
    measured: dict[str, Any] = dict(spec.work(case.shape))
    try:
        measured |= _verified_and_timed(rival, spec, case.shape, where)
    except (WorkbenchError, RuntimeError, MemoryError, TypeError, ImportError) as error:
        measured["failure"] = failure_text(error)
    return result_of(case, rival.name, where, measured, start)


def _verified_and_timed(rival: Rival, spec: KernelSpec, shape: Shape, device: Device) -> dict[str, Any]:
    inputs = spec.make_inputs(shape, device=device)
    with _driver(rival, device), hub.muted():
        call = rival.call_of(spec, inputs)
        compared = ""
        if cost(spec, shape) <= VERIFIED_WORK[device.observes]:
            _check(rival, spec, inputs, call(), shape)
            compared = shape_text(shape)
        timing = time(call) if device.observes else measure_call(call, rival.name, device)
    if not compared:
        compared = _checked_small(rival, spec, shape, device)
    return {**timed_fields(timing, device), "verified": compared}


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
    expected = spec.reference(**widened(inputs))
    first, right = (output[0] if isinstance(output, tuple) else output for output in (got, expected))
    checked = compare(first, right, name=rival.name)
    if not checked.passed:
        raise WorkbenchError(f"wrong at {shape_text(shape)}: {checked}")
