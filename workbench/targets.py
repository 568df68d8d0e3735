"""Targets (what code is compiled for) and products (GPUs that run it): every figure once, with its source.

A `Target` holds what follows from the instruction set: gfx950 is the same in an MI350X and an MI355X. A
`Product` holds what does not: clock, compute units, memory. Peak rates are not stored, they follow from the
rest, as in AMD's own footnotes: operations per clock and compute unit, times compute units, times peak engine
clock (MI355X: 2,516.6 TFLOP/s of bf16, where tables print 2.5 PFLOP/s). Memory bandwidth is the figure that
AMD states, slightly below bus width times data rate (MI300X: 5.3 TB/s stated, 5.325 in the same paper's
footnote MI300-13).

Where sources disagree, the source says which was taken and why.

A new product is one more `Product` in `PRODUCTS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

from workbench.errors import UsageError

_BASE_UNITS: Mapping[str, int] = {
    "": 1,
    "bits": 1,
    "bytes": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "bytes/clock": 1,
    "operations/clock": 1,
    "TB/s": 10**12,
    "MHz": 10**6,
    "ns": 1,
    "ms": 1,
    "W": 1,
    "permille": 1,
    "cycles": 1,
    "%": 1,
}


class Fact(int):
    """A number of a data sheet: an integer in base units that knows what was stated, and by whom.

    `Fact(5.3, "TB/s", "...")` computes as 5300000000000 and prints as "5.3 TB/s".

    Attributes:
        stated: value and unit as the source gives them.
        source: document and place, and why it was preferred where others disagree.
    """

    stated: str
    source: str

    def __new__(cls, value: float, unit: str, source: str) -> Self:
        """Args:
        value: as stated.
        unit: one of "", "bits", "bytes", "KiB", "MiB", "GiB", "bytes/clock", "operations/clock", "TB/s",
            "MHz", "ns", "ms", "W", "permille", "cycles", "%"; base units are bytes, bytes/s, Hz, ns, ms, W.
        source: where it is from.
        """
        self = super().__new__(cls, round(value * _BASE_UNITS[unit]))
        self.stated = f"{value:,} {unit}".rstrip()
        self.source = source
        return self

    def __reduce__(self) -> tuple[object, ...]:
        value, _, unit = self.stated.partition(" ")
        return type(self), (float(value.replace(",", "")), unit, self.source)


@dataclass(frozen=True)
class Fp8:
    """An encoding of 8-bit floats: the names of PyTorch's types for it.

    Attributes:
        name: "ocp" or "fnuz".
        e4m3, e5m2: names of torch dtypes.
    """

    name: str
    e4m3: str
    e5m2: str

    def type_for(self, dtype: str) -> str | None:
        """Its type of as many exponent bits as another 8-bit float; None for what is none."""
        if dtype in (OCP.e4m3, FNUZ.e4m3):
            return self.e4m3
        return self.e5m2 if dtype in (OCP.e5m2, FNUZ.e5m2) else None


OCP = Fp8("ocp", "float8_e4m3fn", "float8_e5m2")
FNUZ = Fp8("fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz")

_GPU_SPECS = "AMD GPU specifications (rocm.docs.amd.com/en/7.13.0-preview/reference/gpu-specs.html)"
_CDNA2_PAPER = "AMD CDNA 2 white paper, table of MI200 products"
_CDNA2_RATES = "AMD CDNA 2 white paper, table 1"
_CDNA3_PAPER = "AMD CDNA 3 white paper (2025), table 2"
_CDNA3_RATES = "AMD CDNA 3 white paper (2025), footnote MI325-019"
_CDNA3_MEMORY = "AMD CDNA 3 white paper (2025), 'AMD CDNA 3 architecture memory'"
_CDNA4_PAPER = "AMD CDNA 4 white paper, as others quote it"
_CDNA4_RATES = f"{_CDNA4_PAPER}, table 1"
_MI350_PAGE = "AMD Instinct MI350 Series microarchitecture (rocm.docs.amd.com, reference/gpu-arch/mi350.html)"
_LDS_BLOG = "ROCm blog 'FP8 GEMM Optimization on AMD CDNA4', table 1"
_LLVM = "LLVM AMDGPUUsage"

# What every CDNA since the second has in common.
_WAVE = Fact(64, "", _GPU_SPECS)
_SIMDS = Fact(4, "", "AMD CDNA 2 white paper, figure 3; rocprofv3 agent_info of an MI355X, Simd_Per_Cu")
_WAVES = Fact(8, "", "ROCm Compute Profiler, 'Shader engine'; rocprofv3 agent_info of an MI355X")
_VGPRS = Fact(512, "", f"{_GPU_SPECS}: 512 KiB a compute unit, 4 bytes by 64 lanes by 4 SIMDs each")
_VGPR_GRANULE = Fact(8, "", f"{_LLVM}, GRANULATED_WORKITEM_VGPR_COUNT of GFX90A and later")
_SGPRS = Fact(800, "", f"{_GPU_SPECS}: 12.5 KiB a compute unit, 4 bytes by 4 SIMDs each")
_SGPR_GRANULE = Fact(16, "", f"{_LLVM}, GRANULATED_WAVEFRONT_SGPR_COUNT of GFX9")
_MATRIX_PASSES = Fact(4, "", "LLVM, SISchedule.td, MFMA latencies of GFX940 and GFX950")
# LLVM's AMDGPUAsmUtils.cpp, Hwreg; those of GFX940 besides.
_GFX9_REGISTERS: Mapping[int, str] = {
    1: "HW_REG_MODE",
    2: "HW_REG_STATUS",
    3: "HW_REG_TRAPSTS",
    4: "HW_REG_HW_ID",
    5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC",
    7: "HW_REG_IB_STS",
    15: "HW_REG_SH_MEM_BASES",
    16: "HW_REG_TBA_LO",
    17: "HW_REG_TBA_HI",
    18: "HW_REG_TMA_LO",
    19: "HW_REG_TMA_HI",
}
_GFX940_REGISTERS: Mapping[int, str] = {
    **_GFX9_REGISTERS,
    20: "HW_REG_XCC_ID",
    21: "HW_REG_SQ_PERF_SNAPSHOT_DATA",
    22: "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
    23: "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
    24: "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
}


_GLUON = "ROCm/gfx950-gluon-tutorials"
_MT4G = "mt4g on an MI300X, pointer chase"
_HAZARDS = "LLVM, GCNHazardRecognizer.cpp: wait states that it puts behind an XDL instruction"
_ROCPROF_DOCS = "ROCm Compute Profiler, 'Pipeline descriptions'"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How long the parts of a compute unit take; `profile.simulation` computes with it.

    Attributes:
        turn: cycles between two turns of a SIMD to issue.
        transcendental: that a transcendental instruction of fp32 occupies the vector ALU.
        quarter_rate: the same of other vector instructions that run at a quarter of the rate.
        permute: the same of v_permlane*.
        taken_branch: cycles from a taken branch to the instruction at its target.
        mfma_operands: cycles for which an MFMA with sources of two registers keeps vector instructions from
            issuing; twice that with four, and so on.
        mfma_states, mfma_long_states: turns beyond its passes after which a vector instruction, or another
            MFMA as its A or B, may use the result of an MFMA of two passes, and of a longer one.
        packed_overlaps: whether packed fp32 instructions run while an MFMA does: 1 or 0.
        lds_latency: of a read of a dword a lane.
        lds_issue: least cycles between two accesses of a pair of SIMDs.
        lds_address: cycles of an access before its data move.
        lds_bus: bytes a cycle between LDS and a pair of SIMDs.
        lds_queue: accesses of a pair of SIMDs that wait at most.
        lds_fill: bytes a cycle that loads write to LDS.
        shared_port: whether LDS and vector memory instructions issue to one port: 1 or 0.
        l1_line: cycles that L1 takes for a line.
        l1_narrow, l1_wide: least cycles that it takes for an instruction of a dword a lane, and of more.
        l1_latency, l2_latency: of a load that the cache serves.
        memory_queue: vector memory instructions of a compute unit that wait for L1 at most.
        in_flight: bytes of loads of a compute unit that are under way at most.
        scalar_hit, scalar_miss: of a scalar load from its cache, and from L2.
        atomic_latency: of an atomic that returns.
        instruction_cache, instruction_ways: of the cache that two compute units share.
        instruction_miss: cycles to fetch a line from L2.
    """

    turn: Fact
    transcendental: Fact
    quarter_rate: Fact
    permute: Fact
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
    l1_line: Fact
    l1_narrow: Fact
    l1_wide: Fact
    l1_latency: Fact
    l2_latency: Fact
    memory_queue: Fact
    in_flight: Fact
    scalar_hit: Fact
    scalar_miss: Fact
    atomic_latency: Fact
    instruction_cache: Fact
    instruction_ways: Fact
    instruction_miss: Fact


