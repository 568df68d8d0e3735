"""The plain loop's tile of C per work-group, its number of parts of K, and the distance of its loads ahead.

The rule follows from the limits of a compute unit, not from times of kernels: `docs/gemm.md`, "Tiles and
parts of K".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.targets import target

UNITS = 256
"""Compute units that work is spread over; one number, so that a product has the same bits on both targets."""
STEP_BYTES = 128
"""Bytes of a row of A and of B per step along K."""
LATENCY = 2000
"""Cycles from a load from memory until its data is in shared memory."""
STEP = 500
"""Cycles of a step that its work-group cannot hide: barrier, reads, a chain of matrix instructions."""
LAUNCH = 4500
"""Cycles of a second launch: its start, reading a part and writing C."""
LOAD, ROWS, READ, MEMORY = 64, 32, 128, 3300
"""Bytes per cycle: loads of a compute unit to shared memory; to registers, half a line of a row at a time;
its reads of shared memory; and memory for all compute units."""
MATRIX = 4096
"""Bytes of A's row times columns of B that a compute unit multiplies per cycle: 4096 operations of bf16."""
LINE = 128
"""Bytes of a line of the caches."""
MOST_AHEAD = 8
"""Largest number of steps in shared memory."""


@dataclass(frozen=True)
class Tile:
    """Rows and columns of C of a work-group, and parts of K."""

    high: int
    wide: int
    parts: int = 1

    def groups(self, m: int, n: int) -> int:
        """Work-groups of a matrix."""
        return -(-m // self.high) * -(-n // self.wide) * self.parts

    def stage(self, step: int) -> int:
        """Bytes of A and B in a step with `step` bytes of each row."""
        return (self.high + self.wide) * step


def held_by(stage: int, groups: int, lds: int, most: int = MOST_AHEAD) -> int:
    """Steps of `stage` bytes per work-group, 2, 4 or 8, if this many work-groups share units with `lds`
    bytes."""
    room = lds // (stage * min(-(-groups // UNITS), 2))
    return next(held for held in (MOST_AHEAD, 4, 2) if held <= max(min(room, most), 2))


def ahead(stage: int, groups: int, arch: str, most: int = MOST_AHEAD) -> int:
    """`held_by` with the shared memory of a target."""
    return held_by(stage, groups, int(target(arch).lds_bytes), most)


def cycles(
    tile: Tile,
    m: int,
    n: int,
    row: int,
    batch: int = 1,
    step: int = STEP_BYTES,
    most: int = MOST_AHEAD,
) -> float:
    """Estimated time of a product, in cycles.

    Args:
        row: bytes of a row of A or B, their mean if they differ.
        step: bytes of a row per step along K.
        most: largest number of steps in shared memory.
    """
    rounds = -(-tile.groups(m, n) * batch // UNITS)
    steps = -(-row // (step * tile.parts))
    stage = tile.stage(step)
    held = held_by(stage, tile.groups(m, n) * batch, 160 << 10, most)
    load = stage / LOAD
    multiply = tile.high * tile.wide * step / MATRIX
    read = 2 * stage / READ
    # If there is one work-group, its waves alternate between reading and multiplying.
    busy = max(load, multiply + read if rounds == 1 else max(multiply, read))
    alone = max(STEP, LATENCY / (held - 1)) / min(rounds, 2)
    unit = LATENCY + rounds * steps * max(busy, alone)
    memory = LATENCY + batch * (m + n) * row / MEMORY
    finish = LAUNCH + 2 * 4 * m * n * tile.parts / MEMORY if tile.parts > 1 else 0
    return max(unit, memory) + finish


SIDES = (32, 64, 128)
"""Rows or columns of a tile."""
TUNABLES: dict[str, Any] = {"side": (0, 64, 128)}
"""Square tiles for tuning of the plain loop; 0 keeps the rule's choice."""


def best(
    m: int,
    n: int,
    row: int,
    *,
    batch: int = 1,
    split: bool = True,
    sides: tuple[int, ...] = SIDES,
    step: int = STEP_BYTES,
    most: int = MOST_AHEAD,
) -> Tile:
    """The tile and the parts of K with the least time; ties go to the fewest parts, then the largest tile."""
    steps = -(-row // step)
    parts = [p for p in (1, 2, 4, 8, 16, 32) if p == 1 or (split and batch == 1 and 2 * p <= steps)]
    # A side of twice C's size or more is useless.
    high, wide = ([s for s in reversed(sides) if s < 2 * size or s == sides[0]] for size in (m, n))
    tiles = [Tile(h, w, p) for p in parts for h in high for w in wide]
    return min(tiles, key=lambda tile: cycles(tile, m, n, row, batch, step, most))


def few_rows_cycles(
    rows: int, cols: int, n: int, row: int, chunk: int, batch: int = 1, scales: bool = False
) -> float:
    """Estimated time of the kernel for few rows, whose 4 waves take turns at chunks of K, with two in flight.

    Args:
        rows, cols: rows and columns of C per work-group; all rows.
        row: bytes of a row of A or B, their mean if they differ.
        chunk: bytes of a row per chunk.
        scales: whether a chunk has as many loads of scales, which take half a line of a row too.
    """
    rounds = -(-(-(-n // cols) * batch) // UNITS)
    load = (row + (-(-row // chunk) * LINE // 2 if scales else 0)) * (rows + cols) / ROWS
    chunks = -(-row // (4 * chunk))
    unit = LATENCY + rounds * max(load, chunks * LATENCY / 2 / min(rounds, 2))
    return max(unit, LATENCY + batch * (rows + n) * row / MEMORY)
