"""The definition of an operator: the fields of a `KernelSpec`, and everything that follows from them alone.

Nothing here compiles or launches anything.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from workbench.dtypes import is_float
from workbench.errors import ArgumentError, ShapeError, WorkbenchError
from workbench.kernel import Launch
from workbench.operators.gradient import Gradient
from workbench.operators.indexes import Index
from workbench.operators.layouts import by_name
from workbench.operators.parameters import Choice, Parameter, Range, Shape, plain
from workbench.operators.published import Published
from workbench.operators.steps import Space, Step
from workbench.operators.tensors import TensorLike, name_results, without_memory
from workbench.operators.tolerances import Bounds, FlashRule
from workbench.operators.tunables import Tunables
from workbench.operators.variants import Variant
from workbench.targets import TILE_TARGETS
from workbench.toolchain.source_text import source_text

if TYPE_CHECKING:
    import torch


def _nothing(*_: Any) -> dict[str, Any]:
    return {}


def _is_open(size: Any) -> bool:
    """True for a size that PyTorch traces as a symbol."""
    return type(size).__name__ == "SymInt"


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


def is_text(source: str) -> bool:
    """True if a source is C++ itself, not the name of a file."""
    return "\n" in source or source.startswith("#")


@dataclass(frozen=True, kw_only=True, eq=False)
class Definition:
    """The fields of a `KernelSpec`, which describes the class.

    Attributes:
        name: `<category>/<operator>`, equal to the path of its file below `kernels/`, without `.py`.
        source: file of the C++ source relative to `folder`, or the source itself (a text with line breaks, or
            one that begins with `#`).
        entry: name of the kernel in the source, as `Module[...]` takes it: a plain name, a template instance
            such as `"softmax<float>"`, or a mangled name; or a function `(shape) -> name`. A template
            instance need not be instantiated in the source.
        parameters: shape parameters by name, each a `Range` or a `Choice`. A value outside is a ShapeError.
        shapes: shapes worth testing and showing; `shapes[0]` is the default. Missing parameters take their
            own defaults.
        inputs: `(shape, generator) -> {name: tensor or number}`. CPU tensors drawn from `generator` (a
            `torch.Generator` on the CPU), so that a seed gives the same inputs everywhere; the caller moves
            them to the device. Names are those of `reference`'s parameters; one with a default may be absent.
        outputs: `(shape, inputs) -> {name: (dims, dtype)}`: tensors to allocate for the kernel to write.
        reference: the same computation in PyTorch: `(**inputs) -> tensor`, or a dict by output name, or a
            tuple in the order of `outputs`. It computes in the precision of its arguments:
            `verify` calls it with float64 (or float32) inputs for the truth, and with the kernel's own dtypes
            for PyTorch's error. Its result may have a wider dtype than the output's.
        launch: `(shape, arch) -> Launch`; arch is such as `"gfx950"`.
        steps: the launches of an operator that needs several, in order, instead of `entry`, `launch` and
            `arguments`.
        workspace: `(shape, inputs) -> {name: (dims, dtype)}`, or `(dims, dtype, value)` for tensors with an
            initial value: tensors that pass data between the steps. Allocated for each run.
        mutates: names of the inputs that the kernel writes in place. The reference does not modify its own
            copies; it returns their new values after the outputs.
        variants: implementations by name. A shape is run by the one in a tuning table, or else the first that
            fits, or else the spec itself if it has an `entry` or `steps`.
        shape_of: `(**inputs) -> shape` of a call's tensors, by the names of `reference`; raises ShapeError
            for tensors that do not fit together. Its result is then checked against `parameters` and `check`.
        tunables: settings that `wb.tune` may try; the functions here read those that differ from the defaults
            from the shape.
        define: `(shape, arch) -> {macro: value}`: macros that select an instance. Shapes with equal macros
            share one compiled module. A value of None or True gives `-DNAME`.
        arguments: `(shape, tensors) -> {parameter or member name: value}`: the kernel's arguments, where
            `tensors` holds inputs (numbers too) and outputs by name. By default all of them under their own
            names, which is right if the members of the globals struct, or the kernel's parameters, have the
            names of the inputs and outputs; numbers, texts and None for which the kernel has no name are left
            out, since they only choose the instance. None for a pointer or a `gl` is a null pointer.
            `Strided(tensor)` passes a view whose strides the kernel gets in another way.
        check: `(shape, arch) -> None`: raises ShapeError if a combination of parameters is not supported,
            such as a tile that needs more LDS than the target has.
        flops: `(shape) -> int`: floating-point operations of the mathematical definition (2 M N K of a GEMM).
        bytes: `(shape) -> int`: bytes that must move at least once between HBM and the chip.
        tolerances: `{output dtype or output name: Tolerance or (rtol, atol)}`, or a function of the shape
            that returns it if errors grow with a size; other dtypes use `TOLERANCES`.
        flash_rule: `{output name: FlashRule}`: outputs that need another FlashAttention rule, with the
            reason.
        native: `(**inputs)`: PyTorch in the kernel's own precision, such as a fused function in bf16, to
            compare errors with; None for `reference` on the kernel's dtypes.
        backward: name of the operator that differentiates this one. Its inputs have the names of this
            operator's inputs and outputs, and `d<output>` for gradients; its outputs are `d<input>`. Or a
            `Gradient`: a rule that computes them by calls of other operators. None uses autograd of the
            reference.
        hard_inputs: `{description: (shape, generator) -> inputs}`: values at the edge of the operator's
            range, such as large magnitudes or rows that are masked out; tests verify each.
        strided: names of the inputs that the kernels read through their own strides, without a copy for
            views. A call copies other tensors that are not contiguous, and views whose strides the kernels do
            not support.
        nondeterministic: why two runs may differ in bits, such as sums by atomics; "" if they do not.
        tensors: `{"q out": "dtype[batch, queries, heads, dim]"}`: the layout of every input tensor, then of
            every output, with named axes, as in `operators/layouts.py`.
        notes: `{argument or result: description}`, for names that `operators/glossary.py` lacks or describes
            differently.
        indexes: `{tensor of integers: Index("axis that they choose from")}`; each element is checked.
        published: published figures to compare with.
        doc: description of the kernel, one paragraph.
        targets: targets that kernels are compiled for; `check` rejects shapes that one does not support.
        folder: folder of `source`; the registry fills it in.
    """

    name: str
    parameters: Mapping[str, Parameter]
    shapes: Sequence[Shape]
    inputs: Callable[[Shape, torch.Generator], Mapping[str, Any]]
    outputs: Callable[[Shape, Mapping[str, Any]], Mapping[str, TensorLike]]
    reference: Callable[..., Any]
    shape_of: Callable[..., Shape]
    source: str = ""
    entry: str | Callable[[Shape], str] | None = None
    launch: Callable[[Shape, str], Launch] | None = None
    steps: Sequence[Step] = ()
    workspace: Callable[[Shape, Mapping[str, Any]], Mapping[str, Space]] | None = None
    mutates: tuple[str, ...] = ()
    variants: Mapping[str, Variant] = field(default_factory=dict)
    tunables: Tunables = field(default_factory=Tunables)
    define: Callable[[Shape, str], Mapping[str, object]] = _nothing
    arguments: Callable[[Shape, Mapping[str, Any]], Mapping[str, Any]] | None = None
    check: Callable[[Shape, str], None] | None = None
    flops: Callable[[Shape], int] | None = None
    bytes: Callable[[Shape], int] | None = None
    tolerances: Mapping[Any, Bounds | Callable[[Shape], Bounds]] = field(default_factory=dict)
    flash_rule: Mapping[str, FlashRule] = field(default_factory=dict)
    native: Callable[..., Any] | None = None
    backward: str | Gradient | None = None
    hard_inputs: Mapping[str, Callable[[Shape, torch.Generator], Mapping[str, Any]]] = field(
        default_factory=dict
    )
    strided: tuple[str, ...] = ()
    nondeterministic: str = ""
    tensors: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    indexes: Mapping[str, Index] = field(default_factory=dict)
    published: Sequence[Published] = ()
    doc: str = ""
    targets: tuple[str, ...] = TILE_TARGETS
    folder: Path | None = None

    def __post_init__(self) -> None:
        if (self.entry is None) != (self.launch is None):
            raise WorkbenchError(f"{self.name}: entry and launch belong together; give both, or neither")
        if self.entry is not None and self.steps:
            raise WorkbenchError(f"{self.name}: entry and steps are given; steps have entries of their own")
        if self.entry is None and not self.steps and not self.variants:
            raise WorkbenchError(
                f"{self.name}: nothing to launch; expected entry and launch, steps or variants"
            )
        names = [step.name for step in self.steps]
        if len(set(names)) < len(names):
            raise WorkbenchError(f"{self.name}: its steps are {', '.join(names)}; expected different names")
        for attribute, named in (("mutates", self.mutates), ("strided", self.strided)):
            for name in named:
                if name not in self.signature.parameters:
                    raise WorkbenchError(
                        f"{self.name}: {attribute} names {name!r}, which is not an input; "
                        f"the inputs are {', '.join(self.signature.parameters)}"
                    )

    def shape(self, shape: Shape | None = None, *, arch: str | None = None, **values: Any) -> dict[str, Any]:
        """A complete, supported shape from `shape` and `values`; missing parameters take their defaults.

        Without any value the result is `shapes[0]`.

        Raises:
            ShapeError: an unknown parameter, or a value that the kernel does not support.
        """
        requested = {**self.given(shape), **values}
        if not requested and self.shapes:
            requested = dict(self.shapes[0])
        for key in requested:
            if key not in self.parameters:
                raise ShapeError(
                    f"{self.name} has no shape parameter {key!r}; it has {', '.join(self.parameters)}"
                )
        full = {key: plain(requested.get(key, p.first)) for key, p in self.parameters.items()}
        for key, value in full.items():
            if value not in self.parameters[key]:
                raise ShapeError(f"{self.name}: {key} is {value!r}; supported is {self.parameters[key]}")
        full = {key: int(value) if isinstance(value, bool) else value for key, value in full.items()}
        if self.check is not None and arch is not None:
            self.check(full, arch)
        return full

    def symbolic_shape(self, shape: Shape) -> dict[str, Any]:
        """`shape` of sizes that PyTorch may have left open: those within a `Range` stay open, unchecked."""
        open_ = {k: v for k, v in shape.items() if isinstance(self.parameters.get(k), Range) and _is_open(v)}
        if not open_:
            return self.shape(shape)
        full = {key: plain(shape.get(key, p.first)) for key, p in self.parameters.items() if key not in open_}
        return {key: open_[key] if key in open_ else full[key] for key in self.parameters}

    def given(self, shape: Shape | None) -> dict[str, Any]:
        """The values of a shape as they were passed, unchecked.

        Raises:
            ShapeError: the shape is not a mapping from names to values.
        """
        if shape is not None and not isinstance(shape, Mapping):
            example = ", ".join(f"{key!r}: {p.first!r}" for key, p in self.parameters.items())
            raise ShapeError(f"{self.name}: the shape is {shape!r}; expected a dict such as {{{example}}}")
        return dict(shape or {})

    def bind(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The inputs of a call by name, with `reference`'s defaults filled in.

        Raises:
            ArgumentError: too many, too few or unknown arguments.
        """
        inputs = self._bound(args, kwargs)
        for name, (fits, kind) in self._kinds.items():
            if not fits(value := inputs[name]):
                wrap = "; wrap the array with torch.from_numpy" if type(value).__module__ == "numpy" else ""
                raise ArgumentError(
                    f"{self.name}: argument {name!r} is a {type(value).__name__}; expected {kind}{wrap}"
                )
        return inputs

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """`bind` without the check of kinds. Correct calls take a tenth of the time of `Signature.bind`."""
        places, defaults, needed = self._names
        arguments = dict(zip(places, args, strict=False))
        # Written so that PyTorch's compiler accepts it.
        if len(arguments) == len(args) and not any(name in arguments for name in kwargs):
            arguments.update(kwargs)
            inputs = {**defaults, **arguments}
            if len(inputs) == len(defaults) and all(name in arguments for name in needed):
                return inputs
        signature = self.signature
        parameters = signature.parameters.values()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            # If one is misspelt, Python reports another as missing.
            unknown = [name for name in kwargs if name not in signature.parameters]
            why = f"there is no argument {unknown[0]!r}" if unknown else str(error)
            names = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)
            raise ArgumentError(f"{self.name}({names}): {why}") from None
        bound.apply_defaults()
        return dict(bound.arguments)

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], dict[str, Any], tuple[str, ...]]:
        """Names of the arguments that may be positional; all with their defaults; those without one."""
        parameters = self.signature.parameters.values()
        places = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        defaults = {p.name: None if p.default is p.empty else p.default for p in parameters}
        return places, defaults, tuple(p.name for p in parameters if p.default is p.empty)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the reference, which is the operator's."""
        try:
            return inspect.signature(self.reference, eval_str=True)
        except NameError:
            # An annotation that only a type checker can read.
            return inspect.signature(self.reference)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, from the layouts if there are any, else from the outputs for drawn inputs.

        The inputs are drawn without memory if `inputs` does not read their values.
        """
        if self.tensors:
            # No random numbers are drawn, which PyTorch could not do while it traces.
            return tuple(n for n, _ in by_name(self.tensors) if n not in self.signature.parameters)
        import torch

        shape = self.shape()

        def draw() -> tuple[str, ...]:
            return tuple(self.outputs(shape, self.bind(**self.inputs(shape, torch.Generator()))))

        try:
            with without_memory():
                return draw()
        except RuntimeError:
            # Fake tensors have no values to sort, count or list; other faults will raise again.
            return draw()

    @cached_property
    def changing_inputs(self) -> frozenset[str]:
        """Names of the inputs that have the precision of the call: not scales, which are always float32."""
        import torch

        names: set[str] = set()
        flags = [{}, *({n: v} for n, p in self.parameters.items() if isinstance(p, Choice) for v in p.values)]
        for setting in flags:
            try:
                with without_memory():
                    drawn = self.inputs(self.shape({**self.shapes[0], **setting}), torch.Generator())
            except (WorkbenchError, RuntimeError, ValueError):
                # Sizes that do not suit the setting, or values that fake tensors do not have.
                continue
            names |= {n for n, v in drawn.items() if is_float(v, 16)}
        return frozenset(names)

    @cached_property
    def _kinds(self) -> dict[str, tuple[Callable[[Any], bool], str]]:
        """By argument: the test that a value is of its kind, and the kind in words."""
        import torch

        tests: dict[Any, tuple[Callable[[Any], bool], str]] = {
            torch.Tensor: (lambda value: isinstance(value, torch.Tensor), "a torch tensor"),
            str: (lambda value: isinstance(value, str), "a text"),
            # Anything that counts as an integer: NumPy's, PyTorch's symbolic ones. For a number that is left
            # open, PyTorch's compiler can trace `isinstance`, but not `hasattr`.
            int: (lambda value: isinstance(value, int) or hasattr(value, "__index__"), "an integer"),
            bool: (lambda value: isinstance(value, bool) or hasattr(value, "__bool__"), "True or False"),
            float: (lambda value: isinstance(value, float) or hasattr(value, "__float__"), "a number"),
        }
        checks = {}
        for p in self.signature.parameters.values():
            members = get_args(p.annotation) or (p.annotation,)
            kinds = [tests[member] for member in members if member in tests]
            if len(kinds) == 1:
                ((fits, kind),) = kinds
                checks[p.name] = (
                    (_or_none(fits), f"{kind} or None") if type(None) in members else (fits, kind)
                )
        return checks

    def active_steps(self, shape: Shape, arch: str) -> tuple[Step, ...]:
        """The launches that a shape needs, in order; the only one of a spec without steps is named ""."""
        if self.entry is not None and self.launch is not None:
            return (Step("", self.entry, self.launch, self.arguments),)
        return tuple(step for step in self.steps if step.when is None or step.when(shape, arch))

    def source_of(self, step: Step) -> str:
        """The source of a step: its own, or else the operator's."""
        return self.source if step.source is None else step.source

    @property
    def sources(self) -> tuple[str, ...]:
        """Every source, in the form of `source`."""
        return tuple(dict.fromkeys((self.source, *map(self.source_of, self.steps))))

    def path_of(self, source: str) -> Path | None:
        """File of a source; None if the source is given as text."""
        return None if is_text(source) else (self.folder or Path()) / source

    @property
    def source_path(self) -> Path | None:
        """File of the source; None if the source is given as text."""
        return self.path_of(self.source)

    def read_source(self, source: str | None = None) -> str:
        """The C++ of a source; None for the operator's own.

        Raises:
            WorkbenchError: the file cannot be read.
        """
        source = self.source if source is None else source
        path = self.path_of(source)
        if path is None:
            return source
        try:
            return source_text(path.read_bytes())
        except OSError as error:
            raise WorkbenchError(
                f"{self.name}: the source {path} cannot be read: {error.strerror}"
            ) from error

    def named_outputs(self, outputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """A caller's tensors for outputs by name: `out=` is the only output, or all of them in order.

        Raises:
            ArgumentError: the number of tensors differs from the number of outputs.
        """
        if "out" not in outputs:
            return outputs
        names = self.output_names
        if "out" in names and not isinstance(outputs["out"], (tuple, list, Mapping)):
            return outputs
        rest = {name: tensor for name, tensor in outputs.items() if name != "out"}
        out = outputs["out"]
        if isinstance(out, Mapping):
            return {**rest, **out}
        tensors = out if isinstance(out, (tuple, list)) else (out,)
        if len(tensors) != len(names):
            raise ArgumentError(
                f"{self.name}: out= has {len(tensors)} of its {len(names)} outputs; expected a tensor for "
                f"each of {', '.join(names) or 'none'}"
            )
        return {**rest, **dict(zip(names, tensors, strict=True))}

    def expected(self, inputs: Mapping[str, Any], outputs: Iterable[str]) -> dict[str, torch.Tensor]:
        """`reference` on `inputs`, its results by name: the outputs, then the inputs written in place."""
        return name_results(self.reference(**inputs), [*outputs, *self.mutates], self.name)

    def empty_outputs(self, tensors: Mapping[str, Any], error: ShapeError) -> dict[str, torch.Tensor]:
        """Outputs of a call on no rows, for which there is nothing to compute.

        Their sizes are those of the reference's results, their dtypes those of a call on one row.

        Raises:
            ShapeError: `error`, if there is something to compute, or the operator has no such call.
        """
        import torch

        if self.mutates:
            raise error
        row = {
            name: value.new_zeros([size or 1 for size in value.shape])
            if isinstance(value, torch.Tensor) and value.numel() == 0
            else value
            for name, value in tensors.items()
        }
        try:
            expected = self.outputs(self.symbolic_shape(self.shape_of(**row)), row)
            results = self.expected(tensors, expected)
        except (WorkbenchError, RuntimeError, ValueError, IndexError, TypeError):
            raise error from None
        if any(tensor.numel() for tensor in results.values()):
            raise error
        return {n: results[n].new_empty(results[n].shape, dtype=dtype) for n, (_, dtype) in expected.items()}

    def work(self, shape: Shape | None = None) -> dict[str, int]:
        """`{"flops": ..., "bytes": ...}` of a shape, as far as the spec has them."""
        full = self.shape(shape)
        counts = {}
        if self.flops is not None:
            counts["flops"] = int(self.flops(full))
        if self.bytes is not None:
            counts["bytes"] = int(self.bytes(full))
        return counts
