"""Calls that fit no function of the tile library: the nearest function, and the argument that does not fit.

Clang lists every function of the name with the constraint that fails, mostly in terms of `concept`s. The
declarations are read from the headers, where the notes point, and compared with the source's declarations of
the arguments. Functions that a macro makes have no declaration there and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from workbench.paths import include_dir
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.mistakes.cell_text import Call, Span, pieces
from workbench.toolchain.mistakes.error_context import Change, ErrorContext, Explanation
from workbench.toolchain.mistakes.types import plain, tile

_KINDS = {
    "rt": "a register tile",
    "art": "a register tile in registers of your choice (art)",
    "st": "a shared tile",
    "rv": "a register vector",
    "sv": "a shared vector",
    "gl": "a tensor (gl)",
    "coord": "a coordinate, {batch, depth, row, column}",
    "shared": "a shared tile or vector",
}
"""Words for the library's kinds of types, by the namespace of their concept (`ducks::rt::all`)."""
_NUMBER = re.compile(
    r"(?:unsigned |signed )?(?:float|double|half|bf16|int|unsigned|long|short|char|bool|u?int\d+_t)\b"
)
_LITERAL = re.compile(r"-?(?:\d[\w.]*|\.\d\w*)")
_TYPE = re.compile(
    r"(?:const )?(?:kittens::)?(rt|st|rv|sv|art|gl|coord)(?:_\w+)?<.*>(::(?:col|row)_vec)?", re.DOTALL
)
_FEWER, _MORE, _SWAPPED, _CONFLICT = 0.9, 1.1, 0.3, 0.5
"""Costs of an argument too few, one too many, one in the wrong place, and of two of different types.

An argument of the wrong kind costs 1.
"""


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    type: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A function of the name.

    Attributes:
        parameters: parameters in order.
        required: number of parameters without a default.
        conflict: template parameter for which clang deduced two types, or "".
        deduced: types of template parameters, as far as clang prints them.
    """

    parameters: tuple[_Parameter, ...]
    required: int
    conflict: str
    deduced: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Argument:
    span: Span
    type: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Fit:
    """The match of arguments with a candidate: its parameters, without those that get no argument."""

    candidate: _Candidate
    parameters: tuple[_Parameter, ...]
    wrong: tuple[int, ...]
    cost: float


def no_function(context: ErrorContext) -> Explanation | None:
    """Explains a call that fits no function of the library; None if it is not one of the library's."""
    call = context.call
    called = re.search(r"no matching (?:member )?function for call to '(\w+)'", context.message)
    if call is None or called is None or called[1] != call.name:
        return None
    fits = [_fit(candidate, _arguments(context, call, candidate)) for candidate in _candidates(context)]
    if not fits:
        return None
    fit = min(fits, key=lambda fit: fit.cost)
    arguments = _arguments(context, call, fit.candidate)
    signature = f"{call.name}({', '.join(parameter.name for parameter in fit.candidate.parameters)})"
    if len(arguments) < fit.candidate.required or len(arguments) > len(fit.candidate.parameters):
        return _count(context, call, fit.candidate, signature)
    if fit.wrong:
        return _kind(context, call, fit, arguments, signature)
    return _conflict(fit, arguments, signature)


def _candidates(context: ErrorContext) -> Iterator[_Candidate]:
    for note in context.error.notes:
        if note.file and note.message.startswith("candidate"):
            candidate = _candidate(note, context.call.name if context.call else "")
            if candidate:
                yield candidate