CDNA3_TIMING = Timing(
    turn=Fact(4, "cycles", f"{_ROCPROF_DOCS}: the scheduler visits the four SIMDs in turn"),
    transcendental=Fact(16, "cycles", "CDNA3 ISA guide: quarter rate"),
    quarter_rate=Fact(16, "cycles", "CDNA3 ISA guide: quarter rate"),
    permute=Fact(8, "cycles", "AMD SHARK's AMDGPU optimization guide: 4 to 8"),
    taken_branch=Fact(16, "cycles", "assumed: four turns; AMD says so of GCN, nobody of CDNA"),
    mfma_operands=Fact(
        4, "cycles", f"half of what {_GLUON} measured on gfx950, whose sources are twice as wide"
    ),
    mfma_states=Fact(3, "", _HAZARDS),
    mfma_long_states=Fact(3, "", _HAZARDS),
    packed_overlaps=Fact(0, "", f"{_GLUON} for gfx950; taken for CDNA 3 too"),
    lds_latency=Fact(51, "cycles", f"{_MT4G}: 51.3"),
    lds_issue=Fact(8, "cycles", f"{_ROCPROF_DOCS}: 8 cycles for 64 lanes of 4 bytes"),
    lds_address=Fact(4, "cycles", f"{_ROCPROF_DOCS}: 20 cycles for 64 lanes of 16 bytes, 16 of them data"),
    lds_bus=Fact(64, "bytes/clock", _ROCPROF_DOCS),
    lds_queue=Fact(8, "", f"{_GLUON} for gfx950; taken for CDNA 3 too"),
    lds_fill=Fact(64, "bytes/clock", "assumed: what L1 delivers"),
    shared_port=Fact(0, "", f"{_ROCPROF_DOCS}: separate"),
    l1_line=Fact(2, "cycles", f"{_GLUON}: 64 bytes a cycle; ROCm Compute Profiler's peak is twice that"),
    l1_narrow=Fact(4, "cycles", f"{_GLUON} for gfx950: buffer_load_dword"),
    l1_wide=Fact(16, "cycles", f"{_GLUON} for gfx950: buffer_load_dwordx2 and dwordx4"),
    l1_latency=Fact(116, "cycles", _MT4G),
    l2_latency=Fact(287.5, "cycles", f"{_MT4G}; others say 'about 100 ns', 210 cycles"),
    memory_queue=Fact(12, "", f"{_GLUON} for gfx950: about 12"),
    in_flight=Fact(44, "KiB", f"{_GLUON} for gfx950: 32 of L1 and the queue; 48 in another place"),
    scalar_hit=Fact(48, "cycles", _MT4G),
    scalar_miss=Fact(172, "cycles", f"{_MT4G}: 48 and a penalty of 123.94"),
    atomic_latency=Fact(382, "cycles", "ROCm Compute Profiler's counter on an MI300X: 381.68 uncontended"),
    instruction_cache=Fact(64, "KiB", "AMD CDNA 3 white paper; AMD SHARK's AMDGPU optimization guide"),
    instruction_ways=Fact(8, "", "AMD SHARK's AMDGPU optimization guide"),
    instruction_miss=Fact(172, "cycles", "assumed: as a scalar load, which goes the same way"),
)
CDNA4_TIMING = replace(
    CDNA3_TIMING,
    transcendental=Fact(8, "cycles", f"{_GLUON}: v_exp_f32, half rate"),
    mfma_operands=Fact(
        4, "cycles", f"{_GLUON}: 8 for v_mfma_f32_32x32x16_f16, whose sources have 4 registers"
    ),
    mfma_long_states=Fact(4, "", _HAZARDS),
    packed_overlaps=Fact(0, "", f"{_GLUON}: packed fp32 cannot overlap an MFMA of the same SIMD"),
    lds_latency=Fact(60, "cycles", f"{_GLUON}: 50 to 70; FlyDSL's guide says 20 to 40"),
    lds_issue=Fact(8, "cycles", f"{_GLUON}: ds_read_b64 and ds_read_b128 of one wave, every 8 cycles"),
    lds_address=Fact(0, "cycles", f"{_GLUON}: ds_read_b128 of one wave in 8 cycles, all of them data"),
    lds_bus=Fact(128, "bytes/clock", _GLUON),
    lds_fill=Fact(128, "bytes/clock", "assumed: as the bus of a pair of SIMDs"),
    shared_port=Fact(1, "", f"{_GLUON}: one port on gfx950; {_ROCPROF_DOCS} list two for earlier targets"),
)


