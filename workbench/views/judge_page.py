"""A judge's verdicts as one self-contained page, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
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
    enclosures = {verdict.enclosure for verdict in verdicts}
    enclosed = f" Each was enclosed by {enclosures.pop()}." if len(enclosures) == 1 else ""
    yield (
        f"Right and wrong are those of an emulated {device}, which repeated each submission's launches. "
        "Times are modelled, with the range that holds the true time in 80 % of cases; submissions inside "
        f"each other's range share a rank. None of this ran on a GPU.{enclosed}"
    )
    # The name first: on a narrow page it is the head of what is left of its row.
    head = ("submission", "rank", "result", "time, us", "range", "kernels", "why")
    yield _Section(_table(head, [_row(verdict, ranks) for verdict in verdicts]))
    for verdict in verdicts:
        yield f"# {verdict.submission}"
        yield _Section(*_details(verdict, with_enclosure=not enclosed))


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """A table without the columns in which no row has a value."""
    filled = [any(row[column] != "" for row in rows) for column in range(len(head))]
    return Table(tuple(compress(head, filled)), [tuple(compress(row, filled)) for row in rows])


def _row(verdict: Verdict, ranks: Mapping[str, int]) -> tuple[Any, ...]:
    return (
        Cell(verdict.submission, "wb-line"),
        number(ranks[verdict.submission]) if verdict.submission in ranks else "",
        Cell(verdict.result.value, _KINDS[verdict.result]),
        _microseconds(verdict.time),
        _range(verdict),
        number(len(verdict.kernels)),
        verdict.text,
    )


def _details(verdict: Verdict, *, with_enclosure: bool) -> Iterator[Any]:
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
    yield _table(("case", "sizes", "result", "launches", "time, us", "range", "why"), cases)
    reasons = {case.text for case in verdict.cases}
    for finding in verdict.findings:
        if finding not in reasons:
            yield tag("div", finding)
    for note in verdict.notes:
        yield tag("div", note, kind="wb-dim")
    if verdict.operators:
        counts = ", ".join(f"{name} ({count})" for name, count in sorted(verdict.operators.items()))
        yield tag("div", f"PyTorch's operators in its process: {counts}.", kind="wb-dim")
    if with_enclosure:
        yield tag("div", f"Enclosed by {verdict.enclosure}.", kind="wb-dim")


def _microseconds(time: float | None) -> Cell | str:
    return "" if time is None else number(time, ".4g")


def _range(of: Verdict | CaseVerdict) -> Cell | str:
    return "" if of.low is None or of.high is None else Cell(f"{of.low:.3g} to {of.high:.3g}", "wb-num")


__all__ = ["write_page"]
