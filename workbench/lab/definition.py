"""Go to definition in C++ cells: in the cell itself, else in a header that the cell can include."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.lab import index as names
from workbench.lab import inspector
from workbench.paths import hip_include_dir, include_dir

if TYPE_CHECKING:
    from workbench.toolchain.mistakes.cell_text import Cell

_HEAD = 6
"""Lines that stand between the begin of a declaration and its name, at most."""

_INCLUDE = re.compile(r"\s*#\s*include\s*[\"<]([\w./+-]+)[\">]")


def definition(text: str, line: int, column: int) -> dict[str, Any]:
    """The definition of the name at a place of a cell; on an `#include` line, the header itself.

    Args:
        text: the whole cell.
        line, column: the place, from 0; columns in UTF-16 code units.

    Returns:
        `line` from 1 and, in the cell itself, `column` from 1; of a header `file`, as it is included, and its
        `text`. Empty where the name is not known.
    """
    lines = text.split("\n")
    included = _INCLUDE.match(lines[line]) if 0 < line < len(lines) else None
    if included:
        return _header(included[1], 1)
    word = inspector.word_at(text, line, column)
    if word is None:
        return {}
    cell, name, end = word
    inside = _in_cell(cell, name, end)
    if inside is not None:
        row, place = cell.place(inside)
        return {"line": row, "column": place}
    entries = inspector.ranked(cell, name, end - len(name)) or names.lookup(
        name, names.index(hip_include_dir())
    )
    return _header(entries[0].header, entries[0].line, name) if entries else {}


def _in_cell(cell: Cell, name: str, end: int) -> int | None:
    declared = cell.declaration(name, end)
    word = re.compile(rf"\b{re.escape(name)}\b")
    if declared is not None:
        at = word.search(cell.code, declared.type.end)
        return at.start() if at else None
    macro = re.search(rf"^[ \t]*#[ \t]*define[ \t]+({re.escape(name)})\b", cell.code, re.MULTILINE)
    if macro:
        return macro.start(1)
    # The magic's line is none of C++.
    blank = " " * len(cell.lines[0])
    declarations = [
        entry for entry in names.read_header(blank + cell.text[len(blank) :], "") if entry.name == name
    ]
    for entry in declarations:
        start = cell.offset(entry.line, 1)
        at = word.search(cell.code, start) if start is not None else None
        if at:
            return at.start()
    return None


def _header(name: str, line: int, word: str = "") -> dict[str, Any]:
    """A header at a line; at the one after it that has a word, where a template's own line stands before."""
    for root in (include_dir(), hip_include_dir()):
        path = Path(root, name)
        # Nothing outside of the headers is shown by a name with `..` in it.
        if path.is_file() and path.resolve().is_relative_to(Path(root).resolve()):
            text = path.read_text(encoding="utf-8", errors="replace")
            near = text.splitlines()[line - 1 : line + _HEAD]
            named = (n for n, row in enumerate(near) if re.search(rf"\b{re.escape(word)}\b", row))
            return {"file": name, "line": line + next(named, 0), "text": text}
    return {}
