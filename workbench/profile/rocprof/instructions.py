"""rocprofv3's measurements of single instructions, by address: thread traces and PC samples.

A thread trace has every instruction of the waves on one compute unit with its cycles. PC samples are taken
all over the GPU: how often a wave was at an instruction and, with the stochastic method, why it could not
issue.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.codeobject import printer
from workbench.codeobject.names import instance_name
from workbench.errors import ProfilerError, WorkbenchError
from workbench.profile.rocprof.tables import rows

if TYPE_CHECKING:
    from workbench.kernel import Kernel

METHODS = ("stochastic", "host_trap")
"""PC sampling methods; the first is the hardware's own (MI300 and later) and reports why a wave stalled."""

_REASON = "_NOT_ISSUED_REASON_"


@dataclass
class InstructionCost:
    """Measured cost of one instruction, summed over waves.

    Attributes:
        text: disassembly by rocprofv3.
        hits: executions in the thread trace.
        latency: cycles from when it was ready to issue until it had issued, including the stall (thread
            trace).
        stall: cycles in which its pipeline could not accept it (thread trace).
        idle: cycles between the previous instruction and its own start, such as waits for a register or the
            instruction cache (thread trace).
        samples: number of PC samples at this instruction.
        reasons: number of samples in which the wave did not issue, by reason, such as "WAITCNT".
    """

    text: str
    hits: int = 0
    latency: int = 0
    stall: int = 0
    idle: int = 0
    samples: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, other: InstructionCost) -> None:
        """Adds another file's measurement of the same instruction."""
        self.hits += other.hits
        self.latency += other.latency
        self.stall += other.stall
        self.idle += other.idle
        self.samples += other.samples
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count


def read_thread_trace(path: str | Path, names: Iterable[str]) -> dict[int, InstructionCost]:
    """Instructions of a kernel in a `stats_ui_output_*.csv` that `rocprofv3 --att` decoded.

    A row whose instruction is a comment (";") begins a function and names it; others have an address as in
    the code object's ELF file.

    Args:
        path: the file.
        names: names of the kernel: mangled, demangled, with or without parameters.

    Returns:
        costs by address; empty if the file does not contain the kernel.

    Raises:
        ProfilerError: the file cannot be read, lacks a column, or has text in place of a number.

    """
    spellings = {*names} | {instance_name(name) for name in names}
    costs: dict[int, InstructionCost] = {}
    inside = False
    for row in rows(Path(path)):
        text = row.text("instruction")
        if text.startswith(";"):
            here = {text.removeprefix(";").strip(), row.values.get("Source") or ""}
            inside = bool(spellings & (here | {instance_name(name) for name in here}))
        elif inside:
            cost = InstructionCost(
                text, row.number("hits"), row.number("latency"), row.number("stall"), row.number("idle")
            )
            costs.setdefault(row.number("address"), InstructionCost(text)).add(cost)
    return costs


def read_pc_samples(path: str | Path, names: Iterable[str]) -> dict[int, InstructionCost]:
    """Samples of a kernel's code object in the JSON file that rocprofv3's PC sampling writes.

    The CSV form has no addresses, so instructions that occur twice on a line could not be distinguished.

    Args:
        path: `*_results.json`.
        names: names of the kernel.

    Returns:
        costs by address in the ELF file; other kernels of the same code object are included.

    Raises:
        ProfilerError: the file cannot be read or has another form.
    """
    spellings = {*names} | {instance_name(name) for name in names}
    costs: dict[int, InstructionCost] = {}
    try:
        with Path(path).open() as file:
            processes = json.load(file)["rocprofiler-sdk-tool"]
        for process in processes:
            ours = {
                symbol["code_object_id"]
                for symbol in process["kernel_symbols"]
                if spellings & set(_names(symbol))
            }
            texts = process["strings"]["pc_sample_instructions"]
            for method in METHODS:
                for sample in process["buffer_records"].get(f"pc_sample_{method}", ()):
                    record, index = sample["record"], sample["inst_index"]
                    if record["pc"]["code_object_id"] not in ours or index < 0:
                        continue
                    cost = InstructionCost(texts[index], samples=1)
                    if method == "stochastic" and not record["wave_issued"]:
                        reason = str(record["snapshot"]["stall_reason"])
                        cost.reasons[reason.rpartition(_REASON)[2]] = 1
                    address = int(record["pc"]["code_object_offset"])
                    costs.setdefault(address, InstructionCost(cost.text)).add(cost)
    except OSError as error:
        raise ProfilerError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ProfilerError(
            f"{path} is not the JSON that rocprofv3 writes of PC samples ({type(error).__name__}: {error}); "
            "expected rocprofv3 of ROCm 6.4 or later"
        ) from error
    return costs


def _names(symbol: Mapping[str, Any]) -> list[str]:
    names = [
        str(symbol.get(key) or "")
        for key in ("kernel_name", "formatted_kernel_name", "demangled_kernel_name")
    ]
    return [
        name
        for spelling in names
        if spelling
        for name in (spelling, spelling.removesuffix(".kd"), instance_name(spelling))
    ]


def of_kernel(costs: Mapping[int, InstructionCost], kernel: Kernel) -> dict[int, InstructionCost]:
    """Costs of the instructions that the kernel's own code object has at those addresses.

    Raises:
        ProfilerError: most of the instructions differ, so they were measured on other code.
    """
    same: dict[int, InstructionCost] = {}
    other = ""
    for address, cost in costs.items():
        try:
            ours = printer.text(kernel.module.instruction(address))
        except WorkbenchError:
            ours = "nothing"
        if ours.split()[:1] == cost.text.split()[:1]:
            same[address] = cost
        else:
            other = other or f"at {address:#x} it has {ours!r}, the measurement {cost.text!r}"
    if len(same) * 2 < len(costs):
        raise ProfilerError(
            f"{kernel.name}: {len(costs) - len(same)} of {len(costs)} measured instructions are not those of "
            f"its code object ({other}); was it recompiled since?"
        )
    return same
