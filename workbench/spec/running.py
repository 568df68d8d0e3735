"""One run of an operator: its tensors, its arguments, its launches in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.errors import ArgumentError, UsageError
from workbench.kernel import Kernel, Module, torch_device
from workbench.kernel.devices import kind_of
from workbench.kernel.parameters import is_gl
from workbench.runtime import Device, LaunchOptions, LaunchRecord
from workbench.spec.building import Ready
from workbench.spec.definition import Definition
from workbench.spec.parameters import Shape
from workbench.spec.steps import Step
from workbench.spec.tensors import in_format_of, poisoned

if TYPE_CHECKING:
    import torch


def make_inputs(
    operator: Definition, shape: Shape, seed: int, device: Device | None, hard: str | None
) -> dict[str, Any]:
    """Fresh inputs of a shape on a device's memory; see `KernelSpec.make_inputs`."""
    import torch

    if not isinstance(seed, int) or not -(1 << 63) <= seed < 1 << 64:
        raise UsageError(f"{operator.name}: seed is {seed!r}; expected an integer of 64 bits")
    if hard is not None and hard not in operator.hard_inputs:
        there = ", ".join(map(repr, operator.hard_inputs)) or "none"
        raise UsageError(f"{operator.name} has no hard inputs {hard!r}; it has {there}")
    draw = operator.inputs if hard is None else operator.hard_inputs[hard]
    made = operator.bind(**draw(shape, torch.Generator().manual_seed(seed)))
    where = torch_device(device)
    return {
        k: in_format_of(v, device).to(where) if isinstance(v, torch.Tensor) else v for k, v in made.items()
    }


def check_places(operator: Definition, inputs: Mapping[str, Any], device: Device) -> None:
    """Whether the tensors are where a device has its memory.

    Raises:
        ArgumentError: one is not.
    """
    import torch

    wanted = torch_device(device)
    for name, value in inputs.items():
        # A tensor on "cuda" is on the device that is current, which the launch itself looks at.
        if isinstance(value, torch.Tensor) and kind_of(value) != wanted.type:
            raise ArgumentError(
                f"{operator.name}: argument {name!r} is a tensor on {value.device}; expected one on "
                f"{wanted}, where {device.name} has its memory; move it with .to({str(wanted)!r})"
            )


def make_outputs(
    operator: Definition,
    shape: Shape,
    inputs: Mapping[str, Any],
    *,
    given: Mapping[str, Any] | None = None,
    poison: bool = False,
) -> dict[str, torch.Tensor]:
    """Tensors for the kernels to write, where the inputs are; those that a caller gave stand as they are.

    Raises:
        ArgumentError: a given one has another name, dtype or shape.
    """
    import torch

    where = _place(inputs)
    rest = dict(given or {})
    wanted = operator.outputs(shape, inputs)
    made = {}
    for name, (dims, dtype) in wanted.items():
        if name in rest:
            made[name] = rest.pop(name)
            if tuple(made[name].shape) != tuple(dims) or made[name].dtype != dtype:
                raise ArgumentError(
                    f"{operator.name}: output {name!r} is {tuple(made[name].shape)} {made[name].dtype}; "
                    f"expected {tuple(dims)} {dtype}"
                )
            continue
        tensor = torch.empty(tuple(dims), dtype=dtype, device=where)
        made[name] = poisoned(tensor) if poison else tensor
    if rest:
        raise ArgumentError(
            f"{operator.name} has no output {next(iter(rest))!r}; it has {', '.join(wanted) or 'none'}"
        )
    return made


def make_workspace(
    operator: Definition, shape: Shape, inputs: Mapping[str, Any], poison: bool = False
) -> dict[str, torch.Tensor]:
    """Tensors between the steps, with the values that they begin with."""
    import torch

    if operator.workspace is None:
        return {}
    where = _place(inputs)
    made = {}
    for name, (dims, dtype, *value) in operator.workspace(shape, inputs).items():
        tensor = torch.empty(tuple(dims), dtype=dtype, device=where)
        made[name] = tensor.fill_(value[0]) if value else poisoned(tensor) if poison else tensor
    return made


def with_code(operator: Definition, shape: Shape, arch: str, code: Kernel | Module) -> tuple[Ready, ...]:
    """An operator's launches with the kernels of other code, such as a notebook cell's.

    Raises:
        UsageError: one kernel for an operator of several steps.
        UnknownKernel: the module lacks one of the kernels.
    """
    steps = operator.active_steps(shape, arch)
    if isinstance(code, Kernel):
        if len(steps) > 1:
            names = ", ".join(step.name for step in steps)
            raise UsageError(
                f"{operator.name} has {len(steps)} steps, {names}; expected a module with all their kernels, "
                f"got the kernel {code.name}"
            )
        return tuple(Ready(step, code, step.launch(shape, arch)) for step in steps)
    found = list(code.kernels.values())
    if len(steps) == len(found) == 1:
        return (Ready(steps[0], found[0], steps[0].launch(shape, arch)),)
    return tuple(Ready(step, code[step.entry_name(shape)], step.launch(shape, arch)) for step in steps)


def launch(
    each: Ready,
    shape: Shape,
    tensors: Mapping[str, Any],
    device: Device,
    options: LaunchOptions | None,
) -> LaunchRecord:
    """Launches one step on tensors by name: inputs, outputs, workspace; an operator's kernel keeps none."""
    arguments = _arguments(each.step, each.kernel, shape, tensors)
    return each.kernel.launch(
        each.launch, (), arguments, device=device, options=options, keeps=not each.is_own
    )


def _arguments(step: Step, kernel: Kernel, shape: Shape, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel is given: see `Definition.arguments` and `Step.arguments`."""
    given = dict(tensors if step.arguments is None else step.arguments(shape, tensors))
    if not kernel.plan.named:
        return given
    taken = kernel.plan.taken
    found = {}
    for name, value in given.items():
        if name in taken:
            # A `gl` over nothing: a null pointer, and zero along every axis.
            empty = value is None and is_gl(taken[name])
            found[name] = bytes(taken[name].size) if empty else value
        elif step.arguments is None and (step.name or not hasattr(value, "data_ptr")):
            continue
        elif value is not None:
            found[name] = value
    return found


def _place(inputs: Mapping[str, Any]) -> torch.device:
    import torch

    return next((v.device for v in inputs.values() if isinstance(v, torch.Tensor)), torch.device("cpu"))
