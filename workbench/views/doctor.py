"""The doctor's findings as a table."""

from __future__ import annotations

from markupsafe import Markup

from workbench.display import shows
from workbench.doctor import Finding, Report
from workbench.views.markup import block, code
from workbench.views.table import Cell, Table

MARKS = {
    "ok": Cell("✓", "wb-ok"),
    "note": Cell("!", "wb-warn"),
    "missing": Cell("✗ missing", "wb-bad"),
}
"""Sign before a finding, by its state."""


@shows(Report)
def report_html(report: Report) -> Markup:
    """A row for each finding, its remedy below it."""
    return block(Table((), map(_row, report.findings)))


def _row(f: Finding) -> tuple[Cell | str, ...]:
    return MARKS[f.state], f.what, Markup("{}<br>{}").format(f.text, code(f.remedy)) if f.remedy else f.text
