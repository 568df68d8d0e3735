"""What a judge finds, as data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


class Result(StrEnum):
    """What became of a submission."""

    RIGHT = "right"
    WRONG = "wrong"
    """Results differ from the reference."""
    FINDINGS = "findings"
    """Results are right, and the sanitizer found a fault."""
    HOST_WORK = "host work"
    """Host code, such as PyTorch's operators, computes the result, and its launches do not."""
    FAILS = "fails"
    """It raised an error, or a limit ended it."""


@dataclass(frozen=True)
class CaseVerdict:
    """A submission at one size.

    Attributes:
        name: the sizes; "" if there is only one.
        role: "test", "fresh sizes", "benchmark" or "strided".
        result: what became of it.
        text: why it is not right; "" if it is.
        launches: kernels that a call launched, as the judge's device counts.
        time, low, high: modelled time of a call's launches in microseconds, with the range of 80 % of cases;
            None if it was not modelled.
    """

    name: str
    role: str
    result: Result
    text: str = ""
    launches: int = 0
    time: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Verdict:
    """A submission.

    Attributes:
        submission: its name.
        digest: of the submission, the problem and the judge.
        result: what became of it.
        text: why it is not right; "" if it is.
        cases: by size.
        time, low, high: geometric mean of the benchmarks' modelled times in microseconds, with its range;
            None if it is not right.
        kernels: kernels that it launched.
        operators: PyTorch's operators that its process called, with the number of calls, by its own account.
        findings: the sanitizer's.
        notes: remarks that do not count, such as wrong results from strided inputs.
        enclosure: what enclosed its process.
        seconds: processor time of its process.
    """

    submission: str
    digest: str
    result: Result
    text: str = ""
    cases: tuple[CaseVerdict, ...] = ()
    time: float | None = None
    low: float | None = None
    high: float | None = None
    kernels: tuple[str, ...] = ()
    operators: dict[str, int] | None = None
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    enclosure: str = ""
    seconds: float = 0.0

    @classmethod
    def of_json(cls, text: str) -> Verdict:
        """A verdict from its JSON.

        Raises:
            KeyError, TypeError, ValueError: it is of another version.
        """
        data: dict[str, Any] = json.loads(text)
        cases = tuple(CaseVerdict(**{**case, "result": Result(case["result"])}) for case in data["cases"])
        lists = {name: tuple(data[name]) for name in ("kernels", "findings", "notes")}
        return cls(**{**data, **lists, "result": Result(data["result"]), "cases": cases})

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @property
    def is_right(self) -> bool:
        return self.result is Result.RIGHT

    def __str__(self) -> str:
        if self.time is not None:
            span = (
                ""
                if self.low is None or self.high is None
                else f", 80% range {self.low:.4g} to {self.high:.4g}"
            )
            return f"{self.submission}: {self.result}, {self.time:.4g} us (modelled{span})"
        return f"{self.submission}: {self.result}" + (f": {self.text}" if self.text else "")


def scored(verdict: Verdict) -> Verdict:
    """The verdict with the geometric mean of its benchmarks' times, if all have one."""
    timed = [case for case in verdict.cases if case.role == "benchmark"]
    if not verdict.is_right or not timed or any(case.time is None for case in timed):
        return verdict
    lows, highs = [case.low for case in timed], [case.high for case in timed]
    return replace(
        verdict,
        time=_mean([case.time for case in timed]),
        low=None if None in lows else _mean(lows),
        high=None if None in highs else _mean(highs),
    )


def _mean(values: Sequence[float | None]) -> float:
    logarithms = [math.log(value) for value in values if value is not None]
    return math.exp(sum(logarithms) / len(logarithms))


def is_tie(one: Verdict, other: Verdict) -> bool:
    """True if each time is in the other's range."""
    return _is_inside(one.time, other) and _is_inside(other.time, one)


def _is_inside(time: float | None, verdict: Verdict) -> bool:
    if time is None or verdict.low is None or verdict.high is None:
        return time is not None and time == verdict.time
    return verdict.low <= time <= verdict.high


def ranks(verdicts: Sequence[Verdict]) -> Mapping[str, int]:
    """Rank of each right submission by name, from 1: one more than the number of those that are faster.

    Ties do not count as faster.
    """
    timed = [verdict for verdict in verdicts if verdict.time is not None]

    def is_faster(other: Verdict, than: Verdict) -> bool:
        assert other.time is not None
        assert than.time is not None
        return other.time < than.time and not is_tie(other, than)

    return {v.submission: 1 + sum(is_faster(other, v) for other in timed) for v in timed}


__all__ = ["CaseVerdict", "Result", "Verdict", "is_tie", "ranks", "scored"]
