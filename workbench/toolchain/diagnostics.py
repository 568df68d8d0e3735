"""Parses messages of a compiler and its linker, in terms of the user's text.

It reads clang's plain output, not one of its structured formats: the former is the same in every release
since ROCm 6, and it has what a person wants to see, the line with the caret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.codeobject.names import short_name
from workbench.toolchain.source_text import source_bytes


@dataclass(frozen=True, slots=True)
class FixIt:
    """A change that the compiler proposes: the text from (line, column) to the end becomes `text`.

    Lines and columns count from 1, columns in characters; an insertion has equal ends.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One diagnostic of the compiler.

    Attributes:
        line: line from 1; 0 if it has no position.
        column: column from 1 in characters; 0 if there is none.
        severity: "error", "warning", "note" or "remark"; clang's "fatal error" is an error.
        message: the text, without place and severity.
        file: None for the user's source, or the header as it was included, such as "kittens.cuh".
        notes: findings that explain this one, in the compiler's order.
        fixits: changes that the compiler proposes.
        option: the flag that controls it, such as "-Wunused-variable"; "" if there is none.
        cell_line: line of the user's source that leads here: `line` itself, or the line that included the
            header or requested the template; 0 if there is none.
        cell_column: its column; 0 if there is none.
        text: the compiler's output for this diagnostic and its notes, with source lines and carets; for a
            known mistake, the explanation with its source line.
        printed: the compiler's full output for it and its consequences, if `text` is shorter.
        follows: number of further diagnostics that follow from it and are omitted.
        mistake: name of the mistake in `docs/mistakes.md`; "" for any other.
    """

    line: int
    column: int
    severity: str
    message: str
    file: str | None = None
    notes: tuple[Diagnostic, ...] = ()
    fixits: tuple[FixIt, ...] = ()
    option: str = ""
    cell_line: int = 0
    cell_column: int = 0
    text: str = ""
    printed: str = ""
    follows: int = 0
    mistake: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.severity}: {self.message}"


@dataclass(slots=True)
class _Draft:
    """A finding that is still being read."""

    line: int
    column: int
    severity: str
    message: str
    file: str | None
    option: str
    context: list[str]
    context_place: tuple[int, int]
    lines: list[str] = field(default_factory=list)
    fixits: list[FixIt] = field(default_factory=list)
    notes: list[_Draft] = field(default_factory=list)


_PLACED = re.compile(
    r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+):(?:\{[^}]*\})*:? ?"
    r"(?P<severity>fatal error|error|warning|note|remark): (?P<message>.*)"
)
_UNPLACED = re.compile(
    r"(?:[\w+./-]*(?:clang|zig|hipcc|lld|c\+\+)[\w+.-]*: )?"
    r"(?P<severity>fatal error|error|warning|note|remark): (?P<message>.*)"
)
_INCLUDED = re.compile(r"(?:In file included from|                 from) (?P<file>.+?):(?P<line>\d+)[:,]")
_FIXIT = re.compile(r'fix-it:"(?P<file>.*)":\{(\d+):(\d+)-(\d+):(\d+)\}:"(?P<text>.*)"')
_OPTION = re.compile(r"(?P<message>.*) \[(?P<option>-[WR][^\]\s]*)\]")
_COUNT = re.compile(r"\d+ (?:errors?|warnings?)(?: and \d+ errors?)? generated(?: when compiling for \w+)?\.")
_UNDEFINED = re.compile(
    r"(?:[\w.+/-]*lld: )?error: undefined (?:hidden |protected |internal )?symbol: (?P<symbol>.+)"
)
_REFERENCED = re.compile(r">>> referenced by (?P<file>.+?):(?P<line>\d+)(?: \(.*\))?$")
_LINK_FAILED = re.compile(r".*amdgcn-link command failed|.*linker command failed")


class Reader:
    """Turns a compiler's output into diagnostics of one source.

    Args:
        source: the user's text.
        name: the name it was compiled under.
        first_line: number of its first line.
        prologue: lines that were inserted before it, which fix-its count and a `#line` hides.
        folders: include folders, so that headers are named as they were included; longest match wins.
        secrets: temporary paths that must not be shown, each with its replacement.
    """

    def __init__(
        self,
        source: str,
        name: str,
        *,
        first_line: int = 1,
        prologue: int = 0,
        folders: Iterable[str] = (),
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self._lines = source.split("\n")
        self._name = name
        self._first_line = first_line
        self._prologue = prologue
        self._folders = sorted((f"{folder.rstrip('/')}/" for folder in folders), key=len, reverse=True)
        self._secrets = dict(secrets or {})

    def read(self, output: str) -> tuple[Diagnostic, ...]:
        """Findings in order, each with its notes; an undefined symbol of the linker is an error too."""
        for secret, replacement in self._secrets.items():
            output = output.replace(secret, replacement)
        drafts: list[_Draft] = []
        current: _Draft | None = None
        context: list[str] = []
        place = (0, 0)
        lines = output.splitlines()
        index = 0
        while index < len(lines):
            line = lines[index]
            index += 1
            if _COUNT.fullmatch(line) or _LINK_FAILED.match(line):
                continue
            undefined = _UNDEFINED.fullmatch(line)
            if undefined:
                references = []
                while index < len(lines) and (lines[index].startswith(">>>") or not lines[index].strip()):
                    references.append(lines[index])
                    index += 1
                self._undefined(undefined["symbol"], references, drafts)
                current, context, place = None, [], (0, 0)
                continue
            included = _INCLUDED.match(line)
            if included:
                context.append(self._shorten(line))
                if included["file"] == self._name:
                    place = (int(included["line"]), 0)
                continue
            fixit = _FIXIT.fullmatch(line)
            if fixit:
                if current is not None and fixit["file"] in (self._name, "<stdin>"):
                    current.fixits.append(self._fixit(fixit))
                continue
            draft = self._header(line, context, place)
            if draft is None:
                if current is not None:
                    current.lines.append(line)
                continue
            context, place = [], (0, 0)
            current = draft
            if draft.severity == "note" and drafts:
                drafts[-1].notes.append(draft)
            else:
                drafts.append(draft)
        findings: list[Diagnostic] = []
        for draft in drafts:
            finding = self._finish(draft)
            if findings and finding.file is not None and not instance_notes(finding):
                finding = _of_same_instance(finding, findings[-1])
            findings.append(finding)
        return tuple(findings)

    def _header(self, line: str, context: list[str], place: tuple[int, int]) -> _Draft | None:
        match = _PLACED.fullmatch(line)
        if match:
            file, row, column = match["file"], int(match["line"]), int(match["column"])
            if file == self._name:
                column = self._characters(row - self._first_line, column)
        else:
            match = _UNPLACED.fullmatch(line)
            if not match:
                return None
            file, row, column = self._name, 0, 0
        message = match["message"]
        option = ""
        with_option = _OPTION.fullmatch(message)
        if with_option:
            message, option = with_option["message"], with_option["option"]
        severity = match["severity"].removeprefix("fatal ")
        short_name = None if file == self._name else self._short(file)
        draft = _Draft(
            row, column, severity, self._shorten(message), short_name, option, list(context), place
        )
        where = f"{short_name or self._name}:{row}:{column}: " if row else ""
        suffix = f" [{option}]" if option else ""
        draft.lines.append(f"{where}{severity}: {draft.message}{suffix}")
        return draft

    def _undefined(self, symbol: str, references: Sequence[str], drafts: list[_Draft]) -> None:
        name = symbol.strip()
        places: list[tuple[str, int]] = []
        for reference in references:
            match = _REFERENCED.match(reference)
            if match:
                place = (match["file"], int(match["line"]))
                if place not in places:
                    places.append(place)
        message = _explain_undefined(name)
        places.sort(key=lambda place: place[0] != self._name)
        if any(draft.message == message for draft in drafts):
            return
        file, row = places[0] if places else (self._name, 0)
        short_name = None if file == self._name else self._short(file)
        # The linker knows the line; the column is that of the name in it.
        column = self._column_of(_called(name), row) if short_name is None else 0
        draft = _Draft(row, column, "error", message, short_name, "", [], (0, 0))
        where = f"{short_name or self._name}:{row}:{column}: " if row else ""
        draft.lines.append(f"{where}error: {message}")
        if short_name is None and column:
            text = self._lines[row - self._first_line]
            pad = "".join(c if c == "\t" else " " for c in text[: column - 1])
            draft.lines += [f"{row:5} | {text}", f"      | {pad}^"]
        drafts.append(draft)

    def _column_of(self, name: str, row: int) -> int:
        index = row - self._first_line
        if not 0 <= index < len(self._lines):
            return 0
        match = re.search(rf"\b{re.escape(name)}\b", self._lines[index])
        if match:
            return match.start() + 1
        return len(self._lines[index]) - len(self._lines[index].lstrip()) + 1

    def _fixit(self, match: re.Match[str]) -> FixIt:
        row, column, end_row, end_column = (int(match[group]) for group in range(2, 6))
        row, end_row = row - self._prologue - 1, end_row - self._prologue - 1
        text = re.sub(r"\\(n|t|\\|\")", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), match["text"])
        return FixIt(
            row + self._first_line,
            self._characters(row, column),
            end_row + self._first_line,
            self._characters(end_row, end_column),
            text,
        )

    def _characters(self, index: int, column: int) -> int:
        """Column in characters of a column in bytes of UTF-8."""
        if not 0 <= index < len(self._lines) or column < 1:
            return column
        data = source_bytes(self._lines[index])
        return len(data[: column - 1].decode("utf-8", "surrogateescape")) + 1

    def _short(self, file: str) -> str:
        for folder in self._folders:
            if file.startswith(folder):
                return _straight(file[len(folder) :])
        return _straight(file.removeprefix("./"))

    def _shorten(self, text: str) -> str:
        for folder in self._folders:
            text = text.replace(folder, "")
        return _straight(text.replace("<stdin>", self._name))

    def _finish(self, draft: _Draft) -> Diagnostic:
        notes = tuple(self._finish(note) for note in draft.notes)
        cell = (draft.line, draft.column) if draft.file is None else (0, 0)
        if draft.file is not None:
            cell = next(((n.line, n.column) for n in notes if n.file is None and n.line), draft.context_place)
        body = [*draft.context, *(line.rstrip() for line in draft.lines)]
        while body and not body[-1].strip():
            body.pop()
        text = "\n".join([*body, *(note.text for note in notes)])
        return Diagnostic(
            draft.line,
            draft.column,
            draft.severity,
            draft.message,
            draft.file,
            notes,
            tuple(draft.fixits),
            draft.option,
            cell[0],
            cell[1],
            text,
        )


def instance_notes(finding: Diagnostic) -> tuple[Diagnostic, ...]:
    """The notes of a finding in a template's instance that say what instantiated it, from the inside out."""
    return tuple(note for note in finding.notes if "requested here" in note.message)


