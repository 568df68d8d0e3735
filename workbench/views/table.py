"""The table of all views: HTML in a notebook, columns of text in a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from markupsafe import Markup, escape

from workbench.views.markup import block, classed, folding

CHARACTER, GAP = 0.56, 0.7
"""Ems of a character and between two columns."""

WRAPS = 14
"""Length up to which a text stays on one line, however narrow the page is."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        content: escaped, unless it is `Markup`.
        kind: CSS class, such as "wb-num" for right alignment; see `views.markup.STYLE`.
        tip: tool tip.
    """

    content: Any
    kind: str = ""
    tip: str = ""

    @classmethod
    def from_value(cls, value: Any) -> Cell:
        """A value as a cell: numbers to the right, whole ones in full, others with four digits."""
        if isinstance(value, Cell):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return cls(value)
        return number(value, "," if isinstance(value, int) else ",.4g")

    @property
    def text(self) -> str:
        """As a terminal shows it."""
        if not isinstance(self.content, Markup):
            return str(self.content)
        return Markup(self.content.replace("<br>", " ")).striptags()

    @property
    def least_width(self) -> int:
        """Characters that it needs to be read: a third of a long text, the whole of a short one."""
        text = self.text
        if self.kind == "wb-line":
            return len(text)
        longest = max(map(len, text.split()), default=0)
        return max(longest, min(len(text), max(WRAPS, len(text) // 3)))

    def html(self, title: str = "") -> Markup:
        """As a page shows it; `title` is its column's, for a table that folds."""
        attributes = _attribute("title", self.tip) + _attribute("data-title", title)
        return Markup(f"<td{_aligned(self.kind)}{attributes}>{escape(self.content)}</td>")


def number(value: float, form: str = ",g") -> Cell:
    """A number, aligned to the right."""
    return Cell(format(value, form), "wb-num")


class Table:
    """Rows under a head.

    Args:
        head: titles of the columns; none for a table without a head.
        rows: values of each row; `Cell.from_value` formats them.
        caption: caption above the table.
        tips: tool tip of each row, if any.

    On a page too narrow for its columns a row becomes its first cell, and the others below, each behind its
    column's title.
    """

    def __init__(
        self,
        head: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        caption: str = "",
        tips: Sequence[str] = (),
    ) -> None:
        self.head = tuple(head)
        self.rows = [tuple(Cell.from_value(value) for value in row) for row in rows]
        self.caption = caption
        self.tips = tuple(tips) or ("",) * len(self.rows)

    def __html__(self) -> Markup:
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        # A title is aligned like the numbers below it.
        numbers = {n for row in self.rows for n, cell in enumerate(row) if "wb-num" in cell.kind}
        titles = "".join(
            f"<th{_aligned('wb-num' if column in numbers else '')}>{escape(title)}</th>"
            for column, title in enumerate(self.head)
        )
        head = f"<tr>{titles}</tr>" if self.head else ""
        width = self._least_width() if len(self.head) > 2 else 0
        of_cells = self.head if width else repeat("")
        body = "".join(
            f"<tr{_attribute('title', tip)}>"
            + "".join(cell.html(title) for cell, title in zip(row, of_cells, strict=False))
            + "</tr>"
            for row, tip in zip(self.rows, self.tips, strict=True)
        )
        table = Markup(f"<table>{caption}{head}{body}</table>")
        return folding(table, width) if width else table

    def _least_width(self) -> int:
        """Ems that the columns need to be read."""
        # Titles stay on one line; the rows' own texts may take three.
        rows = ([cell.least_width for cell in row] for row in self.rows)
        columns = zip([len(title) for title in self.head], *rows, strict=True)
        ems: float = sum(CHARACTER * max(column) + GAP for column in columns)
        return math.ceil(ems)

    def _repr_html_(self) -> str:
        return str(block(self))

    def __str__(self) -> str:
        """The table as columns of text."""
        texts = [[cell.text for cell in row] for row in self.rows]
        lines_of_cells = [list(self.head), *texts] if self.head else texts
        widths = [max(map(len, column)) for column in zip(*lines_of_cells, strict=True)]
        lines = [self.caption] if self.caption else []
        if self.head:
            lines.append(_line(self.head, widths, ()))
        for row, cells in zip(texts, self.rows, strict=True):
            lines.append(_line(row, widths, [cell.kind == "wb-num" for cell in cells]))
        return "\n".join(lines)

    __repr__ = __str__


def _aligned(kind: str) -> str:
    # Notebook front ends align table cells to the right by rules of their own.
    side = "" if "wb-num" in kind.split() else "text-align:left;"
    return classed(kind, f"{side}padding-right:.7em")


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value)}"' if value else ""


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    sides = [*right, *[False] * (len(texts) - len(right))]
    padded = (
        text.rjust(width) if to_right else text.ljust(width)
        for text, width, to_right in zip(texts, widths, sides, strict=True)
    )
    return "  ".join(padded).rstrip()
