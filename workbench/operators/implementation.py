"""An operator for one shape and one target: its kernels, their build, and their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from workbench.errors import ArgumentError, UsageError, WorkbenchError
from workbench.kernel import Kernel, Launch, Module
from workbench.kernel.parameters import is_gl
from workbench.operators.building import Modules, Stamp
from workbench.operators.definition import Definition
from workbench.operators.parameters import Shape
from workbench.operators.steps import Space, Step
from workbench.operators.tensors import TensorLike, new_tensor, poisoned
from workbench.targets import of_same_generation

if TYPE_CHECKING:
    import torch

Spec = TypeVar("Spec", bound=Definition)


@dataclass(frozen=True)
class PreparedStep:
    """A step with its compiled kernel.

    Attributes:
        step: the operator's step.
        kernel, launch: the kernel, with its grid and block.
        shape: complete shape.
        is_own: True if the operator compiled the kernel; the kernel's last launch then keeps no arguments.
    """

    step: Step
    kernel: Kernel
    launch: Launch
    shape: Shape
    is_own: bool = False

    def arguments(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """The kernel's arguments by name; see `Definition.arguments` and `Step.arguments`.

        Args:
            tensors: inputs, outputs and workspace by name.
        """
        arguments_of = self.step.arguments
        values = dict(tensors if arguments_of is None else arguments_of(self.shape, tensors))
        if not self.kernel.plan.named:
            return values
        parameters = self.kernel.plan.taken
        arguments = {}
        for name, value in values.items():
            if name in parameters:
                # An empty `gl`: a null pointer, and zero along every axis.
                empty = value is None and is_gl(parameters[name])
                arguments[name] = bytes(parameters[name].size) if empty else value
            elif arguments_of is None and (self.step.name or not hasattr(value, "data_ptr")):
                continue
            elif value is not None:
                arguments[name] = value
        return arguments


@dataclass(eq=False)
class Implementation(Generic[Spec]):
    """The implementation that an operator uses for a shape on a target.

    Attributes:
        spec: the operator, or its variant, with the settings from a tuning table.
        shape: complete shape.
        arch: target.
        modules: modules of the spec that are compiled so far; all its shapes share them.
        code: kernels from other code, such as a notebook cell's, to use instead of the spec's own.
    """

    spec: Spec
    shape: dict[str, Any]
    arch: str
    modules: Modules = field(repr=False)
    code: Kernel | Module | None = None
    _prepared: tuple[Stamp, tuple[PreparedStep, ...]] | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the operator, with those of the variant and the settings if there are any."""
        return self.spec.name

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The launches that the shape needs, in order."""
        return self.spec.active_steps(self.shape, self.arch)

    def macros(self, step: Step) -> dict[str, object]:
        """Macros that select a step's instance."""
        own = step.define(self.shape, self.arch) if step.define is not None else {}
        return {**self.spec.define(self.shape, self.arch), **own}

    def check(self) -> None:
        """Checks that the operator supports the shape.

        Raises:
            ShapeError: it does not support the shape.
        """
        if self.spec.check is not None:
            self.spec.check(self.shape, self.arch)

    def step_modules(self) -> list[Module]:
        """The compiled module of each step; steps of one source and macros share it.

        Raises:
            CompileError, WorkbenchError
        """
        if not of_same_generation(self.spec.targets, self.arch):
            targets = ", ".join(self.spec.targets)
            raise WorkbenchError(f"{self.name} is written for {targets}, not for {self.arch}")
        parts = [(self.spec.source_of(step), self.macros(step)) for step in self.steps]
        names = [step.entry_name(self.shape) for step in self.steps]
        return [
            self.modules.module(
                source,
                tuple(name for name, part in zip(names, parts, strict=True) if part == (source, macros)),
                macros,
                self.arch,
            )
            for source, macros in parts
        ]

    @property
    def is_prepared(self) -> bool:
        """True if its kernels have been compiled, from these sources or earlier ones."""
        return self._prepared is not None

    def prepared(self) -> tuple[PreparedStep, ...]:
        """The launches in order with their kernels, compiled if necessary.

        Raises:
            ShapeError: it does not support the shape.
            CompileError, WorkbenchError
            UsageError: `code` is one kernel, and there are several steps.
            UnknownKernel: `code` lacks one of the kernels.
        """
        now = self.modules.stamp() if self.code is None else ()
        if self._prepared is None or self._prepared[0] != now:
            self.check()
            kernels = self._own_kernels() if self.code is None else self._kernels_of(self.code)
            self._prepared = (
                now,
                tuple(
                    PreparedStep(
                        step, kernel, step.launch(self.shape, self.arch), self.shape, is_own=self.code is None
                    )
                    for step, kernel in zip(self.steps, kernels, strict=True)
                ),
            )
        return self._prepared[1]

    def _own_kernels(self) -> list[Kernel]:
        modules = zip(self.steps, self.step_modules(), strict=True)
        return [module[step.entry_name(self.shape)] for step, module in modules]

    def _kernels_of(self, code: Kernel | Module) -> Sequence[Kernel]:
        if isinstance(code, Kernel):
            if len(self.steps) > 1:
                names = ", ".join(step.name for step in self.steps)
                raise UsageError(
                    f"{self.name} has {len(self.steps)} steps, {names}; expected a module with all their "
                    f"kernels, got the kernel {code.name}"
                )
            return [code] * len(self.steps)
        kernels = list(code.kernels.values())
        if len(self.steps) == len(kernels) == 1:
            return kernels
        return [code[step.entry_name(self.shape)] for step in self.steps]

    def outputs(self, inputs: Mapping[str, Any]) -> Mapping[str, TensorLike]:
        """Dimensions and dtypes of the outputs of a call on these inputs, by name."""
        return self.spec.outputs(self.shape, inputs)

    def workspace(self, inputs: Mapping[str, Any]) -> Mapping[str, Space]:
        """Dimensions and dtypes of the tensors between the steps, by name."""
        return {} if self.spec.workspace is None else self.spec.workspace(self.shape, inputs)

    def make_outputs(
        self,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
        copied: Mapping[str, Any] | None = None,
        poison: bool = False,
    ) -> dict[str, torch.Tensor]:
        """Tensors for the kernels to write; see `make_outputs`."""
        return make_outputs(self.name, self.outputs(inputs), torch_device_of(inputs), outputs, copied, poison)

    def make_tensors(
        self,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None,
        copied: Mapping[str, Any] | None,
        poison: bool,
    ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """Outputs and workspace of a call.

        Args:
            outputs, copied: see `make_outputs`.
            poison: see `make_workspace`.
        """
        return self.make_outputs(inputs, outputs, copied), self.make_workspace(inputs, poison)

    def make_workspace(self, inputs: Mapping[str, Any], poison: bool = False) -> dict[str, torch.Tensor]:
        """Tensors between the steps, with their initial values.

        Args:
            poison: fill tensors without an initial value with NaN.
        """
        where = torch_device_of(inputs)
        workspace = {}
        for name, (dims, dtype, *value) in self.workspace(inputs).items():
            tensor = new_tensor(tuple(dims), dtype, where)
            workspace[name] = tensor.fill_(value[0]) if value else poisoned(tensor) if poison else tensor
        return workspace


def torch_device_of(tensors: Mapping[str, Any]) -> torch.device:
    """PyTorch's device of a call's tensors."""
    import torch

    return next((v.device for v in tensors.values() if isinstance(v, torch.Tensor)), torch.device("cpu"))


def check_output(operator: str, name: str, tensor: Any, dims: Sequence[int], dtype: torch.dtype) -> None:
    """Checks that a caller's tensor can take an output.

    Raises:
        ArgumentError: the argument is not a tensor, or has another dtype or shape.
    """
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise ArgumentError(f"{operator}: output {name!r} is a {type(tensor).__name__}; expected a tensor")
    if tuple(tensor.shape) != tuple(dims) or tensor.dtype != dtype:
        raise ArgumentError(
            f"{operator}: output {name!r} is {tuple(tensor.shape)} {tensor.dtype}; "
            f"expected {tuple(dims)} {dtype}"
        )


def make_outputs(
    operator: str,
    expected: Mapping[str, TensorLike],
    where: torch.device,
    outputs: Mapping[str, Any] | None = None,
    copied: Mapping[str, Any] | None = None,
    poison: bool = False,
) -> dict[str, torch.Tensor]:
    """Tensors for an operator to write; those that a caller passed are used as they are.

    Args:
        operator: name of the operator, for errors.
        expected: dimensions and dtypes by name.
        where: device of the outputs.
        outputs: tensors to write into.
        copied: tensors that afterwards get a copy of the outputs.
        poison: fill new ones with NaN, integers with their smallest value.

    Raises:
        ArgumentError: a tensor to write into has another name, dtype or shape.
    """
    rest = {**(outputs or {}), **(copied or {})}
    tensors = {}
    for name, (dims, dtype) in expected.items():
        if name in rest:
            tensor = rest.pop(name)
            check_output(operator, name, tensor, dims, dtype)
            if not copied or name not in copied:
                tensors[name] = tensor
                continue
        tensor = new_tensor(tuple(dims), dtype, where)
        tensors[name] = poisoned(tensor) if poison else tensor
    if rest:
        raise ArgumentError(
            f"{operator} has no output {next(iter(rest))!r}; it has {', '.join(expected) or 'none'}"
        )
    return tensors
