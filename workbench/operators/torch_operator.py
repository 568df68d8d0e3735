"""An operator in PyTorch: a `torch.library` operator with schema, fake tensors and gradient.

`torch.ops.hipkittens.attention_forward` is `kernels["attention/forward"]`. The schema comes from the
annotations of the reference's signature and from `mutates`, fake tensors from `outputs`. The gradient is the
operator that `backward` names, a rule made of other operators, or autograd of the reference. The last is a
separate operator, into which PyTorch does not look, since a reference may read values (`tolist`, `unique`),
which do not exist while tracing.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd.function import _SingleLevelFunction

from workbench.errors import ArgumentError, ShapeError, WorkbenchError
from workbench.operators import autocast, call_events
from workbench.operators.call import is_empty
from workbench.operators.definition import Definition
from workbench.operators.functions import NAMESPACE
from workbench.operators.gradient import Gradient
from workbench.operators.tensors import TensorLike, name_results

if TYPE_CHECKING:
    from torch._ops import OpOverload

_TYPES = {torch.Tensor: "Tensor", int: "int", float: "float", bool: "bool", str: "str"}

_library = torch.library.Library(NAMESPACE, "FRAGMENT")
_names: dict[str, int] = {}


class Differentiating(Protocol):
    """An operator that computes gradients: its inputs and results by name, and its call."""

    @property
    def operator(self) -> Operator: ...

    @property
    def signature(self) -> inspect.Signature: ...

    @property
    def identity(self) -> str: ...

    def traced_names(self, identity: str) -> str: ...


@dataclass(frozen=True)
class Operator:
    """One operator of `torch.ops.hipkittens`.

    Attributes:
        name: name in `torch.ops.hipkittens`.
        overload: the overload, for `torch.library.opcheck`.
        outputs: names of its results, in order.
    """

    name: str
    overload: OpOverload[..., Any]
    outputs: tuple[str, ...]


def make(
    spec: Definition,
    run: Callable[[dict[str, Any]], Mapping[str, torch.Tensor]],
    find: Callable[[str], Differentiating],
) -> Operator:
    """Registers a spec with PyTorch.

    Args:
        run: runs it on inputs by name, and returns the outputs.
        find: returns an operator by name, for differentiation.

    Raises:
        WorkbenchError: the reference's signature has no annotations, or one that no schema supports.
    """
    parameters = list(spec.signature.parameters)
    outputs = spec.output_names
    name = _free_name(spec.name)
    result = "Tensor" if len(outputs) == 1 else f"({', '.join('Tensor' for _ in outputs)})"
    arguments = ", ".join(_argument(spec, p) for p in spec.signature.parameters.values())
    _library.define(f"{name}({arguments}) -> {result}", tags=(torch.Tag.pt2_compliant_tag,))
    qualified = f"{NAMESPACE}::{name}"

    def kernel(*args: Any) -> Any:
        results = run(spec.bind(*args))
        return _returned([results[output] for output in outputs])

    def fake(*args: Any) -> Any:
        inputs = spec.bind(*args)
        check_one_place(spec.name, inputs)
        specs = fake_outputs(spec, inputs)
        if tuple(specs) != outputs:
            # PyTorch's dispatcher crashes if the number of results differs from the schema's.
            raise WorkbenchError(
                f"{spec.name}: outputs are {', '.join(specs)} here and {', '.join(outputs)} for its default "
                "shape; expected the same for all inputs, empty if there is nothing to return"
            )
        place = next((v.device for v in inputs.values() if isinstance(v, torch.Tensor)), torch.device("cpu"))
        return _returned(
            [torch.empty(tuple(dims), dtype=dtype, device=place) for dims, dtype in specs.values()]
        )

    torch.library.impl(qualified, "CompositeExplicitAutograd", kernel, lib=_library)
    torch.library.register_fake(qualified, fake, lib=_library)
    overload = getattr(torch.ops.hipkittens, name).default
    torch.library.register_vmap(qualified, partial(_vmap, overload, len(outputs)), lib=_library)
    for kind in ("CPU", "CUDA"):
        _library.impl(name, partial(_under_autocast, spec, overload, kind), f"Autocast{kind}")
    if not spec.mutates:
        gradient = _Differentiation(spec, tuple(parameters), outputs, find, f"{name}_by_reference")
        if spec.backward is None:
            gradient.define(arguments)
        function = gradient.function(overload)

        def differentiated(*args: Any) -> Any:
            if _follows(args):
                # Functorch calls this once per level.
                with enable_single_level_autograd_function():
                    return function.apply(*spec.bind(*args).values())
            with torch._C._AutoDispatchBelowAutograd():
                return overload(*args)

        _library.impl(name, differentiated, "Autograd")
    return Operator(name, overload, outputs)


def _follows(values: Sequence[Any]) -> bool:
    """True if a call needs a gradient, backward or forward."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return True
    forward = torch.autograd.forward_ad
    return forward._current_level >= 0 and any(forward.unpack_dual(t).tangent is not None for t in tensors)


