"""The grids of cells that the layout explorer colours: a tile's elements, and dwords of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.targets import LINE_BYTES
from workbench.tiles import LayoutResult, Row

Grid = npt.NDArray[np.float32]

TEXT_CELLS, TEXT_ROWS = 2100, 64
"""Cells and rows of a panel up to which a cell has a number: the lane's, or without accesses what its colour
says."""

SEEN, VEILED, CONFLICTING, CONFLICTED = 0, 1, 2, 3
"""Overlay of a cell's colour: none, a veil, the colour of conflicts, and the same where all accesses
are shown at once, through which the cell's own is seen."""


@dataclass(frozen=True)
class Mode:
    """A quantity that the cells' colours show.

    Attributes:
        name: name in the menu and on the colour bar.
        value: returns the value of a row; None if it has none.
    """

    name: str
    value: Callable[[Row], int | None]


MODES = (
    Mode("lane", lambda row: row.lane),
    Mode("register", lambda row: row.register),
    Mode("bank", lambda row: row.bank),
    Mode("phase", lambda row: row.phase),
    Mode("access", lambda row: row.access),
    Mode("wave", lambda row: row.wave),
    Mode("row", lambda row: row.row),
    Mode("column", lambda row: row.col),
)

FIELDS: tuple[tuple[str, Callable[[Row], int | None]], ...] = (
    ("element's row", lambda row: row.row),
    ("element's column", lambda row: row.col),
    ("lane", lambda row: row.lane),
    ("held by lane", lambda row: row.holder if row.holder != row.lane else None),
    ("register", lambda row: row.register),
    ("byte of the register", lambda row: row.register_byte),
    ("LDS address", lambda row: row.address),
    ("bank", lambda row: row.bank),
    ("access", lambda row: row.access),
    ("phase", lambda row: row.phase),
    ("bank conflict (1: yes)", lambda row: None if row.phase is None else int(row.conflict)),
    ("wave", lambda row: row.wave),
    ("byte offset in global memory", lambda row: row.offset),
)


@dataclass(frozen=True)
class Panel:
    """A grid of cells: the tile's elements, or dwords of memory.

    Attributes:
        title: title above the panel.
        shape: rows and columns of cells.
        start: numbers of the first row and column.
        place: returns the row and column of a row's cell; None if it has none.
        first: first row of the table for each cell.
        x, y: axis titles.
        head: first line of the hover text, as a plotly template.
    """

    title: str
    shape: tuple[int, int]
    start: tuple[int, int]
    place: Callable[[Row], tuple[int, int] | None]
    first: dict[tuple[int, int], Row]
    x: str
    y: str
    head: str

    @property
    def is_small(self) -> bool:
        """True if each cell has room for a number."""
        return self.shape[0] <= TEXT_ROWS and self.shape[0] * self.shape[1] <= TEXT_CELLS

    def grid(self, value: Callable[[Row], int | None]) -> Grid:
        """A value in each cell, NaN if there is none."""
        cells = np.full(self.shape, np.nan, np.float32)
        for place, row in self.first.items():
            number = value(row)
            if number is not None:
                cells[self.cell(place)] = number
        return cells

    def cell(self, place: tuple[int, int]) -> tuple[int, int]:
        """Grid cell of a place."""
        return place[0] - self.start[0], place[1] - self.start[1]

    def veil(self, rows: Sequence[Row] | None) -> npt.NDArray[np.uint8]:
        """The overlay of each cell: red on conflicts, clear on the rows' other cells, a veil on the rest.

        With None, only the conflicts of all rows.
        """
        cells = np.full(self.shape, SEEN if rows is None else VEILED, np.uint8)
        conflicting = CONFLICTED if rows is None else CONFLICTING
        for row in self.first.values() if rows is None else rows:
            place = self.place(row)
            if place is not None and (rows is not None or row.conflict):
                cell = self.cell(place)
                cells[cell] = conflicting if row.conflict or cells[cell] == conflicting else SEEN
        return cells


Place = Callable[[Row], tuple[int, int] | None]


def _panel(title: str, place: Place, rows: Sequence[Row], width: int, *text: str) -> Panel:
    """A panel as large as the rows need; `width` columns if that is not 0."""
    first: dict[tuple[int, int], Row] = {}
    for row in rows:
        at = place(row)
        # A conflict is what the reader looks for where an element is accessed several times.
        if at is not None and (at not in first or (row.conflict and not first[at].conflict)):
            first[at] = row
    top, bottom = min(y for y, _ in first), max(y for y, _ in first)
    left, right = (0, width - 1) if width else (min(x for _, x in first), max(x for _, x in first))
    return Panel(title, (bottom - top + 1, right - left + 1), (top, left), place, first, *text)


def panels_of(result: LayoutResult) -> list[Panel]:
    """The tile's elements, and the memory that is accessed."""

    def element(row: Row) -> tuple[int, int]:
        return row.row, row.col

    text = ("column", "row", "element (%{y}, %{x})")
    panels = [_panel(f"elements of {result.question.tile.text}", element, result.rows, 0, *text)]
    if any(row.address is not None for row in result.rows):
        width = result.banks * 4

        def dword(row: Row) -> tuple[int, int] | None:
            at = row.address
            return None if at is None else (at // width, at % width // 4)

        text = ("bank", f"{width} bytes", "dword of bank %{x}")
        panels.append(_panel("shared memory (LDS)", dword, result.rows, result.banks, *text))
    elif any(row.offset is not None for row in result.rows):

        def line(row: Row) -> tuple[int, int] | None:
            at = row.offset
            return None if at is None else (at // LINE_BYTES, at % LINE_BYTES // 4)

        text = ("dword of the line", "line", "line %{y}, dword %{x}")
        title = f"global memory, lines of {LINE_BYTES} bytes"
        panels.append(_panel(title, line, result.rows, LINE_BYTES // 4, *text))
    return panels


def compact(grid: Grid) -> npt.NDArray[np.generic]:
    """A grid in the smallest type that plotly reads and that holds its numbers; NaN needs a float."""
    for kind in (np.uint8, np.int16):
        # A NaN is not an integer, and so equals none.
        with np.errstate(invalid="ignore"):
            small = grid.astype(kind)
        if np.array_equal(small, grid):
            return small
    return grid


def differs(grid: Grid) -> bool:
    """True if the grid has at least two different numbers."""
    numbers = grid[~np.isnan(grid)]
    return bool(numbers.size) and bool((numbers != numbers[0]).any())


def top_value(panels: Sequence[Panel], mode: Mode) -> int:
    """The greatest value of a mode, which has the last colour."""
    grids = [panel.grid(mode.value) for panel in panels]
    return max(1, *(int(np.nanmax(grid)) for grid in grids if not np.isnan(grid).all()), 0)
