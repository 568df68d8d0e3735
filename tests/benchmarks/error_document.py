"""What the comparison of modelled with published times comes to: errors by class, as Markdown and as data."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from own_kernels import own_problem
from published_times import Problem, Row

from workbench.profile.launch import QUANTITIES

if TYPE_CHECKING:
    from model_error import Modelled

NEAR = 0.20


@dataclass(frozen=True)
class Compared:
    """A published time and the modelled one of its kind.

    Attributes:
        row: what was published.
        us: modelled, with what the way of timing adds.
        bound: what the model says that the kernel is bound by.
    """

    row: Row
    us: float
    bound: str

    @property
    def ratio(self) -> float:
        """Modelled over published."""
        return self.us / self.row.us

    @property
    def error(self) -> float:
        """Part of the published time by which the modelled one is off."""
        return abs(self.ratio - 1)


@dataclass(frozen=True)
class Errors:
    """Errors of several rows.

    Attributes:
        rows: how many.
        median: of the errors.
        ratio, low, high: median of the ratios, their 10 % and 90 % quantiles.
        near: part of the rows within 20 %.
    """

    rows: int
    median: float
    ratio: float
    low: float
    high: float
    near: float

    @classmethod
    def of(cls, compared: Sequence[Compared]) -> Errors | None:
        """None of nothing."""
        if not compared:
            return None
        ratios = sorted(each.ratio for each in compared)
        last = len(ratios) - 1
        return cls(
            len(ratios),
            statistics.median(each.error for each in compared),
            statistics.median(ratios),
            ratios[round(0.1 * last)],
            ratios[round(0.9 * last)],
            sum(each.error <= NEAR for each in compared) / len(ratios),
        )


def compare(rows: Iterable[Row], known: Mapping[Problem, Modelled]) -> list[Compared]:
    """The rows that were modelled."""
    return [
        Compared(row, found.us + QUANTITIES[row.quantity].seconds * 1e6, found.bound)
        for row in rows
        if (found := known.get(row.problem)) is not None and not found.failure
    ]


def own(rows: Iterable[Row], known: Mapping[Problem, Modelled]) -> list[Compared]:
    """The rows whose published kernel itself was modelled."""
    pairs = ((row, own_problem(row)) for row in rows)
    return compare([replace(row, problem=problem) for row, problem in pairs if problem is not None], known)


def expected(rows: Sequence[Row], known: Mapping[Problem, Modelled]) -> dict[str, object]:
    """What `wb.time` says of its own error, by class: from HipKittens' kernels, else from everybody's."""
    compared = compare(rows, known)
    classes: dict[str, object] = {}
    for group in dict.fromkeys(each.row.group for each in compared):
        own = [each for each in compared if each.row.group == group and each.row.like]
        errors = Errors.of(own)
        if errors is not None:
            kernels = sorted({each.row.problem.kernel for each in own})
            classes[group] = {
                "kernels": kernels,
                "rows": errors.rows,
                "median": round(errors.median, 3),
                "low": round(errors.low, 2),
                "high": round(errors.high, 2),
            }
    return classes


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
    ]


def _errors(name: str, errors: Errors | None) -> list[object]:
    if errors is None:
        return [name, 0, "", "", "", ""]
    return [
        name,
        errors.rows,
        f"{errors.median:.0%}",
        f"{errors.ratio:.2f}",
        f"{errors.low:.2f} to {errors.high:.2f}",
        f"{errors.near:.0%}",
    ]


HEAD = ("rows", "median error", "median ratio", "80 % of ratios", "within 20 %")


def _by(title: str, compared: Sequence[Compared], key: Callable[[Row], str]) -> list[str]:
    names = sorted({key(each.row) for each in compared})
    rows = [_errors(n, Errors.of([each for each in compared if key(each.row) == n])) for n in names]
    total = [_errors("**all**", Errors.of(compared))] if len(names) > 1 else []
    return [*_table((title, *HEAD), rows + total), ""]


def _single(compared: Sequence[Compared]) -> list[str]:
    rows = [
        (
            each.row.problem.kernel,
            each.row.problem.shape,
            each.row.problem.gpu,
            f"{each.us:.4g}",
            f"{each.row.us:.4g}",
            f"{each.ratio:.2f}",
            each.bound,
            f"{each.row.quantity}{'; ' if each.row.caveat else ''}{each.row.caveat}",
        )
        for each in compared
    ]
    head = ("kernel", "shape", "GPU", "modelled us", "published us", "ratio", "bound by", "timed by; caveat")
    return [*_table(head, rows), ""]


QUANTITIES_SAID = "; ".join(
    f"{each.name}: {each.what}, {each.seconds * 1e6:g} us more than the kernel time"
    for each in QUANTITIES.values()
)

INTRODUCTION = f"""# How far modelled times are from published ones

