"""Comparison of modelled with published times: errors by class, as Markdown and as data."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from own_kernels import PREFIX, own_problem
from published_times import Problem, Row
from regimes import Judged, spread, stated

from workbench import targets
from workbench.hardware.report import Report, sent_reports
from workbench.profile.expected import NARROW_BYTES, REGIMES, SHORT_SECONDS, regime
from workbench.profile.launch import QUANTITIES

if TYPE_CHECKING:
    from model_error import Modelled

NEAR = 0.20
LEAST_US = 0.6
"""Least published time of a kernel without its launch (`launch.DISPATCH_SECONDS`), in microseconds."""


@dataclass(frozen=True)
class Compared:
    """A published time and the modelled one of its kind.

    Attributes:
        row: what was published.
        us: modelled, with what the way of timing adds.
        cold: the caches were modelled as cleared, though the row's loop clears nothing: no repetition of the
            launch was modelled yet.
        bound: what the model says that the kernel is bound by.
        regime: by which its error is told, of `workbench.profile.expected.REGIMES`.
        former: an earlier model gave the time.
    """

    row: Row
    us: float
    bound: str
    cold: bool = False
    regime: str = ""
    former: bool = False

    @property
    def ratio(self) -> float:
        """The modelled time over the published one."""
        return self.us / self.row.us

    @property
    def net(self) -> float:
        """The ratio of the kernel alone, without the constant that this kind of time adds."""
        added = QUANTITIES[self.row.quantity].seconds * 1e6
        return (self.us - added) / max(self.row.us - added, LEAST_US)

    @property
    def error(self) -> float:
        """Error of the modelled time as a fraction of the published one."""
        return abs(self.ratio - 1)


@dataclass(frozen=True)
class Errors:
    """Errors of a group of rows.

    Attributes:
        rows: how many.
        median: of the errors.
        ratio, low, high: median of the ratios, their 10 % and 90 % quantiles.
        near: part of the rows within 20 %.
        net: median error of the kernels alone, without the constants of launches.
    """

    rows: int
    median: float
    ratio: float
    low: float
    high: float
    near: float
    net: float = 0.0

    @classmethod
    def from_compared(cls, compared: Sequence[Compared]) -> Errors | None:
        """Errors of the rows; None if there are none."""
        if not compared:
            return None
        ratios = sorted(comparison.ratio for comparison in compared)
        last = len(ratios) - 1
        return cls(
            len(ratios),
            statistics.median(comparison.error for comparison in compared),
            statistics.median(ratios),
            ratios[round(0.1 * last)],
            ratios[round(0.9 * last)],
            sum(comparison.error <= NEAR for comparison in compared) / len(ratios),
            statistics.median(abs(comparison.net - 1) for comparison in compared),
        )


def compare(rows: Iterable[Row], modelled: Mapping[Problem, Modelled]) -> list[Compared]:
    """The rows that were modelled."""
    compared = []
    for row in rows:
        result = modelled.get(row.problem)
        if result is None or result.failure:
            continue
        warm = row.warm and result.warm_us > 0
        us = result.warm_us if warm else result.us
        key = (warm and result.warm_key) or result.key
        compared.append(
            Compared(
                row,
                us + QUANTITIES[row.quantity].seconds * 1e6,
                result.bound,
                row.warm and not result.warm_us,
                regime(key, us * 1e-6, result.width, warm=row.warm) if key else "",
                result.former,
            )
        )
    return compared


def own(rows: Iterable[Row], modelled: Mapping[Problem, Modelled]) -> list[Compared]:
    """The rows whose published kernel itself was modelled."""
    pairs = ((row, own_problem(row)) for row in rows)
    return compare([replace(row, problem=problem) for row, problem in pairs if problem is not None], modelled)


def nearest(rows: Iterable[Row], modelled: Mapping[Problem, Modelled]) -> list[Compared]:
    """HipKittens' rows: by the published kernel itself where that was modelled, else by ours in its place."""
    comparisons = []
    for row in rows:
        if row.like:
            comparisons += own([row], modelled) or compare([row], modelled)
    return comparisons


def kernel_of(row: Row) -> str:
    """The spec of a row without its variant, of the published kernel itself, too."""
    return row.problem.kernel.removeprefix(PREFIX).partition(":")[0]


