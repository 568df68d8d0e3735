"""Documentation of an operator, made from its spec alone; `help` prints it.

Layouts come from `tensors`, sizes and settings from `parameters` and `check`, meanings of arguments from
`notes` and the glossary, gradients from `backward`.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any

from workbench.errors import ShapeError
from workbench.operators.definition import Definition
from workbench.operators.functions import function_name
from workbench.operators.glossary import meaning
from workbench.operators.gradient import Gradient
from workbench.operators.layouts import by_name, layouts
from workbench.operators.parameters import Choice, Parameter, Range
from workbench.targets import further_of_generations

WIDTH = 100


@dataclass(frozen=True)
class Line:
    """One argument, result or size in an operator's description.

    Attributes:
        name: name of the argument, result or size.
        layout: axes of a tensor with its element types, such as "[batch, heads] of bf16 or fp16"; "" for
            other values.
        text: its meaning, its possible values, and the meaning of None.
    """

    name: str
    layout: str
    text: str

    def __str__(self) -> str:
        description = ": ".join(part for part in (self.layout, self.text) if part)
        return f"{self.name}: {description}."


@dataclass(frozen=True)
class Description:
    """An operator in words.

    Attributes:
        function: name of the function in `workbench.ops`.
        summary: summary of the computation.
        formula: the computation as the reference writes it; "" if the summary contains it.
        arguments, results, sizes: one line for each.
        gradient: the operator or rule that differentiates it.
        raises: errors and their conditions.
        source: path of the source, and the operator's other names.
    """

    function: str
    summary: str
    formula: str
    arguments: tuple[Line, ...]
    results: tuple[Line, ...]
    sizes: tuple[Line, ...]
    gradient: str
    raises: tuple[str, ...]
    source: str

    @property
    def text(self) -> str:
        """The docstring of the operator's function."""
        parts = [*_wrapped(self.summary), ""]
        if self.formula:
            parts += [*_wrapped(self.formula), ""]
        for title, lines in (
            ("Args", self.arguments),
            ("Returns", self.results),
            ("Sizes", self.sizes),
            ("Gradients", (self.gradient,)),
            ("Raises", self.raises),
            ("Source", (self.source,)),
        ):
            parts += [f"{title}:", *(row for line in lines for row in _wrapped(str(line), "    ")), ""]
        return "\n".join(parts[:-1])


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )


@cache
def describe(spec: Definition) -> Description:
    """Everything that the spec says."""
    parameters = spec.signature.parameters
    tensors = dict(by_name(spec.tensors))
    formula = inspect.getdoc(spec.reference) or ""
    formula = " ".join(formula.partition("\n\n")[0].split())
    further = further_of_generations(spec.targets)
    runs = f", and runs on {', '.join(further)}" if further else ""
    summary = " ".join(spec.doc.split())
    return Description(
        function_name(spec.name),
        summary,
        "" if formula in summary or summary in formula else formula,
        tuple(_argument(spec, name, tensors) for name in parameters),
        tuple(_result(spec, name, tensors) for name in results_of(spec)),
        tuple(_sizes(spec)),
        _gradient(spec),
        tuple(_raises(spec)),
        f"kernels/{spec.name}.py for {' and '.join(spec.targets)}{runs}; `wb.kernels[{spec.name!r}]`, "
        f"`torch.ops.hipkittens.{spec.name.replace('/', '_')}`.",
    )


def results_of(spec: Definition) -> tuple[str, ...]:
    """Names of the outputs, and of the inputs that are written in place, as a call returns them."""
    names = [name for name, _ in by_name(spec.tensors) if name not in spec.signature.parameters]
    outputs = [name for name in names if name not in spec.mutates]
    return tuple(outputs) or tuple(spec.mutates)


def _layout(spec: Definition, name: str, tensors: Mapping[str, str]) -> str:
    """ "[batch, heads] of bf16 or fp16", with alternatives one after the other."""
    if name not in tensors:
        return ""
    alternatives: dict[str, list[str]] = {}
    for layout in layouts(tensors[name]):
        alternatives.setdefault(_types(spec, layout.dtypes), []).append(str(layout))
    return ", or ".join(f"{' or '.join(axes)} of {types}" for types, axes in alternatives.items())


def _types(spec: Definition, dtypes: tuple[str, ...]) -> str:
    names: list[str] = []
    for dtype in dtypes:
        parameter = spec.parameters.get(dtype)
        names += [str(value) for value in parameter.values] if isinstance(parameter, Choice) else [dtype]
    names = [name for name in dict.fromkeys(names) if name not in ("e2m1", "e2m3", "e3m2")]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _argument(spec: Definition, name: str, tensors: Mapping[str, str]) -> Line:
    parameter = spec.parameters.get(name)
    layout = _layout(spec, name, tensors)
    text = spec.notes.get(name, "")
    if isinstance(parameter, Choice) and tuple(parameter.values) in ((0,), ("none",)):
        absent = spec.signature.parameters[name].default
        return Line(name, "", f"{absent!r}; this operator has none")
    whether = parameter is not None and _is_flag(parameter)
    # For a number, the parameter only says whether there is one.
    is_number = spec.signature.parameters[name].annotation is float
    if not layout and parameter is not None and not (whether and is_number):
        values = "" if whether else str(parameter)
        note = text or parameter.doc
        text = f"{note}; {values}" if values else note
    text = text or meaning(name)
    if spec.signature.parameters[name].default is not None:
        text = _without_absence(text)
    if name in spec.mutates and "in place" not in text:
        text += "; written in place"
    return Line(name, layout, text)


