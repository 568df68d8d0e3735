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
        """By what part of the old time the new one is longer; infinite where it fails now."""
        if self.new.failure:
            return 0.0 if self.old.failure else math.inf
        return self.new.us / self.old.us - 1 if not self.old.failure else 0.0

    @property
    def noise(self) -> float:
        """Half of what the quantiles of both span, as a part of the old time; 0 where modelled."""
        if self.old.failure or self.new.failure:
            return 0.0
        return (self.old.high - self.old.low + self.new.high - self.new.low) / 4 / self.old.us


@dataclass(frozen=True)
class Regressions(Shown):
    """Changes between two benchmarks.

    Attributes:
        changes: of the cases in both, the slowest first.
        above: part by which a case may become slower.
        missing, added: problems of one of them only.
    """

    changes: Sequence[Change]
    above: float
    missing: Sequence[str]
    added: Sequence[str]

    @property
    def failed(self) -> list[Change]:
        """Cases that are slower than allowed by more than their measurements scatter."""
        return [each for each in self.changes if each.slower > self.above + each.noise]

    @property
    def passed(self) -> bool:
        """True if no case became slower than allowed."""
        return not self.failed

    def __str__(self) -> str:
        lines = [
            f"{len(self.changes)} cases in both; {len(self.failed)} slower by more than {self.above:.1%}"
            + (f"; {len(self.missing)} of the old are missing" if self.missing else "")
        ]
        for each in self.changes:
            if each in self.failed or each.slower < -self.above:
                now = each.new.failure or f"{each.old.us:.4g} to {each.new.us:.4g} us, {each.slower:+.1%}"
                lines.append(f"  {'SLOWER' if each in self.failed else 'faster'}  {each.new.problem}: {now}")
        return "\n".join(lines)

    __repr__ = __str__


def compare_results(old: str | Path, new: str | Path, above: float = 0.03) -> Regressions:
    """Compares two files of results, case by case.

    Args:
        old, new: files that `bench(out=...)` wrote, or their folders.
        above: part by which a case may be slower.

    Raises:
        UsageError: one of them is no file of results; they have no case in common; a case was modelled in one
            and measured in the other.
    """
    before, after = ({each.key: each for each in read(file_of(path))} for path in (old, new))
    both = [Change(before[key], after[key]) for key in after if key in before]
    if not both:
        raise UsageError(f"{old} and {new} have no case in common; expected results of the same problems")
    for each in both:
        if each.old.origin and each.new.origin and each.old.origin != each.new.origin:
            raise UsageError(
                f"{each.new.problem} is {each.old.origin} in {old} and {each.new.origin} in {new}; "
                "expected both alike"
            )
    return Regressions(
        sorted(both, key=lambda each: -each.slower),
        above,
        [each.problem for key, each in before.items() if key not in after],
        [each.problem for key, each in after.items() if key not in before],
    )


def file_of(path: str | Path) -> Path:
    """The file of results that a path means, or the folder around it."""
    return Path(path) / "results.sqlite" if Path(path).is_dir() else Path(path)


def percentage(text: str) -> float:
    """A part of one from "3%" or "0.03".

    Raises:
        UsageError: it is neither.
    """
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < 10:
        raise UsageError(f"--fail-above is {text!r}; expected a percentage such as 3%")
    return value
