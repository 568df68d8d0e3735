"""Line heat of a profiled launch: what each line of the cell cost, inlined library code included.

A tile kernel's lines are calls into the library, so almost every instruction stands in a header. It is
charged to the line of the cell that called it, along the chain of inlined calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.lab.listing import places
from workbench.lab.payload import Heat, HeatLine, Measure
from workbench.profile.classes import classify
from workbench.profile.model import issue_cycles

if TYPE_CHECKING:
    from workbench.kernel import Kernel

MEASURES = (
    Measure("issue_cycles", "Issue cycles", "cycles", "modelled"),
    Measure("instructions", "Wave instructions", "", "counted"),
)


def heat(kernel: Kernel, counts: Mapping[int, int] | None) -> Heat | None:
    """Heat of the cell that a kernel was compiled from.

    Args:
        kernel: what ran.
        counts: executions by address, summed over waves; None where the launch was not counted.

    Returns:
        None where there are no counts or no debug info.
    """
    if not counts or kernel.module.debug is None:
        return None
    place = places(kernel)
    cost: dict[int, dict[str, float]] = {}
    classes: dict[int, dict[str, float]] = {}
    for address, count in counts.items():
        if not count:
            continue
        instruction = kernel.module.instruction(address)
        line = place(address).line
        values = cost.setdefault(line, {measure.key: 0.0 for measure in MEASURES})
        values["issue_cycles"] += count * issue_cycles(kernel.arch, instruction)
        values["instructions"] += count
        mix = classes.setdefault(line, {})
        kind = classify(instruction)
        mix[kind] = mix.get(kind, 0) + count
    lines = [HeatLine(line, cost[line], classes[line]) for line in sorted(cost) if line]
    return Heat(kernel.name, MEASURES, lines, cost.get(0, {}))
