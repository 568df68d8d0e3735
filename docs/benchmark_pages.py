"""The page about benchmarks: a summary in the repository, every operator with its figures on the site.

    python docs/benchmark_pages.py    # writes the summary

Both are made from `data/benchmarks.jsonl`. Its first line has the fields that all results share, each further
line those in which a result differs from the defaults of `workbench.bench.results.Result`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

DOCS = Path(__file__).resolve().parent
if str(DOCS.parent) not in sys.path:
    sys.path.insert(0, str(DOCS.parent))

from workbench.bench.results import Result  # noqa: E402
from workbench.bench.run import BenchResult  # noqa: E402
from workbench.operators import kernels  # noqa: E402
from workbench.views.benchmark_page import markdown, summary  # noqa: E402

DATA = DOCS / "data" / "benchmarks.jsonl"
PAGE = DOCS / "benchmarks.md"
PICTURES = "images/benchmarks"

COMMANDS = (
    "Made by `python -m workbench bench --device MI355X --figures --against triton --largest 1.2e12 "
    "--out build/bench`, which goes on where it was stopped, and "
    "`python tests/benchmarks/benchmark_document.py build/bench`."
)
REST = (
    "`make docs` draws every figure and has a table for each operator; `python -m workbench bench` times "
    "problems of your own."
)
SHARED = ("device", "product", "origin")
DERIVED = ("low", "high", "flops", "bytes", "setting", "seconds")
"""Fields that are not stored: they follow from the others, or are of the computer that ran it."""


def to_lines(results: Sequence[Result]) -> str:
    """Modelled results as text, a JSON object a line.

    Raises:
        ValueError: the results are of several devices or origins, or a measured one is among them.
    """
    shared = {tuple(getattr(result, name) for name in SHARED) for result in results}
    if len(shared) != 1 or any(result.runs for result in results):
        raise ValueError(f"results are of {sorted(shared)}; expected modelled ones of one device")
    lines = [dict(zip(SHARED, *shared, strict=True))]
    defaults = asdict(Result("", {}, "", "", ""))
    for result in results:
        items = asdict(result).items()
        lines.append({k: v for k, v in items if k not in SHARED + DERIVED and v != defaults[k]})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def from_lines(text: str) -> list[Result]:
    """The results of such a text; the work of a problem comes from its operator."""
    shared, *lines = map(json.loads, text.splitlines())
    return [_with_work(Result(**shared, **line)) for line in lines]


def _with_work(result: Result) -> Result:
    name = result.operator.partition("[")[0]
    work = kernels[name].work(result.shape) if name in kernels and not result.failure else {}
    counts = {key: int(work.get(key, 0)) for key in ("flops", "bytes")}
    return replace(result, low=result.us, high=result.us, **counts)


def results() -> BenchResult:
    return BenchResult(from_lines(DATA.read_text(encoding="utf-8")))


def short_page(result: BenchResult) -> str:
    """The page of the repository."""
    return f"{summary(result, f'{COMMANDS} {_count(result)}')}\n\n{REST}\n"


def whole_page(folder: Path = DOCS) -> str:
    """The page of the site, whose pictures are written to `PICTURES` below a folder."""
    result = results()
    for old in (folder / PICTURES).glob("*.svg"):
        old.unlink()
    title, _, rest = markdown(result, folder, PICTURES).partition("\n\n")
    return f"{title}\n\n{COMMANDS} {_count(result)}\n\n{rest}"


def _count(result: BenchResult) -> str:
    return f"There are {len(result)} results of {len(result.operators)} operators."


def store(stored: Sequence[Result]) -> None:
    """Writes the data and the repository's page."""
    DATA.write_text(to_lines(stored), encoding="utf-8")
    PAGE.write_text(short_page(BenchResult(stored)), encoding="utf-8")


if __name__ == "__main__":
    PAGE.write_text(short_page(results()), encoding="utf-8")
