"""One case: verifies code, then times the same code; whatever goes wrong becomes the result's failure."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from workbench.bench.cases import Case, cost, product_name
from workbench.bench.results import OURS, Result, failure_text, first_line
from workbench.bench.setting import gpu_clock_mhz, setting, source_digest
from workbench.check.verify import verify
from workbench.errors import ShapeError, VerificationError, WorkbenchError
from workbench.events import hub
from workbench.operators import KernelSpec, Range, Shape, shape_text
from workbench.profile import TimeResult, time
from workbench.runtime import Device
from workbench.runtime.registry import device as device_named

VERIFIED_WORK = {True: 2e9, False: 2e12}
"""Operations of the largest problem that is compared with the reference, on emulated devices and on GPUs."""


def code_of(spec: KernelSpec, shape: Shape, arch: str) -> Any:
    """A value that is equal for problems with the same code: the implementation, its kernels and macros."""
    implementation = spec.implementation(shape, arch=arch)
    return implementation.name, [
        (step.entry_name(implementation.shape), str(implementation.macros(step)))
        for step in implementation.steps
    ]


def verified_shape(spec: KernelSpec, shape: Shape, arch: str, most: float) -> dict[str, Any]:
    """The problem itself, or a smaller one that runs the same code and takes `most` operations or less.

    Sizes are halved, the largest first, as long as the implementation supports them and its code stays the
    same. If that ends above `most`, the last shape is returned.
    """
    current = dict(shape)
    code = code_of(spec, shape, arch)
    sizes = {name for name, parameter in spec.parameters.items() if isinstance(parameter, Range)}
    while cost(spec, current) > most:
        for name in sorted(sizes, key=lambda size: -int(current[size])):
            smaller = {**current, name: _halved(spec.parameters[name], int(current[name]))}
            if smaller[name] < current[name] and _runs(spec, smaller, arch, code):
                current = smaller
                break
        else:
            break
    return current


def _halved(parameter: Any, value: int) -> int:
    low, step = int(parameter.low), int(parameter.step)
    return max(low, (value // 2 - low) // step * step + low)


def _runs(spec: KernelSpec, shape: Shape, arch: str, code: Any) -> bool:
    try:
        full = spec.shape(shape, arch=arch)
        spec.implementation(full, arch=arch).check()
        return bool(code_of(spec, full, arch) == code)
    except ShapeError:
        return False


_verified: dict[tuple[str, str, str], str] = {}
"""Shapes at which code was found right, by implementation, code and device."""


def verified(spec: KernelSpec, shape: Shape, device: Device) -> str:
    """The shape, as text, at which the code of a problem was found right; each code is compared once.

    Raises:
        VerificationError: it is wrong.
    """
    implementation = spec.implementation(shape, arch=device.arch)
    key = (implementation.name, repr(code_of(spec, shape, device.arch)), device.name)
    if key not in _verified:
        small = verified_shape(implementation.spec, shape, device.arch, VERIFIED_WORK[device.observes])
        verify(implementation.spec, shape=small, device=device).check()
        _verified[key] = shape_text(small)
    return _verified[key]


def run_case(case: Case, device: str) -> Result:
    """Verifies and times a case; if it fails, that is a result, too.

    Args:
        device: its name, since a case may run in another process.
    """
    where = device_named(device)
    start = clock.monotonic()
    measured: dict[str, Any] = {}
    try:
        spec = case.spec
        measured = {**spec.work(case.shape), "variant": spec.implementation(case.shape, arch=where.arch).name}
        with hub.muted():
            measured["verified"] = verified(spec, case.shape, where)
        measured |= timed_fields(time(spec, shape=case.shape, device=where), where)
    except VerificationError as error:
        measured["failure"] = f"wrong: {first_line(error)}"
    except (WorkbenchError, MemoryError, RuntimeError) as error:
        measured["failure"] = failure_text(error)
    return result_of(case, OURS, where, measured, start)


def result_of(case: Case, whose: str, where: Device, measured: Mapping[str, Any], start: float) -> Result:
    """The result of a case, with everything needed to repeat it.

    Args:
        whose: implementation.
        measured: fields of the result that the run knows.
        start: `time.monotonic()` before it.
    """
    return Result(
        case.name,
        dict(case.shape),
        whose,
        where.name,
        product_name(where),
        **measured,
        source=source_digest(case.operator, where),
        setting=setting(where),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(clock.monotonic() - start, 3),
    )


def timed_fields(timing: TimeResult, device: Device) -> Mapping[str, Any]:
    parts = [part.model for part in (timing.steps or (timing,)) if part.model is not None]
    longest = max(parts, key=lambda part: part.seconds) if parts else None
    error = timing.median.error
    return {
        **{
            "us": timing.median.value,
            "low": timing.low.value,
            "high": timing.high.value,
            "runs": timing.runs,
        },
        "origin": str(timing.origin),
        "error": asdict(error) if error is not None else {},
        "bound": longest.bound if longest is not None else "",
        "clock_mhz": longest.clock_hz / 1e6 if longest is not None else gpu_clock_mhz(device),
        "code": timing.code,
    }