@dataclass(frozen=True, kw_only=True)
class Target:
    """An instruction set and the compute unit that executes it.

    Attributes:
        name: as in `--offload-arch`: "gfx950".
        generation: "CDNA4"; the tile library's macro is `KITTENS_CDNA4`.
        processors: LLVM's processor names of code that runs on it, by EF_AMDGPU_MACH of the ELF header.
        features: target features of the products, as in gcnArchName.
        tiles: whether the tile library, the kernels, the timing model and the sanitizer's wait states are for
            it. Code objects run on the emulated device either way.
        fp8: the encoding of its fp8 and bf8 instructions; None where it has no such instructions.
        architected_flat_scratch: whether a wave finds its scratch by a register of its own.
        scratch_vector_bit: whether a bit of scratch instructions (SVE) says that a VGPR takes part in the
            address; without it there is either a VGPR or an SGPR.
        hardware_registers: names of what s_getreg and s_setreg reach, by number.
        matrix_passes: of four clocks each, of an instruction on 16-bit sources with 16 by 16 results.
        matrix_rates: dense operations of the matrix cores per clock and compute unit, by rocprof's name of
            the input type ("BF16", "F8", ...); what has no entry has no instructions.
        vector_rate: fp32 operations of the vector units (packed) per clock and compute unit.
        lds_bytes, lds_granule: LDS of a compute unit, and in what steps work-groups get it.
        lds_banks: of four bytes each; each gives one dword a clock.
        l1_bytes: vector L1 cache of a compute unit.
        wave_size: lanes.
        simds: SIMDs of a compute unit.
        waves_per_simd: wave slots.
        vgprs, vgpr_granule: vector registers that the waves of a SIMD share (AGPRs included), and in what
            steps a wave gets them.
        sgprs, sgpr_granule: the same of scalar registers.
        timing: how long its parts take.
    """

    name: str
    generation: str
    processors: Mapping[int, str]
    features: str
    tiles: bool
    fp8: Fp8 | None
    architected_flat_scratch: bool
    scratch_vector_bit: bool
    hardware_registers: Mapping[int, str]
    matrix_passes: Fact
    matrix_rates: Mapping[str, Fact]
    vector_rate: Fact
    lds_bytes: Fact
    lds_granule: Fact
    lds_banks: Fact
    l1_bytes: Fact
    wave_size: Fact = _WAVE
    simds: Fact = _SIMDS
    waves_per_simd: Fact = _WAVES
    vgprs: Fact = _VGPRS
    vgpr_granule: Fact = _VGPR_GRANULE
    sgprs: Fact = _SGPRS
    sgpr_granule: Fact = _SGPR_GRANULE
    timing: Timing = CDNA3_TIMING

    @property
    def fp8_encoding(self) -> Fp8:
        """`fp8` of a target that has it.

        Raises:
            UsageError: it has no instructions on 8-bit floats.
        """
        if self.fp8 is None:
            having = ", ".join(known.name for known in TARGETS if known.fp8 is not None)
            raise UsageError(f"{self.name} has no instructions on 8-bit floats; {having} have")
        return self.fp8

    @property
    def lds_address_mask(self) -> int:
        """Bits of M0 that address the LDS in loads to it: M0[15:2] for 64 KiB, M0[17:2] for 160 KiB."""
        return (1 << (self.lds_bytes - 1).bit_length()) - 4

    @property
    def macro(self) -> str:
        """The macro that selects its code in the tile library."""
        return f"KITTENS_{self.generation}"

    @property
    def lds_bytes_per_clock(self) -> int:
        """Peak LDS bandwidth of a compute unit."""
        return 4 * self.lds_banks


def _rates(source: str, **rates: int) -> dict[str, Fact]:
    return {kind: Fact(rate, "operations/clock", source) for kind, rate in rates.items()}