Made by `python tests/benchmarks/model_error.py --write` (the runs before it by the same command without
`--write`). Every published time is somebody else's; the modelled one is of the published kernel itself in the
first part, and of a kernel of this repository for the same problem below it. Nothing was measured here. A
ratio is modelled over published: below 1 the model is too fast. What was published is compared with the
modelled time of its own kind.
{QUANTITIES_SAID}.

Goals: median error 20 % over all and 30 % in each class, 60 % of rows within 20 %.
"""

THEMSELVES = """The source that was published, compiled as it is at the row's sizes and run on the emulated
device (`--own` and a checkout of HipKittens' main branch): what is off here is the model. The published loops
do not clear the caches between runs, the model does; up to the Infinity Cache's 256 MiB that makes it slower.
"""

LEFT_OUT = """What one factor on all times would do, fitted to the median ratio of the other classes and
judged on the class left out: where it does not help, there is no common fault left that a fit could hide.
"""

CAUSES = """- *Ours is another kernel.* HipKittens' rotary kernel reads and writes pieces of 32 bytes in 32
  rows, where ours touches whole lines; its LayerNorm spends twice the vector work on random numbers. Modelled
  themselves, both are near what was published beyond 256 MiB; ours come out faster.
- *Caches are warm in the published loops.* They do not clear them, the model does, as `wb.time` on a GPU:
  small GEMMs, and streams of up to the Infinity Cache's 256 MiB, come out slower than published.
- *What events contain.* The launch by Python of the loops differs: the shortest published times of kernels
  of about 2 us are 6.0 to 9.6 us. One figure stands for all of them; rows of less than 20 us feel it.
- *Older versions* of HipKittens' GEMM took up to 1.8 times as long as the later one on the same GPU.
- *Softmax and normalization of 128 columns on MI325X* are of a port whose source is not known here; another
  kernel of the same table moves the same bytes in half the time.
"""

FITTED = """No constant of the model is fitted to a row of these tables, so that each class is already judged
by what was found without it: leaving a class out changes nothing. What is fitted at all stands in
`workbench/profile/clock.py` (to clocks that others read off their GPUs, `UnderLoad` in
`workbench/targets.py`) and in `workbench/profile/launch.py`.
"""


def left_out(compared: Sequence[Compared]) -> list[tuple[str, int, float, float, float]]:
    """By class: rows, median error, factor that the other classes would have, median error with it."""
    found = []
    for group in sorted({each.row.group for each in compared}):
        own = [each for each in compared if each.row.group == group]
        others = [each.ratio for each in compared if each.row.group != group]
        if others:
            factor = 1 / statistics.median(others)
            fitted = statistics.median(abs(factor * each.ratio - 1) for each in own)
            found.append((group, len(own), statistics.median(each.error for each in own), factor, fitted))
    return found


def _left_out(compared: Sequence[Compared]) -> list[str]:
    rows = [
        (group, count, f"{as_is:.0%}", f"{factor:.2f}", f"{fitted:.0%}")
        for group, count, as_is, factor, fitted in left_out(compared)
    ]
    head = ("class left out", "rows", "median error", "factor of the others", "median error with it")
    return ["## A class left out", "", LEFT_OUT, *_table(head, rows), ""] if rows else []


def _themselves(compared: Sequence[Compared]) -> list[str]:
    if not compared:
        return []
    return [
        "## HipKittens' kernels themselves",
        "",
        THEMSELVES,
        *_by("class", compared, lambda row: row.group),
        *_single(compared),
    ]


def document(rows: Sequence[Row], known: Mapping[Problem, Modelled]) -> str:
    """`docs/model_error.md`."""
    compared = compare(rows, known)
    like = [each for each in compared if each.row.like]
    others = [each for each in compared if not each.row.like]
    failed = Counter(
        found.failure.partition(":")[0] or "other"
        for row in rows
        if (found := known.get(row.problem)) is not None and found.failure
    )
    waiting = sum(row.problem not in known for row in rows)
    lines = [
        INTRODUCTION,
        *_themselves(own(rows, known)),
        "## HipKittens' kernels, which ours resemble",
        "",
        *_by("class", like, lambda row: row.group),
        *_by("kernel", like, lambda row: row.problem.kernel),
        *_by("GPU", like, lambda row: row.problem.gpu),
        *_left_out(like),
        "## The fastest of the others' kernels",
        "",
        "Another tile, another compiler, often a tuner's choice of hundreds: a bound more than a comparison.",
        "",
        *_by("class", others, lambda row: row.group),
        *_by("kernel", others, lambda row: row.problem.kernel),
        *_by("timed by", others, lambda row: row.quantity),
        f"Not in these tables: {waiting} rows whose problem is too large to be run here so far"
        + "".join(f"; {number} that end in {name}" for name, number in failed.items())
        + ".",
        "",
        "## What the error is made of",
        "",
        CAUSES,
        "## What is fitted",
        "",
        FITTED,
        "## Each of HipKittens' rows",
        "",
        *_single(like),
    ]
    return "\n".join(lines)
