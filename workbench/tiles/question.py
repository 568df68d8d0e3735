"""Questions to the layout explorer, checked before anything is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.tiles.tile_type import TileType

ACCESSES = ("load", "store")
MAX_GROUP = 16
"""Waves of a work-group."""

MAX_ELEMENTS = 1 << 16
"""Maximum number of elements of a tile: the figure and the table show each of them."""


@dataclass(frozen=True)
class Question:
    """The tile and the access to explore.

    Attributes:
        tile: type of the tile.
        access: "load" (into registers, or for a group into shared memory), "store", or None.
        register: the register tile or vector that a shared one exchanges data with; None if there is none.
        group: number of waves that together move a shared tile from or to global memory; None otherwise.
        at: for a register tile smaller than the shared one, its position in units of its size.
        columns: number of columns of the matrix in global memory.
    """

    tile: TileType
    access: str | None = None
    register: TileType | None = None
    group: int | None = None
    at: tuple[int, int] = (0, 0)
    columns: int = 0

    @property
    def title(self) -> str:
        """The access in C++, such as "load(rt_bf<16, 64>, st_bf<64, 64>)"."""
        tile = self.tile.text
        if self.access is None:
            return tile
        other = "global" if self.register is None else self.register.text
        group = f"group<{self.group}>::" if self.group is not None else ""
        inner = tile if self.part is None else f"{tile} part {self.at}"
        shared_first = (self.access == "store") == (self.register is not None)
        if self.register is None and not self.tile.is_shared:
            shared_first = self.access == "load"
        return (
            f"{group}{self.access}({inner}, {other})"
            if shared_first
            else f"{group}{self.access}({other}, {inner})"
        )

    @property
    def part(self) -> tuple[int, int] | None:
        """Rows and columns of the part of a shared tile that is moved; None for all of it."""
        held = self.register
        if held is None or held.is_vector or (held.rows, held.cols) == (self.tile.rows, self.tile.cols):
            return None
        return held.rows, held.cols

    def threads(self, wave_size: int) -> int:
        """Work-items of its kernels, in waves of `wave_size` lanes."""
        return wave_size * (self.group or 1)

    def moved(self) -> set[tuple[int, int]]:
        """The elements that the access moves."""
        rows, cols = self.part or (self.tile.rows, self.tile.cols)
        top, left = self.at[0] * rows, self.at[1] * cols
        return {(r, c) for r in range(top, top + rows) for c in range(left, left + cols)}


def question(
    tile: str,
    access: str | None = None,
    register: str | None = None,
    group: int | None = None,
    at: Sequence[int] = (0, 0),
    columns: int | None = None,
) -> Question:
    """Checks the arguments of `view_layout`.

    Raises:
        UsageError: the parts do not fit together; the message says what would.
    """
    of = TileType.parse(tile)
    held: TileType | None = None
    if access is not None and access not in ACCESSES:
        raise UsageError(f'access={access!r}; expected "load", "store", or None for the layout alone')
    if access is None and (register is not None or group is not None):
        raise UsageError(
            f'{tile} with a {"register" if register else "group"}: say access="load" or "store" too'
        )
    if not of.is_shared and (register is not None or group is not None):
        raise UsageError(
            f"{tile} is a {of.word}; register= and group= are for shared ones. With access= alone it is "
            "loaded from (stored to) global memory"
        )
    if of.is_shared and access is not None and (register is None) == (group is None):
        raise UsageError(
            f'{access} of {tile}: say register="{"rv" if of.is_vector else "rt"}_bf<...>" for one between '
            "shared memory and registers, or group=4 for one between shared and global memory, by that many "
            "waves; not both"
        )
    if group is not None and (not isinstance(group, int) or not 1 <= group <= MAX_GROUP):
        raise UsageError(f"group={group!r}; expected a number of waves from 1 to {MAX_GROUP}")
    if register is not None:
        held = TileType.parse(register, ("rv",) if of.is_vector else ("rt",))
        fits = not (of.rows % held.rows or of.cols % held.cols)
        if held.is_vector:
            fits = held.rows * held.cols == of.rows * of.cols
        if not fits:
            raise UsageError(
                f"{register} is {held.rows} x {held.cols} and {tile} {of.rows} x {of.cols}; "
                + (
                    "expected the same length"
                    if of.is_vector
                    else "the shared tile must be a whole number of these"
                )
            )
    parts = (of.rows // held.rows, of.cols // held.cols) if held and not of.is_vector else (1, 1)
    place = tuple(at)
    if len(place) != 2 or not all(
        isinstance(i, int) and 0 <= i < n for i, n in zip(place, parts, strict=True)
    ):
        raise UsageError(f"at={at!r}: {tile} has {parts[0]} x {parts[1]} such parts, counted from (0, 0)")
    if of.rows * of.cols > MAX_ELEMENTS:
        raise UsageError(f"{tile} has {of.rows * of.cols:,} elements; at most {MAX_ELEMENTS:,} are drawn")
    # In the library, a vector along rows lies in a row of global memory.
    least = of.rows * of.cols if of.is_vector else of.cols
    wide = least if columns is None else columns
    if not isinstance(wide, int) or wide < least:
        raise UsageError(f"columns={columns!r}: the matrix in global memory has at least the tile's {least}")
    return Question(of, access, held, group, (place[0], place[1]), wide)