GFX950 = Target(
    name="gfx950",
    generation="CDNA4",
    processors={0x04F: "gfx950"},
    features=":sramecc+:xnack-",
    tiles=True,
    fp8=OCP,
    architected_flat_scratch=True,
    scratch_vector_bit=True,
    hardware_registers=_GFX940_REGISTERS,
    timing=CDNA4_TIMING,
    matrix_passes=_MATRIX_PASSES,
    matrix_rates={
        **_rates(_CDNA4_RATES, F64=128, F32=256, F16=4096, BF16=4096, F8=8192, I8=8192),
        **_rates(f"{_CDNA4_RATES} (it prints 16,834, against the 10 PFLOP/s beside it)", F6F4=16384),
    },
    vector_rate=Fact(256, "operations/clock", _CDNA4_RATES),
    lds_bytes=Fact(160, "KiB", f"{_GPU_SPECS}; rocprofv3 agent_info of an MI355X, Lds_Size_In_Kb"),
    lds_granule=Fact(
        1280, "bytes", f"{_LLVM}, GRANULATED_LDS_SIZE of gfx950; CDNA4 ISA guide, 3.6.5, as others quote it"
    ),
    lds_banks=Fact(
        64,
        "",
        f"{_LDS_BLOG}; CDNA4 ISA guide, 2.2.1, as others quote it; measured for reads of 8 and 16 bytes a "
        "lane (tests/data), while writes and other reads behave as with 32",
    ),
    l1_bytes=Fact(32, "KiB", f"{_GPU_SPECS}; {_MI350_PAGE}"),
)
GFX942 = Target(
    name="gfx942",
    generation="CDNA3",
    processors={0x04C: "gfx942", 0x05F: "gfx9-4-generic"},
    features=":sramecc+:xnack-",
    tiles=True,
    fp8=FNUZ,
    architected_flat_scratch=True,
    scratch_vector_bit=True,
    hardware_registers=_GFX940_REGISTERS,
    matrix_passes=_MATRIX_PASSES,
    matrix_rates={
        **_rates(_CDNA3_RATES, F64=256, F32=256, F16=2048, BF16=2048, F8=4096),
        **_rates("AMD CDNA 3 white paper (2025), table 1 (footnote MI325-019 prints 4,046, a slip)", I8=4096),
        **_rates(
            f"{_CDNA3_RATES}: 653.7 TFLOP/s, as table 2; table 1 prints 490.3, which is the MI300A's",
            XF32=1024,
        ),
    },
    vector_rate=Fact(256, "operations/clock", _CDNA3_RATES),
    lds_bytes=Fact(64, "KiB", _GPU_SPECS),
    lds_granule=Fact(512, "bytes", f"{_LLVM}, GRANULATED_LDS_SIZE"),
    lds_banks=Fact(
        32,
        "",
        f"{_LDS_BLOG}; {_CDNA4_PAPER}, page 9, of CDNA 3 and before. ROCm's Gluon tutorial assumes 64",
    ),
    l1_bytes=Fact(32, "KiB", f"{_GPU_SPECS}; {_CDNA3_PAPER}"),
)
GFX90A = Target(
    name="gfx90a",
    generation="CDNA2",
    processors={0x03F: "gfx90a"},
    features=":sramecc+:xnack-",
    tiles=False,
    fp8=None,
    architected_flat_scratch=False,
    scratch_vector_bit=False,
    hardware_registers=_GFX9_REGISTERS,
    matrix_passes=Fact(8, "", "LLVM, SISchedule.td, MFMA latencies of GFX90A"),
    matrix_rates=_rates(_CDNA2_RATES, F64=256, F32=256, F16=1024, BF16=1024, I8=1024),
    vector_rate=Fact(256, "operations/clock", f"{_CDNA2_RATES}, packed fp32"),
    lds_bytes=Fact(64, "KiB", _GPU_SPECS),
    lds_granule=Fact(512, "bytes", f"{_LLVM}, GRANULATED_LDS_SIZE"),
    lds_banks=Fact(32, "", f"{_CDNA4_PAPER}, page 9, of CDNA 3 and before"),
    l1_bytes=Fact(16, "KiB", _GPU_SPECS),
)

TARGETS: tuple[Target, ...] = (GFX950, GFX942, GFX90A)
"""Newest first."""

NAMES: tuple[str, ...] = tuple(known.name for known in TARGETS)
"""Their names."""

TILE_TARGETS: tuple[str, ...] = tuple(known.name for known in TARGETS if known.tiles)
"""Names of those that the tile library covers."""


_HBM_LATENCY = Fact(
    417, "ns", f"{_MT4G}: 876 cycles at 2,100 MHz (median); others say 300 for the near stacks and 340 to 370"
)
_HBM_READ_CDNA3 = Fact(75, "%", "mt4g on an MI300X: 3.96 of 5.3 TB/s; BabelStream's dot has 3.87")
_HBM_WRITE_CDNA3 = Fact(
    83,
    "%",
    "mt4g on an MI300X: 4.42 of 5.3 TB/s; with the reads' 75 % a copy reaches 4.18, BabelStream has 4.11",
)
_HBM_READ_CDNA4 = Fact(80, "%", f"{_GLUON}: 6,442 GB/s of an MI355X's 8 TB/s in a skinny GEMM")
_HBM_WRITE_CDNA4 = Fact(
    70,
    "%",
    "between two: with 80 vec_add of 10 to 67 million fp32 on an MI350X (four implementations, caches "
    "cleared by writing) comes within 6 % once the Infinity Cache's evictions are counted; with 62 a copy of "
    "doubles reaches the 5,600 GB/s of ROCm/rocm-systems pull request 8480",
)
_INFINITY_CACHE_CDNA3 = Fact(
    5.8,
    "TB/s",
    "mt4g on an MI300X: 5,399.65 GiB/s; Chips and Cheese, as others cite it, has 11.9 of 17.2",
)
_INFINITY_CACHE_CDNA4 = Fact(
    6.4,
    "TB/s",
    f"{_GLUON}: a skinny GEMM on an MI355X drew 6,442 GB/s from HBM through it; the three tile orders of "
    "HipKittens' paper (arXiv 2511.08083, as others cite it), whose bandwidths are hit rates times what each "
    "cache gives, solve to 5.9, and mt4g reads 5.8 on an MI300X; but vec_add of 123 warm MB on an MI350X "
    "(20.5 us, about 11 of them the benchmark's) had more",
)


