"""Mistakes that the compiler accepts because types cannot show them; each is a warning or a note.

They are found in the text, and only if it leaves no doubt: an index is multiplied by exactly the number with
which the tile is declared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workbench.toolchain.mistakes import warps
from workbench.toolchain.mistakes.cell_text import Cell, Span
from workbench.toolchain.mistakes.error_context import Change, Explanation


@dataclass(frozen=True, slots=True)
class SilentMistake:
    """A mistake that compiles.

    Attributes:
        name: name in `docs/mistakes.md`.
        find: returns its places in a source.
        severity: "warning", or "note" if it may be intended.
    """

    name: str
    find: Callable[[Cell], Iterator[Explanation]]
    severity: str = "warning"


def _sizes(cell: Cell, name: str, before: int, kinds: str) -> tuple[str, str] | None:
    """Rows and columns in the declaration of a tile, as they are written."""
    declared = cell.declaration(name, before)
    match = re.match(rf"(?:kittens::)?(?:{kinds})(_\w+)?(<)", declared.type.text) if declared else None
    if not declared or not match:
        return None
    parts = [span.text for span in cell.split(declared.type.start + match.start(2))]
    parts = parts if match[1] else parts[1:]
    return (parts[0], parts[1]) if len(parts) > 1 else None


_PRODUCT = re.compile(r"(?P<row>[^+*\[\]]+?|\(.+?\))\s*\*\s*(?P<times>\w+)\s*\+\s*(?P<col>[^+]+)")


def _in_memory_order(cell: Cell) -> Iterator[Explanation]:
    for match in re.finditer(r"\b(\w+)(\.data)?(\[)", cell.code):
        end = cell.closing(match.start(3))
        if end is None:
            continue
        index = cell.text[match.end() : end].strip()
        product = _PRODUCT.fullmatch(index)
        sizes = product and _sizes(cell, match[1], match.start(), "st")
        if not product or not sizes or product["times"] != sizes[1]:
            continue
        row, col = product["row"].strip(), product["col"].strip()
        if row.startswith("(") and row.endswith(")"):
            row = row[1:-1]
        right = f"{match[1]}[{{{row}, {col}}}]"
        whole = Span(match.start(), end + 1, cell.text[match.start() : end + 1])
        yield Explanation(
            f"a shared tile is swizzled: place {index} in memory is not element {{{row}, {col}}}; "
            f"write {right}",
            whole,
            (Change(whole, right),),
        )


def _in_elements(cell: Cell) -> Iterator[Explanation]:
    steps = {
        (match[1], match[2])
        for match in re.finditer(
            r"\bfor\s*\([^;]*?\b(\w+)\s*=[^;]*;[^;]*;\s*\1\s*\+=\s*(\w+)\s*\)", cell.code
        )
    }
    stepped = {name for name, _ in steps}
    for match in re.finditer(
        r"\b(?:load|store|load_async|atomic_pk_add|prefetch)\s*(?:<[^<>()]*>)?\s*(\()", cell.code
    ):
        spans = cell.split(match.start(1))
        for at in spans[2:]:
            if not at.text.startswith("{"):
                continue
            indices = cell.split(at.start)
            doubtful = [
                axis
                for axis in (-2, -1)
                if len(indices) >= -axis and ("*" in indices[axis].text or indices[axis].text in stepped)
            ]
            if not doubtful:
                continue
            sizes = next(
                (pair for span in spans[:2] if (pair := _sizes(cell, span.text, span.start, "rt|st|art"))),
                None,
            )
            for axis in doubtful if sizes else ():
                size = sizes[axis] if sizes else ""
                yield from _one_index(indices[axis], size, steps, "row" if axis == -2 else "column")


def _one_index(index: Span, size: str, steps: set[tuple[str, str]], axis: str) -> Iterator[Explanation]:
    product = re.fullmatch(r"([\w.:()]+)\s*\*\s*(\w+)|(\w+)\s*\*\s*([\w.:()]+)", index.text)
    if product and size in (product[2], product[3]):
        right = product[1] or product[4]
        yield Explanation(
            f"the {axis} of a coordinate counts tiles of {size}, not elements: `{index.text}` is "
            f"{right} * {size} tiles; write {right}, or coord<>{{...}} to count elements",
            index,
            (Change(index, right),),
        )
    elif (index.text, size) in steps:
        yield Explanation(
            f"the {axis} of a coordinate counts tiles of {size}, not elements: `{index.text}` goes in steps "
            f"of {size}; write {index.text} / {size}, or coord<>{{...}} to count elements",
            index,
            (Change(index, f"{index.text} / {size}"),),
        )


ACCEPTED = (
    SilentMistake("A shared tile read in the order of memory", _in_memory_order),
    SilentMistake("A coordinate that counts elements", _in_elements),
    SilentMistake("A mask of lanes in 32 bits", warps.mask_in_32_bits, "note"),
    SilentMistake("A full mask of 32 lanes", warps.mask_of_32_lanes, "note"),
    SilentMistake("A lane's bit in 32 bits", warps.lane_bit_in_32_bits, "note"),
    SilentMistake("A lane of a warp of 32", warps.lane_of_32, "note"),
    SilentMistake("A reduction over 32 lanes", warps.reduction_over_32, "note"),
)
