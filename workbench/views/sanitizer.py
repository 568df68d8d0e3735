"""What the sanitizer found, as a table."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from workbench.check.sanitizer import Finding, SanitizeResult
from workbench.display import shows
from workbench.views.markup import block, code, tag
from workbench.views.table import Cell, Table, number

HEAD = ("", "line", "finding", "first seen", "count")


@shows(SanitizeResult)
def sanitizer_html(result: SanitizeResult) -> Markup:
    """The findings with their instructions."""
    caption = f"sanitize: {result.name} on {result.device}"
    parts: list[Any] = []
    if result.passed:
        parts += [caption, ": ", tag("span", "✓ nothing found", kind="wb-ok")]
        caption = ""
    if not result.passed or result.notes:
        parts.append(Table(HEAD, map(_row, (*result.findings, *result.notes)), caption=caption))
    if not result.passed:
        call = code("wb.step(..., at=result.findings[0])")
        parts.append(tag("div", "step from there: ", call, kind="wb-dim"))
    if result.stopped:
        parts.append(tag("div", "a fault ended the launch early", kind="wb-warn"))
    return block(*parts)


def _row(f: Finding) -> tuple[Cell | str, ...]:
    finding = Markup("{}<br>{}").format(f.message, code(f.instruction))
    kind = "wb-warn" if f.category == "note" else "wb-bad"
    return Cell(f.category, kind), f.place, Cell(finding), f.who, number(f.count)
