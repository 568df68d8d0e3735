"""What is to be timed or profiled: one launch that can be made again, whatever form the user gave it in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import UsageError
from workbench.events import hub
from workbench.kernel import Kernel, Launcher, Module, device_of, resolve_device
from workbench.runtime import Device, LaunchOptions, LaunchRecord
from workbench.spec.parameters import Shape
from workbench.spec.registry import kernels
from workbench.spec.spec import KernelSpec


@dataclass(frozen=True)
class Target:
    """A launch that can be repeated.

    Attributes:
        name: kernel or spec, for titles.
        kernel: the kernel that runs.
        device: where.
        run: launches once with the given options.
        shape: the problem; empty where no spec says it.
        work: "flops" and "bytes" of the problem, as far as known.
    """

    name: str
    kernel: Kernel
    device: Device
    run: Callable[[LaunchOptions | None], LaunchRecord]
    shape: Shape
    work: Mapping[str, int]


def resolve(
    target: KernelSpec | Launcher | Kernel | Module | str,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
) -> Target:
    """Makes a Target.

    Forms: a spec or its name, on tensors, or on fresh inputs at `shape`; a launcher (`kernel[grid, block]`)
    with its arguments; a kernel (or a module with one) with `spec`, run as the spec would; a kernel alone:
    its last launch.

    Raises:
        UsageError: none of these.
    """
    kwargs = dict(kwargs or {})
    if isinstance(target, str):
        target = kernels[target]
    if isinstance(spec, str):
        spec = kernels[spec]
    if isinstance(target, KernelSpec):
        return _of_spec(target, None, args, kwargs, shape, seed, device)
    if isinstance(target, Module):
        target = _only_kernel(target, spec, shape)
    if isinstance(target, Kernel) and spec is not None:
        return _of_spec(spec, target, args, kwargs, shape, seed, device)
    if isinstance(target, Kernel):
        return _again(target, args, kwargs)
    if isinstance(target, Launcher):
        where = (
            resolve_device(device)
            if device is not None
            else device_of([*args, *kwargs.values()], target.kernel.arch)
        )
        launcher = target

        def run(options: LaunchOptions | None) -> LaunchRecord:
            return launcher.kernel.launch(launcher.launch, args, kwargs, device=where, options=options)

        return Target(launcher.kernel.name, launcher.kernel, where, run, {}, {})
    raise UsageError(
        f"got a {type(target).__name__}; expected a KernelSpec or its name, kernel[grid, block] with its "
        "arguments, or a kernel that was launched before"
    )


def _only_kernel(module: Module, spec: KernelSpec | None, shape: Shape | None) -> Kernel:
    if spec is not None:
        return module[spec.entry_name(spec.shape(shape))]
    if len(module.kernels) == 1:
        return next(iter(module.kernels.values()))
    raise UsageError(
        f"{module.name} has {len(module.kernels)} kernels: {', '.join(module.kernels)}; say which one"
    )


def _again(kernel: Kernel, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Target:
    if args or kwargs or kernel.last is None:
        raise UsageError(
            f"{kernel.name} needs a grid and a block: pass {kernel.name}[grid, block] and its arguments, "
            "give spec=, or launch it once before"
        )
    last = kernel.last

    def run(options: LaunchOptions | None) -> LaunchRecord:
        return kernel.launch(last.launch, last.args, last.kwargs, device=last.device, options=options)

    return Target(kernel.name, kernel, last.device, run, {}, {})


def _of_spec(
    spec: KernelSpec,
    kernel: Kernel | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    shape: Shape | None,
    seed: int,
    device: Device | str | None,
) -> Target:
    with hub.failures("run", spec.name, shape=shape):
        return _bound(spec, kernel, args, kwargs, shape, seed, device)


def _bound(
    spec: KernelSpec,
    kernel: Kernel | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    shape: Shape | None,
    seed: int,
    device: Device | str | None,
) -> Target:
    if args or kwargs:
        bound = spec.bind(*args, **kwargs)
        where = resolve_device(device) if device is not None else device_of(bound.values(), _arch(kernel))
        full = spec.shape(shape if shape is not None else spec.shape_of(**bound), arch=where.arch)
    else:
        where = resolve_device(device) if device is not None else device_of((), _arch(kernel))
        full = spec.shape(shape, arch=where.arch)
        bound = spec.make_inputs(full, seed=seed, device=where)
    chosen = kernel if kernel is not None else spec.kernel(full, arch=where.arch)
    outputs = spec.make_outputs(full, bound)

    def run(options: LaunchOptions | None) -> LaunchRecord:
        _, record = spec.run(bound, outputs, shape=full, kernel=chosen, device=where, options=options)
        return record

    return Target(spec.name, chosen, where, run, full, spec.work(full))


def _arch(kernel: Kernel | None) -> str | None:
    return kernel.arch if kernel is not None else None
