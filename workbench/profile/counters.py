"""Hardware counters under rocprof's names, computed from the emulated device's counts.

`COUNTERS` is the one table: name, meaning, formula. Definitions follow "MI300 and MI200 series performance
counters" and "MI350 series performance counters" in AMD's ROCm documentation (rocm.docs.amd.com). Instruction
counters are sums of exact execution counts of each instruction over all waves; the device adds up what
depends on addresses (bank conflicts, bytes) while it executes.

Counters of the L2 caches and beyond (TCC_*) are counted in modelled caches: the lines that each wave touched
are exactly those of the kernel; which of them a cache still had comes from a model of the caches and of the
order in which work-groups reach them (`Traffic.replay`), so these figures are modelled. They do not include
instruction fetch, scalar loads, scratch and address translation. Busy and waiting cycles (SQ_BUSY_CYCLES,
SQ_WAIT_*, VALUBusy, MfmaUtil) come from the simulated chip.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.codeobject.instructions import Matrix
from workbench.origin import Figure, Origin
from workbench.profile.flow import Block, flow
from workbench.targets import NAMES, TARGETS, is_timed, target

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.launches import CacheCounts, Replayed, Site
    from workbench.runtime import LaunchRecord

_MFMA_OPS_UNIT = 512
"""SQ_INSTS_VALU_MFMA_MOPS_* count operations in units of 512 (definition in the ROCm documentation)."""


@dataclass
class Tally:
    """Totals of one launch, as the formulas of `COUNTERS` read them.

    Attributes:
        arch: target.
        waves: waves launched.
        lanes: lanes of a wave; 0 if they matter to no counter.
        classes: wave instructions by class (`codeobject.instructions.PIPELINES`).
        matrix_counts, matrix_ops: MFMA wave instructions and their operations by input type.
        matrix_cycles: cycles that the matrix cores are busy, summed over all of them.
        arithmetic: vector wave instructions by (kind, type), such as ("FMA", "F32").
        vector_flops: floating-point operations of vector instructions, all lanes counted.
        blocks: instructions and waits of a wave (`profile.flow`).
        device: address-dependent counts of the device, by its names; empty if they were not collected.
        pieces: 64-byte pieces that vector memory instructions touched, by class ("..._return" for atomics
            that return a value); None if not collected.
        replayed: counts of the modelled caches, die by die; None if they were not modelled.
        repeated: the same for a launch that repeats this one and finds its data in the Infinity Cache.
        simulated: busy and waiting cycles of the simulated chip (`profile.waits`), by rocprof's names.
    """

    arch: str
    waves: int
    lanes: int = 0
    classes: dict[str, int] = field(default_factory=dict)
    matrix_counts: dict[str, int] = field(default_factory=dict)
    matrix_ops: dict[str, int] = field(default_factory=dict)
    matrix_cycles: int = 0
    arithmetic: dict[tuple[str, str], int] = field(default_factory=dict)
    vector_flops: int = 0
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    device: Mapping[str, int] = field(default_factory=dict)
    pieces: Mapping[str, int] | None = None
    replayed: Replayed | None = None
    repeated: Replayed | None = None
    simulated: Mapping[str, float] = field(default_factory=dict)

    def count(self, *classes: str) -> int:
        """Wave instructions of all the classes together."""
        return sum(self.classes.get(c, 0) for c in classes)


@dataclass(frozen=True)
class Counter:
    """One row of the table.

    Attributes:
        name: rocprof's name; a lower-case name if rocprof has no such counter.
        unit: unit of its value.
        doc: description of what it counts.
        formula: computes the value from a tally; returns None if it was not collected.
        targets: targets that have the counter; if empty, all those with a model of time, and the later ones
            that `LATER` lists it for.
        origin: counted, except for a counter that is computed from counts with a table of timings; a function
            of the tally if it depends on what was counted.
        confirmed: published GPU output that the value is compared with; empty if there is none.
    """

    name: str
    unit: str
    doc: str
    formula: Callable[[Tally], float | None]
    targets: tuple[str, ...] = ()
    origin: Origin | Callable[[Tally], Origin] = Origin.COUNTED
    confirmed: str = ""

    def is_on(self, arch: str) -> bool:
        """True if a target has the counter; our own, in lower case, are on all."""
        if self.targets:
            return arch in self.targets
        return arch in NAMES or self.name.islower() or self.name in LATER.get(arch, ())

    def origin_of(self, tally: Tally) -> Origin:
        """Origin of the counter's value for this tally."""
        return self.origin if isinstance(self.origin, Origin) else self.origin(tally)


