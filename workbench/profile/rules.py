"""The rules of `profile.advice`, one record each: a condition in a profile and the change it suggests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Control, Space, Trait
from workbench.codeobject.instructions.roles import FLOAT_DIVISION, INTEGER_DIVISION
from workbench.profile.code_rules import (
    divergence,
    divided,
    is_conversion,
    is_double,
    is_product,
    is_transcendental,
    narrow_lds,
    narrow_loads,
    queue,
    slow,
)
from workbench.profile.facts import STALLED, Facts, Look, Seen, counted, modelled, percent
from workbench.profile.loop_rules import (
    atomics,
    chained_loads,
    early_wait,
    idle_barriers,
    moved_wait,
    same_each_turn,
    short_loop,
)
from workbench.profile.what_if import Change


@dataclass(frozen=True)
class Rule:
    """A rule for one kind of inefficiency.

    Attributes:
        key: short name of the rule.
        title: the fault, in words (`facts.loop_words`).
        look: returns its observation in a profile; None if there is no fault.
        explains: rules whose findings follow from this one's, and are listed after it.
        wastes: "LDS" or "memory", whose counters show the fault, so that readers expect to hear of it even if
            it costs no time; "" if it is of no interest then.
    """

    key: str
    title: str
    look: Look
    explains: tuple[str, ...] = ()
    wastes: str = ""


LAUNCH_SHARE = 1 / 3
"""Share of a time from which on its launch is a finding.

A kernel that reads its arguments and then memory, nothing else, takes 0.9 us beside the 0.6 us of its launch.
"""

_UNEVEN = 1.3
"""Ratio of the busiest wave's issue to the mean from which on waves count as unequal."""


def _stall(reason: str, name: str, remedy: str, *, chained: bool = False) -> Look:
    """A rule for stalls, modelled without the stalled instructions, or with two independent chains."""

    def look(facts: Facts) -> Seen | None:
        share, worst = facts.stalled(reason)
        if share < STALLED or worst is None:
            return None
        change = Change(without=frozenset(facts.stalls[reason]))
        if chained:
            # Two chains side by side: each waits for its own results while the other continues.
            vector = facts.ran(lambda i: i.record.pipeline in ("valu", "trans", "mfma"))
            change = Change(independent=frozenset(vector))
        return Seen({name: percent(share)}, change, remedy, worst, facts.has_k)

    return look


