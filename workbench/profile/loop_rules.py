"""Rules about loops: loads and waits of an iteration, jumps, barriers, and loop-invariant work.

The rules here check conditions in the code: there is a loop, no dependence forbids moving the instructions,
and registers are free.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Control, Registers, Space
from workbench.codeobject.occupancy import waves_of_registers
from workbench.codeobject.registers import read, unnamed, written
from workbench.codeobject.waits import requests_left
from workbench.profile.facts import STALLED, Facts, Seen, counted, modelled, percent
from workbench.profile.loops import VECTOR_MEMORY, InnerLoop, among, goes_to, is_load, registers
from workbench.profile.what_if import Change
from workbench.targets import Request

_SHORT = 32
"""Maximum number of instructions of a loop that is worth unrolling because of its jump."""

_FAR = 16
"""Minimum number of instructions between a wait and the first use that makes moving the wait worthwhile."""

_FEW_LANES = 0.25
"""Fraction of working lanes below which the idle ones matter."""


def same_each_turn(facts: Facts) -> Seen | None:
    """Accesses of a loop to the same place in every iteration."""
    for loop in facts.loops:
        same = [
            i
            for i in loop.code
            if goes_to(i, VECTOR_MEMORY, Access.LOAD, Access.STORE) and loop.is_same_each_turn(i)
        ]
        gone = frozenset(instruction.address for instruction in same)
        share = facts.spent_on(gone)
        if share < STALLED or not any(is_load(instruction) for instruction in same):
            continue
        evidence = {"accesses to the same place each {turn}": counted(len(same)), "they take": percent(share)}
        remedy = (
            "Load it before the {loop}, keep it in a register, and store it behind. The compiler does not "
            "where another pointer may be the same (__restrict__)."
        )
        change = Change(without=gone)
        return Seen(evidence, change, remedy, facts.dearest(gone), facts.is_over_k(loop))
    return None


def early_wait(facts: Facts) -> Seen | None:
    """Loads that could be issued one iteration earlier, and for which registers are free."""
    for loop in facts.loops:
        share, waits, loads = _loop_loads(facts, loop)
        free = set(loads) - loop.decided_by_loads()
        if share < STALLED or not free:
            continue
        width = sum(o.width for a in free for o in facts.code[a].dst if o.kind in ("v", "a"))
        if not _fit(facts, width):
            continue
        evidence = {"waits for memory": percent(share), "loads of a {turn}": counted(len(loads))}
        remedy = "Load a {turn} ahead, and wait by vmcnt(n) for what is needed alone."
        change = _ahead(facts, loop, waits)
        return Seen(evidence, change, remedy, facts.dearest(free), facts.is_over_k(loop))
    return None


def chained_loads(facts: Facts) -> Seen | None:
    """Loads whose address comes from the previous load."""
    for loop in facts.loops:
        share, waits, loads = _loop_loads(facts, loop)
        chained = set(loads) & loop.decided_by_loads()
        if share < STALLED or not chained:
            continue
        evidence = {"waits for memory": percent(share), "loads that wait for a load": counted(len(chained))}
        remedy = (
            "Follow two chains or more at a time, in a work-item or with more waves: each hides the others."
        )
        return Seen(evidence, _ahead(facts, loop, waits), remedy, facts.dearest(chained))
    return None


def _loop_loads(facts: Facts, loop: InnerLoop) -> tuple[float, list[int], list[int]]:
    """Fraction of the waves' time at waits for a loop's own loads; these waits; and the loads."""
    inside = among(facts.stalls["WAIT_MEMORY"], loop)
    loads = {instruction.address for instruction in loop.code if is_load(instruction)}
    waits = sorted(a for a in inside if set(facts.waited_for.get(a, ())) & loads)
    share = sum(facts.stalls["WAIT_MEMORY"][a] for a in waits)
    return share, waits, sorted({load for a in waits for load in facts.waited_for[a]} & loads)


def _ahead(facts: Facts, loop: InnerLoop, waits: Sequence[int]) -> Change:
    """A change that lets the requests of a whole iteration be in flight at its waits."""
    requests = sum(
        facts.counts[i.address]
        for i in loop.code
        if i.record.memory is not None and i.record.memory.space in (*VECTOR_MEMORY, Space.SCRATCH)
    )
    return Change(ahead=frozenset((a, min(63, round(requests / facts.counts[a]))) for a in waits))


def _fit(facts: Facts, width: int) -> bool:
    """True if the unit still holds as many waves with this many more vector registers."""
    resources, target = facts.profile.resources, facts.profile.machine.target
    return waves_of_registers(target.name, resources.total_vgprs + width) >= facts.waves_at_once


def moved_wait(facts: Facts) -> Seen | None:
    """Waits that are far ahead of the first use of the loaded data."""
    places: dict[int, int] = {}
    for block in facts.blocks:
        for row, address in enumerate(block):
            if facts.stalls["WAIT_MEMORY"].get(address, 0.0) < STALLED:
                continue
            loads = [facts.code[a] for a in facts.waited_for.get(address, ()) if a in facts.code]
            results = set().union(*(registers(load.dst) for load in loads))
            rest = [facts.code[a] for a in block[row + 1 :] if a in facts.code]
            gap = next((n for n, i in enumerate(rest) if registers(read(i)) & results), 0)
            if gap >= _FAR:
                # A wait right after this one would wait for the same loads.
                waits = [i.address for i in rest[:gap] if requests_left(i, Request.LOAD) is not None]
                places |= dict.fromkeys((address, *waits), rest[gap].address)
    if not places:
        return None
    share = sum(facts.stalls["WAIT_MEMORY"].get(a, 0.0) for a in places)
    remedy = "What follows does not need the load yet: wait right before its first use."
    worst = max(places, key=lambda a: facts.stalls["WAIT_MEMORY"].get(a, 0.0))
    return Seen({"waits for memory": percent(share)}, Change(moved=frozenset(places.items())), remedy, worst)


def short_loop(facts: Facts) -> Seen | None:
    """A loop with few instructions, whose jump back takes as long as they do."""
    for loop in facts.loops:
        if len(loop.code) > _SHORT or loop.branches() != 1:
            continue
        overhead = _overhead(loop)
        share = facts.spent_on(overhead)
        if share < STALLED:
            continue
        evidence = {
            "instructions of a {turn}": counted(len(loop.code)),
            "of them to count and jump": counted(len(overhead)),
            "these take": percent(share),
        }
        remedy = "Unroll it by four or more: at each jump the wave waits for the fetch of its target."
        change = Change(unrolled=overhead)
        return Seen(evidence, change, remedy, loop.code[-1].address, facts.is_over_k(loop))
    return None


def _overhead(loop: InnerLoop) -> frozenset[int]:
    """Instructions that an unrolled loop executes only once in several iterations: jump, condition, steps."""
    jump = loop.code[-1]
    overhead, condition = (
        {jump.address},
        registers(read(jump)) | registers([unnamed(jump.form.target)[Registers.VCC]]),
    )
    for instruction in loop.code[:-1]:
        results = registers(written(instruction))
        is_step = any(o.kind == "imm" for o in instruction.src) and bool(
            registers(instruction.dst) & registers(instruction.src)
        )
        is_plain = instruction.record.arithmetic is None and instruction.record.pipeline in ("salu", "valu")
        is_condition = bool(results) and results <= condition
        if is_plain and (is_step or is_condition):
            overhead.add(instruction.address)
    return frozenset(overhead)


def idle_barriers(facts: Facts) -> Seen | None:
    """Barriers of a loop that shares nothing between them."""
    for loop in facts.loops:
        barriers = [i.address for i in loop.code if i.record.control is Control.BARRIER]
        share = sum(facts.stalls["AT_BARRIER"].get(address, 0.0) for address in barriers)
        if not barriers or share < STALLED or any(i.record.memory is not None for i in loop.code):
            continue
        evidence = {"waits at barriers": percent(share), "accesses between them": counted(0)}
        remedy = "Nothing is shared between these barriers: leave them out."
        return Seen(evidence, Change(without=frozenset(barriers)), remedy, barriers[0])
    return None


def atomics(facts: Facts) -> Seen | None:
    """Atomics of a loop to the same place in every iteration."""
    for loop in facts.loops:
        mine = [i for i in loop.code if goes_to(i, VECTOR_MEMORY, Access.ATOMIC)]
        same = frozenset(i.address for i in mine if loop.is_same_each_turn(i))
        if same:
            some = sum(facts.counts[a] for a in same)
            remedy = "Add up in a register, and send one atomic behind the {loop}."
            evidence, over_k = {"atomics": counted(some)}, facts.is_over_k(loop)
            return Seen(evidence, Change(without=same), remedy, facts.dearest(same), over_k)
    return None


def few_lanes(facts: Facts) -> Seen | None:
    """Loops for which few lanes work."""
    wave = facts.profile.machine.target.wave_size
    for loop in facts.loops:
        lanes = [part for i in loop.code if (part := _lanes(facts, i)) is not None]
        share = facts.spent_on(loop.addresses)
        if not lanes or max(lanes) > _FEW_LANES or share < STALLED:
            continue
        evidence = {
            "lanes at work": modelled(round(wave * max(lanes), 1), f"of {wave}"),
            "the {loop} takes": percent(share),
        }
        remedy = "Share the work out to all lanes (a tree of __shfl_xor, or a reduction of the tile library)."
        change = Change(without=loop.addresses)
        return Seen(evidence, change, remedy, loop.code[0].address, facts.is_over_k(loop))
    return None


def _lanes(facts: Facts, instruction: Instruction) -> float | None:
    """Average fraction of the lanes that take part in a memory access; None for other instructions."""
    memory, address = instruction.record.memory, instruction.address
    if memory is None or not memory.bytes or memory.space not in (Space.LDS, *VECTOR_MEMORY):
        return None
    moved = facts.costs("lds_bytes" if memory.space is Space.LDS else "bytes").get(address, 0.0)
    whole = facts.counts.get(address, 0) * memory.bytes * facts.profile.machine.target.wave_size
    return moved / whole if whole and moved else None
