"""Ranks of a judge by modelled time against published times: Kendall's tau-b.

    python tests/benchmarks/judge_ranks.py VERDICTS TIMES.toml

VERDICTS is the folder that `python -m workbench judge --out` wrote. TIMES.toml has a published time for each
submission's name, in any unit:

    "someone" = 108.9
    "someone-else" = 156.5

Submissions inside each other's modelled range are a tie. Those that are not right, or have no published
time, are left out.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.judge.verdicts import Verdict, is_tie


def tau(verdicts: Sequence[Verdict], published: Mapping[str, float]) -> float:
    """Kendall's tau-b of the ranks: 1 if they agree, -1 if they are opposite; NaN if all of one are ties."""
    timed = [v for v in verdicts if v.time is not None and v.submission in published]
    sums, ours, theirs = 0, 0, 0
    for one, other in itertools.combinations(timed, 2):
        assert one.time is not None
        assert other.time is not None
        modelled = 0 if is_tie(one, other) else _sign(one.time - other.time)
        real = _sign(published[one.submission] - published[other.submission])
        sums += modelled * real
        ours += modelled != 0
        theirs += real != 0
    return sums / math.sqrt(ours * theirs) if ours and theirs else math.nan


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verdicts", type=Path)
    parser.add_argument("times", type=Path)
    options = parser.parse_args()
    files = sorted((options.verdicts / "submissions").glob("*.json"))
    verdicts = [Verdict.of_json(file.read_text(encoding="utf-8")) for file in files]
    published = tomllib.loads(options.times.read_text(encoding="utf-8"))
    compared = sum(v.time is not None and v.submission in published for v in verdicts)
    print(f"Kendall's tau of {compared} submissions: {tau(verdicts, published):.2f}")


if __name__ == "__main__":
    main()
