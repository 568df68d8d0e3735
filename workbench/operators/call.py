"""Calls of an operator: their tensors, their launches, and the plan that a call leaves for the next.

The shape of a call, its implementation, the sizes of its outputs and the arguments of its launches follow
from the metadata of its tensors (`signature_of`), unless the operator reads values of integer tensors for
them, which a trial with integers without values shows. So the second call with a signature leaves a plan, and
later ones allocate outputs, put addresses into the bytes of the arguments, and launch.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from workbench.errors import ArgumentError, ShapeError
from workbench.kernel import Kernel, Module, device_of, is_recorded
from workbench.kernel.devices import device_with, place_of
from workbench.kernel.packed import Template, shape_in_words
from workbench.live_tensors import extent
from workbench.operators import call_events
from workbench.operators.building import Modules, Stamp
from workbench.operators.definition import Definition
from workbench.operators.implementation import Implementation, PreparedStep, check_output, torch_device_of
from workbench.operators.indexes import check as check_indexes
from workbench.operators.parameters import Shape
from workbench.operators.tensors import new_tensor
from workbench.runtime import Device, LaunchOptions, LaunchRecord

Results = tuple[dict[str, torch.Tensor], tuple[LaunchRecord, ...]]
"""Outputs by name, and a record of each launch."""

_SIGNATURES = 1024


def signature_of(tensors: Mapping[str, Any], device: Device) -> Hashable:
    """A key that is equal for calls of the same shape, unless an operator reads integers for it; None if a
    value is neither a tensor nor a number."""
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


def is_empty(tensors: Mapping[str, Any]) -> bool:
    """True if a tensor of a call has no elements, such as a batch of no rows."""
    return any(isinstance(value, torch.Tensor) and value.numel() == 0 for value in tensors.values())


def is_view(tensor: Any) -> bool:
    """True for a strided view, which only kernels that receive strides can use."""
    return isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided and not tensor.is_contiguous()


def contiguous(tensors: dict[str, Any], strided: Sequence[str] = ()) -> dict[str, Any]:
    """The tensors, with copies of those that are not contiguous; those in `strided` stay."""
    apart = [name for name, value in tensors.items() if name not in strided and is_view(value)]
    return {**tensors, **{name: tensors[name].contiguous() for name in apart}} if apart else tensors


def _remember(memory: dict[Any, Any], key: Hashable, value: Any) -> None:
    """Keeps a value for a bounded number of signatures."""
    if len(memory) >= _SIGNATURES:
        memory.clear()
    memory[key] = value


@dataclass(frozen=True)
class Call:
    """A call with its tensors and compiled kernels; it can run repeatedly.

    Attributes:
        implementation: implementation for the shape and the target.
        device: device of the call.
        inputs: inputs by name, as the kernels read them.
        outputs: outputs by name, as the kernels write them.
        tensors: inputs, outputs and workspace by name.
        steps: launches of the call in order.
    """

    implementation: Implementation[Definition]
    device: Device
    inputs: Mapping[str, Any]
    outputs: dict[str, torch.Tensor]
    tensors: dict[str, Any]
    steps: tuple[PreparedStep, ...]

    @classmethod
    def prepare(
        cls,
        implementation: Implementation[Any],
        inputs: Mapping[str, Any],
        device: Device,
        outputs: Mapping[str, Any] | None = None,
        copied: Mapping[str, Any] | None = None,
        poison: bool = False,
    ) -> Call:
        """A call on bound inputs.

        Args:
            outputs: tensors to write into; missing ones are allocated.
            copied: tensors to write into that kernels cannot write directly: others are allocated.
            poison: fill the workspace with NaN, except for tensors with an initial value.

        Raises:
            ArgumentError, ShapeError, CompileError, WorkbenchError
        """
        results, workspace = implementation.make_tensors(inputs, outputs, copied, poison)
        tensors = {**inputs, **results, **workspace}
        if not implementation.is_prepared:
            # Faults of the arguments are reported before anything is compiled.
            for step in implementation.steps:
                if step.arguments is not None:
                    step.arguments(implementation.shape, tensors)
        return cls(implementation, device, inputs, results, tensors, implementation.prepared())

    def renew_workspace(self) -> None:
        """Replaces the tensors between the steps by new ones with their initial values."""
        workspace = self.implementation.make_workspace(self.inputs)
        previous = [self.tensors.get(name) for name in workspace]
        self.device.forget_copies(
            [
                (tensor.data_ptr(), extent(tensor) * tensor.element_size())
                for tensor in previous
                if isinstance(tensor, torch.Tensor)
            ]
        )
        self.tensors.update(workspace)

    def run(self, options: LaunchOptions | None = None) -> tuple[LaunchRecord, ...]:
        """Launches each step once; see `launch`."""
        return tuple([self.launch(step, options) for step in self.steps])

    def launch(self, step: PreparedStep, options: LaunchOptions | None = None) -> LaunchRecord:
        """Launches one step.

        Raises:
            ArgumentError: a view is passed as a pointer without `Strided`, so its strides are lost.
            LaunchError, KernelFault: see `Kernel.launch`.
        """
        arguments = step.arguments(self.tensors)
        for name, value in arguments.items():
            kind = step.kernel.plan.taken.get(name)
            if kind is not None and kind.kind == "pointer" and is_view(value):
                raise ArgumentError(
                    f"{step.kernel.name}: argument {name!r} is a view ({shape_in_words(value)}); expected a "
                    "contiguous tensor, or Strided(tensor) where the kernel is told the strides"
                )
        return step.kernel.launch(
            step.launch, (), arguments, device=self.device, options=options, keeps=not step.is_own
        )

    def plan(self) -> Plan | None:
        """The plan of calls with this one's signature; None if part of it may differ in the next call."""
        if any(step.kernel.module.shows or not step.is_own for step in self.steps):
            return None
        launches = []
        for step in self.steps:
            with _Looking() as looking:
                arguments = step.arguments(self.tensors)
            template = step.kernel.plan.template(arguments, place_of(self.device), self.tensors)
            if template is None or looking.computes or not _unread(step.arguments, self.tensors):
                return None
            launches.append((step, template))
        implementation, inputs = self.implementation, self.inputs
        if not _unread(implementation.outputs, inputs) or not _unread(implementation.workspace, inputs):
            return None
        space = implementation.workspace(inputs)
        return Plan(
            implementation.modules,
            implementation.shape,
            implementation.modules.stamp(),
            torch_device_of(self.tensors),
            tuple(TensorLayout(n, tuple(tensor.shape), tensor.dtype) for n, tensor in self.outputs.items()),
            tuple(TensorLayout(n, tuple(dims), dtype, *value) for n, (dims, dtype, *value) in space.items()),
            tuple(launches),
        )


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor that a call makes: its name, arguments of `new_tensor`, and the value that fills it."""

    name: str
    dims: tuple[int, ...]
    dtype: torch.dtype
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that calls with one signature share.

    Attributes:
        modules: compiled modules of the implementation.
        shape: shape of the calls.
        stamp: stamp of the kernels' sources.
        where: PyTorch's device of the outputs.
        outputs, workspace: tensors that each call makes.
        launches: each step with its packed arguments; only the addresses change.
    """

    modules: Modules
    shape: Shape
    stamp: Stamp
    where: torch.device
    outputs: tuple[TensorLayout, ...]
    workspace: tuple[TensorLayout, ...]
    launches: tuple[tuple[PreparedStep, Template], ...]

    def run(self, tensors: Mapping[str, Any], device: Device) -> Results | None:
        """A call on tensors of the signature; None if the plan does not hold, and nothing has run."""
        if self.modules.stamp() != self.stamp:
            return None
        where = self.where
        outputs = {layout.name: new_tensor(layout.dims, layout.dtype, where) for layout in self.outputs}
        everything = {**tensors, **outputs}
        for layout in self.workspace:
            tensor = new_tensor(layout.dims, layout.dtype, where)
            everything[layout.name] = tensor if layout.value is None else tensor.fill_(layout.value)
        packed = [template.filled(everything) for _, template in self.launches]
        if None in packed:
            return None
        records = tuple(
            [
                step.kernel.launch_packed(step.launch, arguments, device)
                for (step, _), arguments in zip(self.launches, packed, strict=True)
                if arguments is not None
            ]
        )
        return outputs, records