_RDNA3 = ("gfx1100", "gfx1101", "gfx1102")
_RDNA = ("gfx1201", *_RDNA3)
LATER: Mapping[str, tuple[str, ...]] = dict.fromkeys(
    _RDNA,
    ("SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_FLAT"),
)
"""Counters that later targets have under CDNA's names (rocprofiler-sdk's counter_defs.yaml, gfx11 and gfx12;
it does not name gfx1103 and gfx1151)."""

GROUPS: Mapping[str, re.Pattern[str]] = {
    "instructions": re.compile(r"SQ_WAVES|SQ_INSTS|SQ_WAVE\d\d_INSTS"),
    "cycles and waits": re.compile(r".*_CYCLES$|GRBM|SQ_WAIT|.*(?:Busy|Util)$"),
    "LDS": re.compile(r"SQC?_LDS|lds_|direct_to_lds"),
    "L2 and beyond": re.compile(r"TCC_|L2|FETCH_SIZE|WRITE_SIZE|infinity_cache|hbm_"),
    "memory of the waves": re.compile(r"TCP_|.*bytes|lines_"),
}
"""Groups of counters by the beginning of their names; all others are in "others"."""


def grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of counters by group, in the order of `GROUPS`; groups without any are absent."""
    groups: dict[str, list[str]] = {group: [] for group in (*GROUPS, "others")}
    for name in names:
        groups[next((group for group, names in GROUPS.items() if names.match(name)), "others")].append(name)
    return {group: names for group, names in groups.items() if names}


def _classes(*classes: str) -> Callable[[Tally], int]:
    return lambda tally: tally.count(*classes)


def _device(*names: str) -> Callable[[Tally], int | None]:
    def formula(tally: Tally) -> int | None:
        counts = [tally.device[n] for n in names if n in tally.device]
        return sum(counts) if counts else None

    return formula


def lds_origin(device: Mapping[str, int]) -> Origin:
    """Origin of LDS cycles: counted if hardware's counter showed the phases of all accesses, otherwise
    modelled.

    Args:
        device: address-dependent counts of a launch.
    """
    return Origin.MODELLED if device.get("lds_unconfirmed") else Origin.COUNTED


def _pieces(*endings: str) -> Callable[[Tally], int | None]:
    def formula(tally: Tally) -> int | None:
        if tally.pieces is None:
            return None
        return sum(count for kind, count in tally.pieces.items() if kind.endswith(endings))

    return formula


def _caches(formula: Callable[[CacheCounts], float]) -> Callable[[Tally], float | None]:
    return lambda tally: None if tally.replayed is None else formula(tally.replayed.total)


def _modelled(
    name: str, unit: str, doc: str, formula: Callable[[CacheCounts], float], targets: tuple[str, ...] = ()
) -> Counter:
    return Counter(name, unit, doc, _caches(formula), targets, Origin.MODELLED)


def _simulated(name: str, unit: str, doc: str) -> Counter:
    targets = tuple(target.name for target in TARGETS if target.tiles)
    return Counter(name, unit, doc, lambda tally: tally.simulated.get(name), targets, Origin.MODELLED)


def _if_lanes(lanes: int) -> Callable[[Tally], int]:
    return lambda tally: tally.count(*_ALL) if tally.lanes == lanes else 0


def _of_32(*classes: str) -> Callable[[Tally], int | None]:
    # An instruction of a wave of 64 lanes may count once or twice (counter_defs.yaml): no count is exact.
    return lambda tally: tally.count(*classes) if tally.lanes == 32 else None


def _matrix_count(kind: str) -> Callable[[Tally], int]:
    return lambda tally: tally.matrix_counts.get(kind, 0)


def _matrix_ops(kind: str) -> Callable[[Tally], int]:
    return lambda tally: tally.matrix_ops.get(kind, 0) // _MFMA_OPS_UNIT


def _arithmetic(kind: str, bits: str) -> Callable[[Tally], int]:
    return lambda tally: tally.arithmetic.get((kind, bits), 0)


_VMEM = ("vmem_load", "vmem_store", "vmem_atomic", "vmem_other")
_FLAT = ("flat_load", "flat_store", "flat_atomic")
_VECTOR = ("valu", "trans", "mfma")
_ALL = (
    *("valu", "trans", "mfma", "salu", "smem", "lds", "branch", "message", "internal"),
    *_VMEM,
    *_FLAT,
)

MATRIX_TYPES = ("I8", "F8", "F6F4", "F16", "BF16", "F32", "XF32", "F64")
"""Input types of MFMA that have counters, by rocprof's names."""

