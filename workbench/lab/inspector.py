"""Documentation at a position of a C++ cell: a name's declaration, a call's signatures, tiles with shapes.

clangd answers; functions of the tile library are shown with their declaration as it is written, since clangd
shows the template's instance. IPython's Shift+Tab asks here too; IPython itself would take the cell for
Python, and `load` for its own magic.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench import dtypes
from workbench.errors import WorkbenchError
from workbench.lab import clangd, library, sentences
from workbench.lab.clangd import Hover, Signature
from workbench.lab.definition import included_as
from workbench.toolchain.mistakes.cell_text import Cell, pieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

OVERLOADS = 6
"""Number of signatures of a call to show; those that fit come first."""

PATIENCE = 2.0
"""Seconds that a shell waits for clangd."""

_MAGIC = re.compile(r"%%hipkittens(?=\s|$)")
_TILE = re.compile(r"\b(?P<kind>rt|st|sv|art|gl|register_vector)<(?P<arguments>.*)>", re.DOTALL)
_ALIAS = re.compile(r"\(aka '?(.*?)'?\)$")
_PARAMETERS = {
    "rt": ("element", "rows", "cols", "layout", "shape"),
    "art": ("element", "rows", "cols", "layout", "shape"),
    "st": ("element", "rows", "cols", "shape"),
    "register_vector": ("element", "length", "layout", "shape"),
    "sv": ("element", "length"),
}
"""Template parameters of the library's types that are worth showing."""


def hover(text: str, line: int, column: int, timeout: float) -> Hover | None:
    """Information on the name at a place of a cell; None if there is no name.

    Args:
        text: the whole cell.
        line, column: the place, from 0; columns in UTF-16 code units.
        timeout: seconds that clangd may take.

    Raises:
        TimeoutError: clangd is not ready yet.
        WorkbenchError: there is none, or it ended.
    """
    server = clangd.running()
    answer = server.hover(text, line, column, timeout)
    if answer is None:
        return None
    if answer.header not in library.headers():
        tile = described(type_of(answer))
        return replace(answer, facts=(*answer.facts, tile)) if tile else answer
    name = answer.title.rpartition(" ")[2]
    written = None
    if answer.title.startswith("function"):
        place = server.definition(text, line, column, timeout)
        if place is not None and place.path is not None:
            written = library.at(included_as(place.path), place.line + 1)
    if written is not None:
        return replace(answer, signature=written.signature, doc=written.doc)
    return replace(answer, doc=sentences.completed(name, answer.doc))


def signatures(text: str, line: int, column: int, timeout: float) -> tuple[list[Signature], int]:
    """Functions that the call around a place may mean, best fit first, and which argument it is.

    Args and raises as for `hover`.
    """
    cell = Cell(text, 0)
    offset = _offset(cell, line, column)
    opening = _opening(cell.code, offset)
    if opening is None:
        return [], 0
    # With its bracket closed, clangd finds the call in its tree, with the types of the arguments.
    closed = text[:offset].rstrip().rstrip(",") + ");" + text[offset:]
    arguments = pieces(cell.code[opening + 1 : offset])
    server = clangd.running()
    row, letter = cell.line_and_column(opening + 1)
    units = len(cell.line(row)[: letter - 1].encode("utf-16-le", "surrogatepass")) // 2
    offered, _ = server.signatures(closed, row, units, timeout)
    distinct = list({signature.label: signature for signature in reversed(offered)}.values())[::-1]
    active = max(0, len(arguments) - 1)
    written = {(function.name, _bare(function.parameters)): function for function in library.functions()}

    def declaration(signature: Signature) -> library.Function | None:
        name, _, rest = signature.label.partition("(")
        return written.get((name, _bare(rest.rpartition(") ->")[0])))

    documented = []
    for signature in distinct:
        declared = declaration(signature)
        documented.append(replace(signature, doc=declared.doc) if declared else signature)
    if len(distinct) < 2:
        return documented, active
    kinds = [tile_kind(type_of(known)) for known in _hovers(closed, cell, opening + 1, arguments, timeout)]

    def fit(signature: Signature) -> int:
        declared = declaration(signature)
        return _fit(declared.signature if declared else "", signature.parameters, kinds)

    return sorted(documented, key=fit, reverse=True), active


def _hovers(text: str, cell: Cell, at: int, arguments: list[str], timeout: float) -> list[Hover | None]:
    """clangd's information on each argument of a call, from offset `at` on, that is a name."""
    known = []
    for argument in arguments:
        name = re.fullmatch(r"\s*(?:[\w.]*\.)?([A-Za-z_]\w*)\s*", argument)
        place = cell.line_and_column(at + name.start(1)) if name else None
        # The letters before an argument on its line are almost always ASCII.
        known.append(clangd.running().hover(text, place[0], place[1] - 1, timeout) if place else None)
        at += len(argument) + 1
    return known


def _opening(code: str, offset: int) -> int | None:
    """Offset of the round bracket of the call around a place."""
    depth = 0
    for at in range(offset - 1, -1, -1):
        letter = code[at]
        if letter in ")]}":
            depth += 1
        elif letter in "([{":
            if depth:
                depth -= 1
            elif letter == "(":
                return at
        elif letter == ";":
            return None
    return None


