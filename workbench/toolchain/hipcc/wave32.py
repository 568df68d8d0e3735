"""`-Wwave32`: habits of warps of 32 lanes in a source and in its own headers, as clang prints a warning.

The text shows them (`mistakes.warps`), and the preprocessor which lines count: code for several vendors has
others between `#if` and `#else`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.mistakes import habits
from workbench.toolchain.mistakes.cell_text import Cell
from workbench.toolchain.source_text import source_text

OPTION = "-Wwave32"
_SWITCHES = {
    OPTION: "warning",
    "-Wno-wave32": "",
    "-Werror=wave32": "error",
    "-Wno-error=wave32": "warning",
}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_STDIN = "<stdin>"
_MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"')


def severity_of(word: str) -> str | None:
    """What an option makes of these warnings: "warning", "error" or "" for nothing; None: it is another."""
    return _SWITCHES.get(word)


def warnings(
    path: str, text: str, folders: Sequence[str], severity: str, preprocessed: Callable[[], str]
) -> list[Diagnostic]:
    """Habits in a source and in the headers that it includes in quotes, in the lines that are compiled.

    Args:
        path: the source.
        text: its text.
        folders: where headers are looked for besides the includer's folder.
        severity: "warning" or "error".
        preprocessed: returns the source's text behind the preprocessor, with line markers; called only if
            there is something to report.
    """
    option = OPTION if severity == "warning" else f"-Werror,{OPTION}"
    diagnostics = {
        name: reported
        for name, content in _texts(path, text, folders, set())
        if (reported := habits(Cell(content), _STDIN if name == "-" else name, severity, option))
    }
    if not diagnostics:
        return []
    lines = _compiled_lines(preprocessed())
    return [
        diagnostic
        for name, reported in diagnostics.items()
        for diagnostic in reported
        if (_real(name), diagnostic.line) in lines
    ]


def _texts(path: str, text: str, folders: Sequence[str], read: set[str]) -> Iterator[tuple[str, str]]:
    """Name and text of a source and of its headers, each once."""
    read.add(_real(path))
    yield path, text
    for name in _INCLUDE.findall(text):
        places = (Path(folder, name) for folder in (str(Path(path).parent), *folders))
        header = next((place for place in places if place.is_file()), None)
        if header is not None and _real(str(header)) not in read:
            yield from _texts(str(header), source_text(header.read_bytes()), folders, read)


def _compiled_lines(preprocessed: str) -> set[tuple[str, int]]:
    """File and line of what the preprocessor left."""
    lines, name, number = set(), "", 0
    for line in preprocessed.splitlines():
        if marker := _MARKER.match(line):
            name, number = _real(marker[2]), int(marker[1])
            continue
        if line.strip():
            lines.add((name, number))
        number += 1
    return lines


def _real(name: str) -> str:
    return _STDIN if name in ("-", _STDIN) else str(Path(name).resolve())