@dataclass(frozen=True, kw_only=True)
class UnderLoad:
    """A clock that others saw a product keep under a load; `profile.clock` is fitted to these alone.

    Attributes:
        kind: input type of the matrix cores, as rocprof names it.
        clock_hz: that was kept.
        matrix_permille: part of the cycles of all matrix cores that was in use; None where it is not known.
        watts: that the board drew; None where it drew all that it may.
        vector: vector units were busy too, as in attention.
        zeros: all operands were zero.
    """

    kind: str
    clock_hz: Fact
    matrix_permille: Fact | None
    watts: Fact | None = None
    vector: bool = False
    zeros: bool = False

    def __str__(self) -> str:
        share = "" if self.matrix_permille is None else f" {self.matrix_permille / 10:.1f} % busy"
        also = ", with vector work" * self.vector + ", zeros" * self.zeros
        return f"{self.kind} matrix cores{share}{also}"


@dataclass(frozen=True, kw_only=True)
class Product:
    """A GPU that one can buy, at its peak clock.

    Attributes:
        name: "MI355X".
        target: what it executes.
        compute_units, xcds: of the whole package; an XCD is a compute die.
        clock_hz: peak engine clock.
        board_power_watts: maximum, for the whole board.
        hbm_bytes, hbm_bytes_per_second, hbm_bus_bits: device memory.
        l2_bytes_per_xcd, l2_bytes_per_clock_per_xcd: L2 of a compute die, and what it reads at most.
        infinity_cache_bytes: that all XCDs share; 0 where there is none.
        infinity_cache_bytes_per_second: its peak bandwidth; None where it is not published.
        memory_latency_ns: of a load from the Infinity Cache; None where it is not known, and the timing model
            cannot work.
        burst_clock_hz: what it keeps under load before power limits it; its peak where nobody saw another.
        settling_ms: time in which the clock falls from there; 0 where it was never seen above.
        under_load: clocks that it was seen to keep.
        hbm_latency_ns: of a load from HBM, caches on the way included.
        hbm_read, hbm_write: percent of `hbm_bytes_per_second` that kernels reach.
        infinity_cache_achievable: bytes/s that kernels have read from it.
    """

    name: str
    target: Target
    compute_units: Fact
    xcds: Fact
    clock_hz: Fact
    board_power_watts: Fact
    hbm_bytes: Fact
    hbm_bytes_per_second: Fact
    hbm_bus_bits: Fact
    l2_bytes_per_xcd: Fact
    l2_bytes_per_clock_per_xcd: Fact
    infinity_cache_bytes: Fact
    infinity_cache_bytes_per_second: Fact | None
    memory_latency_ns: Fact | None
    burst_clock_hz: Fact | None = None
    settling_ms: Fact | None = None
    under_load: tuple[UnderLoad, ...] = ()
    hbm_latency_ns: Fact = _HBM_LATENCY
    hbm_read: Fact = _HBM_READ_CDNA3
    hbm_write: Fact = _HBM_WRITE_CDNA3
    infinity_cache_achievable: Fact = _INFINITY_CACHE_CDNA3

    @property
    def arch(self) -> str:
        """Name of its target."""
        return self.target.name

    @property
    def full_name(self) -> str:
        """As HIP reports it: "AMD Instinct MI355X"."""
        return f"AMD Instinct {self.name}"

    @property
    def units_per_xcd(self) -> int:
        """Compute units of an XCD."""
        return self.compute_units // self.xcds

    @property
    def waves_per_unit(self) -> int:
        """Wave slots of a compute unit."""
        return self.target.simds * self.target.waves_per_simd

    @property
    def l2_bytes_per_second(self) -> int:
        """Peak read bandwidth of all L2 caches together."""
        return self.l2_bytes_per_clock_per_xcd * self.xcds * self.clock_hz

    @property
    def lds_bytes_per_second(self) -> int:
        """Peak LDS bandwidth of all compute units together."""
        return self.target.lds_bytes_per_clock * self.compute_units * self.clock_hz

    @property
    def vector_flops(self) -> int:
        """Peak fp32 FLOP/s of the vector units."""
        return self.target.vector_rate * self.compute_units * self.clock_hz

    def matrix_flops(self, kind: str) -> int | None:
        """Dense peak of the matrix cores, FLOP/s or integer operations; None where they lack the type.

        Args:
            kind: rocprof's name of the input type: "BF16", "F8", ...
        """
        rate = self.target.matrix_rates.get(kind)
        return None if rate is None else rate * self.compute_units * self.clock_hz


_HBM_BUS = Fact(8192, "bits", f"8 stacks of 1,024 bits: {_CDNA3_PAPER}; {_CDNA4_PAPER}")
_L2 = Fact(4, "MiB", f"{_GPU_SPECS}: 4 per XCD")
_L2_READ = Fact(
    2048,
    "bytes/clock",
    f"16 channels of 128 bytes: {_CDNA3_MEMORY}; {_CDNA4_PAPER}, page 9. 8 XCDs at "
    "2,100 MHz make the 34.4 TB/s of the CDNA 3 paper's text; its figure 6 prints 51.6",
)
_INFINITY_CACHE = Fact(256, "MiB", _GPU_SPECS)
_LATENCY_SOURCE = "Chips and Cheese, 'Testing AMD's Giant MI300X', as others cite it"
_INFINITY_CACHE_READ = Fact(17.2, "TB/s", f"{_CDNA3_MEMORY}; 11.9 measured by Chips and Cheese")

_MAF = "ROCm blog 'Measuring Max-Achievable FLOPs, part 2'"
_MAF_SET_UP = "M 4096, N 4864 (fp8: 3648), K 32896, hipBLASLt, trigonometric data"


def _maf(kind: str, clock: float, tflops: float, flops_a_clock: int, note: str = "") -> UnderLoad:
    """A row of ROCm's table of the most that matrix cores reach, with the clock beside it."""
    share = tflops * 1e12 / (flops_a_clock * clock * 1e6)
    return UnderLoad(
        kind=kind,
        clock_hz=Fact(clock, "MHz", f"{_MAF}, {_MAF_SET_UP}{note}"),
        matrix_permille=Fact(round(1000 * share), "permille", f"{_MAF}: {tflops} TFLOP/s at that clock"),
    )