_MATRIX_KINDS = tuple(
    (kind, tuple(target.name for target in TARGETS if kind in target.matrix_rates)) for kind in MATRIX_TYPES
)
"""The same, each with the targets that have it."""

COUNTERS: Sequence[Counter] = (
    Counter("SQ_WAVES", "waves", "Waves launched.", lambda tally: tally.waves),
    Counter("SQ_INSTS", "instructions", "Instructions of all kinds.", _classes(*_ALL)),
    Counter("SQ_INSTS_VALU", "instructions", "Vector ALU, MFMA included.", _classes("valu", "trans", "mfma")),
    Counter("SQ_INSTS_MFMA", "instructions", "MFMA and SMFMAC.", _classes("mfma")),
    *(
        Counter(
            f"SQ_INSTS_VALU_MFMA_{kind}",
            "instructions",
            f"MFMA with {kind} inputs.",
            _matrix_count(kind),
            targets,
        )
        for kind, targets in _MATRIX_KINDS
    ),
    *(
        Counter(
            f"SQ_INSTS_VALU_MFMA_MOPS_{kind}",
            "512 operations",
            f"Operations of MFMA with {kind} inputs, in units of 512.",
            _matrix_ops(kind),
            targets,
        )
        for kind, targets in _MATRIX_KINDS
    ),
    *(
        Counter(
            f"SQ_INSTS_VALU_{kind}_{bits}",
            "instructions",
            f"Vector {bits} {meaning}; a packed instruction counts once.",
            _arithmetic(kind, bits),
        )
        for bits in ("F16", "F32", "F64")
        for kind, meaning in (
            ("ADD", "additions and subtractions"),
            ("MUL", "multiplications"),
            ("FMA", "fused or plain multiply-adds"),
            ("TRANS", "transcendentals"),
        )
    ),
    Counter("SQ_INSTS_SALU", "instructions", "Scalar ALU.", _classes("salu")),
    Counter("SQ_INSTS_SMEM", "instructions", "Scalar memory.", _classes("smem")),
    Counter(
        "SQ_INSTS_LDS",
        "instructions",
        "LDS, FLAT not included.",
        _classes("lds"),
        confirmed="tests/profile/test_hardware_truth.py: one of a wave (gfx950, rocprofv3)",
    ),
    Counter("SQ_INSTS_VMEM", "instructions", "Vector memory, FLAT included.", _classes(*_VMEM, *_FLAT)),
    Counter(
        "SQ_INSTS_VMEM_RD",
        "instructions",
        "Vector memory loads, FLAT included; loads direct to LDS are loads.",
        _classes("vmem_load", "flat_load"),
    ),
    Counter(
        "SQ_INSTS_VMEM_WR",
        "instructions",
        "Vector memory stores and atomics, FLAT included.",
        _classes("vmem_store", "vmem_atomic", "flat_store", "flat_atomic"),
    ),
    Counter("SQ_INSTS_FLAT", "instructions", "Generic (flat_*) addresses only.", _classes(*_FLAT)),
    Counter("SQ_INSTS_BRANCH", "instructions", "Branches, taken or not.", _classes("branch")),
    *(
        Counter(
            f"SQ_WAVE{lanes}_INSTS",
            "instructions",
            f"Instructions of waves of {lanes} lanes; a dual instruction counts once.",
            _if_lanes(lanes),
            _RDNA,
        )
        for lanes in (32, 64)
    ),
    *(
        Counter(
            f"SQ_INSTS_WAVE32{ending}",
            "instructions",
            f"{meaning} in waves of 32 lanes; not collected for waves of 64.",
            _of_32(*classes),
            _RDNA3,
        )
        for ending, meaning, classes in (
            ("", "Vector ALU, LDS and vector memory", (*_VECTOR, "lds", *_VMEM, *_FLAT)),
            ("_LDS", "LDS", ("lds",)),
            ("_VALU", "Vector ALU, WMMA included", _VECTOR),
        )
    ),
    Counter("SQ_INSTS_SENDMSG", "instructions", "s_sendmsg and s_endpgm.", _classes("message")),
    Counter(
        "SQ_VALU_MFMA_BUSY_CYCLES",
        "cycles",
        "Cycles that matrix cores are busy, summed over them, by the passes of each MFMA.",
        lambda tally: tally.matrix_cycles,
        origin=Origin.MODELLED,
    ),
    _simulated("SQ_BUSY_CYCLES", "cycles", "Cycles that sequencers are busy, four of them on a die."),
    _simulated(
        "GRBM_GUI_ACTIVE", "cycles", "Cycles that the GPU is active, dies added up; the launch included."
    ),
    _simulated(
        "SQ_WAVE_CYCLES", "quad-cycles", "Lives of the waves: issuing, waiting, and waiting to issue."
    ),
    _simulated("SQ_WAIT_ANY", "quad-cycles", "Waves at s_waitcnt, s_barrier and s_sleep."),
    _simulated("SQ_WAIT_INST_ANY", "quad-cycles", "Waves whose next instruction cannot issue yet."),
    _simulated(
        "SQ_WAIT_INST_LDS", "quad-cycles", "Those whose next instruction goes to LDS, whose queue is full."
    ),
    _simulated(
        "VALUBusy", "%", "Part of the time in which SIMDs issue vector instructions, MFMA's issue included."
    ),
    _simulated("MfmaUtil", "%", "Part of the time in which the matrix cores are busy."),
    Counter(
        "SQ_LDS_BANK_CONFLICT",
        "cycles",
        "Cycles that LDS is stalled by bank conflicts.",
        _device("lds_bank_conflict"),
        origin=lambda tally: lds_origin(tally.device),
        confirmed="tests/data/lds_conflict_matrix_*.csv (gfx950, some widths)",
    ),
    Counter(
        "SQ_LDS_IDX_ACTIVE",
        "cycles",
        "Cycles that LDS serves indexed accesses.",
        _device("lds_cycles"),
        origin=lambda tally: lds_origin(tally.device),
    ),
    Counter(
        "SQC_LDS_BANK_CONFLICT",
        "cycles",
        "Cycles that LDS is stalled by bank conflicts.",
        _device("lds_bank_conflict"),
        _RDNA,
        lambda tally: lds_origin(tally.device),
    ),
    Counter(
        "SQC_LDS_IDX_ACTIVE",
        "cycles",
        "Cycles that LDS serves indexed accesses.",
        _device("lds_cycles"),
        _RDNA,
        lambda tally: lds_origin(tally.device),
    ),
    Counter(
        "bytes_read",
        "bytes",
        "Bytes that lanes requested from global memory, before any cache; scalar loads included.",
        _device("global_bytes_read", "scalar_bytes_read"),
    ),
    Counter(
        "bytes_written",
        "bytes",
        "Bytes that lanes sent to global memory, before any cache.",
        _device("global_bytes_written"),
    ),
    Counter(
        "scalar_bytes",
        "bytes",
        "The part of bytes_read that scalar loads read.",
        _device("scalar_bytes_read"),
    ),
    Counter("lds_bytes_read", "bytes", "Bytes that lanes read from LDS.", _device("lds_bytes_read")),
    Counter("lds_bytes_written", "bytes", "Bytes that lanes wrote to LDS.", _device("lds_bytes_written")),
    Counter(
        "direct_to_lds_bytes",
        "bytes",
        "The part of bytes_read that went to LDS without passing registers.",
        _device("direct_to_lds_bytes"),
    ),
    Counter(
        "scratch_bytes",
        "bytes",
        "Bytes that lanes read from and wrote to scratch: spills and arrays with computed indices.",
        _device("scratch_bytes_read", "scratch_bytes_written"),
    ),
    Counter(
        "TCP_TOTAL_CACHE_ACCESSES_sum",
        "accesses",
        "Accesses of the vector L1 caches: distinct 64-byte pieces of each vector memory instruction.",
        _pieces("_load", "_store", "_atomic", "_return"),
        confirmed="tests/profile/rocprof/data/elementwise_counter_collection.csv (gfx950, two kernels)",
    ),
    _modelled(
        "TCP_TCC_READ_REQ_sum",
        "requests",
        "Reads that L1 asks of L2, a line of 128 bytes each.",
        lambda c: c.l2_reads,
    ),
    Counter(
        "TCP_TCC_WRITE_REQ_sum",
        "requests",
        "Writes that L1 sends to L2, up to 64 bytes each.",
        _pieces("_store"),
    ),
    Counter(
        "TCP_TCC_ATOMIC_WITH_RET_REQ_sum",
        "requests",
        "Atomics with a result that L1 sends to L2, up to 64 bytes each.",
        _pieces("_return"),
    ),
    Counter(
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum",
        "requests",
        "Atomics without one.",
        _pieces("_atomic"),
    ),
    _modelled("TCC_REQ_sum", "requests", "Requests to L2.", lambda c: c.l2_requests),
    _modelled("TCC_READ_sum", "requests", "Reads of L2, of 128 bytes.", lambda c: c.l2_reads),
    Counter("TCC_WRITE_sum", "requests", "Writes to L2, up to 64 bytes each.", _pieces("_store")),
    Counter(
        "TCC_ATOMIC_sum", "requests", "Atomics in L2, up to 64 bytes each.", _pieces("_atomic", "_return")
    ),
    _modelled("TCC_HIT_sum", "requests", "Requests that L2 had the line for.", lambda c: c.l2_hits),
    _modelled("TCC_MISS_sum", "requests", "Requests that it had not.", lambda c: c.l2_misses),
    _modelled(
        "L2CacheHit",
        "%",
        "TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum).",
        lambda c: 100 * (c.l2_hit_rate or 0),
    ),
    _modelled(
        "TCC_EA0_RDREQ_sum", "requests", "Reads of L2 from the Infinity Fabric.", lambda c: c.fabric_reads
    ),
    _modelled("TCC_EA0_RDREQ_32B_sum", "requests", "Those of 32 bytes: none, L2 reads lines.", lambda c: 0),
    _modelled("TCC_BUBBLE_sum", "requests", "Those of 128 bytes.", lambda c: c.fabric_reads, ("gfx942",)),
    _modelled(
        "TCC_EA0_RDREQ_128B_sum", "requests", "Those of 128 bytes.", lambda c: c.fabric_reads, ("gfx950",)
    ),
    _modelled(
        "TCC_EA0_WRREQ_sum",
        "requests",
        "Writes of L2 to the Infinity Fabric, at the end of the kernel too.",
        lambda c: c.fabric_writes_32 + c.fabric_writes_64,
    ),
    _modelled("TCC_EA0_WRREQ_64B_sum", "requests", "Those of 64 bytes.", lambda c: c.fabric_writes_64),
    _modelled(
        "FETCH_SIZE",
        "KB",
        "Read from the Infinity Fabric, 1024 bytes.",
        lambda c: c.fabric_reads * 128 / 1024,
    ),
    _modelled(
        "WRITE_SIZE",
        "KB",
        "Written to the Infinity Fabric, 1024 bytes.",
        lambda c: (c.fabric_writes_32 * 32 + c.fabric_writes_64 * 64) / 1024,
    ),
    _modelled(
        "infinity_cache_hits",
        "requests",
        "Reads of 128 bytes that the Infinity Cache had; it is empty when the kernel starts.",
        lambda c: c.mall_read_hits,
    ),
    _modelled(
        "hbm_bytes_read",
        "bytes",
        "Read from HBM: what the Infinity Cache did not have.",
        lambda c: c.mall_read_misses * 128,
    ),
    _modelled(
        "hbm_bytes_written",
        "bytes",
        "Written to HBM: what leaves the Infinity Cache, what is left in it at the end included.",
        lambda c: c.memory_bytes_written,
    ),
    Counter(
        "lines_128B_read",
        "lines",
        "Distinct 128-byte lines that each global load touches, summed; bytes_read / 128 is the best case.",
        _device("global_read_lines_128"),
    ),
    Counter(
        "lines_128B_written",
        "lines",
        "Distinct 128-byte lines that each global store touches, summed.",
        _device("global_write_lines_128"),
    ),
)
"""The counters that `profile` returns."""


