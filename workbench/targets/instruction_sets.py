"""Targets: instruction sets, and the compute units that execute them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from workbench.dtypes import FNUZ, OCP, DataType, Fp8
from workbench.errors import UsageError
from workbench.targets.fact import Fact
from workbench.targets.hardware_registers import (
    GFX9_REGISTERS,
    GFX11_REGISTERS,
    GFX12_REGISTERS,
    GFX940_REGISTERS,
    GFX1250_REGISTERS,
)
from workbench.targets.matrix_units import (
    CDNA2_MATRIX_RATES,
    CDNA2_PASSES,
    CDNA3_MATRIX_RATES,
    CDNA3_PASSES,
    CDNA4_MATRIX_RATES,
    CDNA5_MATRIX_RATES,
    RDNA3_MATRIX_RATES,
    RDNA4_MATRIX_RATES,
)
from workbench.targets.sources import (
    CDNA2_RATES,
    CDNA3_PAPER,
    CDNA3_RATES,
    CDNA4_PAPER,
    CDNA4_RATES,
    GFX1250_TD,
    GPU_SPECS,
    LDS_BLOG,
    LLVM,
    MI350_PAGE,
    RDNA3_GUIDE,
    RDNA4_GUIDE,
    ROCCLR,
    ROCJITSU_MI455X,
    RX7900XTX_TABLE,
    RX9070XT,
)
from workbench.targets.timing import CDNA3_TIMING, CDNA4_TIMING, Timing
from workbench.targets.waits import GFX9_WAITS, GFX11_WAITS, GFX12_WAITS, GFX1250_WAITS, WaitCounters
from workbench.targets.wave_matrices import (
    GFX11_WAVE_MATRICES,
    GFX12_WAVE_MATRICES,
    GFX1250_WAVE_MATRICES,
    WaveMatrixLayout,
)

WAVE = Fact(64, "", GPU_SPECS)
"""Lanes of a wave of every target, for code without a target; otherwise use `Target.wave_size`."""

# What every CDNA since the second has in common.
_MULTIPROCESSOR = Fact(1, "", f"{ROCCLR}, of targets before gfx10")
_SIMDS = Fact(4, "", "AMD CDNA 2 white paper, figure 3; rocprofv3 agent_info of an MI355X, Simd_Per_Cu")
_WAVES = Fact(8, "", "ROCm Compute Profiler, 'Shader engine'; rocprofv3 agent_info of an MI355X")
_VGPRS = Fact(512, "", f"{GPU_SPECS}: 512 KiB a compute unit, 4 bytes by 64 lanes by 4 SIMDs each")
_VGPR_GRANULE = Fact(8, "", f"{LLVM}, GRANULATED_WORKITEM_VGPR_COUNT of GFX90A and later")
_VGPR_ENCODING = {64: _VGPR_GRANULE}
_NO_CLUSTERS = Fact(1, "", f"{LLVM}: only gfx1250 has clusters")
_USER_SGPR_BITS = Fact(5, "bits", f"{LLVM}, compute_pgm_rsrc2, USER_SGPR_COUNT")
_SGPRS = Fact(800, "", f"{GPU_SPECS}: 12.5 KiB a compute unit, 4 bytes by 4 SIMDs each")
_SGPR_GRANULE = Fact(16, "", f"{LLVM}, GRANULATED_WAVEFRONT_SGPR_COUNT of GFX9")


@dataclass(frozen=True, kw_only=True)
class Target:
    """An instruction set and the compute unit that executes it.

    Attributes:
        name: name as in `--offload-arch`: "gfx950".
        generation: "CDNA4"; the tile library's macro is `KITTENS_CDNA4`.
        former_generations: what HipKittens has called it before.
        processors: LLVM's processor names of code that runs on it, by EF_AMDGPU_MACH of the ELF header.
        features: target features of the products, as in gcnArchName.
        tiles: whether the tile library, the kernels, the timing model and the sanitizer's wait states support
            it. Code objects run on the emulated device either way.
        library: whether the tile library compiles for it.
        fp8: the encoding of its fp8 and bf8 instructions; None if it has no such instructions.
        architected_flat_scratch: whether a wave finds its scratch through a separate register.
        scratch_vector_bit: whether a bit of scratch instructions (SVE) says that the address includes a VGPR;
            without it there is either a VGPR or an SGPR.
        hardware_registers: names of the registers of s_getreg and s_setreg, by number.
        matrix_passes: passes of four clocks each of an instruction on 16-bit sources with 16 by 16 results;
            None where the timing model does not have them.
        matrix_rates: dense operations of the matrix cores per clock and compute unit, by rocprof's name of
            the input type ("BF16", "F8", ...); a type without an entry has no instructions.
        vector_rate: fp32 operations of the vector units (packed) per clock and compute unit.
        lds_bytes, lds_granule: LDS of a compute unit, and the steps in which work-groups get it.
        lds_banks: number of banks of four bytes; each serves one dword per clock.
        l1_bytes: vector L1 cache of a compute unit.
        wave_size: lanes of a wave, unless a kernel chooses another of `wave_sizes`.
        wave_sizes: lanes of a wave that kernels can be compiled for.
        simds: SIMDs of a compute unit.
        multiprocessor_units: compute units of what HIP calls a multiprocessor.
        waves_per_simd: wave slots.
        vgprs, vgpr_granule: vector registers, of `wave_size` lanes, that the waves of a SIMD share (including
            AGPRs), and the steps in which a wave gets them; `registers_of` has both for other waves.
        vgpr_encoding: vector registers that a unit of the kernel descriptor's count stands for, by wave size.
        has_agprs: whether a part of the vector registers are accumulation registers.
        sgprs, sgpr_granule: the same for scalar registers.
        keeps_halves: whether a load of half a register leaves the other half as it was, as it does without
            SRAM-ECC.
        has_null: whether scalar register 125 is null: it reads as 0, and writes to it are dropped. Decoded
            instructions number it so, and M0 124, whatever a target's encodings do.
        wave_sgprs: scalar registers that every wave gets; None if its kernel descriptor has their number.
        architected_group_ids: whether a wave finds the ids of its work-group in trap temporaries rather than
            behind the user SGPRs: x in ttmp9, y and z in the halves of ttmp7. Bits 29:25 of ttmp8 then have
            the wave's number in the work-group (LLVM, SIISelLowering.cpp, lowerWaveID).
        has_global_scratch: whether scratch has global addresses, which contain the lane's number.
        has_signed_offsets: whether the vector offset to a scalar base is signed.
        cluster_groups: most work-groups of a cluster, which has a barrier and its work-groups named ones; 1:
            no clusters.
        clamp_selects_e5m3: whether clamp on a conversion of fp8 selects the format without a sign, e5m3.
        has_wide_resources: whether buffer resources have 57 bits of base and 45 of num_records (else 48, 32).
        user_sgpr_bits: bits of the kernel descriptor's count of user SGPRs.
        has_register_banks: whether s_set_vgpr_msb chooses which 256 vector registers instructions name.
        has_ieee_mode: whether the kernel descriptor chooses IEEE mode, and how a clamp treats NaN; without
            the choice IEEE mode is off, and NaN clamps to 0.
        waits: counters of memory accesses under way, and the instructions that wait for them.
        timing: times of its parts.
        wave_matrices: lanes and registers of the matrices of V_WMMA; None if it has none.
        matrix_arithmetic: origin of its matrix cores' rounding rules (docs/numerics.md): "published" for its
            own hardware, "assumed" to equal another target's; "" if the emulated device has no exact numerics
            for it.
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
    matrix_passes: Fact | None
    matrix_rates: Mapping[str, Fact]
    vector_rate: Fact
    lds_bytes: Fact
    lds_granule: Fact
    lds_banks: Fact
    l1_bytes: Fact
    wave_size: Fact = WAVE
    wave_sizes: tuple[int, ...] = (64,)
    simds: Fact = _SIMDS
    multiprocessor_units: Fact = _MULTIPROCESSOR
    waves_per_simd: Fact = _WAVES
    vgprs: Fact = _VGPRS
    vgpr_granule: Fact = _VGPR_GRANULE
    vgpr_encoding: Mapping[int, Fact] = field(default_factory=_VGPR_ENCODING.copy)
    has_agprs: bool = True
    sgprs: Fact = _SGPRS
    sgpr_granule: Fact = _SGPR_GRANULE
    keeps_halves: bool = False
    has_null: bool = False
    wave_sgprs: Fact | None = None
    architected_group_ids: bool = False
    has_global_scratch: bool = False
    has_signed_offsets: bool = False
    cluster_groups: Fact = _NO_CLUSTERS
    clamp_selects_e5m3: bool = False
    has_wide_resources: bool = False
    user_sgpr_bits: Fact = _USER_SGPR_BITS
    has_register_banks: bool = False
    has_ieee_mode: bool = True
    waits: WaitCounters = GFX9_WAITS
    timing: Timing = CDNA3_TIMING
    wave_matrices: WaveMatrixLayout | None = None
    matrix_arithmetic: str = ""
    library: bool = False
    former_generations: tuple[str, ...] = ()

    @property
    def fp8_encoding(self) -> Fp8:
        """`fp8`, for a target that has it.

        Raises:
            UsageError: it has no instructions on 8-bit floats.
        """
        if self.fp8 is None:
            having = ", ".join(other.name for other in TARGETS if other.fp8 is not None)
            raise UsageError(f"{self.name} has no instructions on 8-bit floats; {having} have")
        return self.fp8

    def has(self, dtype: DataType) -> bool:
        """True if numbers of a type have the encoding that the target's instructions take."""
        return dtype.encoding is None or (self.fp8 is not None and dtype.encoding == self.fp8.name)

    def registers_of(self, lanes: int) -> tuple[int, int]:
        """`vgprs` and `vgpr_granule` for waves of `lanes` lanes: a register of half as many takes half."""
        return self.vgprs * self.wave_size // lanes, self.vgpr_granule * self.wave_size // lanes

    @property
    def lds_address_mask(self) -> int:
        """Bits of M0 that address the LDS in loads to it: M0[15:2] for 64 KiB, M0[17:2] for 160 KiB."""
        return (1 << (self.lds_bytes - 1).bit_length()) - 4

    def lds_given(self, size: int) -> int:
        """Bytes of LDS that a work-group gets if it asks for `size`: a multiple of the granule."""
        return -(-size // self.lds_granule) * self.lds_granule

    @property
    def macro(self) -> str:
        """The macro that selects its code in the tile library."""
        return f"KITTENS_{self.generation}"

    @property
    def lds_bytes_per_clock(self) -> int:
        """Peak LDS bandwidth of a compute unit."""
        return 4 * self.lds_banks


GFX950 = Target(
    name="gfx950",
    generation="CDNA4",
    processors={0x04F: "gfx950", 0x05F: "gfx9-4-generic"},
    features=":sramecc+:xnack-",
    tiles=True,
    library=True,
    fp8=OCP,
    architected_flat_scratch=True,
    scratch_vector_bit=True,
    hardware_registers=GFX940_REGISTERS,
    timing=CDNA4_TIMING,
    matrix_passes=CDNA3_PASSES,
    matrix_rates=CDNA4_MATRIX_RATES,
    vector_rate=Fact(256, "operations/clock", CDNA4_RATES),
    lds_bytes=Fact(160, "KiB", f"{GPU_SPECS}; rocprofv3 agent_info of an MI355X, Lds_Size_In_Kb"),
    lds_granule=Fact(
        1280,
        "bytes",
        f"{LLVM}, GRANULATED_LDS_SIZE of gfx950; CDNA4 ISA guide, 3.6.5, as others quote it",
    ),
    lds_banks=Fact(
        64,
        "",
        f"{LDS_BLOG}; CDNA4 ISA guide, 2.2.1, as others quote it; measured for reads of 8 and 16 bytes a "
        "lane (tests/data), while writes and other reads behave as with 32",
    ),
    l1_bytes=Fact(32, "KiB", f"{GPU_SPECS}; {MI350_PAGE}"),
    matrix_arithmetic="assumed",
)
GFX942 = Target(
    name="gfx942",
    generation="CDNA3",
    processors={0x04C: "gfx942", 0x05F: "gfx9-4-generic"},
    features=":sramecc+:xnack-",
    tiles=True,
    library=True,
    fp8=FNUZ,
    architected_flat_scratch=True,
    scratch_vector_bit=True,
    hardware_registers=GFX940_REGISTERS,
    matrix_passes=CDNA3_PASSES,
    matrix_rates=CDNA3_MATRIX_RATES,
    vector_rate=Fact(256, "operations/clock", CDNA3_RATES),
    lds_bytes=Fact(64, "KiB", GPU_SPECS),
    lds_granule=Fact(512, "bytes", f"{LLVM}, GRANULATED_LDS_SIZE"),
    lds_banks=Fact(
        32,
        "",
        f"{LDS_BLOG}; {CDNA4_PAPER}, page 9, of CDNA 3 and before. ROCm's Gluon tutorial assumes 64",
    ),
    l1_bytes=Fact(32, "KiB", f"{GPU_SPECS}; {CDNA3_PAPER}"),
    matrix_arithmetic="published",
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
    hardware_registers=GFX9_REGISTERS,
    matrix_passes=CDNA2_PASSES,
    matrix_rates=CDNA2_MATRIX_RATES,
    vector_rate=Fact(256, "operations/clock", f"{CDNA2_RATES}, packed fp32"),
    lds_bytes=Fact(64, "KiB", GPU_SPECS),
    lds_granule=Fact(512, "bytes", f"{LLVM}, GRANULATED_LDS_SIZE"),
    lds_banks=Fact(32, "", f"{CDNA4_PAPER}, page 9, of CDNA 3 and before"),
    l1_bytes=Fact(16, "KiB", GPU_SPECS),
)

GFX1201 = Target(
    name="gfx1201",
    generation="RDNA4",
    processors={0x04E: "gfx1201"},
    features="",
    tiles=False,
    library=True,
    fp8=OCP,
    architected_flat_scratch=True,
    scratch_vector_bit=True,
    hardware_registers=GFX12_REGISTERS,
    matrix_passes=None,
    matrix_rates=RDNA4_MATRIX_RATES,
    vector_rate=Fact(256, "operations/clock", f"{RX9070XT}: 48.7 TFLOP/s of 64 compute units"),
    lds_bytes=Fact(64, "KiB", f"{RDNA4_GUIDE}, half of a work-group processor's; the most of a work-group"),
    lds_granule=Fact(512, "bytes", f"{LLVM}, GRANULATED_LDS_SIZE"),
    lds_banks=Fact(
        32, "", f"{RDNA4_GUIDE}: 64 of a work-group processor, half of them for each compute unit"
    ),
    l1_bytes=Fact(32, "KiB", GPU_SPECS),
    wave_size=Fact(32, "", f"{GPU_SPECS}; {LLVM}"),
    wave_sizes=(32, 64),
    simds=Fact(2, "", f"{RDNA4_GUIDE}: four of a work-group processor, which is two compute units"),
    multiprocessor_units=Fact(2, "", f"{ROCCLR}: half as many with enableWgpMode_, on from gfx10"),
    waves_per_simd=Fact(16, "", "LLVM, AMDGPUBaseInfo.cpp, getMaxWavesPerEU of GFX10.3 and later"),
    vgprs=Fact(1536, "", "LLVM, AMDGPUBaseInfo.cpp, getTotalNumVGPRs with 1.5 times the registers, wave32"),
    vgpr_granule=Fact(24, "", "LLVM, AMDGPUBaseInfo.cpp, getVGPRAllocGranule, likewise"),
    vgpr_encoding={
        32: Fact(8, "", f"{LLVM}, GRANULATED_WORKITEM_VGPR_COUNT of GFX10 to GFX12 in wave32"),
        64: Fact(4, "", f"{LLVM}, GRANULATED_WORKITEM_VGPR_COUNT of GFX10 to GFX12 in wave64"),
    },
    has_agprs=False,
    keeps_halves=True,
    has_null=True,
    wave_sgprs=Fact(128, "", f"{LLVM}, GRANULATED_WAVEFRONT_SGPR_COUNT: 106, VCC and the trap handler's"),
    architected_group_ids=True,
    has_ieee_mode=False,
    waits=GFX12_WAITS,
    wave_matrices=GFX12_WAVE_MATRICES,
)

GFX1100 = Target(
    name="gfx1100",
    generation="RDNA3",
    processors={0x041: "gfx1100", 0x054: "gfx11-generic"},
    features="",
    tiles=False,
    library=True,
    fp8=None,
    architected_flat_scratch=True,
    scratch_vector_bit=True,
    hardware_registers=GFX11_REGISTERS,
    matrix_passes=None,
    matrix_rates=RDNA3_MATRIX_RATES,
    vector_rate=Fact(256, "operations/clock", f"{RX7900XTX_TABLE}: 61.4 TFLOP/s of 96 compute units"),
    lds_bytes=Fact(64, "KiB", f"{RDNA3_GUIDE}, half of a work-group processor's; the most of a work-group"),
    lds_granule=Fact(512, "bytes", f"{LLVM}, GRANULATED_LDS_SIZE"),
    lds_banks=Fact(
        32, "", f"{RDNA3_GUIDE}: 64 of a work-group processor, half of them for each compute unit"
    ),
    l1_bytes=Fact(32, "KiB", GPU_SPECS),
    wave_size=GFX1201.wave_size,
    wave_sizes=GFX1201.wave_sizes,
    simds=Fact(2, "", f"{RDNA3_GUIDE}: four of a work-group processor, which is two compute units"),
    multiprocessor_units=GFX1201.multiprocessor_units,
    waves_per_simd=GFX1201.waves_per_simd,
    vgprs=GFX1201.vgprs,
    vgpr_granule=GFX1201.vgpr_granule,
    vgpr_encoding=GFX1201.vgpr_encoding,
    has_agprs=False,
    keeps_halves=True,
    has_null=True,
    wave_sgprs=GFX1201.wave_sgprs,
    waits=GFX11_WAITS,
    wave_matrices=GFX11_WAVE_MATRICES,
)
_GFX11_GENERIC = {0x054: "gfx11-generic"}
GFX1101 = replace(GFX1100, name="gfx1101", processors={0x046: "gfx1101", **_GFX11_GENERIC}, library=False)
GFX1102 = replace(
    GFX1100,
    name="gfx1102",
    processors={0x047: "gfx1102", **_GFX11_GENERIC},
    library=False,
    vgprs=Fact(1024, "", "LLVM, AMDGPUBaseInfo.cpp, getTotalNumVGPRs, wave32"),
    vgpr_granule=Fact(16, "", "LLVM, AMDGPUBaseInfo.cpp, getVGPRAllocGranule, likewise"),
)
GFX1103 = replace(GFX1102, name="gfx1103", processors={0x044: "gfx1103", **_GFX11_GENERIC})
GFX1151 = replace(GFX1100, name="gfx1151", processors={0x04A: "gfx1151", **_GFX11_GENERIC}, library=False)
"""RDNA 3.5, whose scalar unit has floats besides; for the tile library it is RDNA 3."""

GFX1250 = Target(
    name="gfx1250",
    generation="CDNA5",
    processors={0x049: "gfx1250"},
    features="",
    tiles=False,
    library=True,
    former_generations=("UDNA1",),
    fp8=OCP,
    architected_flat_scratch=True,
    scratch_vector_bit=True,
    hardware_registers=GFX1250_REGISTERS,
    matrix_passes=None,
    matrix_rates=CDNA5_MATRIX_RATES,
    vector_rate=Fact(256, "operations/clock", "assumed to equal CDNA 4's: none is published"),
    lds_bytes=Fact(320, "KiB", f"{GFX1250_TD}, FeatureAddressableLocalMemorySize327680"),
    lds_granule=Fact(2048, "bytes", f"{LLVM}, GRANULATED_LDS_SIZE of GFX125x"),
    lds_banks=Fact(
        64,
        "",
        "assumed to equal CDNA 4's; HipKittens' headers for gfx1250 say that two ports of 256 bytes a clock "
        "read different segments of 64 KiB",
    ),
    l1_bytes=Fact(64, "KiB", f"{ROCJITSU_MI455X}, l1_size_kb"),
    wave_size=Fact(32, "", f"{GFX1250_TD}, FeatureWavefrontSize32"),
    wave_sizes=(32,),
    simds=Fact(4, "", f"{LLVM}, 'Memory Model GFX125x': four SIMD32 of a work-group processor"),
    multiprocessor_units=Fact(1, "", "LLVM's pull request 153680: gfx1250 has CU mode alone"),
    waves_per_simd=Fact(16, "", f"{ROCJITSU_MI455X}, max_waves_per_simd"),
    vgprs=Fact(2048, "", "LLVM, AMDGPUBaseInfo.cpp, getTotalNumVGPRs with Feature1024AddressableVGPRs"),
    vgpr_granule=Fact(32, "", "LLVM, AMDGPUBaseInfo.cpp, getVGPRAllocGranule, likewise"),
    vgpr_encoding={32: Fact(16, "", f"{LLVM}, GRANULATED_WORKITEM_VGPR_COUNT of GFX1250")},
    has_agprs=False,
    has_null=True,
    wave_sgprs=Fact(128, "", f"{LLVM}, GRANULATED_WAVEFRONT_SGPR_COUNT: 106, VCC and the trap handler's"),
    architected_group_ids=True,
    has_global_scratch=True,
    has_signed_offsets=True,
    cluster_groups=Fact(16, "", "clang refuses larger ones; HipKittens, cdna5: WG_in_Cluster has 4 bits"),
    clamp_selects_e5m3=True,
    has_wide_resources=True,
    user_sgpr_bits=Fact(6, "bits", f"{LLVM}, compute_pgm_rsrc2 of GFX125x, USER_SGPR_COUNT"),
    has_register_banks=True,
    has_ieee_mode=False,
    waits=GFX1250_WAITS,
    wave_matrices=GFX1250_WAVE_MATRICES,
)

TARGETS: tuple[Target, ...] = (GFX950, GFX942, GFX90A)
"""The targets whose instructions the emulated device has, newest first."""

PARTIAL: tuple[Target, ...] = (
    GFX1250,
    GFX1201,
    GFX1151,
    GFX1103,
    GFX1102,
    GFX1101,
    GFX1100,
)
"""Targets whose kernels run, without modelled times. Code is compiled for them and runs where they are named;
operators name them (`LIBRARY_TARGETS`), and nowhere else do they count as targets."""

KNOWN: tuple[Target, ...] = TARGETS + PARTIAL
"""Every record."""

NAMES: tuple[str, ...] = tuple(record.name for record in TARGETS)
"""The targets' names."""

GENERICS: tuple[str, ...] = tuple(
    dict.fromkeys(name for record in TARGETS for name in record.processors.values() if name not in NAMES)
)
"""Processors whose code runs on several targets: LLVM's generic ones, with their common features."""

ARCHS: tuple[str, ...] = NAMES + GENERICS
"""Targets and generic processors that code can be compiled for."""

TILE_TARGETS: tuple[str, ...] = tuple(record.name for record in TARGETS if record.tiles)
"""Names of the targets that every kernel is written for, with times and the sanitizer's wait states."""

LIBRARY_TARGETS: tuple[str, ...] = tuple(record.name for record in KNOWN if record.library)
"""Names of the targets that the tile library compiles for, which some kernels are written for."""


def wave_size(name: str) -> int:
    """Lanes of a wave of a target that may be known to the decoder alone, which then counts as the others."""
    return next((known.wave_size for known in KNOWN if known.name == name), WAVE)


def waits_of(name: str) -> WaitCounters:
    """Wait counters of a target, likewise."""
    return next((known.waits for known in KNOWN if known.name == name), GFX9_WAITS)


def keeps_halves(name: str) -> bool:
    """`Target.keeps_halves`, likewise."""
    return next((known.keeps_halves for known in KNOWN if known.name == name), False)


def is_timed(record: Target) -> bool:
    """True if the timing model has figures of a target's units; of the others, launches are counted alone."""
    return record not in PARTIAL


def of_same_generation(names: Iterable[str], arch: str) -> bool:
    """True if `arch` or another target of its generation is among the names: their code is the same."""
    return arch in names or arch in further_of_generations(names)


def further_of_generations(names: Iterable[str]) -> tuple[str, ...]:
    """Targets of the generations of these, beyond themselves, oldest first."""
    names = tuple(names)
    generations = {known.generation for known in KNOWN if known.name in names}
    return tuple(
        known.name for known in reversed(KNOWN) if known.generation in generations and known.name not in names
    )


def for_generations(values: Mapping[str, int]) -> dict[str, int]:
    """Values by target, with those of a target for the others of its generation too."""
    by_generation = {known.generation: values[known.name] for known in KNOWN if known.name in values}
    return {
        known.name: values.get(known.name, by_generation[known.generation])
        for known in KNOWN
        if known.generation in by_generation
    }


@cache
def runs_on(processor: str) -> tuple[str, ...]:
    """Names of the targets that run code for a processor, newest first; empty if it is unknown."""
    return tuple(known.name for known in KNOWN if processor in known.processors.values())


def check_arch(name: str) -> None:
    """Checks that code can be compiled for `name`, which may be followed by features.

    Raises:
        UsageError: it cannot.
    """
    plain = name.partition(":")[0]
    if plain not in ARCHS and all(plain != record.name for record in PARTIAL):
        raise UsageError(f"target {name!r}: expected one of {', '.join(ARCHS)}")


def macros(name: str) -> tuple[str, ...]:
    """Macros of compilations for a target or a generic processor, which the tile library has no code for."""
    return () if name.partition(":")[0] in GENERICS else (target(name).macro,)


@cache
def target(name: str) -> Target:
    """A target by name; features (":xnack-") may follow it.

    Raises:
        UsageError: there is no target of that name.
    """
    plain = name.partition(":")[0]
    record = next((candidate for candidate in KNOWN if candidate.name == plain), None)
    if record is None:
        generic = f"; {', '.join(GENERICS)} is compiled for, and runs on several" if plain in GENERICS else ""
        raise UsageError(f"target {name!r}: expected one of {', '.join(NAMES)}{generic}")
    return record
