"""Go to definition in C++ cells, with clangd: in the cell itself, or in a header that it includes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.lab import clangd
from workbench.paths import hip_include_dir, include_dir

TIMEOUT = 60.0
"""Maximum number of seconds that a person waits: on a busy computer, for headers to be read first."""

_INCLUDE = re.compile(r"\s*#\s*include\s*[\"<]([\w./+-]+)[\">]")


def definition(text: str, line: int, column: int) -> dict[str, Any]:
    """The definition of the name at a place of a cell; on an `#include` line, the header itself.

    Args:
        text: the whole cell.
        line, column: the place, from 0; columns in UTF-16 code units.

    Returns:
        `line` from 1 and, in the cell itself, `column` from 1 in characters; for a header, `file` as it is
        included, and its `text`. Empty if the name is not known.

    Raises:
        WorkbenchError: clangd is missing, ended, or still reads the cell's headers.
    """
    lines = text.split("\n")
    if not text.startswith("%%hipkittens") or not 0 < line < len(lines):
        return {}
    included = _INCLUDE.match(lines[line])
    if included:
        return _header(included[1])
    try:
        place = clangd.running().definition(text, line, column, TIMEOUT)
    except TimeoutError:
        raise WorkbenchError(clangd.NOT_READY) from None
    if place is None:
        return {}
    if place.path is not None:
        return _shown(place.path, place.line + 1)
    units = lines[place.line].encode("utf-16-le", "surrogatepass")[: 2 * place.column]
    return {"line": place.line + 1, "column": len(units.decode("utf-16-le", "surrogatepass")) + 1}


def _header(name: str) -> dict[str, Any]:
    for root in (include_dir(), hip_include_dir()):
        path = Path(root, name)
        # A name with `..` in it must not show files outside the headers.
        if path.is_file() and path.resolve().is_relative_to(Path(root).resolve()):
            return _shown(path, 1)
    return {}


def _shown(path: Path, line: int) -> dict[str, Any]:
    """A header at a line, under the name by which it is included."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return {"file": included_as(path), "line": line, "text": text}


def included_as(path: Path) -> str:
    """The name by which a header is included; for one of the compiler's headers, the file's name."""
    for root in (include_dir(), hip_include_dir()):
        if path.resolve().is_relative_to(Path(root).resolve()):
            return path.resolve().relative_to(Path(root).resolve()).as_posix()
    return path.name
