"""Targets of timing and profiling: repeatable launches, in whatever form the user passed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import UsageError
from workbench.events import hub
from workbench.kernel import (
    Kernel,
    LastLaunch,
    Launch,
    Launcher,
    Module,
    device_of,
    digest_of,
    recording,
    resolve_device,
)
from workbench.kernel.foreign import ForeignCall, recording_all
from workbench.operators.implementation import PreparedStep
from workbench.operators.parameters import Shape
from workbench.operators.registry import kernels
from workbench.operators.spec import KernelSpec
from workbench.runtime import Device, LaunchOptions, LaunchRecord


@dataclass(frozen=True)
class Part:
    """One launch of a repeatable target.

    Attributes:
        step: name of the operator's step; "" if there is only one.
        kernel: the kernel that runs.
        run: launches once with the given options.
    """

    step: str
    kernel: Kernel
    run: Callable[[LaunchOptions | None], LaunchRecord]


@dataclass(frozen=True)
class Request:
    """A launch request that others can repeat: `wb.step` repeats that of `wb.sanitize`.

    Attributes:
        target: kernel, launcher, operator or name to launch.
        args, kwargs: arguments of the launch.
        options: the `spec`, `shape`, `seed`, `device` passed to `resolve`.
    """

    target: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A kernel or an operator that can be run again.

    Attributes:
        name: kernel or spec, for titles.
        device: device of the launches.
        parts: its launches in order; only an operator of several steps has more than one.
        shape: the problem's shape; empty without a spec.
        work: "flops" and "bytes" of the problem, if known.
        spec: name of the spec that describes it; "" if there is none.
        fresh: True if its tensors were allocated for it, so that no one else sees the launches' effects on
            them.
        results: tensors that it writes and whose earlier content does not matter.
        tensors: an operator's tensors by name: inputs, outputs and workspace.
        arguments: the caller's arguments of the launches, and the outputs, by name.
    """

    name: str
    device: Device
    parts: tuple[Part, ...]
    shape: Shape
    work: Mapping[str, int]
    spec: str = ""
    fresh: bool = False
    results: tuple[Any, ...] = field(default=(), repr=False)
    tensors: Mapping[str, Any] = field(default_factory=dict, repr=False)
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def only(self) -> Part:
        """The target's single launch.

        Raises:
            UsageError: there are several.
        """
        if len(self.parts) > 1:
            names = ", ".join(part.step for part in self.parts)
            raise UsageError(
                f"{self.name} has {len(self.parts)} steps ({names}), and this looks at one kernel"
            )
        return self.parts[0]

    @property
    def kernel(self) -> Kernel:
        """The kernel that runs, if there is only one."""
        return self.only.kernel

    def run(self, options: LaunchOptions | None) -> LaunchRecord:
        """Launches once, if there is only one launch."""
        return self.only.run(options)

    @property
    def code(self) -> str:
        """`Module.digest` of the code that runs; for several modules, all digests."""
        return digest_of(part.kernel for part in self.parts)

    def launches(self) -> tuple[Target, ...]:
        """Each launch as a separate target; they must run in this order."""
        if len(self.parts) == 1:
            return (self,)
        return tuple(
            Target(
                f"{self.name} {part.step}",
                *(self.device, (part,), self.shape, {}, self.spec),
                results=self.results,
            )
            for part in self.parts
        )


def resolve(
    target: KernelSpec | Launcher | Kernel | Module | Target | Callable[..., Any] | str,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
) -> Target:
    """The target of anything that can be timed or profiled.

    Forms: a target already; a spec or its name, on tensors, or on fresh inputs at `shape`; a launcher
    (`kernel[grid, block]`) with its arguments; a kernel (or a module with one) with `spec`, run as the spec
    would; only a kernel: its last launch; any other callable: the kernels that a call of it launches.

    Raises:
        UsageError: the target is none of these.
    """
    kwargs = dict(kwargs or {})
    if isinstance(target, Target):
        return target
    if isinstance(target, str):
        target = kernels[target]
    if isinstance(spec, str):
        spec = kernels[spec]
    if isinstance(target, KernelSpec):
        return _of_spec(target, None, args, kwargs, shape, seed, device)
    if isinstance(target, (Kernel, Module)) and spec is not None:
        return _of_spec(spec, target, args, kwargs, shape, seed, device)
    if isinstance(target, Module):
        target = _only_kernel(target)
    if isinstance(target, Kernel):
        return _again(target, args, kwargs)
    if isinstance(target, Launcher):
        where = (
            resolve_device(device)
            if device is not None
            else device_of([*args, *kwargs.values()], target.kernel.arch)
        )
        run = _repeating(target.kernel, target.launch, args, kwargs, where)
        named = _named(args, kwargs)
        return Target(target.kernel.name, where, (Part("", target.kernel, run),), {}, {}, arguments=named)
    if callable(target):
        return _of_callable(target, args, kwargs)
    raise UsageError(
        f"got a {type(target).__name__}; expected a KernelSpec or its name, kernel[grid, block] with its "
        "arguments, a kernel that was launched before, or a function that launches kernels"
    )


