"""A judge's verdicts as one self-contained page, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.judge.verdicts import CaseVerdict, Result, Verdict
from workbench.views.html import report as html_page
from workbench.views.markup import block, tag
from workbench.views.table import Cell, Table, number

_KINDS = {
    Result.RIGHT: "wb-ok",
    Result.WRONG: "wb-bad",
    Result.HOST_WORK: "wb-bad",
    Result.FINDINGS: "wb-warn",
    Result.FAILS: "wb-warn",
}


class _Section:
    """HTML as an item of a page."""

    def __init__(self, *parts: Any) -> None:
        self._html = block(*parts)

    def _repr_html_(self) -> str:
        return str(self._html)


def write_page(
    problem: str, device: str, verdicts: Sequence[Verdict], ranks: Mapping[str, int], file: Path
) -> Path:
    """Writes the page of verdicts, in their order; returns its path."""
    return html_page(file, *_items(device, verdicts, ranks), title=f"Submissions to {problem}")


def _items(device: str, verdicts: Sequence[Verdict], ranks: Mapping[str, int]) -> Iterator[Any]:
    yield (
        f"Right and wrong are those of an emulated {device}, which repeated each submission's launches. "
        "Times are modelled, with the range of 80 % of cases; submissions inside each other's range share a "
        "rank. None of this ran on a GPU."
    )
    yield _Section(
        Table(("rank", "submission", "result", "time, us", "range", "kernels", "why"), _rows(verdicts, ranks))
    )
    for verdict in verdicts:
        yield f"# {verdict.submission}"
        yield _Section(*_details(verdict))


def _rows(verdicts: Sequence[Verdict], ranks: Mapping[str, int]) -> list[tuple[Any, ...]]:
    return [
        (
            number(ranks[v.submission]) if v.submission in ranks else "",
            Cell(v.submission, "wb-line"),
            Cell(v.result.value, _KINDS[v.result]),
            _microseconds(v.time),
            _range(v),
            number(len(v.kernels)),
            v.text,
        )
        for v in verdicts
    ]


def _details(verdict: Verdict) -> Iterator[Any]:
    cases = [
        (
            case.role,
            case.name,
            Cell(case.result.value, _KINDS[case.result]),
            number(case.launches),
            _microseconds(case.time),
            _range(case),
            case.text,
        )
        for case in verdict.cases
    ]
    yield Table(("", "sizes", "result", "launches", "time, us", "range", "why"), cases)
    for finding in verdict.findings:
        yield tag("div", finding)
    for note in verdict.notes:
        yield tag("div", note, kind="wb-dim")
    if verdict.operators:
        counts = ", ".join(f"{name} ({count})" for name, count in sorted(verdict.operators.items()))
        yield tag("div", f"PyTorch's operators in its process: {counts}.", kind="wb-dim")
    yield tag("div", f"Enclosed by {verdict.enclosure}.", kind="wb-dim")


def _microseconds(time: float | None) -> str:
    return "" if time is None else f"{time:.4g}"


def _range(of: Verdict | CaseVerdict) -> str:
    return "" if of.low is None or of.high is None else f"{of.low:.4g} to {of.high:.4g}"


__all__ = ["write_page"]
