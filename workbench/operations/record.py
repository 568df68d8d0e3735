"""Operations: functions from which the command line, JSON and the tools of agents are made.

A function registered with `@operation` is the whole record. Its name is the verb, its docstring the text; its
parameters are the arguments, each `Annotated` with its description; the dataclass that it returns is the
schema of its result.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from workbench.errors import CompileError, KernelFault, KernelTimeout, UsageError, WorkbenchError

if TYPE_CHECKING:
    from workbench.toolchain.diagnostics import Diagnostic

SCHEMA = "hipkittens.operation/1"
"""Name and version of the JSON; the version changes whenever a field goes or changes its meaning."""


class Status(StrEnum):
    """How an operation ended; `EXIT` has the exit status of the command line."""

    RIGHT = "right"
    """It was done, and nothing is wrong with the kernel."""
    WRONG = "wrong"
    """It was done: the results differ, there are findings, or the kernel faulted."""
    NOT_RUN = "not run"
    """It could not be done."""


EXIT = {Status.RIGHT: 0, Status.WRONG: 1, Status.NOT_RUN: 2}


class Answer:
    """Base of the results of operations, which are dataclasses of plain values.

    One that has a field `text` is shown as that, and one with `passed` is right if that is true.
    """

    @property
    def is_right(self) -> bool:
        """False if it shows a fault of the kernel."""
        return bool(getattr(self, "passed", True))

    @property
    def picture(self) -> str:
        """The same as a picture, as SVG; "" if there is none. JSON has no pictures."""
        return ""

    def __str__(self) -> str:
        return str(getattr(self, "text", ""))


@dataclass(frozen=True)
class Parameter:
    """An argument of an operation.

    Attributes:
        name: name of the argument.
        type: str, int, float or bool.
        text: description, with the unit and the default.
        default: default value; None if the argument is required.
        choices: allowed values; empty if all are.
    """

    name: str
    type: type
    text: str
    default: Any = None
    choices: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        kind = {"type": "number"} if self.type is float else schema_of(self.type)
        data = {**kind, "description": self.text}
        if self.choices:
            data["enum"] = list(self.choices)
        return data if self.default is None else {**data, "default": self.default}


@dataclass(frozen=True)
class Operation:
    """An operation.

    Attributes:
        name: the verb, such as "verify".
        text: description, without that of the arguments.
        parameters: arguments; the first is positional on the command line if it is required.
        result: dataclass of the result, a subclass of `Answer`.
        function: the function that does it.
        writes_files: True if an argument can have it write files.
    """

    name: str
    text: str
    parameters: tuple[Parameter, ...]
    result: type[Answer]
    function: Callable[..., Answer]
    writes_files: bool = False

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.text.partition("\n")[0]

    @property
    def arguments_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters if parameter.default is None],
            "additionalProperties": False,
        }

    @property
    def outcome_schema(self) -> dict[str, Any]:
        """JSON schema of `Outcome.data`."""
        return {
            "type": "object",
            "properties": {
                "schema": {"const": SCHEMA},
                "operation": {"const": self.name},
                "status": {"enum": [str(status) for status in Status]},
                "text": {"type": "string"},
                "result": {"anyOf": [schema_of(self.result), {"type": "null"}]},
                "error": {"anyOf": [schema_of(Failure), {"type": "null"}]},
            },
            "required": ["schema", "operation", "status", "text", "result", "error"],
            "additionalProperties": False,
        }

    def run(self, arguments: Mapping[str, Any]) -> Outcome:
        """Does it; errors of the workbench are part of the outcome, all others are raised.

        Args:
            arguments: values by name, checked here.
        """
        try:
            answer = self.function(**self._checked(arguments))
        except WorkbenchError as error:
            return Outcome.of_error(self.name, error)
        status = Status.RIGHT if answer.is_right else Status.WRONG
        return Outcome(self.name, status, str(answer), result=answer)

    def _checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = {parameter.name: parameter for parameter in self.parameters}
        expected = f"expected {', '.join(known)}" if known else "expected none"
        for name, value in arguments.items():
            if name not in known:
                raise UsageError(f"{self.name}: there is no argument {name!r}; {expected}")
            kind = known[name].type
            whole = kind is float and isinstance(value, int) and not isinstance(value, bool)
            if not whole and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
                raise UsageError(
                    f"{self.name}: {name} is {value!r}, a {type(value).__name__}; expected {kind.__name__}"
                )
            if known[name].choices and value not in known[name].choices:
                choices = ", ".join(known[name].choices)
                raise UsageError(f"{self.name}: {name} is {value!r}; expected one of {choices}")
        absent = [p.name for p in self.parameters if p.default is None and p.name not in arguments]
        if absent:
            raise UsageError(f"{self.name}: {' and '.join(absent)} is missing; {expected}")
        return dict(arguments)


@dataclass(frozen=True)
class Place:
    """A place in a source.

    Attributes:
        file: file; "" if unknown.
        line, column: from 1; 0 if unknown.
        message: what is wrong there.
        severity: "error", "warning" or "note".
    """

    file: str
    line: int
    column: int
    message: str
    severity: str

    @classmethod
    def of_diagnostic(cls, of: Diagnostic) -> Place:
        """The place of a compiler's diagnostic, in a cell if it is in one."""
        return cls(
            of.file or "", of.cell_line or of.line, of.cell_column or of.column, of.message, of.severity
        )


