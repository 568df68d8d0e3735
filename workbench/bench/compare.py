"""Comparison of two benchmarks, to find regressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.bench.results import Result, read
from workbench.display import Shown
from workbench.errors import UsageError


@dataclass(frozen=True)
class Change:
    """One case in both.

    Attributes:
        old, new: its results.
    """

    old: Result
    new: Result

    @property
    def slower(self) -> float:
        """Relative increase of the time; infinite if the new run failed."""
        if self.new.failure:
            return 0.0 if self.old.failure else math.inf
        return self.new.us / self.old.us - 1 if not self.old.failure else 0.0

    @property
    def noise(self) -> float:
        """Half of the range that both runs' quantiles span, relative to the old time; 0 if modelled."""
        if self.old.failure or self.new.failure:
            return 0.0
        return (self.old.high - self.old.low + self.new.high - self.new.low) / 4 / self.old.us


@dataclass(frozen=True)
class Regressions(Shown):
    """Changes between two benchmarks.

    Attributes:
        changes: changes of the cases in both, the slowest first.
        above: relative slowdown above which a case counts as slower.
        missing, added: problems that only one of the benchmarks has.
    """

    changes: Sequence[Change]
    above: float
    missing: Sequence[str]
    added: Sequence[str]

    @property
    def failed(self) -> list[Change]:
        """Cases that are slower than allowed by more than their measurements scatter."""
        return [change for change in self.changes if change.slower > self.above + change.noise]

    @property
    def passed(self) -> bool:
        """True if no case became slower than allowed."""
        return not self.failed

    def __str__(self) -> str:
        lines = [
            f"{len(self.changes)} cases in both; {len(self.failed)} slower by more than {self.above:.1%}"
            + (f"; {len(self.missing)} of the old are missing" if self.missing else "")
        ]
        for change in self.changes:
            if change in self.failed or change.slower < -self.above:
                now = (
                    change.new.failure
                    or f"{change.old.us:.4g} to {change.new.us:.4g} us, {change.slower:+.1%}"
                )
                lines.append(
                    f"  {'SLOWER' if change in self.failed else 'faster'}  {change.new.problem}: {now}"
                )
        return "\n".join(lines)

    __repr__ = __str__


def compare_results(old: str | Path, new: str | Path, above: float = 0.03) -> Regressions:
    """Compares two files of results, case by case.

    Args:
        old, new: files that `bench(out=...)` wrote, or their folders.
        above: relative slowdown above which a case counts as slower.

    Raises:
        UsageError: one of them is not a file of results; they have no case in common; a case was modelled in
            one and measured in the other.
    """
    before, after = ({record.key: record for record in read(file_of(path))} for path in (old, new))
    both = [Change(before[key], after[key]) for key in after if key in before]
    if not both:
        raise UsageError(f"{old} and {new} have no case in common; expected results of the same problems")
    for change in both:
        if change.old.origin and change.new.origin and change.old.origin != change.new.origin:
            raise UsageError(
                f"{change.new.problem} is {change.old.origin} in {old} and {change.new.origin} in {new}; "
                "expected the same for both"
            )
    return Regressions(
        sorted(both, key=lambda change: -change.slower),
        above,
        [record.problem for key, record in before.items() if key not in after],
        [record.problem for key, record in after.items() if key not in before],
    )


def file_of(path: str | Path) -> Path:
    """The file of results that a path means, or the folder around it."""
    return Path(path) / "results.sqlite" if Path(path).is_dir() else Path(path)


def percentage(text: str) -> float:
    """A fraction from "3%" or "0.03".

    Raises:
        UsageError: the argument is neither.
    """
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < 10:
        raise UsageError(f"--fail-above is {text!r}; expected a percentage such as 3%")
    return value