def _vmap(overload: Any, outputs: int, info: Any, in_dims: Sequence[int | None], *args: Any) -> Any:
    """`vmap` of an operator: a call for each element of the batch."""
    results = [
        overload(*(v if dim is None else v.select(dim, i) for v, dim in zip(args, in_dims, strict=False)))
        for i in range(info.batch_size)
    ]
    if outputs == 0:
        return None, None
    if outputs == 1:
        return torch.stack(results), 0
    return tuple(map(torch.stack, zip(*results, strict=True))), (0,) * outputs


def _under_autocast(spec: Definition, overload: Any, kind: str, *args: Any) -> Any:
    lower = torch.get_autocast_dtype(kind.lower())
    key = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autocast{kind}"))
    with torch._C._ExcludeDispatchKeyGuard(key):
        return overload(*autocast.cast(spec, spec.bind(*args), lower).values())


def check_one_place(name: str, inputs: Mapping[str, Any]) -> None:
    """Checks that tensors on "meta" are not mixed with others.

    Raises:
        ArgumentError: only some tensors are on "meta"; the message names two and their devices.
    """
    places = {n: v.device.type for n, v in inputs.items() if isinstance(v, torch.Tensor)}
    meta = [n for n, place in places.items() if place == "meta"]
    rest = [n for n, place in places.items() if place != "meta"]
    if meta and rest:
        raise ArgumentError(
            f"{name}: argument {meta[0]!r} is a tensor on meta and {rest[0]!r} one on {places[rest[0]]}; "
            "expected all of them on meta, or none"
        )


