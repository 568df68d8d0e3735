"""Writes `docs/counters.md`: every counter, its formula, and its confirmation by hardware.

python -m workbench.profile.counter_table
"""

from __future__ import annotations

from pathlib import Path

from workbench.origin import Origin
from workbench.profile.counters import COUNTERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "counters.md"


def document() -> str:
    """The page, as Markdown."""
    lines = [
        "# Counters",
        "",
        "`python -m workbench.profile.counter_table` makes this table. *Counted* is exact: the sum over all",
        "waves of the launch. *Modelled* rests on a table of timings or on modelled caches. The last column",
        "names the GPU output that a test compares the counter with; most have none yet.",
        "",
        "| counter | unit | meaning | targets | on the emulated device | confirmed by |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for counter in COUNTERS:
        origin = (
            str(counter.origin) if isinstance(counter.origin, Origin) else "either; each launch says which"
        )
        cells = (
            f"`{counter.name}`",
            counter.unit,
            counter.doc,
            ", ".join(counter.targets) or "all",
            origin,
            counter.confirmed or "no hardware output yet",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join((*lines, ""))


if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