NOTE = "counted by the emulated device; busy cycles, L2 and what is behind it modelled; zeros are not shown"
"""Text below a table of counters."""

COUNTED_NOTE = "counted by the emulated device; zeros are not shown"
"""The same of a launch of which nothing is modelled."""

_ALWAYS = ("SQ_WAVES", "SQ_LDS_BANK_CONFLICT", "SQC_LDS_BANK_CONFLICT", "SQ_INSTS_MFMA")


def visible(counters: Mapping[str, Figure]) -> list[tuple[str, Figure]]:
    """Counters worth a line: those that are not zero, and those whose zero is informative."""
    return [(name, figure) for name, figure in counters.items() if figure.value or name in _ALWAYS]


def table_lines(counters: Mapping[str, Figure]) -> list[str]:
    """Counters worth a line, one per line."""
    return [f"  {name:32} {figure.value:>18,.0f}  {figure.unit}" for name, figure in visible(counters)]


def tally(
    arch: str, record: LaunchRecord, instructions: Mapping[int, Instruction], lanes: int | None = None
) -> Tally:
    """Adds up a launch.

    Args:
        arch: target of the code object.
        record: a launch with `counts`.
        instructions: the code object's instructions by address.
        lanes: lanes of the kernel's waves, if they are not the target's usual ones.

    Raises:
        ValueError: the record has no counts.
    """
    if record.counts is None:
        raise ValueError(
            f"{record.kernel}: this launch was not counted; launch with LaunchOptions(count=True)"
        )
    unit = target(arch)
    lanes = lanes or int(unit.wave_size)
    waves = math.prod(record.grid) * -(-math.prod(record.block) // lanes)
    result = Tally(arch, waves, lanes, device=record.counters or {})
    for address, count in record.counts.items():
        if count:
            _add(result, instructions[address], count)
    if record.traffic is not None:
        result.pieces = _by_class(record.traffic.sites(), instructions)
    if is_timed(unit):
        result.blocks = flow(record.counts, instructions, unit.timing)
    return result


def _by_class(sites: Mapping[int, Site], instructions: Mapping[int, Instruction]) -> dict[str, int]:
    accesses: dict[str, int] = {}
    for address, site in sites.items():
        if site.accesses:
            kind = instructions[address].record.pipeline
            if kind in ("vmem_atomic", "flat_atomic") and instructions[address].modifiers.get("sc0"):
                kind += "_return"
            accesses[kind] = accesses.get(kind, 0) + site.accesses
    return accesses


def matrix_type(matrix: Matrix, modifiers: Mapping[str, int]) -> str:
    """The input type under which rocprof counts a matrix instruction."""
    if matrix.type_a == "f8f6f4":
        return "F8" if matrix.has_8_bits(modifiers) else "F6F4"
    return "F8" if matrix.type_a in ("fp8", "bf8") else matrix.type_a.upper()


def _add(result: Tally, instruction: Instruction, count: int) -> None:
    record, modifiers = instruction.record, instruction.modifiers
    result.classes[record.pipeline] = result.classes.get(record.pipeline, 0) + count
    if (matrix := record.matrix) is not None:
        type_ = matrix_type(matrix, modifiers)
        result.matrix_counts[type_] = result.matrix_counts.get(type_, 0) + count
        result.matrix_ops[type_] = result.matrix_ops.get(type_, 0) + count * matrix.operations
        result.matrix_cycles += count * matrix.cycles_with(modifiers)
    elif (work := record.arithmetic) is not None:
        key = work.kind, work.type
        result.arithmetic[key] = result.arithmetic.get(key, 0) + count
        result.vector_flops += count * work.operations * result.lanes


def collect(sums: Tally, source: str) -> dict[str, Figure]:
    """Every counter of the target with its figure; a counter that was not collected is absent."""
    figures = {}
    for counter in COUNTERS:
        if not counter.is_on(sums.arch):
            continue
        value = counter.formula(sums)
        if value is not None:
            figures[counter.name] = Figure(value, counter.unit, counter.origin_of(sums), source)
    return figures
