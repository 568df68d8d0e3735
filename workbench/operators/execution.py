"""One run of an operator: its tensors, its arguments, its launches in order."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import ArgumentError, ShapeError, UsageError, WorkbenchError
from workbench.kernel import Kernel, Module, torch_device
from workbench.kernel.devices import kind_of
from workbench.kernel.packed import shape_in_words
from workbench.kernel.parameters import is_gl
from workbench.operators.building import Ready
from workbench.operators.definition import Definition
from workbench.operators.parameters import Shape
from workbench.operators.steps import Step
from workbench.operators.tensors import in_format_of, name_results, new_tensor, poisoned
from workbench.runtime import Device, LaunchOptions, LaunchRecord

if TYPE_CHECKING:
    import torch

_SIGNATURES = 1024


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
    inputs = operator.bind(**draw(shape, torch.Generator().manual_seed(seed)))
    where = torch_device(device)
    return {
        k: in_format_of(v, device).to(where) if isinstance(v, torch.Tensor) else v for k, v in inputs.items()
    }


def signature_of(tensors: Mapping[str, Any], device: Device) -> Hashable:
    """Equal for calls that have one shape, unless an operator reads integers for it; None of what is neither
    tensor nor number."""
    import torch

    parts: list[Any] = [device.name]
    for value in tensors.values():
        kind = type(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            parts += (value.dtype, value.shape, value.stride(), value.is_cpu or value.device)
        elif kind is float or kind is int or kind is bool or kind is str or value is None:
            parts += (kind, value)
        else:
            return None
    return tuple(parts)


def remember(memory: dict[Any, Any], key: Hashable, value: Any) -> None:
    """Keeps what was found of a call, for a bounded number of signatures."""
    if len(memory) >= _SIGNATURES:
        memory.clear()
    memory[key] = value


def check_places(operator: Definition, inputs: Mapping[str, Any], device: Device) -> None:
    """Whether the tensors are where a device has its memory.

    Raises:
        ArgumentError: one is not.
    """
    import torch

    expected = torch_device(device)
    for name, value in inputs.items():
        # A tensor on "cuda" is on the device that is current, which the launch itself looks at.
        if isinstance(value, torch.Tensor) and kind_of(value) != expected.type:
            raise ArgumentError(
                f"{operator.name}: argument {name!r} is a tensor on {value.device}; expected one on "
                f"{expected}, where {device.name} has its memory; move it with .to({str(expected)!r})"
            )


def make_outputs(
    operator: Definition,
    shape: Shape,
    inputs: Mapping[str, Any],
    *,
    outputs: Mapping[str, Any] | None = None,
    copied: Mapping[str, Any] | None = None,
    poison: bool = False,
) -> dict[str, torch.Tensor]:
    """Tensors for the kernels to write, where the inputs are; those that a caller gave stand as they are.

    Args:
        copied: also given; what is written is copied to them afterwards.

    Raises:
        ArgumentError: a given one has another name, dtype or shape.
    """
    where = place(inputs)
    rest = {**(outputs or {}), **(copied or {})}
    expected = operator.outputs(shape, inputs)
    tensors = {}
    for name, (dims, dtype) in expected.items():
        if name in rest:
            tensor = rest.pop(name)
            _check_output(operator, name, tensor, dims, dtype)
            if not copied or name not in copied:
                tensors[name] = tensor
                continue
        tensor = new_tensor(tuple(dims), dtype, where)
        tensors[name] = poisoned(tensor) if poison else tensor
    if rest:
        raise ArgumentError(
            f"{operator.name} has no output {next(iter(rest))!r}; it has {', '.join(expected) or 'none'}"
        )
    return tensors


def _check_output(
    operator: Definition, name: str, tensor: Any, dims: Sequence[int], dtype: torch.dtype
) -> None:
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise ArgumentError(
            f"{operator.name}: output {name!r} is a {type(tensor).__name__}; expected a tensor"
        )
    if tuple(tensor.shape) != tuple(dims) or tensor.dtype != dtype:
        raise ArgumentError(
            f"{operator.name}: output {name!r} is {tuple(tensor.shape)} {tensor.dtype}; "
            f"expected {tuple(dims)} {dtype}"
        )


def named_outputs(
    operator: Definition, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Outputs that a caller gave, by name: `out=` stands for the one output, or for all in order.

    Raises:
        ArgumentError: another number of them than there are.
    """
    if "out" not in outputs or inputs is None:
        return outputs
    names = operator.output_names
    if "out" in names and not isinstance(outputs["out"], (tuple, list, Mapping)):
        return outputs
    rest = {name: tensor for name, tensor in outputs.items() if name != "out"}
    out = outputs["out"]
    if isinstance(out, Mapping):
        return {**rest, **out}
    tensors = out if isinstance(out, (tuple, list)) else (out,)
    if len(tensors) != len(names):
        raise ArgumentError(
            f"{operator.name}: out= has {len(tensors)} of its {len(names)} outputs; expected a tensor for "
            f"each of {', '.join(names) or 'none'}"
        )
    return {**rest, **dict(zip(names, tensors, strict=True))}


