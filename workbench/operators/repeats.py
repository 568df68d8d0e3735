"""What of an operator's call stays for the next one with tensors alike: all but addresses.

A call's shape, its implementation, the sizes of its outputs and the arguments of its launches follow from
the metadata of its tensors (`execution.signature_of`), unless values of integers are read for them; a try
with integers that have none finds that out. So a second call of a signature makes a plan, and those after it
allocate outputs, put addresses into the bytes of the arguments, and launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from torch.utils._python_dispatch import TorchDispatchMode

from workbench.kernel.devices import place_of
from workbench.kernel.packed import Template
from workbench.operators import building, execution
from workbench.operators.building import Ready, Stamp
from workbench.operators.definition import Definition
from workbench.operators.parameters import Shape
from workbench.operators.tensors import new_tensor
from workbench.runtime import Device, LaunchRecord

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor that a call makes: its name, what `new_tensor` takes, what it is filled with, if it is."""

    name: str
    dims: tuple[int, ...]
    dtype: torch.dtype
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """The plan of calls with one signature.

    Attributes:
        chosen: the implementation.
        shape: of the calls.
        stamp: of the sources that its kernels were made from.
        where: PyTorch's device of the outputs.
        outputs, workspace: tensors that each call makes.
        launches: each kernel with the arguments that it is given.
    """

    implementation: Definition
    shape: Shape
    stamp: Stamp
    where: torch.device
    outputs: tuple[TensorLayout, ...]
    workspace: tuple[TensorLayout, ...]
    launches: tuple[tuple[Ready, Template], ...]

    def run(
        self, tensors: Mapping[str, Any], device: Device
    ) -> tuple[dict[str, torch.Tensor], tuple[LaunchRecord, ...]] | None:
        """A call on tensors of the signature; None where the plan does not hold, and nothing has run."""
        if building.stamp(self.implementation) != self.stamp:
            return None
        where = self.where
        outputs = {layout.name: new_tensor(layout.dims, layout.dtype, where) for layout in self.outputs}
        everything = {**tensors, **outputs}
        for layout in self.workspace:
            tensor = new_tensor(layout.dims, layout.dtype, where)
            everything[layout.name] = tensor if layout.value is None else tensor.fill_(layout.value)
        packed = [form.filled(everything) for _, form in self.launches]
        if None in packed:
            return None
        records = tuple(
            [
                ready.kernel.launch_packed(ready.launch, arguments, device)
                for (ready, _), arguments in zip(self.launches, packed, strict=True)
                if arguments is not None
            ]
        )
        return outputs, records


class _Looking(TorchDispatchMode):
    """Notes whether something inside computes, or asks for values: only views follow from metadata alone."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.computes = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Else PyTorch imports its compiler for it, 1.5 s. Plans are made where nothing is traced.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.computes = self.computes or not func.is_view
        return func(*args, **(kwargs or {}))


def _unread(make: Callable[[dict[str, Any]], Any], tensors: Mapping[str, Any], expected: Any = None) -> bool:
    """Whether what is made of tensors follows from their metadata: integers may say where sequences begin.

    Args:
        make: is called with integers that have no values.
        expected: what it has to give then; None for anything.
    """
    import torch

    integers = {
        name: torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        for name, value in tensors.items()
        if isinstance(value, torch.Tensor) and not value.is_floating_point()
    }
    if not integers:
        return True
    with _Looking() as looking:
        try:
            result = make({**tensors, **integers})
        except Exception:
            # What has no values refuses to be read, or to meet what has some, in whatever words.
            return False
    return not looking.computes and (expected is None or result == expected)


def has_one_shape(operator: Definition, shape: Shape, tensors: Mapping[str, Any]) -> bool:
    """Whether calls on tensors like those of one have its complete shape, whatever their values."""
    return _unread(lambda inputs: {**shape, **operator.shape_of(**inputs)}, tensors, dict(shape))


def planned(
    implementation: Definition,
    shape: Shape,
    tensors: Mapping[str, Any],
    outputs: Mapping[str, torch.Tensor],
    ready: Sequence[Ready],
    device: Device,
) -> Repeat | None:
    """The plan of calls like one that has run; None where something of it may differ in the next.

    Args:
        tensors: of the call by name, its outputs and workspace among them.
        outputs: its outputs.
    """
    if any(prepared.kernel.module.shows or not prepared.is_own for prepared in ready):
        return None
    launches = []
    for prepared in ready:
        arguments_of = partial(execution.arguments_of, prepared.step, prepared.kernel, shape)
        with _Looking() as looking:
            arguments = arguments_of(tensors)
        form = prepared.kernel.plan.template(arguments, place_of(device), tensors)
        if form is None or looking.computes or not _unread(arguments_of, tensors):
            return None
        launches.append((prepared, form))
    inputs = {name: tensor for name, tensor in tensors.items() if name not in outputs}

    def workspace(values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {} if implementation.workspace is None else implementation.workspace(shape, values)

    space = workspace(inputs)
    if not _unread(partial(implementation.outputs, shape), inputs) or not _unread(workspace, inputs):
        return None
    return Repeat(
        implementation,
        shape,
        building.stamp(implementation),
        execution.place(tensors),
        tuple(TensorLayout(name, tuple(tensor.shape), tensor.dtype) for name, tensor in outputs.items()),
        tuple(
            TensorLayout(name, tuple(dims), dtype, *value) for name, (dims, dtype, *value) in space.items()
        ),
        tuple(launches),
    )