@cache
def _header(name: str) -> str:
    path = include_dir() / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _candidate(note: Diagnostic, name: str) -> _Candidate | None:
    lines = _header(note.file or "").split("\n")
    if not 0 < note.line <= len(lines):
        return None
    rest = "\n".join(lines[note.line - 1 :])
    signature = re.match(rf"[^\n;{{}}#]*?\b{name}\s*\(((?:[^()]|\([^()]*\))*)\)", rest)
    if not signature or lines[note.line - 1].lstrip().startswith("#"):
        return None
    before = "\n".join(lines[max(0, note.line - 8) : note.line - 1])
    head = re.search(r"template\s*<([^;{}]*)>\s*(?:requires[^;]*)?(?:/\*.*\*/\s*)?$", before, re.DOTALL)
    concepts = {}
    for piece in pieces(head[1].rpartition("template <")[2]) if head else ():
        concept = re.match(r"\s*ducks::(\w+)(?:::\w+)?\s+(\w+)", piece)
        if concept:
            concepts[concept[2]] = concept[1]
    parameters, required = [], 0
    for piece in pieces(signature[1]) if signature[1].strip() else ():
        declared, default, _ = piece.partition("=")
        match = re.fullmatch(r"\s*(?:const\s+)?([\w:<>, ]+?)\s*[&*]*\s*(\w*)\s*", declared)
        if not match:
            return None
        type_ = match[1].strip()
        kind = concepts.get(type_, "number" if _NUMBER.fullmatch(type_) else "")
        parameters.append(_Parameter(match[2] or type_, type_, kind))
        required += not default
    conflict = re.search(r"deduced conflicting types for parameter '(\w+)'", note.message)
    values = re.search(r"\[with (.*)\]", note.message)
    deduced = dict(re.findall(r"(\w+) = (.*?)(?=, \w+ = |$)", values[1])) if values else {}
    return _Candidate(tuple(parameters), required, conflict[1] if conflict else "", deduced)


def _arguments(context: ErrorContext, call: Call, candidate: _Candidate) -> tuple[_Argument, ...]:
    arguments = []
    for index, span in enumerate(call.arguments):
        text = _declared_type(context, span)
        if not text and index < len(candidate.parameters):
            deduced = candidate.deduced.get(candidate.parameters[index].type, "")
            parsed = tile(deduced)
            text = str(parsed) if parsed else plain(deduced)
        arguments.append(_Argument(span, text, _kind_of(span.text, text)))
    return tuple(arguments)


def _declared_type(context: ErrorContext, span: Span) -> str:
    """Type of a name from its declaration in the source, with stars and brackets; "" if that is unclear."""
    declared = context.cell.declaration(span.text, span.start)
    if declared is None or re.match(r"auto\b", declared.type.text):
        return ""
    after = re.compile(rf"\s*([*]*)[\s&]*{span.text}\s*(\[)?").match(context.cell.code, declared.type.end)
    marks = f"{' ' if after[1] else ''}{after[1]}{'[]' if after[2] else ''}" if after else ""
    return declared.type.text + marks


def _kind_of(text: str, type_: str) -> str:
    if text.startswith("{"):
        return "coord"
    match = _TYPE.fullmatch(type_)
    if match:
        return {"rt": "rv", "art": "rv", "st": "sv"}.get(match[1], match[1]) if match[2] else match[1]
    if _LITERAL.fullmatch(text) or _NUMBER.fullmatch(type_):
        return "number"
    return "memory" if type_.endswith(("*", "]")) else ""


def _fit(candidate: _Candidate, arguments: tuple[_Argument, ...]) -> _Fit:
    missing = max(0, candidate.required - len(arguments))
    count = min(len(candidate.parameters), len(arguments)) if not missing else len(arguments)
    best: _Fit | None = None
    for filled in combinations(candidate.parameters, count):
        wrong = tuple(
            index
            for index, (parameter, argument) in enumerate(zip(filled, arguments, strict=False))
            if parameter.kind and argument.kind and not _suits(parameter.kind, argument.kind)
        )
        cost = _FEWER * missing + _MORE * max(0, len(arguments) - len(candidate.parameters))
        swapped = not missing and _swapped(filled, arguments, wrong)
        cost += len(wrong) * (_SWAPPED if swapped else 1) + _CONFLICT * bool(candidate.conflict and not wrong)
        fit = _Fit(candidate, filled, wrong, cost)
        if best is None or fit.cost < best.cost:
            best = fit
        if not missing:
            break
    return best or _Fit(candidate, (), (), len(arguments))


