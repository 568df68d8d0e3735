"""Launch shapes of kernels that work on rows."""

from __future__ import annotations

from workbench.targets import WAVE


def lanes_of_row(cols: int, size: int, stride: int = 0, *, wave: int = WAVE) -> int:
    """Lanes of a wave that share a row of `cols` elements of `size` bytes; each has 16 bytes, or `stride`.

    A power of two, as in the register tile base shape `rt_rows_s` of the tile library.
    """
    lanes = 1
    while lanes < wave and lanes * (stride or 16 // size) < cols:
        lanes *= 2
    return lanes