def _offset(cell: Cell, line: int, column: int) -> int:
    units = cell.line(line).encode("utf-16-le", "surrogatepass")[: 2 * column]
    return (cell.offset(line, 1) or 0) + len(units.decode("utf-16-le", "surrogatepass"))


def _fit(declaration: str, parameters: tuple[str, ...], kinds: list[str]) -> int:
    """Number of a call's arguments whose kinds of tiles fit a function, minus those that do not."""
    concepts = {name: kind for kind, name in re.findall(r"ducks::(\w+)::\w+ (\w+)", declaration)}
    points = 0
    for parameter, kind in zip(parameters, kinds, strict=False):
        type_name = re.sub(r"\bconst\b", "", parameter).split("&")[0].strip()
        taken = concepts.get(type_name, "")
        points += (1 if taken == kind else -1) if kind and taken else 0
    return points - 2 * max(0, len(kinds) - len(parameters))


def _bare(parameters: str) -> str:
    """Parameters without defaults, blanks and brackets around them, to compare two spellings."""
    bare = ",".join(part.partition("=")[0] for part in pieces(parameters.strip().strip("()")))
    return re.sub(r"[\s.]", "", bare)


def type_of(known: Hover | None) -> str:
    """The type of a variable according to clangd, with all aliases resolved; "" if there is none."""
    fact = next((fact for fact in known.facts if fact.startswith("Type: ")), "") if known else ""
    alias = _ALIAS.search(fact)
    return alias[1] if alias else fact.removeprefix("Type: ")


def tile_kind(type_name: str) -> str:
    """ "rt", "gl" and so on; "" for a type that does not belong to the library."""
    match = _TILE.search(type_name)
    kind = match["kind"] if match else ""
    return "rv" if kind == "register_vector" else kind


def described(type_name: str) -> str:
    """A tile's type in words; "" if it is not a tile.

    Args:
        type_name: type in clangd's form, such as "rt<float, 32, 32, ducks::rt_layout::row, rt_shape<16, 16,
            4>>".
    """
    match = _TILE.search(type_name)
    if not match or match["kind"] not in _PARAMETERS:
        return ""
    arguments = (argument.strip() for argument in pieces(match["arguments"]))
    named = dict(zip(_PARAMETERS[match["kind"]], arguments, strict=False))
    kinds = dtypes.spelled(named["element"])
    element = kinds[0].cpp if len(kinds) == 1 else named["element"].removeprefix("kittens::")
    size = f"{named['rows']} x {named['cols']}" if "cols" in named else f"{named.get('length', '?')} values"
    parts = [f"{size} of {element}"]
    if "layout" in named:
        parts.append(f"{named['layout'].rpartition('::')[2]} layout")
    if shape := re.findall(r"\d+", named.get("shape", "").rpartition("::")[2]):
        parts.append(f"base shape {' x '.join(shape[:2])}")
    return ", ".join(parts)


def inspect(code: str, cursor: int) -> str | None:
    """Help on the name at a place of a cell, or on the call around the place.

    Args:
        code: the whole cell.
        cursor: offset of the place.

    Returns:
        text, "" if nothing is known; None outside C++ cells.
    """
    if not _MAGIC.match(code):
        return None
    cell = Cell(code, 0)
    word = re.search(r"\w*$", cell.code[:cursor])
    start = cursor - len(word[0] if word else "")
    line, letter = cell.line_and_column(start)
    if line == 0:
        return ""
    column = len(cell.line(line)[: letter - 1].encode("utf-16-le", "surrogatepass")) // 2
    try:
        known = hover(code, line, column, PATIENCE) if re.match(r"[A-Za-z_]", cell.code[start:]) else None
        if known is not None:
            return _help(known)
        offered, _ = signatures(code, line, column, PATIENCE)
    except TimeoutError:
        return clangd.NOT_READY
    except WorkbenchError as error:
        return str(error)
    lines = [signature.label for signature in offered[:OVERLOADS]]
    if len(offered) > OVERLOADS:
        lines.append(f"and {len(offered) - OVERLOADS} more")
    doc = next((signature.doc for signature in offered if signature.doc), "")
    return "\n\n".join(filter(None, ["\n".join(lines), doc]))


def _help(known: Hover) -> str:
    return "\n\n".join(filter(None, [known.signature, "\n".join(known.facts), known.doc, known.header]))


def install(shell: InteractiveShell) -> None:
    """Answers a notebook's kernel for its C++ cells."""
    kernel: Any = getattr(shell, "kernel", None)
    if kernel is None or getattr(kernel.do_inspect, "hipkittens", None):
        return
    python: Callable[..., dict[str, Any]] = kernel.do_inspect

    def do_inspect(code: str, cursor_pos: int, *more: Any, **options: Any) -> dict[str, Any]:
        text = inspect(code, cursor_pos)
        if text is None:
            return python(code, cursor_pos, *more, **options)
        data = {"text/plain": text} if text else {}
        return {"status": "ok", "found": bool(text), "data": data, "metadata": {}}

    do_inspect.hipkittens = python  # type: ignore[attr-defined]
    kernel.do_inspect = do_inspect


def remove(shell: InteractiveShell) -> None:
    """Restores the kernel's own answers."""
    kernel: Any = getattr(shell, "kernel", None)
    original = getattr(getattr(kernel, "do_inspect", None), "hipkittens", None)
    if original is not None:
        kernel.do_inspect = original