def _judged(compared: Iterable[Compared]) -> list[Judged]:
    return [
        Judged(
            comparison.regime,
            comparison.row.group,
            comparison.net,
            f"{kernel_of(comparison.row)} on {_arch(comparison.row)}",
        )
        for comparison in compared
        if comparison.regime
    ]


def _arch(row: Row) -> str:
    return targets.product(row.problem.gpu).arch


def outside(
    rows: Sequence[Row], modelled: Mapping[Problem, Modelled], tritons: Sequence[Row] = ()
) -> list[Compared]:
    """Rows behind a stated error: those whose kernels were modelled themselves, or by what is nearest."""
    return nearest(rows, modelled) + compare(tritons, modelled)


def expected(
    rows: Sequence[Row], modelled: Mapping[Problem, Modelled], tritons: Sequence[Row] = ()
) -> dict[str, object]:
    """Errors that `wb.time` states: by regime, and by class of kernels where no regime is known."""
    compared = nearest(rows, modelled)
    classes: dict[str, object] = {}
    for group in dict.fromkeys(comparison.row.group for comparison in compared):
        of_group = [comparison for comparison in compared if comparison.row.group == group]
        errors = Errors.from_compared(of_group)
        if errors is not None:
            classes[group] = {
                "kernels": sorted({kernel_of(comparison.row) for comparison in of_group}),
                "rows": errors.rows,
                "median": round(errors.median, 3),
                "low": round(errors.low, 2),
                "high": round(errors.high, 2),
            }
    regimes = {
        name: {
            "rows": errors.rows,
            "median": round(errors.median, 3),
            "low": round(errors.low, 2),
            "high": round(errors.high, 2),
        }
        for name, errors in stated(_judged(outside(rows, modelled, tritons))).items()
    }
    return {"regimes": regimes, "classes": classes}


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
    ]


def _errors(name: str, errors: Errors | None) -> list[object]:
    if errors is None:
        return [name, 0, "", "", "", "", ""]
    return [
        name,
        errors.rows,
        f"{errors.median:.0%}",
        f"{errors.ratio:.2f}",
        f"{errors.low:.2f} to {errors.high:.2f}",
        f"{errors.near:.0%}",
        f"{errors.net:.0%}",
    ]


HEAD = ("rows", "median error", "median ratio", "80 % of ratios", "within 20 %", "median error, net")


def _by(title: str, compared: Sequence[Compared], key: Callable[[Row], str]) -> list[str]:
    names = sorted({key(comparison.row) for comparison in compared})
    rows = [
        _errors(n, Errors.from_compared([comparison for comparison in compared if key(comparison.row) == n]))
        for n in names
    ]
    total = [_errors("**all**", Errors.from_compared(compared))] if len(names) > 1 else []
    return [*_table((title, *HEAD), rows + total), ""]


def _caches(compared: Compared) -> str:
    """State of the caches in the row and in the model; and whether the current model made it."""
    caches = "warm, modelled cold" if compared.cold else CACHES.get(compared.row.caches, "")
    return f"{caches}; former model" if compared.former else caches


def _single(compared: Sequence[Compared]) -> list[str]:
    rows = [
        (
            comparison.row.problem.kernel,
            comparison.row.problem.shape,
            comparison.row.problem.gpu,
            f"{comparison.us:.4g}",
            f"{comparison.row.us:.4g}",
            f"{comparison.ratio:.2f}",
            comparison.bound,
            "; ".join(filter(None, (comparison.row.quantity, _caches(comparison), comparison.row.caveat))),
        )
        for comparison in compared
    ]
    head = ("kernel", "shape", "GPU", "modelled us", "published us", "ratio", "bound by", "timed by; caveat")
    return [*_table(head, rows), ""]


CACHES = {"kept": "warm", "cleared": "cold"}
"""Words of tables for the state of the caches."""

QUANTITIES_SAID = "; ".join(
    f"{quantity.name}: {quantity.description}, {quantity.seconds * 1e6:g} us more than the kernel time"
    for quantity in QUANTITIES.values()
)