def _of_callable(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Target:
    """Launches of a function, such as `jit_function[grid]` of Triton; it is called once, here."""
    with recording_all() as launches:
        function(*args, **kwargs)
    function_name = getattr(function, "__name__", type(function).__name__)
    if not launches:
        raise UsageError(f"{function_name} launched nothing; expected a function that launches kernels")
    calls = [_repeatable(launch) for launch in launches]
    names = [kernel.name for kernel, *_ in calls]
    steps = [""] if len(calls) == 1 else [f"{n} {name}" for n, name in enumerate(names, 1)]
    parts = tuple(Part(step, kernel, run) for step, (kernel, run, *_) in zip(steps, calls, strict=True))
    named: dict[str, Any] = {}
    for step, (*_, arguments) in zip(steps, calls, strict=True):
        named.update((f"{step} {name}".strip(), value) for name, value in arguments.items())
    name = names[0] if len(calls) == 1 else function_name
    return Target(name, calls[0][2], parts, {}, {}, arguments=named)


def _repeatable(
    launch: tuple[Kernel, LastLaunch] | ForeignCall,
) -> tuple[Kernel, Callable[[LaunchOptions | None], LaunchRecord], Device, dict[str, Any]]:
    """A past launch: its kernel, a function that repeats it, its device, and its arguments by name."""
    if isinstance(launch, ForeignCall):
        named = {f"argument {number}": tensor for number, tensor in launch.tensors.items()}
        return launch.kernel, launch.run, launch.device, named
    kernel, last = launch
    return kernel, _again_as(kernel, last), last.device, _named(last.args, last.kwargs)


def _named(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**{f"argument {number}": value for number, value in enumerate(args)}, **kwargs}


def _again_as(kernel: Kernel, last: LastLaunch) -> Callable[[LaunchOptions | None], LaunchRecord]:
    return _repeating(kernel, last.launch, last.args, last.kwargs, last.device)


def _repeating(
    kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: Mapping[str, Any], device: Device
) -> Callable[[LaunchOptions | None], LaunchRecord]:
    def run(options: LaunchOptions | None) -> LaunchRecord:
        return kernel.launch(launch, args, kwargs, device=device, options=options)

    return run


def _only_kernel(module: Module) -> Kernel:
    if len(module.kernels) == 1:
        return next(iter(module.kernels.values()))
    raise UsageError(
        f"{module.name} has {len(module.kernels)} kernels: {', '.join(module.kernels)}; say which one"
    )


def _again(kernel: Kernel, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Target:
    if args or kwargs or kernel.last is None or kernel.last.arguments() is None:
        raise UsageError(
            f"{kernel.name} needs a grid and a block: pass {kernel.name}[grid, block] and its arguments, "
            "give spec=, or launch it once before"
        )
    last = kernel.last
    part = Part("", kernel, _again_as(kernel, last))
    return Target(kernel.name, last.device, (part,), {}, {}, arguments=_named(last.args, last.kwargs))


def _of_spec(
    spec: KernelSpec,
    code: Kernel | Module | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    shape: Shape | None,
    seed: int,
    device: Device | str | None,
) -> Target:
    with hub.failures("run", spec.name, shape=shape):
        return _bound(spec, code, args, kwargs, shape, seed, device)


def _bound(
    spec: KernelSpec,
    code: Kernel | Module | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    shape: Shape | None,
    seed: int,
    device: Device | str | None,
) -> Target:
    if args or kwargs:
        bound = spec.bind(*args, **kwargs)
        where = resolve_device(device) if device is not None else device_of(bound.values(), _arch(code))
        full = spec.shape(shape if shape is not None else spec.shape_of(**bound), arch=where.arch)
    else:
        where = resolve_device(device) if device is not None else device_of((), _arch(code))
        full = spec.shape(shape, arch=where.arch)
        bound = spec.make_inputs(full, seed=seed, device=where)
    call = spec.prepare(bound, full, where, code)

    def part(number: int, prepared: PreparedStep) -> Part:
        # An operator's kernel stores no arguments: its last launch has them while this object exists.
        last_launches: list[tuple[Kernel, LastLaunch]] = []

        def run(options: LaunchOptions | None) -> LaunchRecord:
            if number == 0:
                call.renew_workspace()
            with recording() as launches:
                record = call.launch(prepared, options)
            last_launches[:] = launches
            return record

        return Part(prepared.step.name, prepared.kernel, run)

    return Target(
        spec.name,
        where,
        tuple(map(part, range(len(call.steps)), call.steps)),
        full,
        spec.work(full),
        spec.name,
        fresh=not args and not kwargs,
        results=tuple(call.outputs.values()),
        tensors=call.tensors,
        arguments={**bound, **call.outputs},
    )


def _arch(code: Kernel | Module | None) -> str | None:
    return code.arch if code is not None else None
