"""Covering arrays: few rows of a product of factors in which every pair of values still meets.

Where factors do not interact, such as a map and the layout of its tile, some pair of values shows a fault, so
a run tests a covering array, another one with each seed.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import TypeVar

Row = TypeVar("Row", bound=tuple[Hashable, ...])


def covering(rows: Sequence[Row], seed: str) -> list[Row]:
    """Some of `rows`, in their order: every two values that occur together in one of `rows` do so in one of
    these. Each step takes a row with the most new pairs. `rows` are those that exist,
    so values that exclude each other need no rule; libraries for such arrays (allpairspy) take a filter
    instead, and leave out pairs that it makes hard to reach.
    """
    # A bit for each pair: sets of them are numbers, and what two have in common is one instruction.
    bits: dict[Hashable, int] = {}
    pairs = [
        sum(1 << bits.setdefault(pair, len(bits)) for pair in combinations(enumerate(row), 2)) for row in rows
    ]
    missing = (1 << len(bits)) - 1
    order = random.Random(seed).sample(range(len(rows)), len(rows))
    # A row's gain only falls, so the first row whose gain equals its queued value is the best.
    queue = [(-pairs[row].bit_count(), turn, row) for turn, row in enumerate(order)]
    heapq.heapify(queue)
    cover = []
    while missing:
        queued, turn, row = queue[0]
        brings = -(pairs[row] & missing).bit_count()
        if brings == queued:
            heapq.heappop(queue)
            cover.append(row)
            missing &= ~pairs[row]
        else:
            heapq.heapreplace(queue, (brings, turn, row))
    return [rows[row] for row in sorted(cover)]