INTRODUCTION = f"""# How far modelled times are from published ones

`python docs/made.py` makes this page from the results that `python tests/benchmarks/model_error.py` stored.
All published times were measured by others; we measured none. A ratio is modelled over published, so below 1
the model is too fast. Each published time is compared with a modelled time of the same kind.

Kinds of times: {QUANTITIES_SAID}.

Goals for HipKittens' rows: median error 20 % over all and 30 % in each class, 60 % of rows within 20 %.
"""

REGIMES_SAID = (
    "A modelled time comes with its expected error. That depends on what limits the launch, not on who\n"
    "wrote the kernel; a launch belongs to the first regime that fits: "
    + "; ".join(f"*{name}*: {what}" for name, what in REGIMES.items())
    + f" (narrow: less than {NARROW_BYTES:g} bytes a lane on average; short: less than "
    f"{SHORT_SECONDS * 1e6:g} us). Ratios are net: of the kernel without its launch. The rows are\n"
    "HipKittens', each compared with the nearest kernel, those of Triton's and AITER's Triton kernels,\n"
    "and those of AITER's GEMMs in assembly. Ranges allow for kernels left out when they are computed.\n"
)

RANGES_SAID = """\
A range holds 80 % of its regime's rows. It is widened until it also holds 80 % of the rows of any class
(GEMMs, attention, AITER's LayerNorm, ...) that is left out when the range is computed, and it is never
narrower than the range of all rows. The last column of the regimes' table counts the left-out rows that fall
into the range of the other classes. If a regime has only one class, we leave out its families instead, such
as bf16 GEMMs on gfx950.
"""

CACHES_SAID = """\
*Warm* is a loop that clears nothing (HipKittens' benchmarks, the port's); we model the
launch as a repetition, with the Infinity Cache as the previous launch left it and L1 and L2 empty. *Cold*
means that the benchmark clears the caches by writing between runs, or rotates through tensors (FlyDSL's
benchmarks, AITER's tuner). *Warm, modelled cold*: the repetition was not modelled; it makes little difference
if matrix work limits the launch, or if the launch moves far more than the cache holds.
"""

NEAREST = """\
Each published row of HipKittens and of its port to CDNA 3 is compared with the nearest kernel: the published
source itself, compiled unedited at the row's sizes and run on the emulated device, if the source is known and
small enough; otherwise our own kernel for the same problem.
"""

FORMER = """Rows marked *former model* were modelled before the last change to the model's files.
"""

THEMSELVES = """These rows are the published source itself (`--own`, a checkout of HipKittens' main branch;
`--port`, one of m8than/amd-kernels), so all error is the model's.
"""

LATE = """These rows of the port's page were looked up after the model's constants were set, and no constant
was changed for them. The model of launches in warm loops is newer; modelled cold, these rows are within 4 %
of their warm times.
"""

TRITONS = """Kernels of `tests/benchmarks/triton_kernels.py`, one program per row, compiled by Triton; the
sources and numbers of warps of the published ones are not known. AITER's are the published sources themselves
(`--aiter`, a checkout), compiled by a later Triton than the one that was timed: the code uses more registers
and as many memory instructions. Those in assembly are the machine code that AITER ships.
"""

ASSEMBLY = "aiter assembly "
"""How the kernels of problems begin whose published machine code itself is modelled."""

HELD_OUT = """\
These rows are AITER's own machine code for GEMMs on gfx950, as its tuner timed it. No change of the model
used them: we looked after each, four times so far. They count in the stated ranges above. The goal is a
median ratio of 0.9 to 1.1 for each class of published times; those at the top are for HipKittens' rows.
"""

MISSED = """\
Nearly all of these kernels split K. How long a step of their loops takes follows from the order in which
loads return and from HBM's queue ([details](timing.md#the-first-microseconds)).
"""

CLASSES_US = ((0.0, 10.0), (10.0, 20.0), (20.0, 100.0), (100.0, float("inf")))
"""Classes of published times, in microseconds."""

GOAL_RATIO = (0.9, 1.1)

LEFT_OUT = """Would one factor on all times help? It is fitted to the median ratio of the other classes and
judged on the class left out. Where it does not help, there is no common error that a fit could hide.
"""

