"""Turns the compiler's findings into findings for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from workbench.toolchain.diagnostics import Diagnostic, instance_notes
from workbench.toolchain.mistakes.accepted import ACCEPTED
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
    for index, (cause, mistake) in enumerate(folding):
        if mistake and mistake.folds == "rest":
            return index
        if mistake and mistake.folds == "line" and cause.cell_line == finding.cell_line:
            return index
        if instance and is_asserted(cause) and not is_asserted(finding) and instance_notes(cause) == instance:
            return index  # what a template cannot do with operands that its check has rejected
        earlier = diagnostics[index]
        place = (finding.file, finding.line, finding.column, finding.message)
        if finding.line and place == (earlier.file, earlier.line, earlier.column, earlier.message):
            return index
    undeclared = finding.message.partition("use of undeclared identifier '")[2].rstrip("'")
    if undeclared.isidentifier():
        # A name whose own declaration has an error is unknown after it.
        for index, (cause, _) in enumerate(folding):
            start, end = cell.offset(cause.cell_line, 1), cell.offset(cause.cell_line + 1, 1)
            declared = (
                cell.declaration(undeclared, end if end is not None else len(cell.code))
                if start is not None
                else None
            )
            if (
                declared
                and start is not None
                and start <= declared.type.start
                and diagnostics[index].severity == "error"
            ):
                return index
    return None


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
    warnings = []
    for mistake in ACCEPTED:
        for explanation in mistake.find(cell):
            at = explanation.at or Span(0, 0, "")
            line, column = cell.line_and_column(at.start)
            place = Diagnostic(
                line, column, mistake.severity, explanation.message, cell_line=line, cell_column=column
            )
            warnings.append(replace(_shown(place, explanation, mistake.name, cell, name), printed=""))
    return tuple(warnings)
