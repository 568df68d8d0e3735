"""One case: the same code is verified, then timed; whatever goes wrong becomes the result's failure."""

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
from workbench.operators.building import macros_of
from workbench.profile import TimeResult, time
from workbench.runtime import Device
from workbench.runtime.registry import device as device_named

VERIFIED_WORK = {True: 2e9, False: 2e12}
"""Operations of the largest problem that is compared with the reference, on emulated devices and on GPUs."""


def code_of(spec: KernelSpec, shape: Shape, arch: str) -> Any:
    """A value equal for problems that run the same code: the implementation, its kernels and macros."""
    chosen = spec.implementation(shape, arch=arch)
    steps = chosen.active_steps(shape, arch)
    return chosen.name, [(s.entry_name(shape), str(macros_of(chosen, s, shape, arch))) for s in steps]


def verified_shape(spec: KernelSpec, shape: Shape, arch: str, most: float) -> dict[str, Any]:
    """The problem itself, or a smaller one that runs the same code and takes `most` operations or less.

    Sizes are halved, the largest first, as long as the implementation takes them and its code stays the same.
    Where that ends above `most`, it is what was found.
    """
    found = dict(shape)
    wanted = code_of(spec, shape, arch)
    sizes = {name for name, parameter in spec.parameters.items() if isinstance(parameter, Range)}
    while cost(spec, found) > most:
        for name in sorted(sizes, key=lambda each: -int(found[each])):
            smaller = {**found, name: _halved(spec.parameters[name], int(found[name]))}
            if smaller[name] < found[name] and _runs(spec, smaller, arch, wanted):
                found = smaller
                break
        else:
            break
    return found


def _halved(parameter: Any, value: int) -> int:
    low, step = int(parameter.low), int(parameter.step)
    return max(low, (value // 2 - low) // step * step + low)


def _runs(spec: KernelSpec, shape: Shape, arch: str, wanted: Any) -> bool:
    try:
        full = spec.shape(shape, arch=arch)
        chosen = spec.implementation(full, arch=arch)
        if chosen.check is not None:
            chosen.check(full, arch)
        return bool(code_of(spec, full, arch) == wanted)
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
        small = verified_shape(implementation, shape, device.arch, VERIFIED_WORK[device.observes])
        verify(implementation, shape=small, device=device).check()
        _verified[key] = shape_text(small)
    return _verified[key]


def run_case(case: Case, device: str) -> Result:
    """Verifies and times a case; a failure of it is a result, too.

    Args:
        device: its name, since a case may run in another process.
    """
    where = device_named(device)
    start = clock.monotonic()
    told: dict[str, Any] = {}
    try:
        spec = case.spec
        told = {**spec.work(case.shape), "variant": spec.implementation(case.shape, arch=where.arch).name}
        with hub.muted():
            told["verified"] = verified(spec, case.shape, where)
        told |= timed_fields(time(spec, shape=case.shape, device=where), where)
    except VerificationError as error:
        told["failure"] = f"wrong: {first_line(error)}"
    except (WorkbenchError, MemoryError, RuntimeError) as error:
        told["failure"] = failure_text(error)
    return result_of(case, OURS, where, told, start)


def result_of(case: Case, whose: str, where: Device, told: Mapping[str, Any], start: float) -> Result:
    """The result of a case, with everything needed to repeat it.

    Args:
        whose: implementation.
        told: fields of the result that the run knows.
        start: `time.monotonic()` before it.
    """
    return Result(
        case.name,
        dict(case.shape),
        whose,
        where.name,
        product_name(where),
        **told,
        source=source_digest(case.operator, where),
        setting=setting(where),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(clock.monotonic() - start, 3),
    )


def timed_fields(found: TimeResult, device: Device) -> Mapping[str, Any]:
    parts = [part.model for part in (found.steps or (found,)) if part.model is not None]
    longest = max(parts, key=lambda part: part.seconds) if parts else None
    error = found.median.error
    return {
        **{"us": found.median.value, "low": found.low.value, "high": found.high.value, "runs": found.runs},
        "origin": str(found.origin),
        "error": asdict(error) if error is not None else {},
        "bound": longest.bound if longest is not None else "",
        "clock_mhz": longest.clock_hz / 1e6 if longest is not None else gpu_clock_mhz(device),
        "code": found.code,
    }
