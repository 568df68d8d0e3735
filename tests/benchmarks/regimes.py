"""Errors by regime, so stated that kernels which took no part in stating them fall into what is stated.

A regime is what a modelled launch is like (`workbench.profile.expected.REGIMES`); a class is what a row is
of: GEMMs, attention, AITER's LayerNorm in Triton. Of a regime the range between the 10 % and the 90 %
quantile of the ratios is widened by one factor on both sides, the least with which four of five rows fall
into the range that the rows of the other classes give, widened so. That is tried class by class: no row
judges itself.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

WANTED = 0.8
STEP, MOST = 0.05, 4.0
"""Of the factors that are tried, and the last one."""


@dataclass(frozen=True)
class Judged:
    """A row's ratio of modelled to published kernel time, and where it belongs."""

    regime: str
    group: str
    ratio: float


@dataclass(frozen=True)
class Stated:
    """What is said of a regime.

    Attributes:
        rows, classes: it rests on.
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


def stated(rows: Sequence[Judged]) -> dict[str, Stated]:
    """By regime; of a class alone the range is that of all its rows, and nothing tells whether it holds."""
    found = {}
    for regime in sorted({row.regime for row in rows}):
        of_it = [row for row in rows if row.regime == regime]
        ratios, classes = [row.ratio for row in of_it], len({row.group for row in of_it})
        factor, inside = 1.0, None
        low, high = min(ratios), max(ratios)
        if classes > 1:
            while left_out_inside(of_it, factor) < WANTED * len(of_it) and factor < MOST:
                factor += STEP
            inside = left_out_inside(of_it, factor)
            low, high = spread(ratios, factor)
        median = statistics.median(abs(ratio - 1) for ratio in ratios)
        found[regime] = Stated(len(of_it), classes, median, low, high, factor, inside)
    return found