CAUSES = """- *Narrow, unaligned accesses.* L1 serves sixteen lanes of at most a dword at once if they lie in
  one block of 64 bytes, otherwise four lanes at a time: 4 or 16 cycles for a wave ("Understanding
  Memory Coalescing on GCN", GPUOpen; the Gluon tutorials have both figures on gfx950). We infer that four
  lanes across two blocks take two turns, since L1 serves 64 bytes per cycle. AITER's LayerNorm of 4096 x 8193
  is at 0.79 of its published time with that second turn, and would be at 0.66 without; its other odd lengths
  are at 0.64 to 0.81, as if hardware took 32 cycles for each such access. No source says so, and FlyDSL's odd
  rows do not show it, so the model leaves it out, and the range of narrow kernels allows for it.
- *Clearing of the caches.* Clearing by writes leaves the Infinity Cache full of lines that must be written
  back, so a first launch evicts one for each line that it loads. Lines of non-temporal instructions (`nt`;
  Triton's .cg and .cs) are evicted first. With that, AITER's quantization per token in Triton is within 7 %
  in four sizes of 88 to 403 MB; AITER's HIP kernel and FlyDSL's, without `nt`, pay for the evictions.
- *Small first launches.* After such clearing, vec_add of up to 88 MB takes no longer than its bytes need, and
  from 123 MB on it pays for evictions as modelled. We do not know why small ones do not: the model makes
  their memory part up to 1.5 times too long.
- *A loaded L2 and fabric* are not modelled: orders of tiles that differ by 27 % on hardware tie here, and fp8
  GEMMs of 4 and 8 waves are ranked the wrong way round ([details](model_rankings.md)). We found no source for
  the latency of a loaded L2; the range of matrix kernels allows for it.
- *Different kernels.* HipKittens' rotary kernel reads and writes blocks of 32 bytes in 32 rows, where ours
  accesses whole lines; its LayerNorm spends twice the vector work on random numbers; the port's row-wise
  kernels load two bytes per lane. Modelled themselves, they come close to the published times.
- *GEMMs of 1024 and 2048.* HipKittens' rows are compared with our schedule of the same kind (bf16: ping-pong,
  fp8: interleaved) with tiles of 256 x 256, unless the matrix instructions of such tiles alone would take
  longer than the published time. That is so for twelve rows, whose tiles must be smaller; these are compared
  with our own choice for the size. On an MI325X it splits 1024 cubed in bf16 along K, which halves the time.
- *Loops about as large as the Infinity Cache.* Nobody has published its replacement policy. With least
  recently used, as we assume, a loop that is a little larger hits nothing: LayerNorm of 16384 x 2048 moves a
  little more than 256 MiB, and is modelled a third too slow.
- *The Infinity Cache's bandwidth.* Sources say 11.9, 5.8 and 5.9 TB/s, and 6.4 were read from HBM through
  it. We use 5.8 on CDNA 3 and 6.4 on CDNA 4; at 11.9, HipKittens' warm rotary kernels would be off by a
  median of 22 %.
- *Attention's backward pass* is modelled a quarter too slow: our kernel is not HipKittens'.
- *HipKittens' backward attention of 4 and 8 waves* (`analysis/attn/bkwd/benchmark`, "not optimized" in
  their words) is modelled 1.3 to 1.9 times too long. As clang 22 compiles it, the form of 4 waves spills
  729 registers: for each MFMA it executes 0.6 accesses to scratch memory and 3.6 moves between accumulation
  registers, and each wait for scratch is a wait for the loads and atomics before it. The form of 8 waves
  spills nothing, but waits for its atomics soon after them: without their assumed cost it would take 515
  us, not 641, at 1024 tokens. Split GEMMs ask for more of that cost, not less, so it stays.
- *HipKittens' fp8 GEMMs at 1024 and 2048.* Published for an MI355X: 8 and 16 us between events. On 16 and
  64 compute units, the matrix instructions of tiles of 256 x 256 alone take 6.8 and 13.7 us at 2,400 MHz,
  and events add 4.5: the published times cannot be of these tiles. The same folder has 20.0 and 30.2 us for
  an MI350X; the source of 8 waves is modelled with 18.6 and 26.5 us there.
- *June 2026's fp8 GEMM of 8 waves* takes 787 us at 8192 cubed, twice as long as its predecessor. As clang
  22 compiles it, each pair of steps reloads eleven addresses from scratch memory one by one; every wait for
  one is a wait for all loads before it, as `vmcnt` counts in order. No time of it is published.
- *Times between events.* Python launches differ: kernels of about 2 us read as 6.0 us where the binding takes
  addresses, and as 8.3 to 9.6 where it takes tensors. One constant stands for all of them.
- *Older versions* of HipKittens' GEMM took up to 1.8 times as long as the later one on the same GPU.
"""

