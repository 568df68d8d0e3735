"""Shift+Tab in `%%hipkittens` cells: signatures of the tile library, and tiles with their shapes.

IPython would take the cell for Python, and `load` for its own magic. The answer is made from the headers'
index and from the cell's own declarations; it needs neither clangd nor a compiler.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workbench.lab import index as names
from workbench.lab.clangd import Hover
from workbench.toolchain.mistakes.cell_text import Cell, Declared, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from workbench.lab.entry import Entry

OVERLOADS = 6
"""Signatures of a name that are shown, those first that fit the call."""

_MAGIC = re.compile(r"%%hipkittens(?=\s|$)")
_TILE = re.compile(r"(?:kittens::)?(?P<name>(?:rt|st|rv|sv|art)(?:_\w+)?)<(?P<arguments>.*)>", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_LAYOUTS = {"row_l": "row layout (row_l)", "col_l": "column layout (col_l)"}


def inspect(code: str, cursor: int) -> str | None:
    """Help on the name at a place of a cell, or on the call around the place.

    Args:
        code: the whole cell.
        cursor: offset of the place.

    Returns:
        text, "" where nothing is known; None outside of C++ cells.
    """
    if not _MAGIC.match(code):
        return None
    cell = Cell(code)
    start = cursor - len(re.search(r"\w*$", cell.code[:cursor])[0])  # type: ignore[index]
    word = re.compile(r"\w*").match(cell.code, start)
    description = _of_name(cell, word[0], start) if word and word[0] else ""
    call = _call_around(cell, cursor) if not description else None
    return description or (_of_name(cell, call[0], call[1]) if call else "")


def _of_name(cell: Cell, name: str, at: int) -> str:
    declared = cell.declaration(name, at + len(name))
    if declared:
        return _variable(declared, name)
    entries = [entry for entry in ranked(cell, name, at) if entry.kind != "macro"]
    if not entries:
        return ""
    call = cell.call(at)
    operands = [span.text for span in call.arguments] if call else []
    lines = [entry.signature for entry in entries[:OVERLOADS]]
    if len(entries) > OVERLOADS:
        lines.append(f"and {len(entries) - OVERLOADS} more")
    tiles = [
        _variable(variable, text)
        for text in dict.fromkeys(operands)
        if (variable := cell.declaration(text, at)) and _TILE.fullmatch(variable.type.text)
    ]
    doc = next((entry.doc for entry in entries if entry.doc), "")
    return "\n\n".join(filter(None, ["\n".join(lines), "\n".join(tiles), doc, entries[0].header]))


def ranked(cell: Cell, name: str, at: int) -> list[Entry]:
    """The tile library's declarations of a name, those first that fit the call at a place of a cell."""
    call = cell.call(at)
    kinds = [_kind(cell.declaration(span.text, at)) for span in call.arguments] if call else []
    return sorted(names.lookup(name), key=lambda entry: -_fit(entry, kinds))


def _variable(declared: Declared, name: str) -> str:
    """A variable with its type: of a tile also rows, columns, element, layout and base shape."""
    text = f"{declared.type.text} {name}"
    tile = described(declared.type.text)
    return f"{text}: {tile}" if tile else text


def hover(text: str, line: int, column: int) -> Hover | None:
    """A cell's declaration of the name at a place, as `clangd.Hover`; None where it declares none.

    Args:
        text: the whole cell.
        line, column: the place, from 0; columns in UTF-16 code units.
    """
    word = word_at(text, line, column)
    if word is None:
        return None
    cell, name, end = word
    declared = cell.declaration(name, end)
    if declared is None:
        return None
    tile = described(declared.type.text)
    signature = f"{declared.type.text} {name}"
    return Hover(signature, f"variable {name}", signature, (tile,) if tile else ())


def word_at(text: str, line: int, column: int) -> tuple[Cell, str, int] | None:
    """The name at a place of a C++ cell: the cell, the name, the offset behind it; None where there is none.

    Args:
        text, line, column: as of `hover`.
    """
    lines = text.split("\n")
    if not _MAGIC.match(text) or not 0 < line < len(lines):
        return None
    units = lines[line].encode("utf-16-le", "surrogatepass")[: 2 * column]
    within = len(units.decode("utf-16-le", "surrogatepass"))
    start = sum(len(row) + 1 for row in lines[:line])
    cell = Cell(text)
    word = next((w for w in _WORD.finditer(cell.code, start) if w.end() >= start + within), None)
    return (cell, word[0], word.end()) if word and word.start() <= start + within else None


def described(written: str) -> str:
    """A tile's type in words; "" where it is none.

    Args:
        written: as a cell writes it, such as "rt_bf<32, 64, col_l>".
    """
    match = _TILE.fullmatch(written)
    entries = [entry for entry in names.lookup(match["name"]) if entry.scope == "kittens"] if match else []
    if not match or not entries:
        return ""
    arguments = [part.strip() for part in pieces(match["arguments"])]
    head = re.search(r"template\s*<(.*?)>\s*(?:using|struct)", entries[0].signature)
    named: dict[str, str] = {}
    for position, parameter in enumerate(pieces(head[1]) if head else ()):
        name, _, usual = parameter.partition("=")
        named[name.split()[-1].lstrip("_")] = (
            arguments[position] if position < len(arguments) else usual.strip()
        )
    element = named.get("T") or next(iter(re.findall(r"= \w+<(\w+),", entries[0].signature)), "")
    rows, cols, length = named.get("rows"), named.get("cols"), named.get("length")
    parts = [f"{rows} x {cols}" if rows and cols else f"{length} values" if length else ""]
    parts[0] += f" of {element}" if element else ""
    parts.append(_LAYOUTS.get(named.get("layout", ""), ""))
    parts.append(f"base shape {named['shape']}" if named.get("shape") else "")
    return ", ".join(filter(None, parts))


def _kind(declared: Declared | None) -> str:
    """ "rt", "gl" and so on; "" where a declaration does not tell."""
    written = declared.type.text if declared else ""
    match = re.match(r"(?:kittens::)?(rt|st|rv|sv|art|gl)(?:_\w+)?\b", written)
    return match[1] if match else ""


def _fit(entry: Entry, kinds: Sequence[str]) -> int:
    """Number of a call's operands whose kinds of tiles match a signature."""
    concepts = {name: kind for kind, name in re.findall(r"ducks::(\w+)::\w+ (\w+)", entry.signature)}
    opening = entry.signature.find(f"{entry.name}(")
    if opening < 0:
        return -1
    parameters = pieces(entry.signature[opening + len(entry.name) + 1 : entry.signature.rfind(")")])
    fits = 0
    for parameter, kind in zip(parameters, kinds, strict=False):
        type_name = re.sub(r"\bconst\b", "", parameter).split("&")[0].strip()
        taken = concepts.get(type_name, "")
        fits += (1 if taken == kind else -1) if kind and taken else 0
    return 10 * fits - abs(len(parameters) - len(kinds))


def _call_around(cell: Cell, cursor: int) -> tuple[str, int] | None:
    """Name of the call whose brackets a place is in, and where the name stands."""
    depth = 0
    for at in range(cursor - 1, -1, -1):
        letter = cell.code[at]
        if letter in ")]}":
            depth += 1
        elif letter in "([{":
            if depth:
                depth -= 1
                continue
            name = re.search(r"(\w+)\s*(?:<[^<>;()]*>)?\s*$", cell.code[:at]) if letter == "(" else None
            if name:
                return name[1], name.start(1)
        elif letter == ";":
            return None
    return None


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