def _occupancy(limit: str, remedy: str) -> Look:
    """A rule for launches with waiting waves, where using less of a resource would let more waves fit."""

    def look(facts: Facts) -> Seen | None:
        fits = facts.profile.resources.occupancy
        waiting = sum(facts.stalled(r)[0] for r in ("WAIT_MEMORY", "WAIT_LDS", "DEPENDENCE", "AT_BARRIER"))
        units = int(facts.profile.machine.compute_units)
        more = -(-facts.groups // units) > fits.groups_per_cu
        if fits.limit != limit or waiting < STALLED or not more or fits.waves_per_simd >= fits.most:
            return None
        more_waves = fits.waves_per_simd * (fits.groups_per_cu + 1) / fits.groups_per_cu
        evidence = {
            "waves of a SIMD": counted(fits.waves_per_simd),
            "waves wait": percent(waiting),
        }
        return Seen(evidence, Change(waves_per_simd=more_waves), remedy)

    return look


def _without(name: str, matches: Callable[[Instruction], bool], least: float, of: str, remedy: str) -> Look:
    """Some instructions take much of the issue of all vector instructions."""

    def look(facts: Facts) -> Seen | None:
        mine = facts.ran(matches)
        vector = facts.ran(lambda i: i.record.pipeline in ("valu", "trans"))
        total, some = sum(vector.values()), sum(mine.values())
        if not total or some < least * total:
            return None
        evidence = {name: counted(some), of: counted(total)}
        return Seen(evidence, Change(without=frozenset(mine)), remedy, max(mine, key=lambda a: mine[a]))

    return look


def _vector_memory(instruction: Instruction, access: Access | None = None) -> bool:
    memory = instruction.record.memory
    spaces = (Space.GLOBAL, Space.FLAT, Space.BUFFER)
    return memory is not None and memory.space in spaces and (access is None or memory.access is access)


def _scratch(instruction: Instruction) -> bool:
    memory = instruction.record.memory
    return memory is not None and memory.space is Space.SCRATCH


def _conflicts(facts: Facts) -> Seen | None:
    names = ("SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE")
    lost, active = map(facts.counter, names)
    if not active or lost < 0.1 * (active - lost):
        return None
    worst = facts.costs("bank_conflicts")
    return Seen(
        {name: facts.profile.counters[name] for name in names},
        Change(bank_conflicts=0),
        "Lanes that are served together use the same banks: swizzle or pad the shared tile "
        "(docs/bank_conflicts.md).",
        max(worst, key=lambda a: worst[a], default=None),
    )


def _uncoalesced(access: Access, remedy: str) -> Look:
    def look(facts: Facts) -> Seen | None:
        asked, moved = facts.costs("bytes"), facts.costs("bytes_moved")
        mine = [a for a in asked if a in facts.code and _vector_memory(facts.code[a], access)]
        requested, used = sum(asked[a] for a in mine), sum(moved.get(a, 0) for a in mine)
        if not requested or used < 1.5 * requested:
            return None
        evidence = {"asked for": counted(requested, "bytes"), "moved": counted(used, "bytes")}
        worst = max(mine, key=lambda a: moved.get(a, 0) - asked[a])
        return Seen(evidence, Change(coalesced=True), remedy, worst)

    return look


def _repeated(facts: Facts) -> Seen | None:
    asked = facts.counter("bytes_read")
    distinct = facts.profile.argument_bytes
    if not distinct or asked < 4 * distinct:
        return None
    return Seen(
        {"bytes read": counted(asked, "bytes"), "bytes of all arguments": counted(distinct, "bytes")},
        Change(l1_hit=1.0),
        "The same bytes are loaded again and again: keep them in LDS or registers, or take larger tiles.",
    )


def _tile_order(facts: Facts) -> Seen | None:
    caches = facts.profile.caches
    if caches is None:
        return None
    total = caches.total
    rate = total.l2_read_hits / total.l2_reads if total.l2_reads else 1.0
    if rate > 0.7 or facts.counter("bytes_read") < 2 * facts.profile.argument_bytes:
        return None
    return Seen(
        {"L2 hit rate": modelled(round(100 * rate, 1), "%")},
        Change(l2_hit=0.85),
        "Work-groups of a die read different data: take tiles in windows and in runs to an XCD "
        "(schedules::chiplet_tile).",
    )


def _few_groups(facts: Facts) -> Seen | None:
    units = int(facts.profile.machine.compute_units)
    if facts.groups >= units or facts.model.seconds < 2 * facts.model.overhead:
        return None
    smaller = (
        "smaller tiles, or the sum over K split among work-groups" if facts.has_k else "smaller work-groups"
    )
    return Seen(
        {"work-groups": counted(facts.groups), "compute units": counted(units)},
        Change(spread=facts.groups / units),
        f"Compute units stay empty: {smaller}.",
    )


def _idling(facts: Facts) -> Seen | None:
    """Instructions that do nothing but let time pass."""
    idle = frozenset(facts.ran(lambda i: i.record.control in (Control.IDLE, Control.SLEEP)))
    share = facts.stalled("IDLING")[0]
    if share < STALLED or not idle:
        return None
    remedy = "Independent instructions in place of s_nop; a barrier or s_waitcnt in place of s_sleep."
    return Seen({"idles": percent(share)}, Change(without=idle), remedy, facts.dearest(idle))


def _few_waves(facts: Facts) -> Seen | None:
    """Every unit has work, but some of its SIMDs do not."""
    simds, waves = facts.profile.machine.target.simds, facts.waves_at_once
    if facts.groups < int(facts.profile.machine.compute_units) or waves >= simds:
        return None
    return Seen(
        {"waves of a compute unit": counted(waves), "SIMDs of it": counted(simds)},
        Change(spread=waves / simds, over="unit"),
        "SIMDs stay empty: work-groups of at least four waves, each with less to do, or more of them.",
    )


def _imbalance(facts: Facts) -> Seen | None:
    """Some waves of a work-group issue more than others, which wait for them at barriers."""
    share, worst = facts.stalled("AT_BARRIER")
    run = facts.model.simulation
    if share < STALLED or run is None:
        return None
    groups: dict[int, list[float]] = {}
    for wave in run.unit.waves:
        groups.setdefault(wave.group, []).append(wave.busy)
    uneven = max(max(busy) * len(busy) / (sum(busy) or 1.0) for busy in groups.values())
    if uneven < _UNEVEN:
        return None
    return Seen(
        {"the busiest wave does": modelled(round(uneven, 2), "times the mean"), "waits": percent(share)},
        Change(spread=1 - share, over="waves"),
        "One wave works while the others wait for it: give each an equal part.",
        worst,
    )


def _tail(facts: Facts) -> Seen | None:
    units = int(facts.profile.machine.compute_units) * facts.profile.resources.occupancy.groups_per_cu
    rounds = facts.groups / units
    full = -(-facts.groups // units)
    if rounds <= 1 or rounds / full > 0.9:
        return None
    another = "work-groups of another size, or a persistent kernel"
    if facts.has_k:
        another = "another tile size, a persistent kernel, or stream K"
    return Seen(
        {"rounds of work-groups": counted(round(rounds, 2)), "rounds that it takes": counted(full)},
        Change(spread=rounds / full),
        f"The last round leaves most of the chip empty: {another}.",
    )


def _launch(facts: Facts) -> Seen | None:
    model = facts.model
    if model.overhead < LAUNCH_SHARE * model.seconds:
        return None
    return Seen(
        {
            "launch": modelled(round(model.overhead * 1e6, 2), "us", model.error),
            "kernel": modelled(round(model.seconds * 1e6, 2), "us", model.error),
        },
        Change(launch=False),
        "Fuse it with its neighbours, or give one launch more work.",
    )


def _matrix_blocks(facts: Facts) -> set[int]:
    """Instructions of basic blocks with matrix instructions."""
    steps = facts.profile.record.steps
    blocks = steps.blocks if steps is not None else ()
    return {
        address
        for block in blocks
        if any(a in facts.code and facts.code[a].record.matrix is not None for a in block)
        for address in block
    }


def _vector_in_matrix_loop(facts: Facts) -> Seen | None:
    loop = _matrix_blocks(facts)
    vector = facts.ran(lambda i: i.address in loop and i.record.pipeline in ("valu", "trans"))
    matrix = facts.ran(lambda i: i.record.matrix is not None)
    if not matrix or sum(vector.values()) < 1.0 * sum(matrix.values()):
        return None
    return Seen(
        {
            "vector instructions beside MFMA": counted(sum(vector.values())),
            "MFMA": counted(sum(matrix.values())),
        },
        Change(without=frozenset(vector)),
        "Vector instructions keep the matrix cores waiting: move addresses and scales out of the {loop}.",
        max(vector, key=lambda a: vector[a]),
        facts.has_k,
    )


def _spills(facts: Facts) -> Seen | None:
    resources = facts.profile.resources
    accesses = facts.ran(_scratch)
    if not (resources.scratch or resources.vgpr_spills) or not accesses:
        return None
    return Seen(
        {"scratch": counted(resources.scratch, "bytes"), "accesses to it": counted(sum(accesses.values()))},
        Change(without=frozenset(accesses)),
        "Values do not stay in registers: smaller tiles, less unrolling, constant indices.",
        max(accesses, key=lambda a: accesses[a]),
    )


def _scalar_matrix(facts: Facts) -> Seen | None:
    """Dot products of vector instructions while the matrix cores idle."""
    fma = facts.ran(lambda i: i.record.arithmetic is not None and i.record.arithmetic.kind == "FMA")
    vector = facts.ran(lambda i: i.record.pipeline in ("valu", "trans"))
    flops = facts.profile.work.get("flops", 0)
    reused = flops > 16 * max(1, facts.profile.argument_bytes)
    if facts.counter("SQ_INSTS_MFMA") or not vector or not reused:
        return None
    if sum(fma.values()) < 0.3 * sum(vector.values()):
        return None
    return Seen(
        {"fused multiply-adds": counted(sum(fma.values())), "MFMA": counted(0)},
        Change(without=frozenset(fma)),
        "Products of matrices on the vector ALUs: the matrix cores do many times as many per clock.",
        max(fma, key=lambda a: fma[a]),
    )


def _integer(instruction: Instruction) -> bool:
    return Trait.WIDE_INTEGER in instruction.record.traits


_SCATTERED = ("early-wait", "memory-queue", "tile-order", "narrow-loads", "repeated-loads", "many-loads")
_SPILLED = (*_SCATTERED, "chained-loads", "loads-scattered", "stores-scattered", "registers", "wait-moved")
"""Rules whose observations also follow from uncoalesced accesses and from scratch."""

RULES: tuple[Rule, ...] = (
    Rule(
        "registers",
        "Vector registers limit the waves",
        _occupancy(
            "vector registers", "Fewer live values, smaller tiles, or __launch_bounds__ with more waves."
        ),
    ),
    Rule(
        "scalars",
        "Scalar registers limit the waves",
        _occupancy("scalar registers", "Fewer uniform values at a time."),
    ),
    Rule(
        "lds-size",
        "LDS limits the work-groups of a unit",
        _occupancy("LDS", "Smaller shared tiles, or one buffer less."),
    ),
    Rule(
        "block-size",
        "The next whole work-group does not fit",
        _occupancy("work-group size", "Work-groups of fewer waves."),
    ),
    Rule(
        "few-groups",
        "Fewer work-groups than compute units",
        _few_groups,
        ("early-wait", "short-loop", "few-waves"),
    ),
    Rule("few-waves", "Fewer waves than SIMDs", _few_waves, ("early-wait", "short-loop", "chained-loads")),
    Rule("tail", "The last round is nearly empty", _tail),
    Rule("launch", "The launch takes much of the time", _launch),
    Rule(
        "conflicts",
        "LDS bank conflicts",
        _conflicts,
        ("lds-wait", "lds-port", "narrow-lds", "barriers", "early-wait"),
        wastes="LDS",
    ),
    Rule(
        "loads-scattered",
        "Loads touch more than they use",
        _uncoalesced(
            Access.LOAD, "Neighbouring lanes should load neighbouring addresses: transpose through LDS."
        ),
        _SCATTERED,
    ),
    Rule(
        "stores-scattered",
        "Stores touch more than they write",
        _uncoalesced(
            Access.STORE, "Neighbouring lanes should store to neighbouring addresses: transpose through LDS."
        ),
        _SCATTERED,
    ),
    Rule("narrow-loads", "Loads of a few bytes a lane", narrow_loads, ("memory-queue", "early-wait")),
    Rule("narrow-lds", "Reads of a few bytes a lane from LDS", narrow_lds, ("lds-port", "lds-wait")),
    Rule(
        "repeated-loads",
        "The same place is loaded in each {turn}",
        same_each_turn,
        ("early-wait", "chained-loads", "many-loads"),
    ),
    Rule("many-loads", "The same bytes are loaded many times", _repeated),
    Rule("tile-order", "L2 serves little of what is read again", _tile_order),
    Rule("wait-moved", "A wait stands before other work", moved_wait, ("early-wait",)),
    Rule("early-wait", "Each {turn} waits for its own loads", early_wait, ("memory-queue",)),
    Rule("chained-loads", "Each load waits for the one before", chained_loads),
    Rule("short-loop", "A short {loop} waits for its jump", short_loop),
    Rule(
        "imbalance",
        "Waves of a work-group have unequal work",
        _imbalance,
        ("barriers", "idle-barriers", "lds-wait", "short-loop"),
    ),
    Rule(
        "idle-barriers", "Barriers between which nothing is shared", idle_barriers, ("barriers", "short-loop")
    ),
    Rule(
        "atomics",
        "An atomic in each {turn}",
        atomics,
        ("early-wait", "chained-loads", "memory-queue", "repeated-loads"),
    ),
    Rule(
        "divergence",
        "Lanes of a wave take different branches",
        divergence,
        ("lds-wait", "barriers", "short-loop", "imbalance", "narrow-lds"),
    ),
    Rule(
        "division",
        "Divisions of floats",
        divided(
            FLOAT_DIVISION,
            "divisions",
            "Multiply by a reciprocal that is computed once, or by __builtin_amdgcn_rcpf.",
            integer=False,
        ),
        ("transcendental",),
    ),
    Rule(
        "integer-division",
        "Divisions of integers",
        divided(
            INTEGER_DIVISION,
            "quotients",
            "No instruction divides: shifts for powers of two, steps in loops, constant divisors.",
            integer=True,
        ),
        ("integer-products", "conversions", "transcendental", "addresses"),
    ),
    Rule(
        "integer-products",
        "Products of 32-bit integers",
        slow(
            is_product,
            "products",
            "Each takes four turns: 24-bit ones (__umul24), shifts and sums, or steps take one.",
        ),
        ("addresses",),
    ),
    Rule(
        "fp64",
        "Double precision",
        slow(
            is_double,
            "instructions of doubles",
            "A literal without f (0.3) makes doubles, and so does sqrt of one: 0.3f, sqrtf.",
            is_conversion,
        ),
        ("conversions", "dependence", "transcendental"),
    ),
    Rule(
        "lds-wait",
        "Waits for LDS stand too early",
        _stall("WAIT_LDS", "waits for LDS", "Read the next fragments while the present ones are used."),
    ),
    Rule(
        "scalar-wait",
        "Waits for scalar loads",
        _stall(
            "WAIT_SCALAR", "waits for scalar loads", "Load arguments and offsets once, before the {loop}."
        ),
    ),
    Rule(
        "barriers",
        "Waves wait for each other at barriers",
        _stall(
            "AT_BARRIER",
            "waits at barriers",
            "Fewer barriers: two buffers, or waves that share nothing between them.",
        ),
    ),
    Rule(
        "dependence",
        "Each instruction waits for the one before",
        _stall(
            "DEPENDENCE",
            "waits for results",
            "Two or more independent chains: several accumulators, unrolling.",
            chained=True,
        ),
    ),
    Rule(
        "lds-port",
        "LDS is asked for more than it serves",
        _stall("LDS_PORT", "waits for the LDS port", "Wider reads, or fragments kept in registers."),
    ),
    Rule("memory-queue", "The queue of vector memory is full", queue),
    Rule("idling", "s_nop and s_sleep take much of the time", _idling),
    Rule("spills", "Registers are spilled", _spills, _SPILLED, wastes="memory"),
    Rule("matrix-loop", "Vector instructions beside the matrix instructions", _vector_in_matrix_loop),
    Rule("no-matrix-cores", "Matrix products without matrix cores", _scalar_matrix),
    Rule(
        "conversions",
        "Conversions of types",
        _without(
            "conversions",
            is_conversion,
            0.2,
            "vector instructions",
            "Convert once, packed (v_cvt_pk), or keep the type.",
        ),
    ),
    Rule(
        "transcendental",
        "Transcendental functions",
        slow(
            is_transcendental,
            "transcendental",
            "exp2 with the scale folded in; one reciprocal for many divisions.",
        ),
    ),
    Rule(
        "addresses",
        "Integer arithmetic of addresses",
        _without(
            "integer instructions",
            _integer,
            0.3,
            "vector instructions",
            "Step pointers by constants; 32-bit offsets from a uniform base.",
        ),
    ),
)
"""All rules of advice, in the order in which they are shown."""
