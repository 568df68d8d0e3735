"""An audit as one self-contained page, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.audit.certainty import Certainty
from workbench.audit.records import (
    FindingRecord,
    KernelRecord,
    Place,
    Report,
    Result,
    proof_sentence,
    repair_sentence,
)
from workbench.views.html import report as html_page
from workbench.views.markup import block, code, tag
from workbench.views.table import Cell, Table, number

_KINDS = {
    Result.RIGHT: "wb-ok",
    Result.WRONG: "wb-bad",
    Result.UNCONFIRMED: "wb-warn",
    Result.FAILS: "wb-warn",
    Result.NOT_BUILT: "wb-warn",
}
_CERTAINTY = {Certainty.PROVEN: "wb-bad", Certainty.CERTAIN: "wb-warn", Certainty.HARDWARE_RULE: "wb-dim"}
_LONGEST = 160


class _Section:
    """HTML as an item of a page."""

    def __init__(self, *parts: Any) -> None:
        self._html = block(*parts)

    def _repr_html_(self) -> str:
        return str(self._html)


def write_page(report: Report, file: str | Path) -> Path:
    """Writes the page of an audit; returns its path."""
    return html_page(file, *_items(report), title=f"Audit of {report.checkout}")


def _items(report: Report) -> Iterator[Any]:
    commit = f" at {report.revision}" if report.revision else ""
    yield (
        f"{report.tool} built and ran the kernel sources of {report.checkout}{commit} on emulated devices: "
        f"the machine code that a GPU would run, under the sanitizer. None of this ran on a GPU."
    )
    yield _Section(_totals(report))
    # The surest first; within that, in the order of the audit.
    for kernel in sorted(report.kernels, key=_rank):
        if not kernel.is_clean:
            yield f"# {kernel.source} on {kernel.target}"
            yield _Section(*_details(kernel))
    yield "# All kernel sources"
    yield _Section(_table(report))
    yield "# How sure a finding is"
    yield _Section(
        Table(("", ""), [(Cell(each.value, _CERTAINTY[each]), each.sentence) for each in Certainty])
    )


def _rank(kernel: KernelRecord) -> int:
    """Place of a kernel's section: that of its surest finding, behind wrong results."""
    ranks = [[*Certainty].index(finding.certainty) for finding in kernel.findings]
    return 0 if kernel.result is Result.WRONG else 1 + min(ranks, default=len(Certainty))


def _totals(report: Report) -> Table:
    counts = [(each, sum(kernel.result is each for kernel in report.kernels)) for each in Result]
    rows = [(Cell(each.value, _KINDS.get(each, "")), number(count)) for each, count in counts if count]
    return Table(("result", "kernel sources"), [*rows, ("findings", number(report.findings))])


def _details(kernel: KernelRecord) -> Iterator[Any]:
    yield tag("div", tag("span", kernel.result.value, kind=_KINDS.get(kernel.result, "")), f": {kernel.text}")
    if kernel.sizes:
        yield tag("div", f"Run with smaller sizes: {', '.join(kernel.sizes)}.", kind="wb-dim")
    if kernel.findings:
        head = ("", "how sure", "line", "other line", "finding", "instructions", "count")
        yield Table(head, [_row(finding) for finding in kernel.findings])
    if kernel.proof is not None:
        yield tag("div", proof_sentence(kernel.proof))
    if kernel.repair is not None:
        text = "In a copy with this patch the results are right, and no race and no missing wait is left."
        yield tag("div", f"Certified repair: {repair_sentence(kernel.repair)}. {text}")
        yield _patch(kernel.repair.patch)


def _row(finding: FindingRecord) -> tuple[Cell | str, ...]:
    text = Markup("{}<br>{}").format(finding.message, code(finding.instruction))
    return (
        Cell(finding.category, _CERTAINTY[finding.certainty]),
        Cell(finding.certainty.value, _CERTAINTY[finding.certainty], tip=finding.certainty.sentence),
        _line(finding.place),
        _line(finding.related) if finding.related != finding.place else "",
        Cell(text),
        number(finding.instructions),
        number(finding.count),
    )


def _line(place: Place | None) -> str:
    # The folder is in the heading.
    return f"{Path(place.file).name}:{place.line}" if place is not None else ""


def _patch(patch: str) -> Markup:
    kinds = {"+": "wb-added", "-": "wb-removed"}
    lines = [tag("span", line, kind=kinds.get(line[:1], "wb-same")) for line in patch.splitlines()]
    return tag("div", *lines, kind="wb-diff")


def _table(report: Report) -> Table:
    rows = [
        (
            Cell(kernel.source, "wb-line"),
            kernel.target,
            Cell(kernel.result.value, _KINDS.get(kernel.result, "")),
            number(len(kernel.findings)),
            kernel.text if len(kernel.text) <= _LONGEST else f"{kernel.text[:_LONGEST]} ...",
            kernel.date,
        )
        for kernel in report.kernels
    ]
    return Table(("kernel source", "target", "result", "findings", "checked, or the reason", "date"), rows)


__all__ = ["write_page"]
