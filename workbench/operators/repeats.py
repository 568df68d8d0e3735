"""What of an operator's call stays for the next one with tensors alike: all but addresses.

A call's shape, its implementation, the sizes of its outputs and the arguments of its launches follow from
the metadata of its tensors (`running.signature_of`), unless values of integers are read for them; a try with
integers that have none finds that out. So a second call of a signature makes a plan, and those after it
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
from workbench.operators import building, running
from workbench.operators.building import Ready, Stamp
from workbench.operators.definition import Definition
from workbench.operators.parameters import Shape
from workbench.operators.tensors import new_tensor
from workbench.runtime import Device, LaunchRecord

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Made:
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

    chosen: Definition
    shape: Shape
    stamp: Stamp
    where: torch.device
    outputs: tuple[Made, ...]
    workspace: tuple[Made, ...]
    launches: tuple[tuple[Ready, Template], ...]

    def run(
        self, tensors: Mapping[str, Any], device: Device
    ) -> tuple[dict[str, torch.Tensor], tuple[LaunchRecord, ...]] | None:
        """A call on tensors of the signature; None where the plan does not hold, and nothing has run."""
        if building.stamp(self.chosen) != self.stamp:
            return None
        where = self.where
        made = {each.name: new_tensor(each.dims, each.dtype, where) for each in self.outputs}
        everything = {**tensors, **made}
        for each in self.workspace:
            tensor = new_tensor(each.dims, each.dtype, where)
            everything[each.name] = tensor if each.value is None else tensor.fill_(each.value)
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
        return made, records


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


def _unread(make: Callable[[dict[str, Any]], Any], tensors: Mapping[str, Any], made: Any = None) -> bool:
    """Whether what is made of tensors follows from their metadata: integers may say where sequences begin.

    Args:
        make: is called with integers that have no values.
        made: what it has to give then; None for anything.
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
            found = make({**tensors, **integers})
        except Exception:
            # What has no values refuses to be read, or to meet what has some, in whatever words.
            return False
    return not looking.computes and (made is None or found == made)


def has_one_shape(operator: Definition, shape: Shape, tensors: Mapping[str, Any]) -> bool:
    """Whether calls on tensors like those of one have its complete shape, whatever their values."""
    return _unread(lambda given: {**shape, **operator.shape_of(**given)}, tensors, dict(shape))


def planned(
    chosen: Definition,
    shape: Shape,
    tensors: Mapping[str, Any],
    made: Mapping[str, torch.Tensor],
    ready: Sequence[Ready],
    device: Device,
) -> Repeat | None:
    """The plan of calls like one that has run; None where something of it may differ in the next.

    Args:
        tensors: of the call by name, its outputs and workspace among them.
        made: its outputs.
    """
    if any(each.kernel.module.shows or not each.is_own for each in ready):
        return None
    launches = []
    for each in ready:
        arguments_of = partial(running.arguments_of, each.step, each.kernel, shape)
        with _Looking() as looking:
            arguments = arguments_of(tensors)
        form = each.kernel.plan.template(arguments, place_of(device), tensors)
        if form is None or looking.computes or not _unread(arguments_of, tensors):
            return None
        launches.append((each, form))
    inputs = {name: tensor for name, tensor in tensors.items() if name not in made}

    def workspace(given: Mapping[str, Any]) -> Mapping[str, Any]:
        return {} if chosen.workspace is None else chosen.workspace(shape, given)

    space = workspace(inputs)
    if not _unread(partial(chosen.outputs, shape), inputs) or not _unread(workspace, inputs):
        return None
    return Repeat(
        chosen,
        shape,
        building.stamp(chosen),
        running.place(tensors),
        tuple(Made(name, tuple(tensor.shape), tensor.dtype) for name, tensor in made.items()),
        tuple(Made(name, tuple(dims), dtype, *value) for name, (dims, dtype, *value) in space.items()),
        tuple(launches),
    )
