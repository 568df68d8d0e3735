"""Machine constants of the modelled GPUs, from `data/machine.json`, and MFMA timings from `data/mfma.csv`."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from workbench.errors import WorkbenchError
from workbench.launches import Hierarchy

DEFAULT_GPU: Mapping[str, str] = {"gfx950": "MI355X", "gfx942": "MI300X"}
"""The GPU that stands for a target where the device does not say its name: the emulated node's two."""


@dataclass(frozen=True)
class Machine:
    """What the timing model knows of a GPU.

    Attributes:
        name, arch: such as "MI355X" and "gfx950".
        clock_hz: peak engine clock.
        compute_units, xcds, simds_per_cu: counts.
        hbm_bytes_per_second: peak memory bandwidth.
        l2_bytes_per_second: peak bandwidth of all L2 slices together.
        l2_bytes: size of all L2 slices together.
        l1_bytes: vector L1 cache of a compute unit.
        infinity_cache_bytes: that all XCDs share.
        infinity_cache_bytes_per_second: its peak bandwidth; None where it is not published.
        lds_bytes_per_clock: peak LDS bandwidth of a compute unit.
        lds_banks: of four bytes each.
        lds_bytes: LDS of a compute unit.
        memory_latency_seconds: of a load from the Infinity Cache; MI300X's for all, the one published.
        peak_flops: FLOP/s by type, dense, such as "bf16_matrix".
        source: where the constants come from.
    """

    name: str
    arch: str
    clock_hz: float
    compute_units: int
    xcds: int
    simds_per_cu: int
    hbm_bytes_per_second: float
    l2_bytes_per_second: float
    l2_bytes: int
    l1_bytes: int
    infinity_cache_bytes: int
    infinity_cache_bytes_per_second: float | None
    lds_bytes_per_clock: int
    lds_banks: int
    lds_bytes: int
    memory_latency_seconds: float
    peak_flops: Mapping[str, float]
    source: str = "profile/data/machine.json"

    @property
    def hierarchy(self) -> Hierarchy:
        """The caches for `Traffic.replay`'s model.

        L2 and Infinity Cache are 16-way (AMD CDNA 3 white paper); the associativity of L1 is not published,
        and 16 ways are assumed.
        """
        return Hierarchy(
            xcds=self.xcds,
            units=self.compute_units // self.xcds,
            l1_bytes=self.l1_bytes,
            l2_bytes=self.l2_bytes // self.xcds,
            mall_bytes=self.infinity_cache_bytes,
        )


@cache
def machine(gpu: str, arch: str = "") -> Machine:
    """Constants of a GPU.

    Args:
        gpu: its name; "AMD Instinct MI355X" will do.
        arch: its target, which decides where the name says nothing.

    Raises:
        WorkbenchError: the GPU is not in the data.
    """
    data = _facts()
    known = [name for name in data if not name.startswith("_")]
    found = next((name for name in known if name.lower() in gpu.lower()), None) or DEFAULT_GPU.get(arch)
    if found is None:
        raise WorkbenchError(
            f"no machine constants for {gpu!r} ({arch}); there are {', '.join(known)}. "
            "The timing model works for these; on another GPU use measured times."
        )
    value = {key: entry["value"] for key, entry in data[found].items()}
    clock = value["peak_engine_clock_MHz"] * 1e6
    return Machine(
        name=found,
        arch=value["arch"].rpartition("/")[2].strip(),
        clock_hz=clock,
        compute_units=value["compute_units"],
        xcds=value["xcds"],
        simds_per_cu=value["simds_per_cu"],
        hbm_bytes_per_second=value["hbm_bandwidth_TBps"] * 1e12,
        l2_bytes_per_second=value["l2_read_bytes_per_clk_per_xcd"] * value["xcds"] * clock,
        l2_bytes=value["l2_MB_per_xcd"] * value["xcds"] << 20,
        l1_bytes=value["l1_vector_KB_per_cu"] << 10,
        infinity_cache_bytes=value["infinity_cache_MB"] << 20,
        infinity_cache_bytes_per_second=_tera(value.get("infinity_cache_peak_TBps")),
        lds_bytes_per_clock=value["lds_read_bytes_per_clk_per_cu"],
        lds_banks=value["lds_banks"],
        lds_bytes=value["lds_KB_per_cu"] << 10,
        memory_latency_seconds=data["MI300X"]["infinity_cache_latency_ns"]["value"] * 1e-9,
        peak_flops={k: v * 1e12 for k, v in value["peak_dense_TFLOPS"].items()},
    )


def _tera(value: float | None) -> float | None:
    return None if value is None else value * 1e12


@cache
def _facts() -> dict[str, dict[str, Any]]:
    text = resources.files("workbench.profile").joinpath("data/machine.json").read_text()
    facts: dict[str, dict[str, Any]] = json.loads(text)
    return facts


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
