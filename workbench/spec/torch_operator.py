"""An operator as PyTorch knows it: a `torch.library` operator with schema, fake tensors and gradient.

`torch.ops.hipkittens.attention_forward` is `kernels["attention/forward"]`. The schema comes from the
annotations of the reference's signature and from `mutates`, fake tensors from `outputs`. The gradient is the
operator that `backward` names, or autograd of the reference. The latter is an operator of its own, into which
PyTorch does not look, since a reference may ask for values (`tolist`, `unique`) that tracing has none of.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

from workbench.errors import WorkbenchError
from workbench.spec.definition import Definition
from workbench.spec.tensors import name_results

if TYPE_CHECKING:
    from torch._ops import OpOverload

NAMESPACE = "hipkittens"

_TYPES = {torch.Tensor: "Tensor", int: "int", float: "float", bool: "bool", str: "str"}

_library = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
_names: dict[str, int] = {}


class Differentiating(Protocol):
    """An operator that gives gradients: by name its inputs, what it makes of them, and how it is called."""

    @property
    def operator(self) -> Operator: ...

    @property
    def signature(self) -> inspect.Signature: ...


@dataclass(frozen=True)
class Operator:
    """One operator of `torch.ops.hipkittens`.

    Attributes:
        name: in `torch.ops.hipkittens`.
        overload: what `torch.library.opcheck` takes.
        outputs: names of what it returns, in order.
    """

    name: str
    overload: OpOverload[..., Any]
    outputs: tuple[str, ...]


def make(
    spec: Definition,
    run: Callable[[dict[str, Any]], Mapping[str, torch.Tensor]],
    backward: Callable[[], Differentiating] | None,
) -> Operator:
    """Registers a spec with PyTorch.

    Args:
        run: runs it on inputs by name, and gives the outputs.
        backward: gives the operator that differentiates it; autograd of the reference does where it is None.

    Raises:
        WorkbenchError: the reference's signature has no annotation, or one that no schema has.
    """
    parameters = list(spec.signature.parameters)
    outputs = _output_names(spec)
    name = _free_name(spec.name)
    result = "Tensor" if len(outputs) == 1 else f"({', '.join('Tensor' for _ in outputs)})"
    arguments = ", ".join(_argument(spec, p) for p in spec.signature.parameters.values())
    _library.define(f"{name}({arguments}) -> {result}", tags=(torch.Tag.pt2_compliant_tag,))  # type: ignore[no-untyped-call]
    qualified = f"{NAMESPACE}::{name}"

    def kernel(*args: Any) -> Any:
        made = run(spec.bind(*args))
        return _returned([made[each] for each in outputs])

    def fake(*args: Any) -> Any:
        inputs = spec.bind(*args)
        made = spec.outputs(spec.shape(spec.shape_of(**inputs)), inputs)
        if tuple(made) != outputs:
            # PyTorch's dispatcher does not survive another number of results than the schema has.
            raise WorkbenchError(
                f"{spec.name}: outputs are {', '.join(made)} here and {', '.join(outputs)} for its default "
                "shape; expected the same for all inputs, empty where there is nothing to give"
            )
        place = next((v.device for v in args if isinstance(v, torch.Tensor)), torch.device("cpu"))
        return _returned(
            [torch.empty(tuple(dims), dtype=dtype, device=place) for dims, dtype in made.values()]
        )

    torch.library.impl(qualified, "CompositeExplicitAutograd", kernel, lib=_library)
    torch.library.register_fake(qualified, fake, lib=_library)
    if not spec.mutates:
        gradient = _Gradient(spec, tuple(parameters), outputs, backward, f"{name}_by_reference")
        if backward is None:
            gradient.define(arguments)
        torch.library.register_autograd(
            qualified, gradient.backward, setup_context=gradient.setup, lib=_library
        )
    overload = getattr(torch.ops.hipkittens, name).default
    return Operator(name, overload, outputs)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def names_of(spec: Differentiating) -> str:
    """A spec's operator and its outputs by name; made beside what PyTorch traces, which takes only texts."""
    return " ".join((spec.operator.name, *spec.operator.outputs))


