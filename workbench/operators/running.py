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
    made = operator.bind(**draw(shape, torch.Generator().manual_seed(seed)))
    where = torch_device(device)
    return {
        k: in_format_of(v, device).to(where) if isinstance(v, torch.Tensor) else v for k, v in made.items()
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


def remember(known: dict[Any, Any], key: Hashable, value: Any) -> None:
    """Keeps what was found of a call, for a bounded number of signatures."""
    if len(known) >= _SIGNATURES:
        known.clear()
    known[key] = value


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
    rest = {**(given or {}), **(copied or {})}
    wanted = operator.outputs(shape, inputs)
    made = {}
    for name, (dims, dtype) in wanted.items():
        if name in rest:
            tensor = rest.pop(name)
            _check_output(operator, name, tensor, dims, dtype)
            if not copied or name not in copied:
                made[name] = tensor
                continue
        tensor = new_tensor(tuple(dims), dtype, where)
        made[name] = poisoned(tensor) if poison else tensor
    if rest:
        raise ArgumentError(
            f"{operator.name} has no output {next(iter(rest))!r}; it has {', '.join(wanted) or 'none'}"
        )
    return made


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
    operator: Definition, inputs: Mapping[str, Any], given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Outputs that a caller gave, by name: `out=` stands for the one output, or for all in order.

    Raises:
        ArgumentError: another number of them than there are.
    """
    if "out" not in given or inputs is None:
        return given
    names = operator.output_names
    if "out" in names and not isinstance(given["out"], (tuple, list, Mapping)):
        return given
    rest = {name: tensor for name, tensor in given.items() if name != "out"}
    out = given["out"]
    if isinstance(out, Mapping):
        return {**rest, **out}
    found = out if isinstance(out, (tuple, list)) else (out,)
    if len(found) != len(names):
        raise ArgumentError(
            f"{operator.name}: out= has {len(found)} of its {len(names)} outputs; expected a tensor for "
            f"each of {', '.join(names) or 'none'}"
        )
    return {**rest, **dict(zip(names, found, strict=True))}


def is_view(tensor: Any) -> bool:
    """Whether elements of a tensor lie apart, so that only kernels that are told its strides can use it."""
    import torch

    return isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided and not tensor.is_contiguous()


def contiguous(tensors: dict[str, Any], kept: Sequence[str] = ()) -> dict[str, Any]:
    """The tensors with copies of those that lie apart; themselves where none does. `kept` stay."""
    apart = [name for name, value in tensors.items() if name not in kept and is_view(value)]
    return {**tensors, **{name: tensors[name].contiguous() for name in apart}} if apart else tensors


def is_empty(tensors: Mapping[str, Any]) -> bool:
    """Whether a tensor of a call has no elements, such as a batch of no rows."""
    import torch

    return any(isinstance(value, torch.Tensor) and value.numel() == 0 for value in tensors.values())


def empty_outputs(
    operator: Definition, tensors: Mapping[str, Any], given: Mapping[str, Any], error: ShapeError
) -> dict[str, torch.Tensor]:
    """Outputs of a call on no rows, where there is nothing to compute.

    Their sizes are those of the reference's results, their dtypes those of a call of one row.

    Raises:
        ShapeError: `error`, where there is something to compute, or the operator has no such call.
    """
    import torch

    if operator.mutates:
        raise error
    one = {
        name: value.new_zeros([size or 1 for size in value.shape])
        if isinstance(value, torch.Tensor) and value.numel() == 0
        else value
        for name, value in tensors.items()
    }
    try:
        wanted = operator.outputs(operator.symbolic_shape(operator.shape_of(**one)), one)
        found = name_results(operator.reference(**tensors), list(wanted), operator.name)
    except (WorkbenchError, RuntimeError, ValueError, IndexError, TypeError):
        raise error from None
    if any(tensor.numel() for tensor in found.values()):
        raise error
    made = {}
    for name, (_, dtype) in wanted.items():
        dims = tuple(found[name].shape)
        if name in given:
            _check_output(operator, name, given[name], dims, dtype)
        made[name] = given[name] if name in given else found[name].new_empty(dims, dtype=dtype)
    return made


def make_workspace(
    operator: Definition, shape: Shape, inputs: Mapping[str, Any], poison: bool = False
) -> dict[str, torch.Tensor]:
    """Tensors between the steps, with the values that they begin with."""
    if operator.workspace is None:
        return {}
    where = place(inputs)
    made = {}
    for name, (dims, dtype, *value) in operator.workspace(shape, inputs).items():
        tensor = new_tensor(tuple(dims), dtype, where)
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
    arguments = arguments_of(each.step, each.kernel, shape, tensors)
    _check_strides(each.kernel, arguments)
    return each.kernel.launch(
        each.launch, (), arguments, device=device, options=options, keeps=not each.is_own
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


def place(inputs: Mapping[str, Any]) -> torch.device:
    """PyTorch's device of a call's tensors."""
    import torch

    return next((v.device for v in inputs.values() if isinstance(v, torch.Tensor)), torch.device("cpu"))