def is_view(tensor: Any) -> bool:
    """Whether elements of a tensor lie apart, so that only kernels that are told its strides can use it."""
    import torch

    return isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided and not tensor.is_contiguous()


def contiguous(tensors: dict[str, Any], strided: Sequence[str] = ()) -> dict[str, Any]:
    """The tensors with copies of those that lie apart; themselves where none does. `strided` stay."""
    apart = [name for name, value in tensors.items() if name not in strided and is_view(value)]
    return {**tensors, **{name: tensors[name].contiguous() for name in apart}} if apart else tensors


def is_empty(tensors: Mapping[str, Any]) -> bool:
    """Whether a tensor of a call has no elements, such as a batch of no rows."""
    import torch

    return any(isinstance(value, torch.Tensor) and value.numel() == 0 for value in tensors.values())


def empty_outputs(
    operator: Definition, tensors: Mapping[str, Any], outputs: Mapping[str, Any], error: ShapeError
) -> dict[str, torch.Tensor]:
    """Outputs of a call on no rows, where there is nothing to compute.

    Their sizes are those of the reference's results, their dtypes those of a call of one row.

    Raises:
        ShapeError: `error`, where there is something to compute, or the operator has no such call.
    """
    import torch

    if operator.mutates:
        raise error
    row = {
        name: value.new_zeros([size or 1 for size in value.shape])
        if isinstance(value, torch.Tensor) and value.numel() == 0
        else value
        for name, value in tensors.items()
    }
    try:
        expected = operator.outputs(operator.symbolic_shape(operator.shape_of(**row)), row)
        results = name_results(operator.reference(**tensors), list(expected), operator.name)
    except (WorkbenchError, RuntimeError, ValueError, IndexError, TypeError):
        raise error from None
    if any(tensor.numel() for tensor in results.values()):
        raise error
    empty = {}
    for name, (_, dtype) in expected.items():
        dims = tuple(results[name].shape)
        if name in outputs:
            _check_output(operator, name, outputs[name], dims, dtype)
        empty[name] = outputs[name] if name in outputs else results[name].new_empty(dims, dtype=dtype)
    return empty


def make_workspace(
    operator: Definition, shape: Shape, inputs: Mapping[str, Any], poison: bool = False
) -> dict[str, torch.Tensor]:
    """Tensors between the steps, with the values that they begin with."""
    if operator.workspace is None:
        return {}
    where = place(inputs)
    workspace = {}
    for name, (dims, dtype, *value) in operator.workspace(shape, inputs).items():
        tensor = new_tensor(tuple(dims), dtype, where)
        workspace[name] = tensor.fill_(value[0]) if value else poisoned(tensor) if poison else tensor
    return workspace


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
    kernels = list(code.kernels.values())
    if len(steps) == len(kernels) == 1:
        return (Ready(steps[0], kernels[0], steps[0].launch(shape, arch)),)
    return tuple(Ready(step, code[step.entry_name(shape)], step.launch(shape, arch)) for step in steps)


def launch(
    prepared: Ready,
    shape: Shape,
    tensors: Mapping[str, Any],
    device: Device,
    options: LaunchOptions | None,
) -> LaunchRecord:
    """Launches one step on tensors by name: inputs, outputs, workspace; an operator's kernel keeps none."""
    arguments = arguments_of(prepared.step, prepared.kernel, shape, tensors)
    _check_strides(prepared.kernel, arguments)
    return prepared.kernel.launch(
        prepared.launch, (), arguments, device=device, options=options, keeps=not prepared.is_own
    )


def _check_strides(kernel: Kernel, arguments: Mapping[str, Any]) -> None:
    """Raises where an operator hands on a view as a pointer without `Strided`: nobody tells its strides.

    Raises:
        ArgumentError
    """
    for name, value in arguments.items():
        kind = kernel.plan.taken.get(name)
        if kind is not None and kind.kind == "pointer" and is_view(value):
            raise ArgumentError(
                f"{kernel.name}: argument {name!r} is a view ({shape_in_words(value)}); expected a "
                "contiguous tensor, or Strided(tensor) where the kernel is told the strides"
            )


def arguments_of(step: Step, kernel: Kernel, shape: Shape, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel is given: see `Definition.arguments` and `Step.arguments`."""
    values = dict(tensors if step.arguments is None else step.arguments(shape, tensors))
    if not kernel.plan.named:
        return values
    parameters = kernel.plan.taken
    arguments = {}
    for name, value in values.items():
        if name in parameters:
            # A `gl` over nothing: a null pointer, and zero along every axis.
            empty = value is None and is_gl(parameters[name])
            arguments[name] = bytes(parameters[name].size) if empty else value
        elif step.arguments is None and (step.name or not hasattr(value, "data_ptr")):
            continue
        elif value is not None:
            arguments[name] = value
    return arguments


def place(inputs: Mapping[str, Any]) -> torch.device:
    """PyTorch's device of a call's tensors."""
    import torch

    return next((v.device for v in inputs.values() if isinstance(v, torch.Tensor)), torch.device("cpu"))
