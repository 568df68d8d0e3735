"""Positions of the layout explorer's slider: everything at once, then each access and its phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tiles import LayoutResult, Row, WaveAccess


@dataclass(frozen=True)
class Step:
    """A position of the slider.

    Attributes:
        label: label at the slider.
        rows: rows of the access and phase; None for all.
        access, phase: their numbers; None for the position that shows all.
    """

    label: str
    rows: Sequence[Row] | None
    access: int | None = None
    phase: int | None = None


def steps_of(result: LayoutResult) -> list[Step]:
    """Everything at once, then each access and each of its phases."""
    steps = [Step("all accesses", None)]
    if not result.accesses:
        return steps
    rows: dict[tuple[int, int | None], list[Row]] = {}
    for row in result.rows:
        if row.access is not None:
            rows.setdefault((row.access, None), []).append(row)
            if row.phase is not None:
                rows.setdefault((row.access, row.phase), []).append(row)
    waves = len({a.wave for a in result.accesses}) > 1
    for n, access in enumerate(result.accesses):
        name = f"access {n}" + (f" of wave {access.wave}" if waves else "") + f", {access.opcode}"
        cost = f": {conflict_text(access.conflicts)}" if access.phases else ""
        steps.append(Step(name + cost, rows.get((n, None), ()), n))
        if len(access.phases) > 1:
            steps += [
                Step(f"{name}, {_phase_text(access, p)}", rows.get((n, p), ()), n, p)
                for p in range(len(access.phases))
            ]
    return steps


def conflict_text(conflicts: int) -> str:
    return f"{conflicts} conflict cycle{'' if conflicts == 1 else 's'}" if conflicts else "no conflict"


def _phase_text(access: WaveAccess, number: int) -> str:
    phase = access.phases[number]
    cycles = f"{phase.cycles} cycle{'' if phase.cycles == 1 else 's'}"
    return f"phase {number} of {len(access.phases)}: {len(phase.lanes)} lanes, {cycles}"
