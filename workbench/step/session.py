"""`wb.step`: a launch with a complete record of one work-group, to step through afterwards."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from workbench.check.sanitizer import Finding
from workbench.errors import UsageError
from workbench.kernel import Kernel, Launcher, Module, device_of, resolve_device
from workbench.kernel.code import DeviceCode
from workbench.kernel.compilation import compile_source
from workbench.launches import Dim, LaunchOptions, TapeOptions
from workbench.operators import KernelSpec, Shape, kernels
from workbench.operators.launch_target import Target, resolve
from workbench.runtime import Device
from workbench.schedules import parsed
from workbench.schedules import schedule as under_schedule
from workbench.step.stepper import Stepper


def step(
    target: KernelSpec | Launcher | Kernel | Module | Target | Callable[..., Any] | str,
    *args: Any,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    group: int | Dim = 0,
    wave: int = 0,
    schedule: str | None = None,
    at: Finding | None = None,
    skip: int = 0,
    launch: int = 0,
    debug: bool = False,
    bytes: int = 1 << 30,
    **kwargs: Any,
) -> Stepper:
    """Runs one work-group of a launch and records everything that its waves do, for you to step through.

        s = wb.step(module["attend"][grid, block], q, k, v, out, wave=1)
        s.step()            # one instruction on; s.next() one line; s.back() and s.previous() go back
        s.to("barrier")     # or "wait", a line's number, or a condition: s.to(lambda s: s.s(4) > 3)
        s.changed, s.outstanding, s.v(12, torch.float32), s.variables

    The work-group runs alone: memory that the others would write stays unchanged. The tape takes about 500
    bytes per instruction. You step on the tape, so nothing runs again.

    Args:
        target, args, kwargs, spec, shape, seed, device: the launch, as in `sanitize`.
        group: linear number of the work-group, or (x, y, z).
        wave: the wave to follow first; `Stepper.choose` follows another.
        schedule: the schedule of the launch, such as `Proof.schedule`; if it names a work-group or waves and
            `group` and `wave` are 0, these are followed.
        at: a finding of `wb.sanitize`: go to the work-group and wave that it names, before its instruction.
        skip: start the tape after this many instructions of the wave.
        launch: index of the launch, for an operator of several.
        debug: step the kernel without optimization, so that each variable of the source has its own place,
            including tiles, as in a debugger.
        bytes: size limit of the tape; later events are missing from it.

    Raises:
        UsageError: there is no such target; `schedule` is none; or `debug` is set for code of unknown source.
        LaunchError: the launch has no such work-group or wave.
        DeviceError: the device is a GPU, which records no tape.
        CompileError: with `debug`, the kernel does not compile without optimization.
    """
    if debug:
        target, spec = _unoptimized(target, spec, args, kwargs, shape, device)
    launches = resolve(target, args, kwargs, spec=spec, shape=shape, seed=seed, device=device)
    if not 0 <= launch < len(launches.parts):
        raise UsageError(f"launch={launch}: {launches.name} has launches 0 to {len(launches.parts) - 1}")
    part = launches.parts[launch]
    launches.device.check_observes("what each instruction does")
    if at is not None:
        if debug:
            raise UsageError("at= names an instruction of the optimized code; leave debug=True out")
        group, wave = at.workgroup or group, at.wave or wave
    deviations = parsed(schedule) if schedule is not None else None
    if deviations is not None:
        group, wave = group or deviations.group or 0, wave or min(deviations.waves, default=0)
    options = LaunchOptions(tape=TapeOptions(group, wave, skip, bytes))
    with under_schedule(deviations) if deviations is not None else nullcontext():
        for before in launches.parts[:launch]:
            before.run(None)
        stepper = Stepper(part.kernel, part.run(options), wave)
    return stepper if at is None else stepper.to_address(at.pc)


def _unoptimized(
    target: Any,
    spec: KernelSpec | str | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    shape: Shape | None,
    device: Device | str | None,
) -> tuple[Any, KernelSpec | str | None]:
    """Arguments of `resolve` for the same launch with code compiled without optimization."""
    if isinstance(target, str):
        target = kernels[target]
    if isinstance(target, KernelSpec):
        problem = shape if not (args or kwargs) else target.shape_of(**target.bind(*args, **kwargs))
        where = resolve_device(device) if device is not None else device_of((*args, *kwargs.values()), None)
        return _compiled(target.module(problem, arch=where.arch)), target
    if isinstance(target, Launcher):
        return Launcher(_kernel(target.kernel), target.launch), spec
    if isinstance(target, Kernel):
        again = _kernel(target)
        again.last = target.last
        return again, spec
    if isinstance(target, Module):
        return _compiled(target), spec
    raise UsageError(
        "debug=True compiles a kernel again; expected an operator, a kernel or kernel[grid, block]"
    )


def _kernel(kernel: Kernel) -> Kernel:
    return _compiled(kernel.module)[kernel.name]


def _compiled(code: DeviceCode) -> Module:
    if code.result is None:
        raise UsageError(f"{code.name} was loaded without its source, which debug=True compiles again")
    options = code.result.options
    return compile_source(code.result.source, dataclasses.replace(options, flags=(*options.flags, "-O0")))