class _Looking(TorchDispatchMode):
    """Notes whether code inside computes, or reads values: only views follow from metadata alone."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.computes = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise PyTorch imports its compiler, which takes 1.5 s. Plans are made while nothing is traced.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.computes = self.computes or not func.is_view
        return func(*args, **(kwargs or {}))


def _unread(make: Callable[[dict[str, Any]], Any], tensors: Mapping[str, Any], expected: Any = None) -> bool:
    """True if `make` needs only its tensors' metadata; integers may hold offsets of sequences, and are read.

    Args:
        make: function to call with integer tensors without values.
        expected: the required result of `make`; None to accept any.
    """
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
            # Reading tensors without values, or combining them with others, raises various errors.
            return False
    return not looking.computes and (expected is None or result == expected)


Implement = Callable[[dict[str, Any], str, Kernel | Module | None], Implementation[Any]]
"""Returns the implementation for a complete shape on a target, with other code's kernels or its own."""


class Calls:
    """The calls of one operator.

    Args:
        spec: the operator.
        implement: returns the implementations.

    Attributes:
        plans: plans by signature; None if there can be none.
    """

    def __init__(self, spec: Definition, implement: Implement) -> None:
        self._spec, self._implement = spec, implement
        self._shapes: dict[Hashable, dict[str, Any]] = {}
        self.plans: dict[Hashable, Plan | None] = {}

    def run(
        self,
        inputs: dict[str, Any],
        outputs: Mapping[str, Any] | None = None,
        shape: Shape | None = None,
        code: Kernel | Module | None = None,
        device: Device | None = None,
        options: LaunchOptions | None = None,
        poison: bool = False,
    ) -> Results:
        """A call on bound inputs; see `KernelSpec.run`.

        Kernels read views directly if they can; of any other view, one copy is made.
        """
        special = outputs or poison or any(v is not None for v in (shape, code, options))
        if self.plans and not special:
            planned = self._by_plan(inputs, device)
            if planned is not None:
                return planned
        where = device_with(self._spec.name, inputs, device, None if code is None else code.arch)
        mutates = self._spec.mutates
        read = contiguous(inputs, self._spec.strided)
        copied = {name: tensor for name, tensor in (outputs or {}).items() if is_view(tensor)}
        direct = {name: tensor for name, tensor in (outputs or {}).items() if name not in copied}
        launch = partial(
            self._launched,
            outputs=direct,
            copied=copied,
            shape=shape,
            code=code,
            where=where,
            options=options,
            poison=poison,
        )
        try:
            results, records = launch(read)
        except ArgumentError:
            plain = contiguous(read)
            if mutates or plain is read:
                raise
            results, records = launch(plain)
        for name in mutates:
            if read[name] is not inputs[name]:
                inputs[name].copy_(read[name])
        for name, tensor in copied.items():
            results[name] = tensor.copy_(results[name])
        return results, records

    def _by_plan(self, inputs: dict[str, Any], device: Device | None) -> Results | None:
        """A call on tensors like those of earlier ones; None if there is no plan for it."""
        if is_recorded() or call_events.is_heard():
            return None
        where = device if device is not None else device_of(inputs.values())
        plan = self.plans.get(signature_of(inputs, where))
        if plan is None:
            return None
        spec = self._spec
        if spec.indexes:
            check_indexes(spec.name, spec.indexes, spec.tensors, plan.shape, inputs)
        return plan.run(inputs, where)

    def _launched(
        self,
        inputs: Mapping[str, Any],
        *,
        outputs: Mapping[str, Any],
        copied: Mapping[str, Any],
        shape: Shape | None,
        code: Kernel | Module | None,
        where: Device,
        options: LaunchOptions | None,
        poison: bool,
    ) -> Results:
        """A call on tensors as the kernels read them.

        Args:
            copied: tensors that a caller passed for outputs, but which kernels cannot write directly.
        """
        spec = self._spec
        key = signature_of(inputs, where) if shape is None else None
        full = self._shapes.get(key) if key is not None else None
        # A second call shows that there may be a third.
        is_second = full is not None and code is None and not outputs and not copied
        if full is None:
            try:
                full = spec.shape(shape if shape is not None else spec.shape_of(**inputs), arch=where.arch)
            except ShapeError as error:
                if shape is None and code is None and is_empty(inputs):
                    return self._empty({**outputs, **copied}, spec.empty_outputs(inputs, error)), ()
                raise
            self._note(key, full, inputs)
        if spec.indexes:
            check_indexes(spec.name, spec.indexes, spec.tensors, full, inputs)
        implementation = self._implement(full, where.arch, code)
        call = Call.prepare(implementation, inputs, where, outputs, copied, poison)
        call_events.tell(call_events.Called(spec.name, full, len(call.steps)))
        records = call.run(options)
        if is_second and key not in self.plans:
            _remember(self.plans, key, call.plan())
        return call.outputs, records

    def _note(self, key: Hashable, full: dict[str, Any], inputs: Mapping[str, Any]) -> None:
        """The shape of a signature, if calls with other values have it too."""
        if key is None or key in self.plans:
            return
        if _unread(lambda values: {**full, **self._spec.shape_of(**values)}, inputs, full):
            _remember(self._shapes, key, full)
        else:
            _remember(self.plans, key, None)

    def _empty(
        self, outputs: Mapping[str, Any], empty: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """Outputs of a call on no rows; those that a caller passed are returned unchanged."""
        for name in empty.keys() & outputs.keys():
            check_output(self._spec.name, name, outputs[name], tuple(empty[name].shape), empty[name].dtype)
        return {name: outputs.get(name, tensor) for name, tensor in empty.items()}
