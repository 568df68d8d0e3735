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
    if result.passed:
        return block(caption, ": ", tag("span", "✓ nothing found", kind="wb-ok"))
    parts: list[Any] = [Table(HEAD, map(_row, result.findings), caption=caption)]
    if result.stopped:
        parts.append(tag("div", "a fault ended the launch early", kind="wb-warn"))
    return block(*parts)


def _row(f: Finding) -> tuple[Cell | str, ...]:
    finding = Markup("{}<br>{}").format(f.message, code(f.instruction))
    return Cell(f.category, "wb-bad"), f.place, Cell(finding), f.who, number(f.count)
