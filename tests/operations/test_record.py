"""One record makes arguments, result, schema and errors of an operation."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema
import pytest

from workbench.errors import KernelFault, UsageError
from workbench.operations import operations
from workbench.operations.record import Answer, Operation, Status, _record, for_people, plain, schema_of


@dataclass(frozen=True)
class Inner:
    value: float
    place: tuple[int, ...]


@dataclass(frozen=True)
class Sum(Answer):
    total: int
    inner: Inner | None
    named: dict[str, float]
    text: str = for_people()

    @property
    def is_right(self) -> bool:
        return self.total > 0


def add(
    first: Annotated[int, "first number"],
    second: Annotated[int, "second number"] = 1,
    kind: Annotated[Literal["plain", "fault", "usage"], "how it ends"] = "plain",
) -> Sum:
    """Add two numbers.

    The second paragraph
    is wrapped.
    """
    if kind == "fault":
        raise KernelFault("the kernel faulted", source=("k.cpp", 3, 7), cause="it read past the end")
    if kind == "usage":
        raise UsageError("second is wrong")
    return Sum(first + second, Inner(math.nan, (1, 2)), {"a": math.inf}, "the sum")


@pytest.fixture
def record() -> Operation:
    return _record(add)


def test_name_text_and_arguments(record: Operation) -> None:
    assert (record.name, record.summary) == ("add", "Add two numbers.")
    assert record.text == "Add two numbers.\n\nThe second paragraph is wrapped."
    assert record.arguments_schema == {
        "type": "object",
        "properties": {
            "first": {"type": "integer", "description": "first number"},
            "second": {"type": "integer", "description": "second number", "default": 1},
            "kind": {
                "type": "string",
                "description": "how it ends",
                "enum": ["plain", "fault", "usage"],
                "default": "plain",
            },
        },
        "required": ["first"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"first": 1}, Status.RIGHT),
        ({"first": -5}, Status.WRONG),
        ({"first": 1, "kind": "fault"}, Status.WRONG),
        ({"first": 1, "kind": "usage"}, Status.NOT_RUN),
        ({"first": 1, "third": 2}, Status.NOT_RUN),
        ({"first": "1"}, Status.NOT_RUN),
        ({"first": True}, Status.NOT_RUN),
        ({"first": 1, "kind": "other"}, Status.NOT_RUN),
        ({}, Status.NOT_RUN),
    ],
)
def test_outcomes_follow_the_schema(record: Operation, arguments: dict[str, Any], status: Status) -> None:
    outcome = record.run(arguments)
    assert outcome.status is status
    data = json.loads(json.dumps(outcome.data, allow_nan=False))
    jsonschema.validate(data, record.outcome_schema)
    assert (data["result"] is None) != (data["error"] is None)


def test_a_result_has_its_values_and_not_its_text(record: Operation) -> None:
    data = record.run({"first": 1}).data
    assert data["text"] == "the sum"
    assert data["result"] == {"total": 2, "inner": {"value": "nan", "place": [1, 2]}, "named": {"a": "inf"}}


def test_an_error_has_place_and_next_step(record: Operation) -> None:
    error = record.run({"first": 1, "kind": "fault"}).data["error"]
    assert error["code"] == "KernelFault"
    assert error["next_step"].startswith("Go to the line in the message")
    assert error["places"] == [
        {"file": "k.cpp", "line": 3, "column": 7, "message": "it read past the end", "severity": "error"}
    ]


def test_wrong_arguments_are_named(record: Operation) -> None:
    assert record.run({"first": "1"}).text == "UsageError: add: first is '1', a str; expected int"
    assert record.run({}).text == "UsageError: add: first is missing; expected first, second, kind"


def test_every_operation_describes_its_arguments() -> None:
    for operation in operations().values():
        jsonschema.Draft202012Validator.check_schema(operation.arguments_schema)
        jsonschema.Draft202012Validator.check_schema(operation.outcome_schema)
        assert operation.summary.endswith("."), operation.name
        for parameter in operation.parameters:
            assert parameter.text, (operation.name, parameter.name)
            assert f"{parameter.name}: {parameter.text}" in (operation.function.__doc__ or "")


def test_schemas_of_plain_values() -> None:
    assert schema_of(tuple[int, ...]) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(str | None) == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert plain({"a": (1, -math.inf)}) == {"a": [1, "-inf"]}