def _result(spec: Definition, name: str, tensors: Mapping[str, str]) -> Line:
    if name in spec.mutates:
        return Line(name, _layout(spec, name, tensors), "the argument, written in place")
    note = spec.notes.get(name, "") or meaning(name)
    return Line(name, _layout(spec, name, tensors), _without_absence(note))


def _without_absence(text: str) -> str:
    """A description without the parts on what None means."""
    return "; ".join(part for part in text.split("; ") if "if None" not in part)


def _is_flag(parameter: Parameter) -> bool:
    return isinstance(parameter, Choice) and {0, 1}.issuperset(parameter.values)


def _sizes(spec: Definition) -> Iterator[Line]:
    """Axes and other numbers of a shape, and the pairs of choices that go together."""
    choices = []
    for name, parameter in spec.parameters.items():
        if isinstance(parameter, Range) or (not _is_flag(parameter) and isinstance(parameter.values[0], int)):
            if isinstance(parameter, Choice):
                choices.append(name)
            yield Line(name, "", f"{parameter}; {parameter.doc}" if parameter.doc else str(parameter))
    for pair in combinations(choices, 2):
        if pairs := _pairs(spec, *pair):
            yield Line(" and ".join(pair), "", pairs)


def _pairs(spec: Definition, first: str, second: str) -> str:
    """Value pairs of two choices that a target supports; other parameters as in the first shape."""
    if spec.check is None:
        return ""
    every = list(product(spec.parameters[first].values, spec.parameters[second].values))  # type: ignore[union-attr]
    pairs = {}
    for arch in spec.targets:
        supported = []
        for a, b in every:
            with contextlib.suppress(ShapeError):
                spec.shape({**spec.shapes[0], first: a, second: b}, arch=arch)
                supported.append((a, b))
        if supported and len(supported) < len(every):
            pairs[arch] = ", ".join(f"{a} with {b}" for a, b in supported)
    if not pairs:
        return ""
    if len(set(pairs.values())) == 1 and len(pairs) == len(spec.targets):
        return next(iter(pairs.values()))
    return "; ".join(f"{text} ({arch})" for arch, text in pairs.items())


def _gradient(spec: Definition) -> str:
    if spec.mutates:
        return f"none: {', '.join(spec.mutates)} {'are' if len(spec.mutates) > 1 else 'is'} written in place."
    if spec.backward is None:
        return "by autograd of the PyTorch reference."
    inputs = ", ".join(_differentiated(spec))
    if isinstance(spec.backward, Gradient):
        kernels = ", ".join(f"`{function_name(name)}`" for name in spec.backward.by)
        return f"of {inputs}: by the kernel{'s' if len(spec.backward.by) > 1 else ''} {kernels}."
    return f"of {inputs}: by the kernel `{function_name(spec.backward)}`."


def _differentiated(spec: Any) -> list[str]:
    """Inputs of a spec whose gradients kernels compute: floating-point ones that `backward` covers."""
    floats = [
        name
        for name, text in by_name(spec.tensors)
        if name in spec.signature.parameters
        and any(_is_float(spec, dtype) for layout in layouts(text) for dtype in layout.dtypes)
    ]
    if not isinstance(spec.backward, str):
        return floats
    gradients = spec.beside(spec.backward).output_names
    return [name for name in floats if f"d{name}" in gradients]


def _is_float(spec: Definition, dtype: str) -> bool:
    """True if PyTorch differentiates values of an element type, or of a setting that is one."""
    names = re.split(", | or ", _types(spec, (dtype,)))
    return not all(name.startswith(("int", "uint", "bool")) for name in names)


def _raises(spec: Definition) -> Iterator[str]:
    yield "ShapeError: tensors that do not fit together, or a size, a dtype or a setting without support."
    yield "ArgumentError: an argument is missing, unknown, of the wrong kind, or on the wrong device."
    if spec.indexes:
        named = ", ".join(f"`{name}` ({_bound(index.axis)})" for name, index in spec.indexes.items())
        yield f"ArgumentError: an index is out of range: {named}; it names the element."


def _bound(axis: str) -> str:
    return f"below {axis}"


def example(spec: Definition) -> str:
    """A call that runs as it is, with the smallest of the spec's shapes."""
    shape = min(spec.shapes, key=lambda candidate: spec.work(candidate).get("bytes", 0))
    function, results = function_name(spec.name), results_of(spec)
    return (
        "import workbench as wb\n"
        "from workbench import ops\n\n"
        f"inputs = wb.kernels[{spec.name!r}].make_inputs({dict(shape)})\n"
        f"{', '.join(results)} = ops.{function}(**inputs)\n"
    )