def _gluon_942(clock: float, tflops: float, version: str) -> UnderLoad:
    """A row of the gfx942 GEMM's note: 12 s of a loop, at 750 W."""
    source = f"{_GLUON}, kernels/gemm/gfx942/intra_wave/note.md: fp16 4096 x 4864 x 8256, 12 s, {version}"
    share = tflops * 1e12 / (304 * 2048 * clock * 1e6)
    return UnderLoad(
        kind="F16",
        clock_hz=Fact(clock, "MHz", source),
        matrix_permille=Fact(round(1000 * share), "permille", f"{source}: {tflops} TFLOP/s at that clock"),
    )


def _implied(kind: str, tflops: float, flops_a_clock: int, percent: float, what: str) -> UnderLoad:
    """A clock that follows from a rate and the share of cycles in which the matrix cores work in the loop.

    It is a little low: what comes before and after the loop is in the rate and not in the share.
    """
    source = f"{_GLUON}, kernels/gemm, {what}: {tflops} TFLOP/s with {percent} % of the loop's cycles"
    return UnderLoad(
        kind=kind,
        clock_hz=Fact(
            round(tflops * 1e6 / (256 * flops_a_clock * percent / 100)), "MHz", f"implied by {source}"
        ),
        matrix_permille=Fact(10 * percent, "permille", source),
    )


def _attention(clock: float, tflops: float, watts: float, what: str) -> UnderLoad:
    """A row of the note on attention: fp16, dim 128, 16,320 tokens, 64 heads, on an MI355X of 1,400 W."""
    source = f"{_GLUON}, kernels/attention/note.md, {what}"
    share = tflops * 1e12 / (256 * 4096 * clock * 1e6)
    return UnderLoad(
        kind="F16",
        clock_hz=Fact(clock, "MHz", source),
        matrix_permille=Fact(round(1000 * share), "permille", f"{source}: {tflops} TFLOP/s at that clock"),
        watts=Fact(watts, "W", source),
        vector=True,
    )


_MI300X_LOAD = (
    _maf("F16", 1115, 654, 304 * 2048),
    _maf("BF16", 1207, 708, 304 * 2048),
    _maf("F8", 1230, 1273, 304 * 4096, "; its footnote 4 prints 1,273 MHz, which is the rate"),
    UnderLoad(
        kind="F8",
        clock_hz=Fact(1188, "MHz", f"{_MAF}, footnote 1: fp8 4096 cubed, trigonometric data"),
        matrix_permille=None,
    ),
    UnderLoad(
        kind="F8",
        clock_hz=Fact(1792, "MHz", f"{_MAF}, footnote 1: fp8 4096 cubed, zeros"),
        matrix_permille=None,
        zeros=True,
    ),
    _gluon_942(1379, 579.4, "opt1"),
    _gluon_942(1319, 592.0, "opt2"),
    _gluon_942(1348, 584.6, "opt2, a later session"),
    _gluon_942(1283, 605.3, "opt3, a later session"),
)
_MI325X_LOAD = (
    _maf("F16", 1354, 794, 304 * 2048, "; footnote 4 has 777.8 TFLOP/s"),
    _maf("BF16", 1447, 843, 304 * 2048),
    _maf("F8", 1464, 1519, 304 * 4096),
)
_MI355X_LOAD = (
    _implied("F16", 1567, 4096, 97.96, "4096 x 4096 x 8192, 4 waves v7"),
    _implied("F16", 1421, 4096, 98.66, "4096 x 4096 x 8192, 4 waves v9"),
    _implied("F16", 1485, 4096, 99.8, "4096 x 4096 x 16384, 8 waves"),
    _implied("F16", 1460, 4096, 97.7, "4096 x 4096 x 16384, 4 waves v9"),
    _implied("F16", 1489, 4096, 98.75, "ROCm's blog, 4096 x 4096 x 8192, 4 waves"),
    _implied("F8", 3094, 8192, 99.9, "4096 x 4096 x 16384, 8 waves"),
    _implied("F8", 3177, 8192, 93.75, "4096 x 4096 x 16384, 4 waves llir"),
    _implied("F8", 3231, 8192, 98.06, "4096 x 4096 x 16384, 4 waves llir, AGPRs"),
    _implied("F8", 3151, 8192, 96.22, "4096 x 4096 x 16384, 8 waves v2.1"),
    _implied("F8", 3257, 8192, 99.72, "ROCm's blog, 4096 x 4096 x 16384, 4 waves"),
    _implied("F6F4", 5189, 16384, 93.86, "4096 x 4096 x 32768, mxfp4, 4 waves v1"),
    _implied("F6F4", 5255, 16384, 92.41, "ROCm's blog, 4096 x 4096 x 32768, mxfp4, 4 waves"),
    _attention(1435.7, 1243.0, 1399.7, "fav4"),
    _attention(1485.6, 1168.5, 1396.3, "fav3"),
    _attention(1492, 1242, 1400, "FlyDSL, lazy rescale"),
)
_BURST = Fact(
    2030, "MHz", f"{_GLUON}, kernels/gemm/gfx942: at the start of a load, 1,980 to 2,075 in Triton's do_bench"
)
_SETTLING = Fact(
    100,
    "ms",
    "no source says it: longer than Triton's do_bench (25 ms of warm-up, 100 of runs), which sees the burst "
    "clock, and far shorter than loops of 12 s, which do not",
)

_CDNA4_CLOCK = "; agrees with the peak rates of the CDNA 4 white paper, table 2"
_CDNA4_LATENCY = Fact(218, "ns", f"of the MI300X, none is published for CDNA 4: {_LATENCY_SOURCE}")

