"""Costs of a kernel's instructions in one launch: the numbers behind line heat and the ISA view.

On an emulated device executions, bank conflicts and bytes are counted exactly; issue cycles follow from a
table of timings, and stalls from the simulation of a compute unit (`profile.simulation`), so both are
modelled. On a GPU they are what rocprofv3's thread trace or PC sampling measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from workbench.origin import Origin
from workbench.profile.counters import lds_origin
from workbench.profile.flow import flow, stalls
from workbench.profile.issue import issue_cycles
from workbench.profile.machine import machine, memory_latency_cycles
from workbench.profile.model import lds_service_cycles
from workbench.targets import is_timed, target

if TYPE_CHECKING:
    from workbench.codeobject import Instruction
    from workbench.kernel import Kernel
    from workbench.profile.rocprof.instructions import InstructionCost
    from workbench.profile.simulation.chip import ChipRun
    from workbench.runtime import LaunchRecord


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of instructions.

    Attributes:
        key: short, stable name.
        label: label in views.
        unit: unit of the values; "" for a plain count.
        origin: origin of the values.
        doc: description of the measure.
    """

    key: str
    label: str
    unit: str
    origin: Origin
    doc: str = ""


TIME = Measure(
    "time_cycles",
    "Time",
    "cycles",
    Origin.MODELLED,
    "Cycles that waves spend on an instruction, over all waves: its issue, and their waits for what it does. "
    "A wait is charged to the load that it ended with, a dependence to what wrote the register, a busy unit "
    "to what kept it busy.",
)
ISSUE = Measure(
    "issue_cycles",
    "Issue cycles",
    "cycles",
    Origin.MODELLED,
    "Cycles that wave instructions occupy their pipeline, by the target's timing.",
)
INSTRUCTIONS = Measure("instructions", "Wave instructions", "", Origin.COUNTED, "Executions, over all waves.")
STALLS = Measure(
    "stall_cycles",
    "Stall cycles",
    "cycles",
    Origin.MODELLED,
    "Cycles that waves stand at a wait until what they wait for is there, or at an MFMA until the matrix "
    "core is free, over all waves; each as if it had its SIMD to itself. They stand where they show, which "
    "may be after the line that caused them.",
)
SIMULATED_STALLS = replace(
    STALLS,
    doc="Cycles that waves stand before an instruction, over all waves, by the simulation of a compute unit; "
    "`InstructionProfile.reasons` says why. They stand where they show, which may be after the line that "
    "caused them.",
)
CONFLICTS = Measure(
    "bank_conflicts", "LDS bank conflicts", "cycles", Origin.COUNTED, "What SQ_LDS_BANK_CONFLICT counts."
)
BYTES = Measure(
    "bytes", "Bytes asked for", "bytes", Origin.COUNTED, "What lanes read from and write to global memory."
)
MOVED = Measure(
    "bytes_moved",
    "Bytes moved",
    "bytes",
    Origin.COUNTED,
    "64 bytes for each piece that an execution touches: the bytes asked for, where all is coalesced.",
)
LDS_BYTES = Measure(
    "lds_bytes", "LDS bytes", "bytes", Origin.COUNTED, "What lanes read from and write to LDS by address."
)

TRACED = (
    Measure("issue_cycles", "Issue cycles", "cycles", Origin.MEASURED, "Latency without the stall."),
    Measure("stall_cycles", "Stall and idle cycles", "cycles", Origin.MEASURED, "Before the issue."),
    Measure("instructions", "Wave instructions", "", Origin.MEASURED, "On the traced compute unit."),
)
SAMPLED = Measure("samples", "PC samples", "", Origin.MEASURED, "Samples whose wave stood here.")


@dataclass(frozen=True)
class InstructionProfile:
    """Costs of a kernel's instructions in one launch.

    Attributes:
        measures: the available ones; the first is shown by default.
        values: values by code object address and measure; zeros are absent.
        executions: executions by address; None if unknown.
        reasons: stall cycles by address and by reason, one of `simulation.unit.REASONS`; empty if nothing was
            simulated.
    """

    measures: tuple[Measure, ...]
    values: Mapping[int, Mapping[str, float]] = field(repr=False)
    executions: Mapping[int, int] | None = field(default=None, repr=False)
    reasons: Mapping[int, Mapping[str, float]] = field(default_factory=dict, repr=False)

    def value(self, address: int, key: str) -> float:
        """A value; 0 if the instruction has none."""
        return self.values.get(address, {}).get(key, 0)