def call(spec: Differentiating, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The outputs by name of a call through PyTorch's dispatcher; tensors passed for outputs are written.

    Raises:
        ArgumentError: outputs are passed, and the call follows gradients, or one does not fit.
    """
    makes, takes = spec.traced_names(spec.identity).split("; ")
    name, *outputs = makes.split(" ")
    inputs = takes.split(" ")
    destinations = {key: value for key, value in kwargs.items() if key not in inputs}
    kwargs = {key: value for key, value in kwargs.items() if key in inputs}
    results = getattr(torch.ops.hipkittens, name)(*args, **kwargs)
    tensors = dict(zip(outputs, (results,) if len(outputs) == 1 else results or (), strict=True))
    return _written(name, (*args, *kwargs.values()), tensors, destinations) if destinations else tensors


def needed(values: Sequence[Any]) -> bool:
    """True if a call must go through PyTorch's dispatcher, which traces, casts and differentiates."""
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
        return True
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return True
    if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
        return True
    grad = torch.is_grad_enabled()
    real = meta = False
    for value in values:
        if isinstance(value, torch.Tensor):
            kind = type(value)
            if kind is not torch.Tensor and kind is not torch.nn.Parameter:
                return True
            if grad and value.requires_grad:
                return True
            real, meta = real or not value.is_meta, True
    return meta and not real


def fake_outputs(spec: Definition, inputs: Mapping[str, Any]) -> Mapping[str, TensorLike]:
    """Outputs of a call from its inputs' metadata; sizes that PyTorch has left open stay open."""
    try:
        shape = spec.symbolic_shape(spec.shape_of(**inputs))
        call_events.tell(call_events.Called(spec.name, shape))
        return spec.outputs(shape, inputs)
    except ShapeError as error:
        if not is_empty(inputs):
            raise
        empty = spec.empty_outputs(inputs, error)
        return {name: (tensor.shape, tensor.dtype) for name, tensor in empty.items()}


def _written(
    name: str, inputs: Sequence[Any], results: Mapping[str, torch.Tensor], destinations: Mapping[str, Any]
) -> dict[str, torch.Tensor]:
    """Outputs in the caller's tensors: `out=` of a call that went through PyTorch's dispatcher.

    Raises:
        ArgumentError: the call follows gradients, or an output has another name, dtype or shape.
    """
    if torch.is_grad_enabled() and any(isinstance(v, torch.Tensor) and v.requires_grad for v in inputs):
        raise ArgumentError(
            f"{name}: a call with out= is not differentiated, and an input requires a gradient; call it "
            "without out=, or under torch.no_grad()"
        )
    rest = dict(destinations)
    out = rest.pop("out", None)
    if isinstance(out, Mapping):
        rest |= out
    elif out is not None:
        rest |= dict(zip(results, out if isinstance(out, (tuple, list)) else (out,), strict=False))
    for output, tensor in rest.items():
        if (
            output not in results
            or tensor.shape != results[output].shape
            or tensor.dtype != results[output].dtype
        ):
            expected = ", ".join(f"{n} {tuple(t.shape)} {t.dtype}" for n, t in results.items())
            raise ArgumentError(
                f"{name}: output {output!r} is {tuple(tensor.shape)} {tensor.dtype}; expected {expected}"
            )
        tensor.copy_(results[output])
    return {**results, **rest}


def _returned(results: list[torch.Tensor]) -> Any:
    return results[0] if len(results) == 1 else tuple(results) if results else None


def _free_name(spec: str) -> str:
    """A spec's name as an identifier; a modified spec has its original's name."""
    name = "".join(c if c.isalnum() else "_" for c in spec)
    _names[name] = count = _names.get(name, 0) + 1
    return name if count == 1 else f"{name}_{count}"


def _argument(spec: Definition, parameter: inspect.Parameter) -> str:
    """One argument of the schema, such as "float eps=1e-05"."""
    kind = parameter.annotation
    members = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    kinds = [_TYPES.get(member) for member in members if member is not type(None)]
    if len(kinds) != 1 or kinds[0] is None:
        raise WorkbenchError(
            f"{spec.name}: parameter {parameter.name!r} of its reference is annotated "
            f"{'nothing' if kind is parameter.empty else kind}; expected torch.Tensor, int, float, bool "
            "or str, each perhaps with | None"
        )
    text = kinds[0]
    if parameter.name in spec.mutates:
        text += f"({chr(ord('a') + spec.mutates.index(parameter.name))}!)"
    if len(members) > 1:
        text += "?"
    text += f" {parameter.name}"
    if parameter.default is not parameter.empty:
        default = parameter.default
        text += f'="{default}"' if isinstance(default, str) else f"={default}"
    return text


@dataclass(frozen=True)
class _Differentiation:
    """Derivative of one operator, as PyTorch registers it."""

    spec: Definition
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]
    find: Callable[[str], Differentiating]
    by_reference: str

    def define(self, arguments: str) -> None:
        """Registers autograd of the reference; `arguments` are those of the operator in its schema."""
        _library.define(
            f"{self.by_reference}({arguments}, *, Tensor[] upstream, str wanted) -> Tensor[]",
            tags=(torch.Tag.pt2_compliant_tag,),
        )
        qualified = f"{NAMESPACE}::{self.by_reference}"

        def fake(*args: Any, upstream: Sequence[torch.Tensor], wanted: str) -> list[torch.Tensor]:
            inputs = self.spec.bind(*args)
            return [inputs[name].new_empty(inputs[name].shape) for name in wanted.split()]

        torch.library.impl(qualified, "CompositeExplicitAutograd", self._differentiate, lib=_library)
        torch.library.register_fake(qualified, fake, lib=_library)

    @property
    def takes(self) -> frozenset[str]:
        """Names of the inputs, outputs and `d<output>` that backward needs."""
        how = self.spec.backward
        if isinstance(how, Gradient):
            return frozenset(how.takes)
        if how is not None:
            return frozenset(self.find(how).signature.parameters)
        return frozenset((*self.parameters, *(f"d{name}" for name in self.outputs)))

    def function(self, overload: Any) -> Any:
        """The operator as a function for autograd, on one level of functorch's transforms."""
        name = self.spec.name

        def forward(*args: Any) -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                return overload(*args)

        def jvp(ctx: Any, *tangents: Any) -> Any:
            raise NotImplementedError(
                f"{name} has no rule of forward-mode differentiation (jvp, jacfwd, hessian); use reverse "
                "mode: torch.func.vjp, grad or jacrev"
            )

        methods = {"forward": forward, "setup_context": self.setup, "backward": self.backward}
        body = {key: staticmethod(method) for key, method in {**methods, "jvp": jvp}.items()}
        return type(f"{self.by_reference}_function", (_SingleLevelFunction,), body)

    def setup(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        outputs = (output,) if len(self.outputs) == 1 else tuple(output)
        takes = self.takes
        values = zip((*self.parameters[: len(inputs)], *self.outputs), (*inputs, *outputs), strict=True)
        tensors = {k: v for k, v in values if k in takes and isinstance(v, torch.Tensor)}
        ctx.save_for_backward(*tensors.values())
        ctx.set_materialize_grads(False)
        ctx.saved_names = tuple(tensors)
        arguments = zip(self.parameters, inputs, strict=False)
        ctx.rest = {name: None if isinstance(v, torch.Tensor) else v for name, v in arguments}
        ctx.layouts = tuple((tensor.shape, tensor.dtype, tensor.device) for tensor in outputs)
        ctx.mark_non_differentiable(
            *(t for name, t in zip(self.outputs, outputs, strict=True) if f"d{name}" not in takes)
        )

    def backward(self, ctx: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        values = {**ctx.rest, **dict(zip(ctx.saved_names, ctx.saved_tensors, strict=True))}
        upstream = {
            # Gradients of sums are expanded, with strides of zero, which kernels do not accept.
            name: torch.zeros(shape, dtype=dtype, device=device) if grad is None else grad.contiguous()
            for name, (shape, dtype, device), grad in zip(self.outputs, ctx.layouts, grads, strict=True)
        }
        required = [name for name, need in zip(self.parameters, ctx.needs_input_grad, strict=False) if need]
        how = self.spec.backward
        if how is None:
            gradients = self._by_reference(values, upstream, required)
        else:
            values |= {f"d{name}": grad for name, grad in upstream.items()}
            if isinstance(how, Gradient):
                gradients = self._by_rule(how, values, frozenset(required))
            else:
                gradients = self._by_operator(self.find(how), values)
        without = [name for name in required if name not in gradients]
        if without:
            raise NotImplementedError(
                f"{self.spec.name}: {how} gives no gradient of {', '.join(without)}; detach inputs that "
                "need none"
            )
        # PyTorch expects no gradient of arguments that the call left at their defaults.
        parameters = self.parameters[: len(ctx.needs_input_grad)]
        return tuple(gradients.get(name) if name in required else None for name in parameters)

    def _by_rule(
        self, how: Gradient, values: Mapping[str, Any], required: frozenset[str]
    ) -> Mapping[str, torch.Tensor | None]:
        def called(operator: str, *args: Any, **kwargs: Any) -> Any:
            if operator not in how.by:
                raise WorkbenchError(
                    f"{self.spec.name}: its gradient's rule calls {operator!r}; expected one of those that "
                    f"it says: {how}"
                )
            results = call(self.find(operator), args, kwargs)
            return next(iter(results.values())) if len(results) == 1 else results

        return how.rule(called, required, **{name: values.get(name) for name in how.takes})

    def _by_operator(
        self, other: Differentiating, values: Mapping[str, Any]
    ) -> Mapping[str, torch.Tensor | None]:
        parameters = other.signature.parameters
        missing = [n for n, p in parameters.items() if n not in values and p.default is p.empty]
        if missing:
            raise WorkbenchError(
                f"{self.spec.name}: its backward takes {', '.join(missing)}, and no input, output "
                "or gradient has this name (of output `o` it is `do`)"
            )
        grads = call(other, (), {name: values[name] for name in parameters if name in values})
        return {name.removeprefix("d"): grad for name, grad in grads.items()}

    def _by_reference(
        self, inputs: Mapping[str, Any], upstream: Mapping[str, torch.Tensor], required: Sequence[str]
    ) -> Mapping[str, torch.Tensor | None]:
        arguments = [inputs[name] for name in self.parameters if name in inputs]
        gradient = getattr(torch.ops.hipkittens, self.by_reference)
        gradients = gradient(*arguments, upstream=list(upstream.values()), wanted=" ".join(required))
        return dict(zip(required, gradients, strict=True))

    def _differentiate(self, *args: Any, upstream: Sequence[torch.Tensor], wanted: str) -> list[torch.Tensor]:
        """Gradients of the inputs that `wanted` names, zeros where outputs do not depend on one."""
        inputs, by_output = self.spec.bind(*args), dict(zip(self.outputs, upstream, strict=True))
        with torch.enable_grad():
            leaves = {name: inputs[name].detach().requires_grad_() for name in wanted.split()}
            again = name_results(self.spec.reference(**{**inputs, **leaves}), self.outputs, self.spec.name)
            through = {n: t for n, t in again.items() if t.requires_grad}
            grads = torch.autograd.grad(
                tuple(through.values()),
                tuple(leaves.values()),
                tuple(by_output[name].to(t.dtype) for name, t in through.items()),
                allow_unused=True,
            )
        return [
            torch.zeros_like(leaf, memory_format=torch.contiguous_format)
            if grad is None
            else grad.clone(memory_format=torch.contiguous_format)
            for leaf, grad in zip(leaves.values(), grads, strict=True)
        ]
