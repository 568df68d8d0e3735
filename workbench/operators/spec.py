"""One description of an operator that everything else reads, and the choice of an implementation for a shape.

A `KernelSpec` says where a kernel's source is, how it is instantiated and launched for a shape, which tensors
it takes and returns, and how much work that is. Calling it on tensors runs it; `verify`, `time`, `profile`,
the panels, the magics and the tests all use the same object, so none of them has to define a launch or a
reference again.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.display import Shown
from workbench.errors import ShapeError, UsageError, WorkbenchError
from workbench.kernel import Kernel, Module, default_arch, resolve_device, torch_device
from workbench.operators.building import Modules
from workbench.operators.definition import Definition
from workbench.operators.description import describe
from workbench.operators.implementation import Implementation, PreparedStep, make_outputs, torch_device_of
from workbench.operators.parameters import Shape
from workbench.operators.precompile import Instance, Job, compile_all
from workbench.operators.settings import with_settings
from workbench.operators.steps import Step
from workbench.operators.tensors import in_format_of
from workbench.operators.tunables import Settings, settings_text
from workbench.operators.variants import Tuned, read_own_tuning, row_for
from workbench.runtime import Device, LaunchOptions, LaunchRecord
from workbench.targets import further_of_generations

if TYPE_CHECKING:
    import torch

    from workbench.operators.call import Call, Calls
    from workbench.operators.torch_operator import Operator


_numbers = itertools.count()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class KernelSpec(Shown, Definition):
    """An operator with everything needed to build, launch, check and judge it.

    The signature of `reference` is the signature of the operator: its parameter names are the names of the
    inputs, their order is the order of positional arguments of a call of the spec, and its defaults (such as
    `eps=1e-5`) hold if a caller passes no value. A default of None makes an input optional. A spec is called
    as `spec(*inputs, **inputs_by_name)` and returns its output tensor, or a dict of them if it has several.

    Most operators are one kernel: `source`, `entry` and `launch`. One of several launches has `steps`
    instead, with a `workspace` between them; one of several implementations has `variants`. `Definition`
    says what each field means.

    `implementation` chooses the `Implementation` for a shape and a target, `prepare` makes a `Call` of it on
    tensors, and `calls` has the plans that repeated calls with the same signature share.
    """

    library: Mapping[str, KernelSpec] | None = None
    """Operators in which `backward` is looked up; the registry fills it in."""
    identity: str = field(default_factory=lambda: f"spec {next(_numbers)}", init=False)
    """Unique in this process: PyTorch compares texts when it reuses compiled code."""

    def variant(self, name: str) -> KernelSpec:
        """The operator with only one of its implementations, for every shape that this one supports.

        Raises:
            UsageError: no variant has this name.
        """
        if name not in self.variants:
            there = ", ".join(map(repr, self.variants)) or "none"
            raise UsageError(f"{self.name} has no variant {name!r}; it has {there}")
        return self._variants[name]

    @cached_property
    def _variants(self) -> dict[str, KernelSpec]:
        variants = {}
        for name, variant in self.variants.items():
            fields = dict(variant.fields)
            if "steps" in fields:
                fields = {"entry": None, "launch": None, "arguments": None, **fields}
            elif "entry" in fields:
                fields = {"steps": (), "workspace": None, **fields}
            variants[name] = dataclasses.replace(self, name=f"{self.name}:{name}", variants={}, **fields)
        return variants

    def tuned(self, **settings: Any) -> KernelSpec:
        """The operator, or one of its variants, compiled with other settings of its tunables.

        For an operator with variants this tunes the spec's own implementation only; to tune a variant, name
        it: `wb.kernels["gemm/bf16:ping_pong"].tuned(window=4)`.

        Raises:
            UsageError: there is no such tunable, or the value is not one of its choices.
        """
        self.tunables.check(self.name, settings)
        differing = self.tunables.differing(settings)
        if not differing:
            return self
        key = tuple(differing.items())
        if key not in self._made_settings:
            name = f"{self.name}[{settings_text(differing)}]"
            self._made_settings[key] = dataclasses.replace(
                self, name=name, variants={}, **with_settings(self, differing)
            )
        return self._made_settings[key]

    @cached_property
    def _made_settings(self) -> dict[Any, KernelSpec]:
        return {}

    @cached_property
    def _tuning(self) -> dict[str, tuple[Tuned, ...]]:
        return read_own_tuning(self.name)

    def read_tuning_again(self) -> None:
        """Clears the cached tuning tables, after one of them was written."""
        for name in ("_tuning", "_implementations", "calls"):
            self.__dict__.pop(name, None)

    def tuned_row(self, shape: Shape | None = None, *, arch: str | None = None) -> Tuned | None:
        """The tuning table's row for a shape, if it applies; else None."""
        arch = arch or default_arch()
        return self._row(self.shape(shape, arch=arch), arch)

    def variant_name(self, shape: Shape | None = None, *, arch: str | None = None) -> str | None:
        """Name of the variant that runs a shape; None if the spec itself does.

        Raises:
            ShapeError: no variant supports it.
        """
        arch = arch or default_arch()
        return self._chosen(self.shape(shape, arch=arch), arch)[0]

    def untuned_variant(self, shape: Shape | None = None, *, arch: str | None = None) -> str | None:
        """Name of the variant that would run a shape without tuning tables; None if the spec itself would."""
        arch = arch or default_arch()
        return self._first(self.shape(shape, arch=arch), arch)

    def _row(self, full: Shape, arch: str) -> Tuned | None:
        row = row_for(self._tuning, full, arch)
        if row is None or not row.variant:
            return row
        # A table that names a variant which does not exist is wrong.
        self.variant(row.variant)
        # `takes` partly guesses what is fast; a row with times was verified on exactly this shape.
        return row if row.origin or self.variants[row.variant].takes(full, arch) else None

    def _chosen(self, full: Shape, arch: str) -> tuple[str | None, Settings]:
        row = self._row(full, arch)
        if row is not None:
            return row.variant or None, row.settings
        return self._first(full, arch), {}

    def _first(self, full: Shape, arch: str) -> str | None:
        if not self.variants:
            return None
        for name, variant in self.variants.items():
            if variant.takes(full, arch):
                return name
        if self.entry is None and not self.steps:
            raise ShapeError(
                f"{self.name}: none of its variants ({', '.join(self.variants)}) takes "
                f"{', '.join(f'{k}={v}' for k, v in full.items())} on {arch}"
            )
        return None

    def implementation(
        self,
        shape: Shape | None = None,
        *,
        arch: str | None = None,
        code: Kernel | Module | None = None,
    ) -> Implementation[KernelSpec]:
        """The variant that runs a shape, or the spec itself if there is none; with tuned settings.

        Args:
            code: another kernel with the same interface, such as one compiled in a notebook cell, or a module
                with the kernels of all steps; None for the spec's own.

        Raises:
            ShapeError: the operator does not support the shape, or no variant does.
        """
        arch = arch or default_arch()
        return self._implementation(self.shape(shape, arch=arch), arch, code)

    def _implementation(
        self, full: dict[str, Any], arch: str, code: Kernel | Module | None = None
    ) -> Implementation[KernelSpec]:
        key = (arch, *full.values())
        implementation = self._implementations.get(key)
        if implementation is None:
            name, settings = self._chosen(full, arch)
            spec = self if name is None else self.variant(name)
            spec = spec.tuned(**settings) if settings else spec
            implementation = self._implementations[key] = Implementation(spec, full, arch, spec._modules)
        return implementation if code is None else dataclasses.replace(implementation, code=code)

    @cached_property
    def _implementations(self) -> dict[Any, Implementation[KernelSpec]]:
        return {}

    @cached_property
    def _modules(self) -> Modules:
        return Modules(self)

    def macros(self, shape: Shape, arch: str) -> dict[str, object]:
        """Macros that select the instance for `shape` on `arch`; with several steps, those of the first."""
        implementation = self.implementation(shape, arch=arch)
        return implementation.macros(implementation.steps[0])

    def steps_of(self, shape: Shape | None = None, *, arch: str | None = None) -> tuple[PreparedStep, ...]:
        """The launches of a shape in order, each with its step and its kernel; compiled if necessary.

        Raises:
            ShapeError, CompileError, WorkbenchError
        """
        return self.implementation(shape, arch=arch).prepared()

    def module(self, shape: Shape | None = None, *, arch: str | None = None) -> Module:
        """The compiled module for `shape`; compiled again if the source or one of its headers has changed.

        Raises:
            ShapeError, CompileError, WorkbenchError
            UsageError: the operator has several steps.
        """
        implementation = self.implementation(shape, arch=arch)
        self._check_single(implementation.steps)
        return implementation.step_modules()[0]

    def kernel(self, shape: Shape | None = None, *, arch: str | None = None) -> Kernel:
        """The kernel that `entry` names, of `module(shape)`.

        Raises:
            ShapeError, CompileError, WorkbenchError
            UsageError: the operator has several steps; `steps_of` has the kernels of all.
        """
        steps = self.steps_of(shape, arch=arch)
        self._check_single([prepared.step for prepared in steps])
        return steps[0].kernel

    def compile(
        self,
        shapes: Iterable[Shape] | None = None,
        archs: Iterable[str] | None = None,
        *,
        workers: int | None = None,
    ) -> list[Instance]:
        """Compiles instances ahead of their first call, in parallel; later processes find them in the cache.

        Args:
            shapes: shapes to compile; None for the spec's own.
            archs: targets; None for all targets of the spec.
            workers: number of compilers at once; None for one per processor.

        Raises:
            ShapeError: a shape that the operator does not support.
            CompileError: one does not compile; the others have been compiled.
        """
        return compile_all(self.jobs(shapes, archs), workers)

    def jobs(self, shapes: Iterable[Shape] | None = None, archs: Iterable[str] | None = None) -> list[Job]:
        """The jobs that `compile` runs."""
        implementations = [
            self.implementation(shape, arch=arch)
            for shape in shapes or self.shapes
            for arch in archs or self.targets
        ]
        return [Job(self.name, item.shape, item.arch, item.prepared) for item in implementations]

    def _check_single(self, steps: Sequence[Step]) -> None:
        if len(steps) > 1:
            names = ", ".join(step.name for step in steps)
            raise UsageError(f"{self.name} has {len(steps)} steps, {names}; steps_of() gives each")

    def entry_name(self, shape: Shape, arch: str | None = None) -> str:
        """Name of the kernel for `shape`.

        Raises:
            UsageError: the operator has several steps.
        """
        implementation = self.implementation(shape, arch=arch)
        self._check_single(implementation.steps)
        return implementation.steps[0].entry_name(implementation.shape)

    def make_inputs(
        self,
        shape: Shape | None = None,
        *,
        seed: int = 0,
        device: Device | str | None = None,
        hard: str | None = None,
    ) -> dict[str, Any]:
        """Fresh inputs for `shape`, equal for equal seeds, in `device`'s memory, with defaults filled in.

        fp8 tensors have the format of the device's target (the default device's if `device` is None).

        Args:
            hard: name of one of `hard_inputs`; None for ordinary inputs.

        Raises:
            ShapeError: the kernel does not support the shape.
            UsageError: the seed is not an integer of 64 bits; no hard inputs of this name.
        """
        import torch

        if not isinstance(seed, int) or not -(1 << 63) <= seed < 1 << 64:
            raise UsageError(f"{self.name}: seed is {seed!r}; expected an integer of 64 bits")
        if hard is not None and hard not in self.hard_inputs:
            there = ", ".join(map(repr, self.hard_inputs)) or "none"
            raise UsageError(f"{self.name} has no hard inputs {hard!r}; it has {there}")
        draw = self.inputs if hard is None else self.hard_inputs[hard]
        inputs = self.bind(**draw(self.shape(shape), torch.Generator().manual_seed(seed)))
        on = resolve_device(device) if device is not None else None
        where = torch_device(on)
        return {
            k: in_format_of(v, on).to(where) if isinstance(v, torch.Tensor) else v for k, v in inputs.items()
        }

    def make_outputs(
        self, shape: Shape, inputs: Mapping[str, Any], *, poison: bool = False
    ) -> dict[str, torch.Tensor]:
        """Tensors for the kernel to write, where the inputs are.

        Args:
            poison: fill them with NaN (integers with their smallest value), so that an element that the
                kernel does not write cannot pass for a result.
        """
        return make_outputs(self.name, self.outputs(shape, inputs), torch_device_of(inputs), poison=poison)

    def run(
        self,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
        *,
        shape: Shape | None = None,
        code: Kernel | Module | None = None,
        device: Device | None = None,
        options: LaunchOptions | None = None,
        poison: bool = False,
    ) -> tuple[dict[str, torch.Tensor], tuple[LaunchRecord, ...]]:
        """Runs once on `inputs` by name, see `bind`; returns the outputs by name, and a record of each
        launch.

        Args:
            outputs: tensors to write into; missing ones are allocated.
            shape: shape of the call; None to use `shape_of`.
            code: another kernel with the same interface, such as one compiled in a notebook cell, or a module
                with the kernels of all steps.
            device: device to run on; None to take it from the tensors.
            options: options of the launches.
            poison: fill the workspace with NaN, except for tensors with an initial value.
        """
        return self.calls.run(self.bind(**inputs), outputs, shape, code, device, options, poison)

    def prepare(
        self,
        inputs: Mapping[str, Any],
        shape: Shape,
        device: Device,
        code: Kernel | Module | None = None,
    ) -> Call:
        """A call on bound inputs that can run repeatedly, compiled if necessary; nothing is launched yet.

        Raises:
            ShapeError, ArgumentError, CompileError, WorkbenchError
        """
        from workbench.operators.call import Call

        return Call.prepare(self.implementation(shape, arch=device.arch, code=code), inputs, device)

    @cached_property
    def calls(self) -> Calls:
        """The calls of the spec, with their plans."""
        # Importing this package, and listing its specs' names, must not import PyTorch.
        from workbench.operators.call import Calls

        return Calls(self, self._implementation)

    def __call__(self, *args: Any, device: Device | str | None = None, **kwargs: Any) -> Any:
        """Runs the kernel on tensors; tensors to write into may be passed by the names of outputs.

        `out=` takes the only output, whatever its name, or a tuple or a dict of outputs.

        Args:
            device: device to run on, as in `wb.device`; None to take it from the tensors.

        Returns:
            the output tensor, or a dict by name if the kernel has several outputs; if it has none, the inputs
            that it wrote, in the same form.

        Raises:
            ShapeError: tensors that the kernel does not support.
            ArgumentError: anything else wrong with the arguments.
        """
        from workbench.operators import torch_operator

        if torch_operator.needed((*args, *kwargs.values())):
            results = torch_operator.call(self, args, kwargs)
            inputs = {} if results else self.bind(*args, **kwargs)
        else:
            names = self.signature.parameters
            outputs: Mapping[str, Any] = {k: v for k, v in kwargs.items() if k not in names}
            inputs = self.bind(*args, **{k: v for k, v in kwargs.items() if k not in outputs})
            if outputs:
                outputs = self.named_outputs(outputs)
            where = None if device is None else resolve_device(device)
            results, _ = self.calls.run(inputs, outputs, device=where)
        results = results or {name: inputs[name] for name in self.mutates}
        return next(iter(results.values())) if len(results) == 1 else results

    @cached_property
    def operator(self) -> Operator:
        """The operator in PyTorch, such as `torch.ops.hipkittens.gemm_bf16`; made at its first use.

        Calls of the spec go through it if PyTorch compiles or follows gradients.

        Raises:
            WorkbenchError: the reference's signature is not annotated.
        """
        from workbench.operators import torch_operator

        return torch_operator.make(self, lambda inputs: self.calls.run(inputs)[0], self.beside)

    def traced_names(self, identity: str) -> str:
        """The operator, outputs and inputs by name of the spec with this identity, which is unique to it.

        PyTorch traces functions of texts, and guards compiled code by the text that was passed.
        """
        names = self.operator.name, *self.operator.outputs
        return f"{' '.join(names)}; {' '.join(self.signature.parameters)}"

    # `torch.compiler.assume_constant_result`, which does only this, would import PyTorch here. It marks a
    # method, because before 2.13 PyTorch rejects a dataclass as an argument of a marked function.
    traced_names._dynamo_marked_constant = True  # type: ignore[attr-defined]

    def beside(self, name: str) -> KernelSpec:
        """An operator of the same library, such as the one that `backward` names."""
        if self.library is None:
            raise WorkbenchError(
                f"{self.name}: its gradient needs the operator {name!r} of the same kernel library; this "
                "spec does not belong to a library"
            )
        return self.library[name]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{key}: {p}" for key, p in self.parameters.items())
        signature = ", ".join(str(p) for p in self.signature.parameters.values())
        runs = ", ".join((*self.targets, *further_of_generations(self.targets)))
        parts = [f"<KernelSpec {self.name}({signature}) for {runs}", sizes]
        if self.variants:
            parts.append(f"variants {', '.join(self.variants)}")
        if self.mutates:
            parts.append(f"writes {', '.join(self.mutates)} in place")
        else:
            parts.append(f"gradient by {self.backward or 'autograd of the reference'}")
        return "; ".join(part for part in parts if part) + ">"

    def __reduce__(self) -> Any:
        """Pickled by name, if it is in the library: a spec consists of functions, which cannot be pickled
        otherwise.

        Raises:
            UsageError: the spec is not in a library, or was tuned by hand.
        """
        if self.library is not None and self.name.partition(":")[0] in self.library and "[" not in self.name:
            registered = self.library[self.name]
            if registered is self:
                return operator.getitem, (self.library, self.name)
        raise UsageError(
            f"{self.name} does not belong to a kernel library, so it cannot be pickled by its name; pickle "
            "what you built it from"
        )

    def __deepcopy__(self, memo: object) -> KernelSpec:
        # It is immutable.
        return self

    def located(self, folder: Path, library: Mapping[str, KernelSpec]) -> KernelSpec:
        """The same spec, with its source in `folder`, as a member of `library`."""
        return dataclasses.replace(self, folder=folder, library=library)


class _OfInstance:
    """An attribute that belongs to an instance, or else to its class."""

    def __init__(self, of_instance: Callable[[KernelSpec], Any], of_class: Any) -> None:
        self.of_instance, self.of_class = of_instance, of_class

    def __get__(self, spec: KernelSpec | None, owner: type) -> Any:
        if spec is not None:
            return self.of_instance(spec)
        if self.of_class is None:
            raise AttributeError(owner.__name__)
        return self.of_class


# `help`, `?` and an editor get those of the operator from a spec.
KernelSpec.__doc__ = _OfInstance(lambda spec: describe(spec).text, KernelSpec.__doc__)  # type: ignore[assignment]
KernelSpec.__signature__ = _OfInstance(lambda spec: spec.signature, None)  # type: ignore[attr-defined]
