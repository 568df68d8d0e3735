"""The sanitizer's findings as a table."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from workbench.check.sanitizer import Cause, SanitizeResult, causes
from workbench.display import presents, shows
from workbench.step.session import step
from workbench.step.stepper import Stepper
from workbench.views.markup import NOTHING, block, code, tag, with_code
from workbench.views.opening import button, display_opening, display_table, new_key
from workbench.views.table import Cell, Table, number

HEAD = ("", "line", "finding", "first seen", "count")


@shows(SanitizeResult)
def sanitizer_html(result: SanitizeResult, key: str = "") -> Markup:
    """The findings, one a cause; with a key, each with a button that opens the stepper at its first one."""
    where = f" of {result.process}" if result.process else ""
    caption = f"sanitize: {result.name}{where} on {result.device}"
    parts: list[Any] = []
    if result.passed:
        parts += [caption, ": ", tag("span", "✓ nothing found", kind="wb-ok")]
        caption = ""
    if not result.passed or result.notes:
        rows = [_row(cause, key, result.findings.index(cause.first)) for cause in result.causes]
        parts.append(Table(HEAD, [*rows, *map(_row, causes(result.notes))], caption=caption))
    if not result.passed and not key:
        call = code("wb.step(..., at=result.findings[0])")
        parts.append(tag("div", "step from there: ", call, kind="wb-dim"))
    if result.stopped:
        parts.append(tag("div", "a fault ended the launch early", kind="wb-warn"))
    return block(*parts)


@presents(SanitizeResult)
def present(result: SanitizeResult) -> None:
    """Displays the findings, with buttons where they can be stepped to."""
    again = result.again
    if again is None:
        display_table(sanitizer_html(result), repr(result))
        return

    def opened(number: int) -> Stepper:
        where: dict[str, Any] = {"at": result.findings[number], "launch": result.launches[number]}
        return step(again.target, *again.args, **again.kwargs, **again.options, **where)

    key = new_key()
    display_opening(sanitizer_html(result, key), repr(result), key, opened)


def _row(cause: Cause, key: str = "", nth: int = 0) -> tuple[Cell | str, ...]:
    f = cause.first
    opens = button(key, nth, "step", "Open the stepper before this instruction") if key else NOTHING
    more = f" {cause.more}" if cause.more else ""
    finding = Markup("{}<br>{}{} {}").format(with_code(f.message), code(f.instruction), more, opens)
    kind = "wb-warn" if f.category == "note" else "wb-bad"
    return Cell(f.category, kind), f.place, Cell(finding), f.who, number(cause.count)