def _swapped(
    parameters: tuple[_Parameter, ...], arguments: tuple[_Argument, ...], wrong: tuple[int, ...]
) -> bool:
    """True if exactly two arguments are of the wrong kind, and each fits the other's parameter."""
    if len(wrong) != 2:
        return False
    first, second = wrong
    return _suits(parameters[first].kind, arguments[second].kind) and _suits(
        parameters[second].kind, arguments[first].kind
    )


def _suits(parameter: str, argument: str) -> bool:
    return argument == parameter or (parameter == "shared" and argument in ("st", "sv"))


def _count(context: ErrorContext, call: Call, candidate: _Candidate, signature: str) -> Explanation:
    passed = len(call.arguments)
    takes = str(candidate.required)
    if candidate.required < len(candidate.parameters):
        takes += f" to {len(candidate.parameters)}"
    noun, verb = "argument" if takes == "1" else "arguments", "is" if passed == 1 else "are"
    message = f"{signature} takes {takes} {noun}; {passed} {verb} given"
    if re.search(r"[=(,]\s*$", context.cell.code[: call.span.start]) and passed < candidate.required:
        first = candidate.parameters[0].name
        message += f". It gives nothing: what it writes is `{first}`, its first argument"
    return Explanation(message, call.span)


def _kind(
    context: ErrorContext, call: Call, fit: _Fit, arguments: tuple[_Argument, ...], signature: str
) -> Explanation:
    index = fit.wrong[0]
    parameter, argument = fit.parameters[index], arguments[index]
    expected = _KINDS.get(parameter.kind, "a number")
    changes: tuple[Change, ...] = ()
    axis = re.search(r"(row|col)", call.name)
    matrix = next((other.type for other in arguments if other.kind == "rt"), "")
    if parameter.kind == "rv" and axis and matrix:
        vector = f"{matrix}::{'col_vec' if axis[1] == 'row' else 'row_vec'}"
        expected += f", {vector}"
        declared = context.cell.declaration(argument.span.text, argument.span.start)
        if declared and declared.alone and argument.kind == "number":
            changes = (Change(declared.type, vector),)
    if _swapped(fit.parameters, arguments, fit.wrong):
        first, second = (arguments[place].span for place in fit.wrong)
        changes = (Change(first, second.text), Change(second, first.text))
    simple = re.fullmatch(r"(add|sub|mul|div)_(?:row|col)", call.name)
    came = f"`{argument.span.text}` is {argument.type or _KINDS.get(argument.kind, 'a ' + argument.kind)}"
    message = f"{signature}: {came}; {parameter.name} is {expected}"
    if simple and argument.kind == "number":
        message += f"; {simple[1]} takes one value"
        span = Span(call.span.start, call.span.start + len(call.name), call.name)
        if context.cell.code.startswith(call.name, span.start):
            changes = (Change(span, simple[1]),)
    elif parameter.kind == "rt" and argument.kind in ("gl", "st"):
        message += f"; load brings {'a part' if argument.kind == 'gl' else 'it'} into registers"
    return Explanation(message, argument.span, changes)


def _conflict(fit: _Fit, arguments: tuple[_Argument, ...], signature: str) -> Explanation | None:
    same = [
        (parameter, argument)
        for parameter, argument in zip(fit.parameters, arguments, strict=False)
        if parameter.type == fit.candidate.conflict
    ]
    first = next(iter(same), None)
    other = next((pair for pair in same if first and pair[1].type != first[1].type), None)
    if not first or not other or not first[1].type or not other[1].type:
        return None
    message = (
        f"{signature}: {first[0].name} and {other[0].name} have the same type; `{first[1].span.text}` is "
        f"{first[1].type}, `{other[1].span.text}` is {other[1].type}"
    )
    sizes = [re.search(r"<(?:\w+, )?(\d+(?:, \d+)?)\b.*>", pair[1].type) for pair in (first, other)]
    if sizes[0] and sizes[1] and sizes[0][1] == sizes[1][1] and first[1].kind == other[1].kind:
        message += "; copy(to, from) converts"
    return Explanation(message, other[1].span)