FITTED = """\
No constant of the model is fitted to a row of these tables. When the model was changed, though, the errors
of earlier rows were known; the rows that took no part were looked at only after each change. Fitted
constants are in `workbench/profile/clock.py` (fitted to clocks that others read from their GPUs,
`UnderLoad` in `workbench/targets/`), in `workbench/profile/launch.py`, and in `workbench/targets/memory.py`
(`HBM_QUEUE`, to a skinny GEMM's bandwidths; `HBM_WRITE_CDNA4`, to vec_add and a copy).
"""


def left_out(compared: Sequence[Compared]) -> list[tuple[str, int, float, float, float]]:
    """For each class: rows, median error, the other classes' factor, median error with that factor."""
    table = []
    for group in sorted({comparison.row.group for comparison in compared}):
        of_class = [comparison for comparison in compared if comparison.row.group == group]
        others = [comparison.ratio for comparison in compared if comparison.row.group != group]
        if others:
            factor = 1 / statistics.median(others)
            fitted = statistics.median(abs(factor * comparison.ratio - 1) for comparison in of_class)
            table.append(
                (
                    group,
                    len(of_class),
                    statistics.median(comparison.error for comparison in of_class),
                    factor,
                    fitted,
                )
            )
    return table


def _left_out(compared: Sequence[Compared]) -> list[str]:
    rows = [
        (group, count, f"{as_is:.0%}", f"{factor:.2f}", f"{fitted:.0%}")
        for group, count, as_is, factor, fitted in left_out(compared)
    ]
    head = ("class left out", "rows", "median error", "factor of the others", "median error with it")
    return ["## A class left out", "", LEFT_OUT, *_table(head, rows), ""] if rows else []


def _nearest(compared: Sequence[Compared]) -> list[str]:
    """The table that the goals apply to, and its parts."""
    late = [comparison for comparison in compared if comparison.row.caveat.startswith("looked up")]
    return [
        "## HipKittens' rows, by the nearest kernel",
        "",
        NEAREST,
        *_by("class", compared, lambda row: row.group),
        *_by("kernel", compared, kernel_of),
        *_by("GPU", compared, lambda row: row.problem.gpu),
        *_left_out(compared),
        *(["## Rows that were looked up last", "", LATE, *_single(late)] if late else []),
    ]


def _regimes(compared: Sequence[Compared]) -> list[str]:
    judged = _judged(compared)
    errors_by_regime = stated(judged)
    if not errors_by_regime:
        return []
    rows = [
        (
            name,
            errors.rows,
            f"{errors.classes} families of one" if errors.families else errors.classes,
            f"{errors.median:.0%}",
            f"{errors.low:.2f} to {errors.high:.2f}",
            f"{errors.factor:.2f}",
            "nothing else" if errors.inside is None else f"{errors.inside} of {errors.rows}",
        )
        for name, errors in errors_by_regime.items()
    ]
    tried = [errors for errors in errors_by_regime.values() if errors.inside is not None]
    inside, count = sum(errors.inside or 0 for errors in tried), sum(errors.rows for errors in tried)
    plain = sum(
        low <= row.ratio <= high
        for group in {row.group for row in judged}
        for row in judged
        if row.group == group and (others := [other.ratio for other in judged if other.group != group])
        for low, high in (spread(others),)
    )
    head = (
        "regime",
        "rows",
        "classes",
        "median error, net",
        "stated range",
        "widened by",
        "left-out rows inside",
    )
    return [
        "## Stated errors, by regime",
        "",
        REGIMES_SAID,
        *_table(head, rows),
        "",
        f"Left-out rows inside the stated ranges: {inside} of {count}, {inside / max(count, 1):.0%} "
        "(goal: 80 %). "
        f"One range for all kernels, not widened, would have {plain / len(judged):.0%} of them.",
        "",
    ]


def summary(rows: Sequence[Row], known: Mapping[Problem, Modelled]) -> str:
    """Errors by class of those rows that have been modelled."""
    return "\n".join(_by("class", nearest(rows, known) or compare(rows, known), lambda row: row.group))


