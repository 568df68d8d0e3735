"""Runs a `%%hipkittens` cell: compiles, binds and checks it; `magics.presenter` shows the result."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from workbench.check.sanitizer import sanitize_target
from workbench.check.verify import verify
from workbench.errors import ShapeError, UnknownKernel, UsageError, WorkbenchError
from workbench.kernel import Module, default_arch, device_of
from workbench.kernel.compilation import compile_source
from workbench.kernel.show import MACRO as SHOW_MACRO
from workbench.magics.launch_options import CellLaunch, cell_launch
from workbench.operators import KernelSpec, kernels
from workbench.operators.launch_target import Target, resolve
from workbench.profile.profiler import profile_target
from workbench.profile.timing import time_target
from workbench.toolchain import CompileOptions
from workbench.toolchain.cuda_names import RUNTIME_HEADER
from workbench.toolchain.hipify import RUNTIME_INCLUDE, hipify
from workbench.views.cell import CellResult

FIRST_LINE = 2
"""Line of the editor that a cell's C++ begins at: the magic itself is line 1."""


def shape_of_text(text: str) -> dict[str, Any] | None:
    """Sizes such as "m=64,n=128"; None for "".

    Raises:
        UsageError: a part is not NAME=VALUE.
    """
    if not text:
        return None
    sizes: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if not equals or not key:
            raise UsageError(f"--shape {text}: {part.strip()!r} is not NAME=VALUE")
        sizes[key] = int(value) if value.strip().lstrip("-").isdigit() else value.strip()
    return sizes


def hip_source(options: argparse.Namespace, cell: str, *, tells: bool = True) -> str:
    """A cell's C++, with HIP's names if `--hipify` asks for them; prints what is left to do.

    Line numbers stay those of the cell: a missing header becomes a flag of `options`.
    """
    if not options.hipify:
        return cell
    result = hipify(cell, FIRST_LINE)
    if tells:
        print(result)
    if result.includes_runtime:
        options.flags = [*options.flags, "-include", RUNTIME_HEADER]
    return result.source.removeprefix(RUNTIME_INCLUDE) if result.includes_runtime else result.source


def run_cell(namespace: dict[str, Any], options: argparse.Namespace, cell: str) -> CellResult:
    """Compiles a cell, binds its module and makes the requested checks.

    Args:
        namespace: the notebook's variables.
        options: options of the magic's line, by `magic_options`.
        cell: C++ text.

    Raises:
        CompileError: the cell does not compile; nothing is bound.
        UsageError, UnknownKernel, ShapeError: an option is wrong, or there is nothing to launch.
    """
    spec, shape, compile_options = compilation(options)
    module = compile_source(cell, compile_options)
    module.name = options.name
    previous = namespace.get(options.name)
    previous = previous if isinstance(previous, Module) else None
    before = dict(previous.kernels) if previous is not None else {}
    device = device_of((), module.arch)
    results: list[Any] = []
    failure: WorkbenchError | None = None
    launch = cell_launch(options, module, namespace)
    shows = options.show and (launch is not None or spec is not None)
    if options.verify or options.reference or options.time or options.profile or options.sanitize or shows:
        target = launch.target() if launch is not None else _target(module, previous, spec, shape, options)
        try:
            _checks(options, launch, module, spec, shape, target, results)
        except (UsageError, ShapeError, UnknownKernel):
            raise
        except WorkbenchError as error:
            failure = error
    if previous is not None:
        _keep_launches(previous, module)
    # Bound even if a launch failed: its machine code is what the user wants to see.
    namespace[options.name] = module
    return CellResult(options.name, module, device, before, results, failure)


def compilation(options: argparse.Namespace) -> tuple[KernelSpec | None, Any, CompileOptions]:
    """The spec and shape that a cell's options name, and its compile options.

    Args:
        options: options of the magic's line, by `magic_options`.

    Raises:
        UsageError, UnknownKernel, ShapeError: an option is wrong.
    """
    if options.verify and options.spec and options.verify != options.spec:
        raise UsageError(f"--verify {options.verify} and --spec {options.spec} differ; one of them is enough")
    named = options.verify or options.spec
    if options.shape and not named:
        raise UsageError("--shape needs --verify SPEC or --spec SPEC, whose shape it is")
    spec = kernels[named] if named else None
    arch = options.arch or default_arch()
    shape = spec.shape(shape_of_text(options.shape), arch=arch) if spec is not None else None
    macros = spec.macros(shape, arch) if spec is not None and shape is not None else {}
    defines = dict(_macro(text) for text in options.define)
    return (
        spec,
        shape,
        CompileOptions(
            arch,
            name=f"{options.name or 'program'}.hip",
            include=options.include,
            flags=options.flags,
            define={**macros, **defines, **({SHOW_MACRO: None} if options.show else {})},
            device_libraries=options.device_libraries,
            first_line=FIRST_LINE,
        ),
    )


def _keep_launches(previous: Module, module: Module) -> None:
    """Launches of the previous module can be repeated with the new one, which may have run nothing yet."""
    for name, kernel in module.kernels.items():
        old = previous.kernels.get(name)
        if kernel.last is None and old is not None and old.last is not None:
            # Counts of the previous launch belong to other machine code.
            kernel.last = replace(old.last, record=replace(old.last.record, counts=None, traffic=None))


def _macro(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _target(
    module: Module,
    previous: Module | None,
    spec: KernelSpec | None,
    shape: Any,
    options: argparse.Namespace,
) -> Target:
    """The launch that the checks use: a spec's, or the previous module's last one."""
    if spec is not None:
        return resolve(module, spec=spec, shape=shape)
    launched = [k for k in previous.kernels.values() if k.last is not None] if previous is not None else []
    for old in launched:
        if old.name in module.kernels and old.last is not None:
            last = old.last
            return resolve(
                module[old.name][last.launch.grid, last.launch.block, last.launch.dynamic_shared],
                last.args,
                last.kwargs,
                device=last.device if last.device.arch == module.arch else None,
            )
    asked = " and ".join(f"--{flag}" for flag in ("time", "profile", "sanitize") if getattr(options, flag))
    raise UsageError(
        f"{asked} needs a launch: add --verify SPEC or --spec SPEC, or --launch and --inputs, or launch a "
        f"kernel of {options.name} once and run this cell again, which repeats that launch"
    )


def _checks(
    options: argparse.Namespace,
    launch: CellLaunch | None,
    module: Module,
    spec: KernelSpec | None,
    shape: Any,
    target: Target,
    results: list[Any],
) -> None:
    """Adds the result of each requested check; results before a failed one stay."""
    if options.sanitize:
        sanitized = sanitize_target(target)
        results.append(sanitized)
        if sanitized.stopped:
            return  # Every further launch would have the same fault.
    if options.show:
        results += [values for part in target.parts if (values := part.run(None).shown)]
    if options.verify and spec is not None:
        results.append(verify(module, spec, shape=shape))
    if launch is not None and launch.reference is not None:
        results.append(launch.verify())
    measure(options, target, results)


def measure(options: argparse.Namespace, target: Target, results: list[Any]) -> None:
    """Adds a target's time and profile, if they are requested."""
    profiled = profile_target(target) if options.profile else None
    if options.time:
        # A profile on an emulated device has counted everything that the model needs.
        has_time = profiled is not None and profiled.has_time
        results.append(profiled.timing if profiled is not None and has_time else time_target(target))
    if profiled is not None:
        results.append(profiled)
