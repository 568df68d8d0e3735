"""Timing of the parts of a compute unit, in cycles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.targets.fact import Fact
from workbench.targets.sources import GLUON, HAZARDS, MI300A_GPU, MT4G, RDNA3_CACHES, ROCPROF_DOCS, TRACES

LINE_BYTES = 128
"""Bytes of a line of L1 and L2 (AMD CDNA 3 white paper)."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Timing of the parts of a compute unit, for every model of time.

    Two questions have different figures. How long does an instruction keep its unit busy, so that the next
    waits: `turn`, `transcendental`, `quarter_rate`, `permute`, `lds_issue`, `l1_line` and similar ones. How
    long until its result is ready: `mfma_states`, `scalar_hit`, `scalar_miss` and every latency.

    Attributes:
        turn: cycles between two turns of a SIMD to issue.
        transcendental: cycles for which a transcendental instruction of fp32 occupies the vector ALU.
        quarter_rate: the same for other vector instructions that run at a quarter of the rate.
        permute: the same for v_permlane*.
        sleep: cycles that s_sleep waits for each unit of its operand.
        taken_branch: cycles from a taken branch to the instruction at its target.
        mfma_operands: cycles for which an MFMA with sources of two registers keeps vector instructions from
            issuing; twice that with four, and so on.
        mfma_states, mfma_long_states: turns beyond its passes after which a vector instruction, or another
            MFMA as its A or B, may use the result of an MFMA of two passes, and of a longer one.
        packed_overlaps: whether packed fp32 instructions run while an MFMA does: 1 or 0.
        lds_latency: latency of a read of a dword per lane.
        lds_issue: minimum cycles between two accesses of a pair of SIMDs.
        lds_address: cycles of an access before its data move.
        lds_bus: bytes per cycle between LDS and a pair of SIMDs.
        lds_queue: maximum number of waiting accesses of a pair of SIMDs.
        lds_fill: bytes per cycle that loads write to LDS.
        shared_port: whether LDS and vector memory instructions issue to one port: 1 or 0.
        vmem_address: cycles that the address unit takes for a vector memory instruction.
        l1_line: cycles that L1 takes for a line.
        l1_narrow, l1_wide: minimum cycles that it takes for an instruction of a dword per lane, and of more.
        l1_latency, l2_latency: latency of a load that the cache serves.
        memory_queue: maximum number of a compute unit's vector memory instructions that wait for L1.
        in_flight: maximum bytes of L1's lines that wait for data; a load that hits needs none.
        scalar_hit, scalar_miss: latency of a scalar load from its cache, and from L2.
        scalar_line: bytes of a line of the scalar cache.
        wave_start: cycles from a wave's start to its first instruction.
        atomic_latency: latency of an atomic that returns.
        atomic: cycles for which a channel of L2 is busy with an atomic of 64 bytes.
        instruction_cache, instruction_ways: size and ways of the cache that two compute units share.
        instruction_miss: cycles to fetch a line from L2.
    """

    turn: Fact
    transcendental: Fact
    quarter_rate: Fact
    permute: Fact
    sleep: Fact
    taken_branch: Fact
    mfma_operands: Fact
    mfma_states: Fact
    mfma_long_states: Fact
    packed_overlaps: Fact
    lds_latency: Fact
    lds_issue: Fact
    lds_address: Fact
    lds_bus: Fact
    lds_queue: Fact
    lds_fill: Fact
    shared_port: Fact
    vmem_address: Fact
    l1_line: Fact
    l1_narrow: Fact
    l1_wide: Fact
    l1_latency: Fact
    l2_latency: Fact
    memory_queue: Fact
    in_flight: Fact
    scalar_hit: Fact
    scalar_miss: Fact
    scalar_line: Fact
    wave_start: Fact
    atomic_latency: Fact
    atomic: Fact
    instruction_cache: Fact
    instruction_ways: Fact
    instruction_miss: Fact

    @property
    def l1_bytes_per_cycle(self) -> float:
        """Maximum bytes per cycle that L1 serves."""
        return LINE_BYTES / self.l1_line


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Latencies of a wave whose instructions wait for one another, for the longest time of a launch.

    Attributes:
        vector, transcendental, double, scalar, branch: latency of an instruction of these kinds.
        matrix: latency of a matrix instruction beyond the cycles that it keeps the unit busy.
        lds: latency of an access to LDS.
        memory: latency of a load or a store, scalar or vector, wherever its data are.
        clock: percent of the peak clock under load.
        bandwidth: percent of the peak bandwidth of memory that kernels reach.
    """

    vector: Fact
    transcendental: Fact
    double: Fact
    scalar: Fact
    branch: Fact
    matrix: Fact
    lds: Fact
    memory: Fact
    clock: Fact
    bandwidth: Fact


_LLVM_LATENCY = "LLVM, SISchedule.td, GFX11SpeedModel, as llvm-mca prints it for gfx1100"
CHAIN = Chain(
    vector=Fact(5, "cycles", _LLVM_LATENCY),
    transcendental=Fact(10, "cycles", _LLVM_LATENCY),
    double=Fact(38, "cycles", _LLVM_LATENCY),
    scalar=Fact(2, "cycles", _LLVM_LATENCY),
    branch=Fact(32, "cycles", _LLVM_LATENCY),
    matrix=Fact(32, "cycles", "assumed: twice the longest latency that LLVM has for gfx1250"),
    lds=Fact(128, "cycles", "assumed: twice CDNA 4's"),
    memory=Fact(
        1000, "ns", f"assumed: five times the 199 of an Infinity Cache at low power ({RDNA3_CACHES})"
    ),
    clock=Fact(70, "%", "assumed"),
    bandwidth=Fact(60, "%", "assumed"),
)
"""For targets without a `Timing`: nothing is measured on them here, so these are on the slow side."""

