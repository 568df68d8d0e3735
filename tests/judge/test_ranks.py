"""Kendall's tau of modelled ranks against published ones."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from workbench.judge.verdicts import Result, Verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import judge_ranks


def verdict(name: str, time: float, width: float = 0.01) -> Verdict:
    return Verdict(name, "", Result.RIGHT, time=time, low=time * (1 - width), high=time * (1 + width))


def test_tau_counts_pairs_that_agree() -> None:
    verdicts = [verdict("a", 1), verdict("b", 2), verdict("c", 3), verdict("d", 4)]
    assert judge_ranks.tau(verdicts, {"a": 10, "b": 20, "c": 30, "d": 40}) == 1
    assert judge_ranks.tau(verdicts, {"a": 40, "b": 30, "c": 20, "d": 10}) == -1
    # Five of six pairs agree; a submission without a published time has none.
    swapped = {"a": 20, "b": 10, "c": 30, "d": 40}
    assert judge_ranks.tau([*verdicts, verdict("e", 9)], swapped) == pytest.approx(4 / 6)


def test_ties_are_no_pairs() -> None:
    verdicts = [verdict("a", 1, 0.5), verdict("b", 1.2, 0.5), verdict("c", 9)]
    # Of three pairs two are ordered here, and three there.
    assert judge_ranks.tau(verdicts, {"a": 2, "b": 1, "c": 3}) == pytest.approx(2 / math.sqrt(2 * 3))
    assert math.isnan(judge_ranks.tau(verdicts[:2], {"a": 1, "b": 2}))