@dataclass(frozen=True)
class Failure:
    """Error that ended an operation.

    Attributes:
        code: class of the error, as in docs/reference/errors.md.
        message: the thing, the value that came, and the value expected.
        next_step: what to do about this class of errors.
        places: places in the source, the first the most important.
    """

    code: str
    message: str
    next_step: str
    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """An operation's end: its result or its error.

    Attributes:
        operation: name of the operation.
        status: how it ended.
        text: the result or the error, for people.
        result: the result; None if there is an error.
        error: the error; None if there is a result.
    """

    operation: str
    status: Status
    text: str
    result: Answer | None = None
    error: Failure | None = None

    @classmethod
    def of_error(cls, operation: str, error: WorkbenchError) -> Outcome:
        """The outcome of an operation that an error ended: wrong if a kernel is to blame."""
        status = Status.WRONG if isinstance(error, (KernelFault, KernelTimeout)) else Status.NOT_RUN
        return cls(operation, status, f"{type(error).__name__}: {error}", error=failure_of(error))

    @property
    def data(self) -> dict[str, Any]:
        """The outcome as JSON has it."""
        return {
            "schema": SCHEMA,
            "operation": self.operation,
            "status": str(self.status),
            "text": self.text,
            "result": plain(self.result),
            "error": plain(self.error),
        }


F = TypeVar("F", bound=Callable[..., Answer])

_operations: dict[str, Operation] = {}


def operation(function: F) -> F:
    """Registers a function as an operation, and adds its arguments to its docstring."""
    return _registered(function, _record(function))


def writing_operation(function: F) -> F:
    """As `operation`, for one that can write files."""
    return _registered(function, replace(_record(function), writes_files=True))


def _registered(function: F, record: Operation) -> F:
    _operations[record.name] = record
    arguments = "\n".join(f"    {p.name}: {p.text}" for p in record.parameters)
    function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nArgs:\n{arguments}"
    return function


def operations() -> Mapping[str, Operation]:
    """All operations by name."""
    return types.MappingProxyType(_operations)


def _record(function: Callable[..., Answer]) -> Operation:
    hints = typing.get_type_hints(function, include_extras=True)
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        kind, text = typing.get_args(hints[parameter.name])
        choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
        default = None if parameter.default is inspect.Parameter.empty else parameter.default
        parameters.append(Parameter(parameter.name, str if choices else kind, text, default, choices))
    return Operation(
        function.__name__,
        "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),
        tuple(parameters),
        hints["return"],
        function,
    )


def failure_of(error: WorkbenchError) -> Failure:
    """The error with the places that it names and the cure of its class."""
    places: list[Place] = []
    if isinstance(error, CompileError):
        places = list(map(Place.of_diagnostic, error.diagnostics))
    elif isinstance(error, KernelFault) and error.source is not None:
        places = [Place(*error.source, error.cause or str(error), "error")]
    _, _, cure = inspect.cleandoc(type(error).__doc__ or "").partition("Cure:")
    return Failure(
        type(error).__name__, str(error), " ".join(cure.partition("\n\n")[0].split()), tuple(places)
    )


def plain(value: Any) -> Any:
    """The value as JSON has it: dataclasses as objects, tuples as arrays."""
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value) if _is_data(part)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no NaN and no infinity.
    return value


def for_people() -> Any:
    """A field that JSON leaves out: the text of an answer, which the outcome has already."""
    return field(metadata={"for people": True})


def _is_data(part: Field[Any]) -> bool:
    return "for people" not in part.metadata


def schema_of(kind: Any) -> dict[str, Any]:
    """JSON schema of what `plain` makes of a type's values."""
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        names = [part.name for part in fields(kind) if _is_data(part)]
        return {
            "type": "object",
            "properties": {name: schema_of(hints[name]) for name in names},
            "required": names,
            "additionalProperties": False,
        }
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(part) for part in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    return dict(_JSON[kind])


_JSON: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": ["number", "string"]},
    types.NoneType: {"type": "null"},
}