MI355X = Product(
    name="MI355X",
    target=GFX950,
    compute_units=Fact(256, "", f"{_GPU_SPECS}; rocprofv3 agent_info of an MI355X, Cu_Count"),
    xcds=Fact(8, "", f"{_MI350_PAGE}; rocprofv3 agent_info of an MI355X, Num_Xcc"),
    clock_hz=Fact(2400, "MHz", f"rocprofv3 agent_info of an MI355X, Max_Engine_Clk_Fcompute{_CDNA4_CLOCK}"),
    board_power_watts=Fact(1400, "W", _MI350_PAGE),
    hbm_bytes=Fact(288, "GiB", _GPU_SPECS),
    hbm_bytes_per_second=Fact(8.0, "TB/s", _MI350_PAGE),
    hbm_bus_bits=_HBM_BUS,
    l2_bytes_per_xcd=_L2,
    l2_bytes_per_clock_per_xcd=_L2_READ,
    infinity_cache_bytes=_INFINITY_CACHE,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=_CDNA4_LATENCY,
    under_load=_MI355X_LOAD,
    hbm_read=_HBM_READ_CDNA4,
    hbm_write=_HBM_WRITE_CDNA4,
    infinity_cache_achievable=_INFINITY_CACHE_CDNA4,
)
MI350X = Product(
    name="MI350X",
    target=GFX950,
    compute_units=Fact(256, "", f"{_GPU_SPECS}; rocprofv3 agent_info of an MI350X, Cu_Count"),
    xcds=Fact(8, "", f"{_MI350_PAGE}; rocprofv3 agent_info of an MI350X, Num_Xcc"),
    clock_hz=Fact(2200, "MHz", f"rocprofv3 agent_info of an MI350X, Max_Engine_Clk_Fcompute{_CDNA4_CLOCK}"),
    board_power_watts=Fact(1000, "W", _MI350_PAGE),
    hbm_bytes=Fact(288, "GiB", _GPU_SPECS),
    hbm_bytes_per_second=Fact(8.0, "TB/s", _MI350_PAGE),
    hbm_bus_bits=_HBM_BUS,
    l2_bytes_per_xcd=_L2,
    l2_bytes_per_clock_per_xcd=_L2_READ,
    infinity_cache_bytes=_INFINITY_CACHE,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=_CDNA4_LATENCY,
    hbm_read=_HBM_READ_CDNA4,
    hbm_write=_HBM_WRITE_CDNA4,
    infinity_cache_achievable=_INFINITY_CACHE_CDNA4,
)
MI300X = Product(
    name="MI300X",
    target=GFX942,
    compute_units=Fact(304, "", f"{_CDNA3_PAPER}; {_GPU_SPECS}"),
    xcds=Fact(8, "", _CDNA3_PAPER),
    clock_hz=Fact(2100, "MHz", f"{_CDNA3_PAPER} (peak max engine clock), and footnote MI300-11"),
    board_power_watts=Fact(750, "W", f"{_CDNA3_PAPER} (max power)"),
    hbm_bytes=Fact(192, "GiB", _GPU_SPECS),
    hbm_bytes_per_second=Fact(5.3, "TB/s", _CDNA3_PAPER),
    hbm_bus_bits=_HBM_BUS,
    l2_bytes_per_xcd=_L2,
    l2_bytes_per_clock_per_xcd=_L2_READ,
    infinity_cache_bytes=_INFINITY_CACHE,
    infinity_cache_bytes_per_second=_INFINITY_CACHE_READ,
    memory_latency_ns=Fact(218, "ns", _LATENCY_SOURCE),
    burst_clock_hz=_BURST,
    settling_ms=_SETTLING,
    under_load=_MI300X_LOAD,
)
MI325X = Product(
    name="MI325X",
    target=GFX942,
    compute_units=Fact(304, "", f"{_CDNA3_PAPER}; {_GPU_SPECS}"),
    xcds=Fact(8, "", _CDNA3_PAPER),
    clock_hz=Fact(2100, "MHz", f"{_CDNA3_PAPER} (peak max engine clock), and footnote MI325-019"),
    board_power_watts=Fact(1000, "W", f"{_CDNA3_PAPER} (max power), and footnote MI325-019"),
    hbm_bytes=Fact(256, "GiB", _GPU_SPECS),
    hbm_bytes_per_second=Fact(
        6.0, "TB/s", f"{_CDNA3_PAPER}; HipKittens' README has 5.2, from another machine"
    ),
    hbm_bus_bits=_HBM_BUS,
    l2_bytes_per_xcd=_L2,
    l2_bytes_per_clock_per_xcd=_L2_READ,
    infinity_cache_bytes=_INFINITY_CACHE,
    infinity_cache_bytes_per_second=_INFINITY_CACHE_READ,
    memory_latency_ns=Fact(218, "ns", f"of the MI300X, which differs in HBM alone: {_LATENCY_SOURCE}"),
    burst_clock_hz=_BURST,
    settling_ms=_SETTLING,
    under_load=_MI325X_LOAD,
)
MI210 = Product(
    name="MI210",
    target=GFX90A,
    compute_units=Fact(104, "", f"{_CDNA2_PAPER}; {_GPU_SPECS}"),
    xcds=Fact(1, "", f"one graphics compute die: {_CDNA2_PAPER}"),
    clock_hz=Fact(
        1700, "MHz", "AMD CDNA 2 white paper: 22.6 TFLOP/s of fp64 from 104 compute units of 128 a clock"
    ),
    board_power_watts=Fact(300, "W", _CDNA2_PAPER),
    hbm_bytes=Fact(64, "GiB", _GPU_SPECS),
    hbm_bytes_per_second=Fact(1.6, "TB/s", _CDNA2_PAPER),
    hbm_bus_bits=Fact(4096, "bits", _CDNA2_PAPER),
    l2_bytes_per_xcd=Fact(8, "MiB", f"{_GPU_SPECS}; AMD CDNA 2 white paper, 'Scaling the Memory Hierarchy'"),
    l2_bytes_per_clock_per_xcd=Fact(
        4096, "bytes/clock", "32 slices of 128 bytes: AMD CDNA 2 white paper, 'Scaling the Memory Hierarchy'"
    ),
    infinity_cache_bytes=Fact(0, "MiB", f"none: {_GPU_SPECS}"),
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
)

PRODUCTS: tuple[Product, ...] = (MI355X, MI300X, MI210, MI350X, MI325X)
"""The first of a target stands for it where nothing says which one."""


