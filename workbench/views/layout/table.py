"""The cost of a tile's load or store, by instruction."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from workbench.display import shows
from workbench.tiles import LayoutResult, WaveAccess
from workbench.tiles.result import by_opcode
from workbench.views.badge import badge, badges
from workbench.views.markup import block, bold, code, tag
from workbench.views.table import Cell, Table

HEAD = ("instruction", "accesses", "bytes a lane", "banks", "phases", "LDS cycles", "conflict cycles")

_NONE = "–"


@shows(LayoutResult)
def layout_html(result: LayoutResult) -> Markup:
    """The table of instructions, and the sum of their costs."""
    head = Markup("{} on {} {}").format(bold(result.name), result.device, badge(result.origin))
    if not result.accesses:
        return block(tag("div", head))
    rows = [_row(opcode, accesses) for opcode, accesses in by_opcode(result.accesses).items()]
    facts = ", ".join(
        f"{name} {f.value:,.0f}{f' {f.unit}' if f.unit else ''}" for name, f in result.summary.items()
    )
    cost = tag("div", facts, " ", badges(result.summary.values()), kind="wb-dim")
    return block(tag("div", head), Table(HEAD, rows), cost)


def _row(opcode: str, accesses: Sequence[WaveAccess]) -> list[Cell]:
    phases = [phase for access in accesses for phase in access.phases]
    conflicts = sum(access.conflicts for access in accesses)
    widths = "/".join(str(width) for width in sorted({access.bytes for access in accesses}))
    banks = "/".join(str(banks) for banks in sorted({access.banks for access in accesses if access.banks}))
    numbers = [len(accesses), widths, banks or _NONE]
    numbers += [len(phases), sum(phase.cycles for phase in phases)] if phases else [_NONE, _NONE]
    verdict = Cell(conflicts if phases else _NONE, f"wb-num {'wb-bad' if conflicts else 'wb-ok'}")
    return [Cell(code(opcode)), *(Cell(number, "wb-num") for number in numbers), verdict]
