"""Counters of a launch of which only some work-groups were profiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from workbench.codeobject.instructions import Access, Space

if TYPE_CHECKING:
    from workbench.codeobject import Instruction
    from workbench.launches import Steps
    from workbench.runtime import LaunchRecord


def estimated_counters(
    record: LaunchRecord, instructions: Mapping[int, Instruction], whole: Mapping[int, int] | None = None
) -> dict[str, int]:
    """The device's counters that the timing model reads, by their names.

    Bytes of global memory are exact if all of the launch ran. Cycles and bytes of LDS are those of the
    work-groups whose paths were recorded, scaled to the total executions of each instruction.

    Args:
        record: a launch with counts, traffic and steps.
        instructions: instructions of the code, by address.
        whole: executions of each instruction in the whole launch, if only a part of it ran.
    """
    counts = whole if whole is not None else record.counts
    counters: dict[str, int] = dict.fromkeys(
        (
            *("lds_cycles", "lds_bytes_read", "lds_bytes_written", "global_bytes_read"),
            *("global_bytes_written", "scalar_bytes_read", "direct_to_lds_bytes"),
        ),
        0,
    )
    if record.counts is None or counts is None:
        return {}
    for address, count in counts.items():
        memory = instructions[address].record.memory
        if memory is not None and memory.space in (Space.SCALAR, Space.SCALAR_BUFFER):
            counters["scalar_bytes_read"] += count * memory.bytes
    for address, site in record.traffic.sites().items() if record.traffic is not None else ():
        memory = instructions[address].record.memory
        is_load = memory is not None and memory.access is Access.LOAD
        moved = round(site.bytes * counts.get(address, 0) / max(1, record.counts.get(address, 0)))
        counters["global_bytes_read" if is_load else "global_bytes_written"] += moved
        if memory is not None and (memory.to_lds or instructions[address].modifiers.get("lds")):
            counters["direct_to_lds_bytes"] += moved
            counters["lds_bytes_written"] += moved
    if record.steps is not None:
        for name, value in lds_counters(record.steps, counts, instructions).items():
            counters[name] += value
    return counters


def lds_counters(
    steps: Steps, counts: Mapping[int, int], instructions: Mapping[int, Instruction]
) -> dict[str, int]:
    """Cycles and bytes of LDS in a launch, from its recorded work-groups.

    Args:
        steps: steps of those work-groups.
        counts: executions of each instruction in the launch.
        instructions: of the code, by address.
    """
    counters = {"lds_cycles": 0, "lds_bytes_read": 0, "lds_bytes_written": 0}
    for address, (executed, cycles, moved) in _lds(steps).items():
        share = counts.get(address, 0) / executed
        memory = instructions[address].record.memory
        is_load = memory is not None and memory.access is Access.LOAD
        counters["lds_cycles"] += round(cycles * share)
        counters["lds_bytes_read" if is_load else "lds_bytes_written"] += round(moved * share)
    return counters


def _lds(steps: Steps) -> dict[int, tuple[int, int, int]]:
    """Executions, cycles and bytes of each LDS instruction in the recorded work-groups, by address."""
    blocks = np.zeros(len(steps.blocks), dtype=np.int64)
    costs: dict[int, np.ndarray] = {}
    for group in steps.groups:
        for wave in steps.waves_of(group):
            block = wave.steps["block"]
            blocks += np.bincount(block[block >= 0], minlength=len(blocks))
            served = wave.steps[(block < 0) & (wave.steps["lines"] == 0)]
            for place in np.unique(served["place"]):
                accesses = served[served["place"] == place]
                sums = np.array(
                    [accesses["lds_cycles"].sum(dtype=np.int64), accesses["bytes"].sum(dtype=np.int64)]
                )
                costs[int(place)] = costs.get(int(place), np.zeros(2, dtype=np.int64)) + sums
    executed: dict[int, int] = {}
    for addresses, count in zip(steps.blocks, blocks.tolist(), strict=True):
        for address in addresses:
            executed[address] = executed.get(address, 0) + count
    by_address = {}
    for place, (cycles, moved) in costs.items():
        address = steps.text + 4 * place
        if executed.get(address):
            by_address[address] = (executed[address], int(cycles), int(moved))
    return by_address
