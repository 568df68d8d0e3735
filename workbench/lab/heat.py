"""Line heat of a profiled launch: the cost of each line of the cell, inlined library code included.

A tile kernel's lines are calls into the library, so almost every instruction comes from a header. It is
charged to the line of the cell that called it, along the chain of inlined calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lab.listing import places
from workbench.lab.payload import Heat, HeatLine, Measure

if TYPE_CHECKING:
    from workbench.kernel import Kernel
    from workbench.profile.instructions import InstructionProfile


def heat(kernel: Kernel, costs: InstructionProfile | None) -> Heat | None:
    """Heat of the cell that a kernel was compiled from.

    Args:
        kernel: the kernel that ran.
        costs: costs of its instructions; None if the launch was not counted.

    Returns:
        the heat; None without costs or debug info.
    """
    if costs is None or not costs.values or kernel.module.debug is None:
        return None
    place = places(kernel)
    keys = [measure.key for measure in costs.measures]
    cost: dict[int, dict[str, float]] = {}
    classes: dict[int, dict[str, float]] = {}
    for address, measured in costs.values.items():
        line = place(address).line
        values = cost.setdefault(line, dict.fromkeys(keys, 0.0))
        for key, value in measured.items():
            values[key] = values.get(key, 0.0) + value
        count = (costs.executions or {}).get(address, 0)
        if count:
            mix = classes.setdefault(line, {})
            kind = kernel.module.instruction(address).record.pipeline
            mix[kind] = mix.get(kind, 0) + count
    lines = [HeatLine(line, cost[line], classes.get(line, {})) for line in sorted(cost) if line]
    measures = [Measure(m.key, m.label, m.unit, str(m.origin), m.doc) for m in costs.measures]
    return Heat(kernel.name, measures, lines, cost.get(0, {}))
