"""Errors by regime, stated so that kernels that were left out fall into the stated ranges.

A regime describes how a modelled launch behaves (`workbench.profile.expected.REGIMES`); a class describes the
kernel of a row: GEMMs, attention, AITER's LayerNorm in Triton. A regime's range is that between the 10 % and
the 90 % quantile of the ratios, widened by one factor on both sides: the least with which four of five rows
fall into the equally widened range of the other classes. Each class is left out in turn, so that no row
judges itself. As a regime has few classes, its range is at least that of 80 % of the rows of all regimes. If
a regime has only one class, its families are left out in turn: one spec on one target.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

WANTED = 0.8
STEP, MOST = 0.05, 4.0
"""Step between the factors that are tried, and the largest factor."""


@dataclass(frozen=True)
class Judged:
    """A row's ratio of modelled to published kernel time, and where it belongs: class, and family in it."""

    regime: str
    group: str
    ratio: float
    family: str = ""


@dataclass(frozen=True)
class Stated:
    """Stated error of a regime.

    Attributes:
        rows, classes: it rests on.
        families: families of the only class, which replace classes.
        median: of the errors.
        low, high: the stated range of ratios.
        factor: by which it is wider than the rows' own 80 %.
        inside: rows that fall into the range which the other classes give; None where there are none.
    """

    rows: int
    classes: int
    median: float
    low: float
    high: float
    factor: float
    inside: int | None
    families: bool = False


def spread(ratios: Sequence[float], factor: float = 1.0) -> tuple[float, float]:
    """The 10 % and the 90 % quantile, pushed apart by a factor."""
    sorted_ratios = sorted(ratios)
    last = len(sorted_ratios) - 1
    return sorted_ratios[round(0.1 * last)] / factor, sorted_ratios[round(0.9 * last)] * factor


def left_out_inside(rows: Sequence[Judged], factor: float) -> int:
    """Rows that fall into the range of the other classes' rows."""
    count = 0
    for group in {row.group for row in rows}:
        others = [row.ratio for row in rows if row.group != group]
        if others:
            low, high = spread(others, factor)
            count += sum(low <= row.ratio <= high for row in rows if row.group == group)
    return count


def widened(rows: Sequence[Judged]) -> tuple[float, float, float]:
    """The range stated for rows, and its width relative to the range of 80 % of them.

    If there is only one class, the range is that of all rows: nothing shows how far others are off.
    """
    ratios = [row.ratio for row in rows]
    if len({row.group for row in rows}) == 1:
        return min(ratios), max(ratios), 1.0
    factor = 1.0
    while left_out_inside(rows, factor) < WANTED * len(rows) and factor < MOST:
        factor += STEP
    return *spread(ratios, factor), factor


def stated_range(rows: Sequence[Judged], regime: str) -> tuple[float, float, float]:
    """Range and factor of a regime, from its rows: never narrower than 80 % of all rows together."""
    low, high, factor = widened([row for row in rows if row.regime == regime])
    everywhere = spread([row.ratio for row in rows])
    return min(low, everywhere[0]), max(high, everywhere[1]), factor


def divided(rows: Sequence[Judged]) -> list[Judged]:
    """Rows grouped by class, or by family if the regime has only one class."""
    classes: dict[str, set[str]] = {}
    for row in rows:
        classes.setdefault(row.regime, set()).add(row.group)
    return [
        replace(row, group=row.family or row.group) if len(classes[row.regime]) == 1 else row for row in rows
    ]


def stated(rows: Sequence[Judged]) -> dict[str, Stated]:
    """Stated ranges by regime; a class that is left out does not affect the factor either."""
    parts = divided(rows)
    found = {}
    for regime in sorted({row.regime for row in parts}):
        of_it = [row for row in parts if row.regime == regime]
        groups = {row.group for row in of_it}
        inside = 0
        for group in groups if len(groups) > 1 else ():
            others = [row for row in parts if group not in (row.group, row.family)]
            low, high, _ = stated_range(others, regime)
            inside += sum(low <= row.ratio <= high for row in of_it if row.group == group)
        low, high, factor = stated_range(parts, regime)
        median = statistics.median(abs(row.ratio - 1) for row in of_it)
        tested = inside if len(groups) > 1 else None
        families = len({row.group for row in rows if row.regime == regime}) == 1
        found[regime] = Stated(len(of_it), len(groups), median, low, high, factor, tested, families)
    return found