def _held_out(compared: Sequence[Compared]) -> list[str]:
    """Rows that took no part in changes of the model, by published time, each beside its goal."""
    if not compared:
        return []
    rows = []
    for low, high in (*CLASSES_US, (0.0, float("inf"))):
        errors = Errors.from_compared([c for c in compared if low <= c.row.us < high])
        if errors is None:
            continue
        text = f"{low:g} to {high:g} us" if low and high < float("inf") else f"from {low:g} us"
        text = ("**all**" if high == float("inf") else f"less than {high:g} us") if not low else text
        is_met = GOAL_RATIO[0] <= errors.ratio <= GOAL_RATIO[1]
        rows.append([*_errors(text, errors)[:-1], "met" if is_met else "**missed**"])
    return [
        "## Rows that took no part",
        "",
        HELD_OUT,
        *_table(("published", *HEAD[:-1], "goal 0.9 to 1.1"), rows),
        "",
        *([MISSED] if any("missed" in row[-1] for row in rows) else []),
    ]


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


def _tritons(compared: Sequence[Compared]) -> list[str]:
    if not compared:
        return []
    return [
        "## Kernels of Triton and of AITER",
        "",
        TRITONS,
        *_by("kernel", compared, kernel_of),
        *_single(compared),
    ]


OWNERS = "## On owners' GPUs"


def _owners(reports: Sequence[Report]) -> list[str]:
    """The page's section on reports of `python -m workbench hardware`, from the files in `hardware/`."""
    head = ("report", "category", "times", "modelled over measured, median", "80 % from", "to")
    rows = [
        (report.title, category, count, *(f"{value:.2f}" for value in middle))
        for report in reports
        for category, count, *middle in report.errors()
    ]
    none = [
        "Nobody has sent a report of `python -m workbench hardware` yet "
        "([how to](howto/examine_your_gpu.md)); the tables here rest on publications alone."
    ]
    return [OWNERS, "", *(_table(head, rows) if rows else none), ""]


def document(rows: Sequence[Row], modelled: Mapping[Problem, Modelled], tritons: Sequence[Row] = ()) -> str:
    """`docs/model_error.md`.

    Args:
        rows: published.
        modelled: the modelled times.
        tritons: published rows of Triton's kernels.
    """
    compared = compare(rows, modelled)
    like = [comparison for comparison in compared if comparison.row.like]
    others = [comparison for comparison in compared if not comparison.row.like]
    failed = Counter(
        found.failure.partition(":")[0] or "other"
        for row in rows
        if (found := modelled.get(row.problem)) is not None and found.failure
    )
    waiting = sum(row.problem not in modelled for row in rows)
    lines = [
        INTRODUCTION,
        *([FORMER] if any(comparison.former for comparison in compared) else []),
        *_regimes(outside(rows, modelled, tritons)),
        *_held_out([c for c in compare(tritons, modelled) if c.row.problem.kernel.startswith(ASSEMBLY)]),
        *_nearest(nearest(rows, modelled)),
        *_themselves(own(rows, modelled)),
        "## States of the caches",
        "",
        CACHES_SAID,
        "## How ranges are stated",
        "",
        RANGES_SAID,
        "## Our kernels in place of HipKittens'",
        "",
        *_by("class", like, lambda row: row.group),
        *_by("kernel", like, lambda row: row.problem.kernel),
        *_tritons(compare(tritons, modelled)),
        "## The fastest of other kernels",
        "",
        "Other tiles and compilers, often a tuner's choice among hundreds: a bound rather than a comparison.",
        "",
        *_by("class", others, lambda row: row.group),
        *_by("kernel", others, lambda row: row.problem.kernel),
        *_by("timed by", others, lambda row: row.quantity),
        f"Not in these tables: {waiting} rows whose problem is too large to run here"
        + "".join(f"; {number} that fail with {name}" for name, number in failed.items())
        + ".",
        "",
        "## Causes of the errors",
        "",
        CAUSES,
        "## Fitted constants",
        "",
        FITTED,
        *_owners(sent_reports()),
        "## Each of HipKittens' rows, by our kernels",
        "",
        *_single(like),
    ]
    return "\n".join(lines)