def target(name: str) -> Target:
    """A target by name; features (":xnack-") may follow it.

    Raises:
        UsageError: there is none of that name.
    """
    plain = name.partition(":")[0]
    found = next((known for known in TARGETS if known.name == plain), None)
    if found is None:
        raise UsageError(f"target {name!r}: expected one of {', '.join(NAMES)}")
    return found


def default_product(arch: str) -> Product:
    """The product that stands for a target.

    Raises:
        UsageError: there is no such target.
    """
    wanted = target(arch)
    return next(known for known in PRODUCTS if known.target is wanted)


def product(name: str) -> Product:
    """A product by name: "MI355X", in any case; "AMD Instinct MI355X" will do.

    Raises:
        UsageError: there is none of that name.
    """
    found = next((known for known in PRODUCTS if known.name.lower() in name.lower()), None)
    if found is None:
        raise UsageError(f"product {name!r}: expected one of {', '.join(known.name for known in PRODUCTS)}")
    return found


@dataclass(frozen=True)
class ConflictRule:
    """How the LDS serves one kind of access; the emulated device counts bank conflicts by it.

    Attributes:
        target: "gfx950", or "any" for a rule that holds where no other does.
        kind: "read", "write" (atomics too) or "transpose", a transposing read.
        widths: bytes a lane.
        phases: lanes that are served together, group by group.
        banks: banks of 4 bytes that serve a phase.
        measured: SQ_LDS_BANK_CONFLICT of hardware shows these phases and banks; without it, counts by this
            rule are modelled.
        source: where the rule is from.
    """

    target: str
    kind: str
    widths: tuple[int, ...]
    phases: tuple[tuple[int, ...], ...]
    banks: int
    measured: bool
    source: str


def _phases(*first_half: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Phases of 64 lanes from those of the first 32, which the other 32 repeat."""
    return (*map(tuple, first_half), *(tuple(lane + 32 for lane in phase) for phase in first_half))


def _in_order(lanes: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(start, start + lanes)) for start in range(0, 64, lanes))


def _measured(opcode: str) -> str:
    return f"measured (tests/data/lds_conflict_matrix_{opcode}.csv)"


_READ_16 = _phases(
    (*range(4), *range(12, 16), *range(20, 28)), (*range(4, 12), *range(16, 20), *range(28, 32))
)
_READ_12 = _phases(
    (*range(4), *range(20, 24)),
    (*range(4, 8), *range(16, 20)),
    (*range(8, 12), *range(28, 32)),
    (*range(12, 16), *range(24, 28)),
)
_DWORDS = "not measured: 32 dwords a cycle"

CONFLICT_RULES: tuple[ConflictRule, ...] = (
    ConflictRule(GFX950.name, "read", (16,), _READ_16, GFX950.lds_banks, True, _measured("ds_read_b128")),
    ConflictRule(GFX950.name, "read", (12,), _READ_12, 32, True, _measured("ds_read_b96")),
    ConflictRule(GFX950.name, "read", (8,), _in_order(32), GFX950.lds_banks, True, _measured("ds_read_b64")),
    ConflictRule(GFX950.name, "write", (8,), _in_order(16), 32, True, _measured("ds_write_b64")),
    ConflictRule(
        GFX950.name,
        "transpose",
        (8,),
        _in_order(32),
        GFX950.lds_banks,
        False,
        "not measured: as plain reads of 8 bytes",
    ),
    ConflictRule(
        GFX950.name, "transpose", (12,), _READ_12, 32, False, "not measured: as plain reads of 12 bytes"
    ),
    *(
        rule
        for kind in ("read", "write")
        for rule in (
            ConflictRule(
                "any",
                kind,
                (1, 2, 4),
                _in_order(32),
                32,
                False,
                f"{_DWORDS} (CDNA3 ISA guide, 'Data share operations')",
            ),
            ConflictRule("any", kind, (8,), _in_order(16), 32, False, _DWORDS),
            ConflictRule("any", kind, (12, 16), _in_order(8), 32, False, _DWORDS),
        )
    ),
)
"""How LDS bank conflicts are counted; of two rules for one access the first holds."""


def conflict_rule(target_name: str, kind: str, width: int) -> ConflictRule | None:
    """The rule for an access of `width` bytes a lane; None where the target has no such access."""
    return next(
        (
            rule
            for rule in CONFLICT_RULES
            if rule.target in (target_name, "any") and rule.kind == kind and width in rule.widths
        ),
        None,
    )


def facts(record: Target | Product | Timing) -> dict[str, Fact]:
    """The figures of a record by name; rates of the matrix cores as "matrix_rates BF16"."""
    found: dict[str, Fact] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Fact):
            found[field.name] = value
        elif field.name == "under_load":
            found |= {f"clock under load {n}, {each}": each.clock_hz for n, each in enumerate(value, 1)}
        elif isinstance(value, Timing):
            found |= {f"timing {name}": one for name, one in facts(value).items()}
        elif isinstance(value, Mapping):
            found |= {f"{field.name} {key}": one for key, one in value.items() if isinstance(one, Fact)}
    return found


def document() -> str:
    """`docs/targets.md`: every figure with its source, as Markdown."""
    lines = [
        "# Targets and products",
        "",
        "Made by `python -m workbench.targets` from `workbench/targets.py`, where the figures stand. All are",
        "others' figures; none was measured for this project.",
    ]
    records: tuple[Target | Product, ...] = (*TARGETS, *PRODUCTS)
    for record in records:
        title = record.generation if isinstance(record, Target) else record.arch
        lines += ["", f"## {record.name} ({title})", "", "| figure | value | source |", "| --- | --- | --- |"]
        lines += [f"| {name} | {fact.stated} | {fact.source} |" for name, fact in facts(record).items()]
    return "\n".join((*lines, ""))


if __name__ == "__main__":
    (Path(__file__).resolve().parents[1] / "docs" / "targets.md").write_text(document(), encoding="utf-8")