CDNA3_TIMING = Timing(
    turn=Fact(4, "cycles", f"{ROCPROF_DOCS}: the scheduler visits the four SIMDs in turn"),
    transcendental=Fact(16, "cycles", "CDNA3 ISA guide: quarter rate"),
    quarter_rate=Fact(16, "cycles", "CDNA3 ISA guide: quarter rate"),
    permute=Fact(8, "cycles", "AMD SHARK's AMDGPU optimization guide: 4 to 8"),
    sleep=Fact(64, "cycles", "CDNA3 ISA guide, S_SLEEP: about 64 clocks for each unit of SIMM16[6:0]"),
    taken_branch=Fact(16, "cycles", "assumed: four turns; AMD says so of GCN, nobody of CDNA"),
    mfma_operands=Fact(
        4, "cycles", f"half of what {GLUON} measured on gfx950, whose sources are twice as wide"
    ),
    mfma_states=Fact(3, "", HAZARDS),
    mfma_long_states=Fact(3, "", HAZARDS),
    packed_overlaps=Fact(0, "", f"{GLUON} for gfx950; taken for CDNA 3 too"),
    lds_latency=Fact(51, "cycles", f"{MT4G}: 51.3"),
    lds_issue=Fact(8, "cycles", f"{ROCPROF_DOCS}: 8 cycles for 64 lanes of 4 bytes"),
    lds_address=Fact(4, "cycles", f"{ROCPROF_DOCS}: 20 cycles for 64 lanes of 16 bytes, 16 of them data"),
    lds_bus=Fact(64, "bytes/clock", ROCPROF_DOCS),
    lds_queue=Fact(8, "", f"{GLUON} for gfx950; taken for CDNA 3 too"),
    lds_fill=Fact(64, "bytes/clock", "assumed: what L1 delivers"),
    shared_port=Fact(0, "", f"{ROCPROF_DOCS}: separate"),
    vmem_address=Fact(4, "cycles", "assumed: 16 lanes a cycle, as AMD SHARK's guide says of LDS"),
    l1_line=Fact(2, "cycles", f"{GLUON}: 64 bytes a cycle; ROCm Compute Profiler's peak is twice that"),
    l1_narrow=Fact(4, "cycles", f"{GLUON} for gfx950: buffer_load_dword"),
    l1_wide=Fact(16, "cycles", f"{GLUON} for gfx950: buffer_load_dwordx2 and dwordx4"),
    l1_latency=Fact(116, "cycles", MT4G),
    l2_latency=Fact(287.5, "cycles", f"{MT4G}; others say 'about 100 ns', 210 cycles"),
    memory_queue=Fact(12, "", f"{GLUON} for gfx950: about 12"),
    in_flight=Fact(
        32, "KiB", f"{GLUON} for gfx950: the lines of L1; its 44 and 48 include what waits in the queue"
    ),
    scalar_hit=Fact(48, "cycles", MT4G),
    scalar_miss=Fact(172, "cycles", f"{MT4G}: 48 and a penalty of 123.94"),
    scalar_line=Fact(64, "bytes", MT4G),
    wave_start=Fact(32, "cycles", f"{TRACES}: 17 of 20; in 3 the code came from beyond the cache"),
    atomic_latency=Fact(382, "cycles", "ROCm Compute Profiler's counter on an MI300X: 381.68 uncontended"),
    atomic=Fact(
        10.52,
        "cycles",
        f"{MI300A_GPU}: 306.65 billion atomic_add a second on 96 channels at 2,100 MHz, each on a dword of "
        "its own. Backward attention in blocks of 256 keys, which adds 64 KB of bf16 for each 84 MFLOP, "
        "allows 25 at 1,000 TFLOP/s",
    ),
    instruction_cache=Fact(64, "KiB", "AMD CDNA 3 white paper; AMD SHARK's AMDGPU optimization guide"),
    instruction_ways=Fact(8, "", "AMD SHARK's AMDGPU optimization guide"),
    instruction_miss=Fact(172, "cycles", "assumed: as a scalar load, which goes the same way"),
)
CDNA4_TIMING = replace(
    CDNA3_TIMING,
    transcendental=Fact(8, "cycles", f"{GLUON}: v_exp_f32, half rate"),
    mfma_operands=Fact(
        4, "cycles", f"{GLUON}: 8 for v_mfma_f32_32x32x16_f16, whose sources have 4 registers"
    ),
    mfma_long_states=Fact(4, "", HAZARDS),
    packed_overlaps=Fact(0, "", f"{GLUON}: packed fp32 cannot overlap an MFMA of the same SIMD"),
    lds_latency=Fact(60, "cycles", f"{GLUON}: 50 to 70; FlyDSL's guide says 20 to 40"),
    lds_issue=Fact(8, "cycles", f"{GLUON}: ds_read_b64 and ds_read_b128 of one wave, every 8 cycles"),
    lds_address=Fact(0, "cycles", f"{GLUON}: ds_read_b128 of one wave in 8 cycles, all of them data"),
    lds_bus=Fact(128, "bytes/clock", GLUON),
    lds_fill=Fact(128, "bytes/clock", "assumed: as the bus of a pair of SIMDs"),
    shared_port=Fact(1, "", f"{GLUON}: one port on gfx950; {ROCPROF_DOCS} list two for earlier targets"),
)
