"""A timing model of a launch: which of a GPU's units, or which wave, would be busy longest.

Every figure that it gives is modelled. From the exact counts of the emulated device it computes how long each
unit of the busiest compute unit (CU) needs for its share of the work, were it never waiting, and how long one
wave needs that does one thing after another:

    share = ceil(work-groups / CUs) / work-groups           of what follows falls on the busiest CU
    simds = min(4, waves of a work-group * work-groups that the CU holds)
    mfma  = share * MFMA cycles / simds                     by instruction, codeobject/instructions/matrix.py
    valu  = share * (4 * VALU + 16 * quarter rate) / simds  64 lanes on 16-lane SIMDs
    salu  = share * (SALU + branches)                       one a cycle of a CU
    lds   = share * max(LDS cycles, LDS bytes / bytes a cycle)   with bank conflicts
    vmem  = share * 4 * vector memory instructions          address unit: 16 lanes a cycle
    l1    = share * requested bytes / 64                    64 bytes a cycle of a CU
    wave  = rounds * (issue, matrix cores and loads waited for by a wave, `profile.flow`)
            rounds = work-groups of the CU / work-groups that it holds at once
            a load from memory takes 218 ns; LDS 64 cycles after serving the work-group's waves in turn
    l2    = requested bytes / L2 bandwidth                  of the whole GPU
    hbm   = compulsory bytes / memory bandwidth             of the whole GPU

and takes the longest: what different units do, and what the waves of a SIMD do, is assumed to overlap. `hbm`
counts every argument's bytes once, but no more than were requested: caches are assumed perfect. A launch adds
a fixed overhead: 1.8 us, the duration that rocprofv3 gave for a dispatch of one wave with one LDS instruction
(HipKittens' analysis/paper_experiments/phases/ds_write_b64: 1,799 ns).

How far off it is, where something comparable is published (HipKittens' own GEMM, another kernel for the same
problem, timed by HIP events): our bf16 GEMM of 1024, 2048 and 4096 cubed is modelled at 0.58, 0.58 and 0.59
of the time published for MI355X, and on MI300X at 0.51, 0.56 and 0.66 of MI325X's
(`tests/benchmarks/model_error.py`, kernels compiled by clang 22). It is still optimistic:
left out are barriers, instruction fetch, results that the next instruction waits for, cache misses, clocks
under load, and what an event adds to a short launch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.codeobject.instructions import CYCLES_OF_A_PASS
from workbench.origin import NEVER_COMPARED, Expected, Figure, Origin
from workbench.profile.flow import ISSUE_CYCLES, QUARTER_RATE_CYCLES, walk
from workbench.profile.machine import memory_latency_cycles
from workbench.targets import Product

if TYPE_CHECKING:
    from workbench.codeobject import Instruction
    from workbench.codeobject.occupancy import Occupancy
    from workbench.profile.counters import Tally
    from workbench.runtime import LaunchRecord

LAUNCH_OVERHEAD_SECONDS = 1.8e-6
VALU_CYCLES = 4
ADDRESS_CYCLES = 4
L1_BYTES_PER_CYCLE = 64


def issue_cycles(instruction: Instruction) -> int:
    """Cycles that one wave instruction occupies its pipeline: its MFMA passes, 16 at quarter rate, else 4."""
    record = instruction.record
    if record.matrix is not None:
        return CYCLES_OF_A_PASS * record.matrix.passes_with(instruction.modifiers)
    return QUARTER_RATE_CYCLES if record.pipeline == "trans" else ISSUE_CYCLES


def lds_cycles(device: Mapping[str, int], machine: Product) -> float:
    """Cycles that LDS serves the accesses of a launch, by banks or by bytes, whichever takes longer."""
    moved = device.get("lds_bytes_read", 0) + device.get("lds_bytes_written", 0)
    return max(device.get("lds_cycles", 0), moved / machine.target.lds_bytes_per_clock)


def lds_service_cycles(device: Mapping[str, int], sent: int, waves: int, machine: Product) -> float:
    """Cycles that LDS is busy with one instruction and what the other waves of its work-group send with it.

    The waves of a work-group meet at barriers, so they come to LDS together and are served in turn.

    Args:
        device: address-dependent counts of the launch.
        sent: LDS instructions of the launch.
        waves: of a work-group.
    """
    return lds_cycles(device, machine) / max(sent, 1) * waves


UNITS: Mapping[str, str] = {
    "mfma": "matrix cores",
    "valu": "vector ALUs",
    "salu": "scalar ALU",
    "lds": "LDS",
    "vmem": "memory address unit",
    "l1": "L1 cache bandwidth",
    "wave": "one wave, step by step",
    "l2": "L2 bandwidth",
    "hbm": "HBM bandwidth",
}
"""What each part of a breakdown is."""


@dataclass(frozen=True)
class TimeModel:
    """A modelled time and what it is made of.

    Attributes:
        seconds: launch overhead plus the longest part.
        parts: seconds that each unit is busy, by the keys of `UNITS`.
        overhead: seconds of launch overhead.
        occupancy: waves that fit.
        machine: the constants used.
        wave: seconds of the "wave" part by what the wave does: "issue" (and waiting for the matrix core),
            "memory" and "lds" (waiting for loads).
        error: how far the time may be off.
    """

    seconds: float
    parts: Mapping[str, float]
    overhead: float
    occupancy: Occupancy
    machine: Product
    wave: Mapping[str, float] = field(default_factory=dict)
    error: Expected = NEVER_COMPARED

    @property
    def bound(self) -> str:
        """Key of the longest part; "launch" where the overhead is longer than all of them."""
        key = max(self.parts, key=lambda part: self.parts[part])
        return key if self.parts[key] >= self.overhead else "launch"

    @property
    def bound_text(self) -> str:
        """The longest part in words."""
        return UNITS.get(self.bound, "launch overhead")

    @property
    def source(self) -> str:
        return f"timing model of {self.machine.name}"

    @property
    def time(self) -> Figure:
        """Kernel time, as a profiler reports it."""
        return self._figure(self.seconds)

    def _figure(self, seconds: float) -> Figure:
        return Figure(seconds * 1e6, "us", Origin.MODELLED, self.source, self.error)

    @property
    def breakdown(self) -> dict[str, Figure]:
        """Microseconds by unit, longest first, the launch overhead last."""
        order = sorted(self.parts, key=lambda part: -self.parts[part])
        figures = {p: self._figure(self.parts[p]) for p in order}
        return {**figures, "launch": self._figure(self.overhead)}

    @property
    def longest(self) -> str:
        """What it is made of, in words: the launch and the longest parts."""
        top = sorted(self.parts, key=lambda part: -self.parts[part])[:3]
        shown = ", ".join(f"{UNITS[p]} {self.parts[p] * 1e6:.3g} us" for p in top)
        return f"launch {self.overhead * 1e6:.3g} us, longest {shown}"

    def __str__(self) -> str:
        return f"{self.time}: {self.longest}"


def model_time(
    tally: Tally, record: LaunchRecord, occupancy: Occupancy, machine: Product, *, argument_bytes: int
) -> TimeModel:
    """The modelled time of a counted launch.

    Args:
        tally: the launch added up, device counters included.
        record: the launch.
        occupancy: waves of this kernel and launch that fit a SIMD.
        machine: the GPU's constants.
        argument_bytes: bytes of all tensors that the launch was given, each once.
    """
    groups = math.prod(record.grid)
    waves = tally.waves // groups
    per_cu = -(-groups // machine.compute_units)
    share = per_cu / groups
    simds = min(machine.target.simds, waves * min(per_cu, occupancy.groups_per_cu))
    device = tally.device
    requested = (
        device.get("global_bytes_read", 0)
        + device.get("global_bytes_written", 0)
        + device.get("scalar_bytes_read", 0)
    )
    vector = VALU_CYCLES * tally.of("valu") + QUARTER_RATE_CYCLES * tally.of("trans")
    memory = tally.of(
        "vmem_load", "vmem_store", "vmem_atomic", "vmem_other", "flat_load", "flat_store", "flat_atomic"
    )
    rounds = -(-per_cu // occupancy.groups_per_cu)
    wave = walk(
        tally.blocks,
        tally.waves,
        memory_latency=memory_latency_cycles(machine),
        lds_cycles=lds_service_cycles(device, tally.of("lds"), waves, machine),
    )
    cycles = {
        "mfma": share * tally.matrix_cycles / simds,
        "valu": share * vector / simds,
        "salu": share * tally.of("salu", "branch"),
        "lds": share * lds_cycles(device, machine),
        "vmem": share * ADDRESS_CYCLES * memory,
        "l1": share * requested / L1_BYTES_PER_CYCLE,
        "wave": rounds * wave.total,
    }
    parts = {name: value / machine.clock_hz for name, value in cycles.items()}
    parts["l2"] = requested / machine.l2_bytes_per_second
    parts["hbm"] = min(requested, argument_bytes) / machine.hbm_bytes_per_second
    return TimeModel(
        LAUNCH_OVERHEAD_SECONDS + max(parts.values()),
        parts,
        LAUNCH_OVERHEAD_SECONDS,
        occupancy,
        machine,
        {
            name: rounds * value / machine.clock_hz
            for name, value in (("issue", wave.issue), ("memory", wave.memory), ("lds", wave.lds))
        },
    )