def call(spec: Differentiating, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The outputs by name of a call through PyTorch's dispatcher."""
    name, *outputs = names_of(spec).split(" ")
    made = getattr(torch.ops.hipkittens, name)(*args, **kwargs)
    return dict(zip(outputs, (made,) if len(outputs) == 1 else made or (), strict=True))


def needed(values: Sequence[Any]) -> bool:
    """Whether a call has to go through PyTorch's dispatcher: it traces, or follows gradients."""
    if torch.compiler.is_compiling():
        return True
    grad = torch.is_grad_enabled()
    for value in values:
        if isinstance(value, torch.Tensor):
            plain = type(value) in (torch.Tensor, torch.nn.Parameter)
            if not plain or (grad and value.requires_grad):
                return True
    return False


def _returned(made: list[torch.Tensor]) -> Any:
    return made[0] if len(made) == 1 else tuple(made) if made else None


def _free_name(spec: str) -> str:
    """A spec's name as an identifier; specs that were changed have the name of what they come from."""
    name = "".join(c if c.isalnum() else "_" for c in spec)
    _names[name] = count = _names.get(name, 0) + 1
    return name if count == 1 else f"{name}_{count}"


def _output_names(spec: Definition) -> tuple[str, ...]:
    """Names of the outputs, found without memory where `inputs` does not look at the values that it draws."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    shape = spec.shape()

    def draw() -> tuple[str, ...]:
        return tuple(spec.outputs(shape, spec.bind(**spec.inputs(shape, torch.Generator()))))

    try:
        with FakeTensorMode():
            return draw()
    except RuntimeError:
        # Fake tensors have no values to sort, count or list; what fails for another reason fails again.
        return draw()


def _argument(spec: Definition, parameter: inspect.Parameter) -> str:
    """One argument of the schema, such as "float eps=1e-05"."""
    wanted = parameter.annotation
    members = typing.get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,)
    kinds = [_TYPES.get(member) for member in members if member is not type(None)]
    if len(kinds) != 1 or kinds[0] is None:
        raise WorkbenchError(
            f"{spec.name}: parameter {parameter.name!r} of its reference is annotated "
            f"{'nothing' if wanted is parameter.empty else wanted}; expected torch.Tensor, int, float, bool "
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
class _Gradient:
    """How one operator is differentiated."""

    spec: Definition
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]
    operator: Callable[[], Differentiating] | None
    by_reference: str

    def define(self, arguments: str) -> None:
        """Registers autograd of the reference; `arguments` are the operator's own in its schema."""
        _library.define(  # type: ignore[no-untyped-call]
            f"{self.by_reference}({arguments}, *, Tensor[] upstream, str wanted) -> Tensor[]",
            tags=(torch.Tag.pt2_compliant_tag,),
        )
        qualified = f"{NAMESPACE}::{self.by_reference}"

        def fake(*args: Any, upstream: Sequence[torch.Tensor], wanted: str) -> list[torch.Tensor]:
            inputs = self.spec.bind(*args)
            return [inputs[name].new_empty(inputs[name].shape) for name in wanted.split()]

        torch.library.impl(qualified, "CompositeExplicitAutograd", self._differentiate, lib=_library)
        torch.library.register_fake(qualified, fake, lib=_library)

    def setup(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        made = (output,) if len(self.outputs) == 1 else tuple(output)
        tensors = {i: value for i, value in enumerate((*inputs, *made)) if isinstance(value, torch.Tensor)}
        ctx.save_for_backward(*tensors.values())
        ctx.places = tuple(tensors)
        ctx.rest = tuple(None if i in tensors else value for i, value in enumerate(inputs))
        if self.operator is not None:
            taken = self.operator().signature.parameters
            fixed = [t for name, t in zip(self.outputs, made, strict=True) if f"d{name}" not in taken]
            ctx.mark_non_differentiable(*fixed)

    def backward(self, ctx: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        values = [*ctx.rest, *(None for _ in self.outputs)]
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            values[place] = tensor
        inputs = dict(zip(self.parameters, values, strict=False))
        made = dict(zip(self.outputs, values[len(self.parameters) :], strict=True))
        upstream = {
            # Gradients of sums come expanded, with strides of zero, which kernels do not take.
            name: torch.zeros_like(made[name]) if grad is None else grad.contiguous()
            for name, grad in zip(self.outputs, grads, strict=True)
        }
        wanted = [name for name, need in zip(self.parameters, ctx.needs_input_grad, strict=False) if need]
        if self.operator is not None:
            found = self._by_operator(self.operator(), inputs, made, upstream)
        else:
            found = self._by_reference(inputs, upstream, wanted)
        # Of arguments that the call left to their defaults, PyTorch expects no gradient.
        given = self.parameters[: len(ctx.needs_input_grad)]
        return tuple(found.get(name) if name in wanted else None for name in given)

    def _by_operator(
        self,
        other: Differentiating,
        inputs: Mapping[str, Any],
        made: Mapping[str, Any],
        upstream: Mapping[str, torch.Tensor],
    ) -> Mapping[str, torch.Tensor | None]:
        known = {**inputs, **made, **{f"d{name}": grad for name, grad in upstream.items()}}
        taken = other.signature.parameters
        missing = [n for n, p in taken.items() if n not in known and p.default is p.empty]
        if missing:
            raise WorkbenchError(
                f"{self.spec.name}: its backward takes {', '.join(missing)}, and no input, output "
                "or gradient has this name (of output `o` it is `do`)"
            )
        grads = call(other, (), {name: known[name] for name in taken if name in known})
        return {name.removeprefix("d"): grad for name, grad in grads.items()}

    def _by_reference(
        self, inputs: Mapping[str, Any], upstream: Mapping[str, torch.Tensor], wanted: Sequence[str]
    ) -> Mapping[str, torch.Tensor | None]:
        given = [inputs[name] for name in self.parameters]
        gradient = getattr(torch.ops.hipkittens, self.by_reference)
        found = gradient(*given, upstream=list(upstream.values()), wanted=" ".join(wanted))
        return dict(zip(wanted, found, strict=True))

    def _differentiate(self, *args: Any, upstream: Sequence[torch.Tensor], wanted: str) -> list[torch.Tensor]:
        """Gradients of the inputs that `wanted` names, zeros where outputs do not depend on one."""
        inputs, known = self.spec.bind(*args), dict(zip(self.outputs, upstream, strict=True))
        with torch.enable_grad():
            leaves = {name: inputs[name].detach().requires_grad_() for name in wanted.split()}
            again = name_results(self.spec.reference(**{**inputs, **leaves}), self.outputs, self.spec.name)
            through = {n: t for n, t in again.items() if t.requires_grad}
            grads = torch.autograd.grad(
                tuple(through.values()),
                tuple(leaves.values()),
                tuple(known[name].to(t.dtype) for name, t in through.items()),
                allow_unused=True,
            )
        return [
            torch.zeros_like(leaf, memory_format=torch.contiguous_format)
            if grad is None
            else grad.clone(memory_format=torch.contiguous_format)
            for leaf, grad in zip(leaves.values(), grads, strict=True)
        ]
