"""Hardware counters by rocprof's names, computed from what the emulated device counted.

`COUNTERS` is the one table: name, meaning, formula. Definitions follow "MI300 and MI200 series performance
counters" and "MI350 series performance counters" in AMD's ROCm documentation (rocm.docs.amd.com). Instruction
counters are sums of exact execution counts of each instruction over all waves; what depends on addresses
(bank conflicts, bytes) the device adds up while it executes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.origin import Figure, Origin
from workbench.profile.classes import arithmetic, classify
from workbench.profile.flow import Block, flow
from workbench.profile.machine import matrix_instruction

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.runtime import LaunchRecord

WAVE = 64
"""Lanes of a wave."""

_MFMA_OPS_UNIT = 512
"""SQ_INSTS_VALU_MFMA_MOPS_* count operations in units of 512 (definition in the ROCm documentation)."""


@dataclass
class Tally:
    """One launch added up: everything that the formulas of `COUNTERS` read.

    Attributes:
        arch: target.
        waves: waves launched.
        classes: wave instructions by class (`classes.CLASSES`).
        matrix_counts, matrix_ops: MFMA wave instructions and their operations by input type.
        matrix_cycles: cycles that the matrix cores are busy, summed over all of them.
        arithmetic: vector wave instructions by (kind, type), such as ("FMA", "F32").
        vector_flops: floating-point operations of vector instructions, all 64 lanes counted.
        blocks: what a wave issues and waits for (`profile.flow`).
        device: address-dependent counts of the device, by its names; empty where they were not collected.
    """

    arch: str
    waves: int
    classes: dict[str, int] = field(default_factory=dict)
    matrix_counts: dict[str, int] = field(default_factory=dict)
    matrix_ops: dict[str, int] = field(default_factory=dict)
    matrix_cycles: int = 0
    arithmetic: dict[tuple[str, str], int] = field(default_factory=dict)
    vector_flops: int = 0
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    device: Mapping[str, int] = field(default_factory=dict)

    def of(self, *classes: str) -> int:
        """Wave instructions of the classes together."""
        return sum(self.classes.get(c, 0) for c in classes)


@dataclass(frozen=True)
class Counter:
    """One row of the table.

    Attributes:
        name: rocprof's name; a lower-case name where rocprof has no counter for it.
        unit: of its value.
        doc: what it counts.
        formula: from a tally; None as a result means that it was not collected.
        targets: targets that have the counter; all where it is empty.
        origin: counted, but for a counter that is computed from counts by a table of timings.
    """

    name: str
    unit: str
    doc: str
    formula: Callable[[Tally], int | None]
    targets: tuple[str, ...] = ()
    origin: Origin = Origin.COUNTED


def _classes(*classes: str) -> Callable[[Tally], int]:
    return lambda tally: tally.of(*classes)


def _device(*names: str) -> Callable[[Tally], int | None]:
    def formula(tally: Tally) -> int | None:
        found = [tally.device[n] for n in names if n in tally.device]
        return sum(found) if found else None

    return formula


def _matrix_count(kind: str) -> Callable[[Tally], int]:
    return lambda tally: tally.matrix_counts.get(kind, 0)


def _matrix_ops(kind: str) -> Callable[[Tally], int]:
    return lambda tally: tally.matrix_ops.get(kind, 0) // _MFMA_OPS_UNIT


def _arithmetic(kind: str, bits: str) -> Callable[[Tally], int]:
    return lambda tally: tally.arithmetic.get((kind, bits), 0)


_VMEM = ("vmem_load", "vmem_store", "vmem_atomic", "vmem_other")
_FLAT = ("flat_load", "flat_store", "flat_atomic")
_ALL = (
    *("valu", "trans", "mfma", "salu", "smem", "lds", "branch", "message", "internal"),
    *_VMEM,
    *_FLAT,
)

_MATRIX_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("I8", ()),
    ("F8", ("gfx942", "gfx950")),
    ("F6F4", ("gfx950",)),
    ("F16", ()),
    ("BF16", ()),
    ("F32", ()),
    ("XF32", ("gfx942",)),
    ("F64", ()),
)
"""Input types of MFMA that have counters, each with the targets that have it; () where all do."""

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
    Counter("SQ_INSTS_LDS", "instructions", "LDS, FLAT not included.", _classes("lds")),
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
    Counter("SQ_INSTS_SENDMSG", "instructions", "s_sendmsg and s_endpgm.", _classes("message")),
    Counter(
        "SQ_VALU_MFMA_BUSY_CYCLES",
        "cycles",
        "Cycles that matrix cores are busy, summed over them, by the passes of each MFMA.",
        lambda tally: tally.matrix_cycles,
        origin=Origin.MODELLED,
    ),
    Counter(
        "SQ_LDS_BANK_CONFLICT",
        "cycles",
        "Cycles that LDS is stalled by bank conflicts.",
        _device("lds_bank_conflict"),
    ),
    Counter("SQ_LDS_IDX_ACTIVE", "cycles", "Cycles that LDS serves indexed accesses.", _device("lds_cycles")),
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
"""The counters that `profile` gives."""


def waves_of(record: LaunchRecord) -> int:
    """Waves of a launch: work-groups times the waves of one."""
    groups = math.prod(record.grid)
    return groups * -(-math.prod(record.block) // WAVE)


def tally(arch: str, record: LaunchRecord, instructions: Mapping[int, Instruction]) -> Tally:
    """Adds up a launch.

    Args:
        arch: target of the code object.
        record: a launch with `counts`.
        instructions: the code object's instructions by address.

    Raises:
        ValueError: the record has no counts.
    """
    if record.counts is None:
        raise ValueError(
            f"{record.kernel}: this launch was not counted; launch with LaunchOptions(count=True)"
        )
    result = Tally(arch, waves_of(record), device=record.counters or {})
    for address, count in record.counts.items():
        if count:
            _add(result, instructions[address], count)
    result.blocks = flow(arch, record.counts, instructions)
    return result


def _add(result: Tally, instruction: Instruction, count: int) -> None:
    kind = classify(instruction)
    result.classes[kind] = result.classes.get(kind, 0) + count
    if kind == "mfma":
        matrix = matrix_instruction(result.arch, instruction.opcode, instruction.modifiers)
        result.matrix_counts[matrix.type] = result.matrix_counts.get(matrix.type, 0) + count
        result.matrix_ops[matrix.type] = result.matrix_ops.get(matrix.type, 0) + count * matrix.flops
        result.matrix_cycles += count * matrix.cycles
    elif kind in ("valu", "trans") and (work := arithmetic(instruction.opcode)):
        key = work[:2]
        result.arithmetic[key] = result.arithmetic.get(key, 0) + count
        result.vector_flops += count * work[2] * WAVE


def collect(sums: Tally, source: str) -> dict[str, Figure]:
    """Every counter of the target with its figure; a counter that was not collected is absent."""
    found = {}
    for counter in COUNTERS:
        if counter.targets and sums.arch not in counter.targets:
            continue
        value = counter.formula(sums)
        if value is not None:
            found[counter.name] = Figure(value, counter.unit, counter.origin, source)
    return found
