"""Turns the compiler's findings into findings for people."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from workbench.toolchain.diagnostics import Diagnostic, instance_notes
from workbench.toolchain.mistakes.accepted import ACCEPTED, SilentMistake
from workbench.toolchain.mistakes.cell_text import Cell, Span
from workbench.toolchain.mistakes.cuda import CUDA
from workbench.toolchain.mistakes.error_context import (
    Change,
    ErrorContext,
    Explanation,
    Mistake,
    fixits,
    is_asserted,
)
from workbench.toolchain.mistakes.refused import REFUSED, with_operands

_NOTES = 4
"""Number of notes of an error to show; a call that fits no function has dozens."""
_GIVES_UP = "too many errors emitted"
_UNDECLARED = re.compile(r"use of undeclared identifier '(?P<name>\w+)'")


def explained(
    findings: Sequence[Diagnostic], cell: Cell, name: str, in_library: Callable[[str], bool]
) -> tuple[Diagnostic, ...]:
    """The findings, with known mistakes explained and consequences folded into their causes.

    Args:
        findings: the compiler's diagnostics, in order.
        cell: the source.
        name: name of the source in printed diagnostics.
        in_library: returns True if a header, as it was included, belongs to the tile library.

    Returns:
        the findings in order.
    """
    diagnostics: list[Diagnostic] = []
    folding: list[tuple[Diagnostic, Mistake | None]] = []
    for finding in findings:
        if finding.message.startswith(_GIVES_UP):
            continue
        into = _followed(finding, diagnostics, folding, cell)
        if into is not None:
            diagnostics[into] = _folded(diagnostics[into], finding)
            continue
        mistake, diagnostic = _one(finding, cell, name, in_library)
        twin = next((n for n, (_, other) in enumerate(folding) if mistake and other is mistake), None)
        if mistake and mistake.folds == "kind" and twin is not None:
            diagnostics[twin] = _folded(diagnostics[twin], finding)
            continue
        folding.append((finding, mistake))
        diagnostics.append(diagnostic)
    return tuple(map(_counted, diagnostics))


def _one(
    finding: Diagnostic, cell: Cell, name: str, in_library: Callable[[str], bool]
) -> tuple[Mistake | None, Diagnostic]:
    if finding.severity != "error":
        return None, _brief(finding)
    context = ErrorContext(finding, cell)
    for mistake in (*REFUSED, *CUDA):
        if mistake.says.search(context.message):
            explanation = mistake.explain(context)
            if explanation:
                if mistake.page:
                    explanation = replace(explanation, message=f"{explanation.message} ({mistake.page})")
                return mistake, _shown(finding, explanation, mistake.name, cell, name)
    if context.asserted and finding.cell_line and finding.file is not None and in_library(finding.file):
        return None, _shown(finding, with_operands(context), "", cell, name)
    return None, _brief(replace(finding, message=context.message) if context.asserted else finding)


def _followed(
    finding: Diagnostic,
    diagnostics: list[Diagnostic],
    folding: list[tuple[Diagnostic, Mistake | None]],
    cell: Cell,
) -> int | None:
    """The finding from which this one follows; None if it is independent."""
    instance = instance_notes(finding)
    match = _UNDECLARED.search(finding.message)
    undeclared = match["name"] if match else ""
    for index, (cause, mistake) in enumerate(folding):
        if mistake and mistake.folds == "rest":
            return index
        if mistake and mistake.folds == "line" and cause.cell_line == finding.cell_line:
            if undeclared and not _in_statement(finding, cause, cell):
                continue  # a name of another statement on that line
            return index
        if instance and is_asserted(cause) and not is_asserted(finding) and instance_notes(cause) == instance:
            return index  # what a template cannot do with operands that its check has rejected
        earlier = diagnostics[index]
        place = (finding.file, finding.line, finding.column)
        # Clang goes on with the name that it proposes, and finds that this does not fit either.
        twin = earlier.message == finding.message or "; did you mean '" in earlier.message
        if finding.line and twin and place == (earlier.file, earlier.line, earlier.column):
            return index
    use = cell.offset(finding.cell_line, finding.cell_column)
    if undeclared and use is not None:
        for index, (cause, _) in enumerate(folding):
            if diagnostics[index].severity == "error" and _spoils(cause, undeclared, use, cell):
                return index
    return None


def _in_statement(finding: Diagnostic, cause: Diagnostic, cell: Cell) -> bool:
    """True if two findings are about one statement of the source."""
    first, second = (cell.offset(error.cell_line, error.cell_column) for error in (cause, finding))
    if first is None or second is None:
        return False
    start, end = cell.statement(first)
    return start <= second <= end


def _spoils(cause: Diagnostic, name: str, use: int, cell: Cell) -> bool:
    """True if an error is in the declaration of a name, which is unknown after it, in the scope of a use."""
    at = cell.offset(cause.cell_line, cause.cell_column)
    if at is None:
        return False
    start, end = cell.statement(at)
    declared = cell.declaration(name, end + 1)
    return declared is not None and start <= declared.type.start < use <= cell.scope_end(declared.type.start)


def _folded(diagnostic: Diagnostic, finding: Diagnostic) -> Diagnostic:
    return replace(
        diagnostic,
        follows=diagnostic.follows + 1,
        printed=f"{diagnostic.printed or diagnostic.text}\n{finding.text}",
    )


def _counted(diagnostic: Diagnostic) -> Diagnostic:
    """A finding with the number of others that follow from it."""
    if not diagnostic.follows:
        return diagnostic
    others = "1 finding" if diagnostic.follows == 1 else f"{diagnostic.follows} findings"
    return replace(diagnostic, text=f"{diagnostic.text}\n      ({others} that may follow from this left out)")


def _shown(finding: Diagnostic, explanation: Explanation, mistake: str, cell: Cell, name: str) -> Diagnostic:
    at = explanation.at
    line, column = cell.line_and_column(at.start) if at else (finding.cell_line, finding.cell_column)
    fixes = fixits(cell, explanation.changes)
    text = _text(f"{finding.severity}: {explanation.message}", line, column, at, cell, name)
    text += "".join(dict.fromkeys(_offered(change, cell) for change in explanation.changes))
    return Diagnostic(
        line,
        column,
        finding.severity,
        explanation.message,
        None,
        _requested(finding),
        fixes,
        finding.option,
        line,
        column,
        text,
        printed=finding.text,
        mistake=mistake,
    )


def _offered(change: Change, cell: Cell) -> str:
    old, new = change.span.text.strip(), change.text.strip()
    row, _ = cell.line_and_column(change.span.start)
    verb = f"replace `{old}` by `{new}`" if old and new else f"remove `{old}`" if old else f"insert `{new}`"
    return f"\n      fix: {verb} in line {row}"


def _text(message: str, line: int, column: int, at: Span | None, cell: Cell, name: str) -> str:
    """A finding as clang prints it: place, sentence, the line and a caret under the fault."""
    if not line:
        return message
    source = cell.line(line)
    pad = "".join(letter if letter == "\t" else " " for letter in source[: column - 1])
    length = min(at.end - at.start, len(source) - column + 1) if at else 1
    return f"{name}:{line}:{column}: {message}\n{line:5} | {source}\n      | {pad}^{'~' * max(0, length - 1)}"


def _requested(finding: Diagnostic) -> tuple[Diagnostic, ...]:
    """Places in the source that instantiated a template with a mistake."""
    return tuple(
        replace(note, message="asked for here")
        for note in finding.notes
        if note.file is None and note.line not in (0, finding.cell_line) and "requested here" in note.message
    )[:_NOTES]


def _brief(finding: Diagnostic) -> Diagnostic:
    """A finding with its first notes and those of the source's own lines."""
    if len(finding.notes) <= _NOTES + 1:
        return finding
    local_notes = [note for note in finding.notes if note.file is None and note.line]
    selected = [*local_notes[: _NOTES // 2], *(note for note in finding.notes if note not in local_notes)][
        :_NOTES
    ]
    left = len(finding.notes) - len(selected)
    last = Diagnostic(0, 0, "note", f"{left} more notes left out", text=f"note: {left} more notes left out")
    notes = (*(note for note in finding.notes if note in selected), last)
    head = finding.text[: finding.text.find(finding.notes[0].text)].rstrip("\n")
    text = "\n".join([head, *(note.text for note in notes)])
    return replace(finding, notes=notes, text=text, printed=finding.text)


def unsaid(cell: Cell, name: str) -> tuple[Diagnostic, ...]:
    """Mistakes that the compiler accepts, as warnings and notes.

    Args:
        cell: a source that compiles.
        name: name of the source.
    """
    findings = (_silent(mistake, mistake.severity, "", cell, name) for mistake in ACCEPTED)
    return tuple(itertools.chain.from_iterable(findings))


def habits(cell: Cell, name: str, severity: str, option: str) -> tuple[Diagnostic, ...]:
    """Habits of warps of 32 lanes, as a compiler warns of them.

    Args:
        cell: a source that compiles.
        name: name of the source.
        severity: "warning" or "error".
        option: the flag that controls them.
    """
    mistakes = (mistake for mistake in ACCEPTED if mistake.severity == "note")
    return tuple(itertools.chain.from_iterable(_silent(m, severity, option, cell, name) for m in mistakes))


def _silent(
    mistake: SilentMistake, severity: str, option: str, cell: Cell, name: str
) -> Iterator[Diagnostic]:
    suffix = f" [{option}]" if option else ""
    for explanation in mistake.find(cell):
        line, column = cell.line_and_column(explanation.at.start if explanation.at else 0)
        explanation = replace(explanation, message=explanation.message + suffix)
        place = Diagnostic(
            line, column, severity, explanation.message, option=option, cell_line=line, cell_column=column
        )
        yield replace(_shown(place, explanation, mistake.name, cell, name), printed="")
