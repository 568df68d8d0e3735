"""The compiler's messages about one mistake, with the source beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from workbench.toolchain.diagnostics import Diagnostic, FixIt
from workbench.toolchain.mistakes.cell_text import Call, Cell, Span
from workbench.toolchain.mistakes.types import Tile, arguments, tile

_ASKED = re.compile(r"in instantiation of (?:function|class|member)?.*?'(?P<what>.*)' requested here")
_ASSERTED = re.compile(r"static assertion failed(?: due to requirement '.*?')?: (?P<said>.*)", re.DOTALL)

Folds = Literal["itself", "line", "kind", "rest"]
"""Further errors that follow from a mistake: only equal ones, those on its line, those of the same mistake,
or all later ones."""


@dataclass(frozen=True, slots=True)
class Change:
    """A piece of the source and its replacement."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A mistake explained to the user.

    Attributes:
        message: one sentence.
        at: the source text concerned; None for the compiler's position.
        changes: changes that fix it.
    """

    message: str
    at: Span | None = None
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake that the compiler rejects.

    Attributes:
        name: its name in `docs/mistakes.md`.
        says: regular expression for the compiler's message; for checks of the headers, for the assertion's
            text.
        explain: returns the explanation; None if the error turns out to be another mistake.
        folds: further errors that follow from it.
        page: page and section with the rule that was broken; "" where the message says all of it.
    """

    name: str
    says: re.Pattern[str]
    explain: Callable[[ErrorContext], Explanation | None]
    folds: Folds = "itself"
    page: str = ""


class ErrorContext:
    """One error and the source concerned.

    Attributes:
        error: the compiler's error.
        cell: the source.
        message: the error message; for a static_assert only its own sentence.
        asserted: True if the message comes from a static_assert.
        at: offset of the place in the source that leads to the error; None if there is none.
    """

    def __init__(self, error: Diagnostic, cell: Cell) -> None:
        self.error = error
        self.cell = cell
        asserted = _ASSERTED.fullmatch(error.message)
        self.asserted = asserted is not None
        self.message = asserted["said"] if asserted else error.message
        self.at = cell.offset(error.cell_line, error.cell_column)

    @cached_property
    def call(self) -> Call | None:
        """The call in the source that leads to the error."""
        return self.cell.call(self.at) if self.at is not None else None

    @cached_property
    def instances(self) -> tuple[str, ...]:
        """Templates instantiated on the way from the error to the source: `kittens::mma_AB<...>`."""
        matches = (_ASKED.fullmatch(note.message) for note in self.error.notes)
        return tuple(match["what"] for match in matches if match)

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """Tiles and vectors among the template arguments of the called function, in order."""
        last = next(
            (
                match["what"]
                for note in self.error.notes
                if note.file is None and (match := _ASKED.fullmatch(note.message))
            ),
            "",
        )
        return tuple(argument for argument in map(tile, arguments(last)) if argument)

    def operand(self, index: int) -> Span | None:
        """An argument of the call."""
        return self.call.arguments[index] if self.call and index < len(self.call.arguments) else None

    def literal(self, pattern: str, position: int, number: int) -> Span | None:
        """Position of a template's literal argument: the one nearest to the error, preferably before it.

        Args:
            pattern: regular expression for the template's name.
            position: index of the argument.
            number: value of the literal.
        """
        occurrences = []
        for match in re.finditer(rf"\b(?:{pattern})<", self.cell.code):
            spans = self.cell.split(match.end() - 1)
            if position < len(spans) and spans[position].text == str(number):
                occurrences.append(spans[position])
        at = self.at if self.at is not None else len(self.cell.code)
        return min(occurrences, key=lambda span: (span.start > at, abs(span.start - at)), default=None)


def is_asserted(finding: Diagnostic) -> bool:
    """True if a static_assert failed."""
    return _ASSERTED.fullmatch(finding.message) is not None


def fixits(cell: Cell, changes: tuple[Change, ...]) -> tuple[FixIt, ...]:
    """Changes in lines and columns."""
    return tuple(
        FixIt(*cell.line_and_column(change.span.start), *cell.line_and_column(change.span.end), change.text)
        for change in changes
    )
