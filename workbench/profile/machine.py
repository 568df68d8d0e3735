"""Which product's constants the timing model takes, and MFMA timings from `data/mfma.csv`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from workbench import targets
from workbench.errors import UsageError, WorkbenchError
from workbench.launches import Hierarchy
from workbench.targets import Product


def machine(name: str, arch: str = "") -> Product:
    """The product whose constants the timing model takes.

    Args:
        name: as HIP reports it; "MI350X" will do.
        arch: its target, whose usual product is taken where the name says nothing.

    Raises:
        WorkbenchError: no such product is known, or too little of it.
    """
    try:
        found = targets.product(name)
    except UsageError:
        if not any(arch == known.name for known in targets.TARGETS):
            raise
        found = targets.default_product(arch)
    memory_latency_cycles(found)
    return found


def memory_latency_cycles(machine: Product) -> float:
    """Clocks that a load from the Infinity Cache takes.

    Raises:
        WorkbenchError: it is not known.
    """
    if machine.memory_latency_ns is None:
        known = ", ".join(p.name for p in targets.PRODUCTS if p.memory_latency_ns is not None)
        raise WorkbenchError(
            f"the timing model does not know the memory latency of {machine.name} ({machine.arch}); it works "
            f"for {known}: choose one of these, or measure on a GPU."
        )
    return machine.memory_latency_ns * 1e-9 * machine.clock_hz


def hierarchy(machine: Product) -> Hierarchy:
    """The caches for `traffic`'s model.

    L2 and Infinity Cache are 16-way (AMD CDNA 3 white paper); of L1 16 ways are assumed.
    """
    return Hierarchy(
        xcds=machine.xcds,
        units=machine.units_per_xcd,
        l1_bytes=machine.target.l1_bytes,
        l2_bytes=machine.l2_bytes_per_xcd,
        mall_bytes=machine.infinity_cache_bytes,
    )


@dataclass(frozen=True)
class MatrixInstruction:
    """One MFMA or SMFMAC instruction.

    Attributes:
        cycles: how long it occupies a SIMD's matrix core.
        flops: floating-point (or integer) operations of one wave instruction.
        type: input type for rocprof's counters: "F16", "BF16", "F32", "F64", "XF32", "I8", "F8", "F6F4".
    """

    cycles: int
    flops: int
    type: str


_TYPES: Mapping[str, str] = {
    "f16": "F16",
    "fp16": "F16",
    "bf16": "BF16",
    "f32": "F32",
    "fp32": "F32",
    "f64": "F64",
    "fp64": "F64",
    "xf32": "XF32",
    "i8": "I8",
    "int8": "I8",
    "fp8": "F8",
    "bf8": "F8",
}


@cache
def _matrix_table() -> dict[tuple[str, str], MatrixInstruction]:
    text = resources.files("workbench.profile").joinpath("data/mfma.csv").read_text()
    table = {}
    for row in csv.DictReader(text.splitlines()):
        kind = _TYPES.get(row["type_a"], "F6F4" if "|" in row["type_a"] else row["type_a"].upper())
        # The data's own flops column has gaps; a multiply-add of every block's elements is two operations.
        flops = 2 * int(row["M"]) * int(row["N"]) * int(row["K"]) * int(row["blocks"])
        entry = MatrixInstruction(int(row["cycles"]), flops, kind)
        table[row["arch"], row["instruction"]] = entry
    return table


def matrix_instruction(arch: str, opcode: str, modifiers: Mapping[str, int]) -> MatrixInstruction:
    """Cycles and work of a matrix instruction.

    The f8f6f4 forms take twice the cycles where either input is an 8-bit format (cbsz or blgp 0 or 1), as the
    notes in `data/mfma.csv` say.

    Raises:
        WorkbenchError: the instruction is not in the data for this target.
    """
    table = _matrix_table()
    found = table.get((arch, opcode)) or table.get(("gfx942", opcode))
    if found is None:
        raise WorkbenchError(f"no timing for {opcode} on {arch} in profile/data/mfma.csv")
    if opcode.endswith("_f8f6f4") and (modifiers.get("cbsz", 0) < 2 or modifiers.get("blgp", 0) < 2):
        return MatrixInstruction(2 * found.cycles, found.flops, "F8")
    return found