def counted(
    kernel: Kernel, record: LaunchRecord, simulation: ChipRun | None = None
) -> InstructionProfile | None:
    """Instruction costs of a counted launch on an emulated device; None if it was not counted.

    Without recorded traffic, only executions, issue cycles and stalls are known; of targets without a model
    of time, executions.

    Args:
        simulation: simulation of the launch, which shows where waves wait; without it each wave is modelled
            alone.
    """
    if record.counts is None:
        return None
    unit = target(kernel.arch)
    timed = is_timed(unit)
    executions = {address: count for address, count in record.counts.items() if count}
    code = {address: kernel.module.instruction(address) for address in executions}
    values: dict[int, dict[str, float]] = {
        address: {
            INSTRUCTIONS.key: float(count),
            **({ISSUE.key: float(count * issue_cycles(code[address], unit.timing))} if timed else {}),
        }
        for address, count in executions.items()
    }
    reasons = simulation.stalls(executions) if simulation is not None else {}
    if not timed:
        stood = {}
    elif simulation is not None:
        stood = {address: sum(by_reason.values()) for address, by_reason in reasons.items()}
    else:
        stood = _walked(kernel, record, code)
    if simulation is not None:
        for address, cycles in simulation.charged(executions).items():
            if address in values:
                values[address][TIME.key] = cycles
    for address, stall in stood.items():
        values[address][STALLS.key] = stall
    measures = [TIME, ISSUE, INSTRUCTIONS, SIMULATED_STALLS] if simulation else [ISSUE, INSTRUCTIONS, STALLS]
    if not timed:
        measures = [INSTRUCTIONS]
    if record.traffic is not None:
        measures += [replace(CONFLICTS, origin=lds_origin(record.counters or {})), BYTES, MOVED, LDS_BYTES]
        for address, site in record.traffic.sites().items():
            costs = {
                CONFLICTS.key: site.lds_bank_conflict,
                BYTES.key: site.bytes,
                MOVED.key: 64 * site.accesses,
                LDS_BYTES.key: site.lds_bytes,
            }
            values[address].update({key: float(value) for key, value in costs.items() if value})
    return InstructionProfile(tuple(measures), values, executions, reasons)


def _walked(kernel: Kernel, record: LaunchRecord, code: Mapping[int, Instruction]) -> dict[int, float]:
    """Stall cycles by address if each wave had its SIMD to itself."""
    assert record.counts is not None
    gpu = machine(record.device, kernel.arch)
    sent = sum(
        count for at, count in record.counts.items() if at in code and code[at].record.pipeline == "lds"
    )
    waves = -(-math.prod(record.block) // gpu.target.wave_size)
    return stalls(
        flow(record.counts, code, gpu.target.timing),
        gpu.target.timing,
        memory_latency=memory_latency_cycles(gpu),
        lds_cycles=lds_service_cycles(record.counters, sent, waves, gpu),
    )


def measured(costs: Mapping[int, InstructionCost]) -> InstructionProfile | None:
    """Costs that rocprofv3 measured, if any; else None."""
    traced = any(cost.hits for cost in costs.values())
    sampled = any(cost.samples for cost in costs.values())
    if not traced and not sampled:
        return None
    values: dict[int, dict[str, float]] = {}
    for address, cost in costs.items():
        readings = {
            "issue_cycles": cost.latency - cost.stall,
            "stall_cycles": cost.stall + cost.idle,
            "instructions": cost.hits,
            "samples": cost.samples,
        }
        values[address] = {key: float(value) for key, value in readings.items() if value}
    return InstructionProfile(
        (*(TRACED if traced else ()), *((SAMPLED,) if sampled else ())),
        values,
        {address: cost.hits for address, cost in costs.items()} if traced else None,
    )


_profiled: WeakKeyDictionary[Kernel, InstructionProfile] = WeakKeyDictionary()


def remember(kernel: Kernel, costs: InstructionProfile | None) -> None:
    """Stores a profile's costs for `latest`."""
    if costs is not None:
        _profiled[kernel] = costs


def latest(kernel: Kernel) -> InstructionProfile | None:
    """Costs in the kernel's last launch if that was counted, or in its last profile; None before any.

    If the last launch is also the profiled one, the profile is returned, which has more measures.
    """
    profiled = _profiled.get(kernel)
    counts = kernel.last.record.counts if kernel.last is not None else None
    if counts is None or kernel.last is None:
        return profiled
    if profiled is not None and profiled.executions == {a: n for a, n in counts.items() if n}:
        return profiled
    return counted(kernel, kernel.last.record)
