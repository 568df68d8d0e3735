"""Counters of busy and waiting cycles, from the simulated chip, by rocprof's names.

rocprof counts what waves do in quad-cycles, four of the engine's: a SIMD's turn. Definitions follow "MI300
and MI200 series performance counters" in AMD's ROCm documentation. All of it is modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.profile.counters import Tally
    from workbench.profile.model import TimeModel

ENGINES_OF_A_DIE = 4
"""Shader engines of an XCD, each with a sequencer that counts: rocprofv3's agent_info of an MI355X has 32."""

QUAD = 4
"""Engine cycles per rocprof's unit of wave time."""

_WAITING = ("WAIT_MEMORY", "WAIT_LDS", "WAIT_SCALAR", "AT_BARRIER", "IDLING")
"""A wave waits for something that its own instruction names: a counter, a barrier, a time."""

_TO_ISSUE = (
    *("LDS_PORT", "MEMORY_QUEUE", "MATRIX_BUSY", "VECTOR_BUSY"),
    *("DEPENDENCE", "ISSUE", "FETCH"),
)
"""Its next instruction may not issue yet."""


def wait_counters(model: TimeModel, tally: Tally, counts: Mapping[int, int]) -> dict[str, float]:
    """The counters of a simulated launch; empty if it was not simulated.

    Args:
        model: modelled time of the launch.
        tally: the launch added up.
        counts: executions of each instruction by address.
    """
    run = model.simulation
    if run is None:
        return {}
    machine = model.machine
    stood: dict[str, float] = {}
    for reasons in run.stalls(counts).values():
        for name, cycles in reasons.items():
            stood[name] = stood.get(name, 0.0) + cycles
    issued = float(machine.target.timing.turn) * sum(counts.values())
    kernel = (model.seconds - model.overhead) * model.clock_hz
    simds = machine.target.simds * machine.compute_units
    matrix = sum(tally.matrix_counts.values()) * float(machine.target.timing.turn)
    return {
        "SQ_BUSY_CYCLES": kernel * ENGINES_OF_A_DIE * machine.xcds,
        "GRBM_GUI_ACTIVE": model.seconds * model.clock_hz * machine.xcds,
        "SQ_WAVE_CYCLES": (issued + sum(stood.values())) / QUAD,
        "SQ_WAIT_ANY": sum(stood.get(name, 0.0) for name in _WAITING) / QUAD,
        "SQ_WAIT_INST_ANY": sum(stood.get(name, 0.0) for name in _TO_ISSUE) / QUAD,
        "SQ_WAIT_INST_LDS": stood.get("LDS_PORT", 0.0) / QUAD,
        "VALUBusy": min(100.0, 100 * (model.activity.get("valu", 0.0) + matrix / simds / kernel)),
        "MfmaUtil": 100 * model.activity.get("mfma", 0.0),
    }