def _of_same_instance(finding: Diagnostic, before: Diagnostic) -> Diagnostic:
    """A finding in a header, with the instantiation of the template: clang reports it once per instance."""
    notes = instance_notes(before)
    if not notes:
        return finding
    return replace(
        finding,
        notes=(*finding.notes, *notes),
        cell_line=before.cell_line,
        cell_column=before.cell_column,
        text="\n".join([finding.text, *(note.text for note in notes)]),
    )


_UP_AGAIN = re.compile(r"(?<![^\s/\"'(<])(?!\.\./)[^\s/\"'(<:]+/\.\./")


def _straight(text: str) -> str:
    """A text whose paths do not go up again: `a/c.h` for `a/b/../c.h`."""
    before = None
    while before != text:
        before, text = text, _UP_AGAIN.sub("", text)
    return text


def _called(symbol: str) -> str:
    """The name as a source calls it: `f` of `ns::f<int>(float)`."""
    if symbol.startswith(("__ockl_printf", "__printf")):
        return "printf"
    return short_name(symbol)


_HEAP = frozenset({"calloc", "realloc"})


def _explain_undefined(symbol: str) -> str:
    called = re.sub(r"\(.*", "", symbol)
    if called.startswith(("__ockl_printf", "__printf_alloc")) or called in ("printf", "puts", "vprintf"):
        return (
            "printf does not exist in device code in this form, which needs ROCm's device libraries: "
            "call printf(format, ...) itself"
        )
    if called in _HEAP:
        return f"{called} does not exist in device code: use malloc, and fill or copy what it gives"
    if called.startswith(("__ocml_", "__ockl_")):
        return (
            f"{called} is part of ROCm's device libraries, which are not linked: use a HIP function, or "
            "compile with device_libraries=True, in a cell with --device-libraries"
        )
    return f"{symbol} is declared but nowhere defined for the device (undefined symbol)"
