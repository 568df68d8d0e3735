"""The rules of `profile.advice`: what each looks at, and what to change. A rule is one record here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Space, Trait
from workbench.profile.facts import Facts, Seen, counted, modelled, percent
from workbench.profile.what_if import Change

Look = Callable[[Facts], Seen | None]


@dataclass(frozen=True)
class Rule:
    """One thing that may be wrong.

    Attributes:
        key: short name.
        title: what is wrong, in words.
        look: what it saw of it in a profile; None where all is well.
    """

    key: str
    title: str
    look: Look


_STALLED = 0.15
"""Part of the waves' time that a reason must take before a rule looks at it."""


def _stall(reason: str, name: str, what: str, *, every: int = 1) -> Look:
    """Waves stand before some instructions; tried without these, or every second one of them."""

    def look(facts: Facts) -> Seen | None:
        share, worst = facts.stalled(reason)
        if share < _STALLED or worst is None:
            return None
        # Two chains side by side take as long as one of half the length.
        change = Change(without=frozenset(sorted(facts.stalls[reason])[every - 1 :: every]))
        return Seen({name: percent(share)}, change, what, worst)

    return look


def _occupancy(limit: str, what: str) -> Look:
    """More would fit if less of something were used, and waves stand and wait."""

    def look(facts: Facts) -> Seen | None:
        fits = facts.profile.resources.occupancy
        waiting = sum(facts.stalled(r)[0] for r in ("WAIT_MEMORY", "WAIT_LDS", "DEPENDENCE", "AT_BARRIER"))
        units = int(facts.profile.machine.compute_units)
        more = -(-facts.groups // units) > fits.groups_per_cu
        if fits.limit != limit or waiting < _STALLED or not more or fits.waves_per_simd >= fits.most:
            return None
        wanted = fits.waves_per_simd * (fits.groups_per_cu + 1) / fits.groups_per_cu
        evidence = {
            "waves of a SIMD": counted(fits.waves_per_simd),
            "waves wait": percent(waiting),
        }
        return Seen(evidence, Change(waves_per_simd=wanted), what)

    return look


def _without(name: str, chosen: Callable[[Instruction], bool], least: float, of: str, what: str) -> Look:
    """Some instructions take much of the issue of all vector instructions."""

    def look(facts: Facts) -> Seen | None:
        mine = facts.ran(chosen)
        vector = facts.ran(lambda i: i.record.pipeline in ("valu", "trans"))
        total, some = sum(vector.values()), sum(mine.values())
        if not total or some < least * total:
            return None
        evidence = {name: counted(some), of: counted(total)}
        return Seen(evidence, Change(without=frozenset(mine)), what, max(mine, key=lambda a: mine[a]))

    return look


def _is_conversion(instruction: Instruction) -> bool:
    return Trait.CONVERTS in instruction.record.traits


def _vector_memory(instruction: Instruction, access: Access | None = None) -> bool:
    memory = instruction.record.memory
    wanted = (Space.GLOBAL, Space.FLAT, Space.BUFFER)
    return memory is not None and memory.space in wanted and (access is None or memory.access is access)


def _scratch(instruction: Instruction) -> bool:
    memory = instruction.record.memory
    return memory is not None and memory.space is Space.SCRATCH


def _conflicts(facts: Facts) -> Seen | None:
    lost, active = facts.counter("SQ_LDS_BANK_CONFLICT"), facts.counter("SQ_LDS_IDX_ACTIVE")
    if not active or lost < 0.1 * (active - lost):
        return None
    worst = facts.costs("bank_conflicts")
    return Seen(
        {"SQ_LDS_BANK_CONFLICT": counted(lost, "cycles"), "SQ_LDS_IDX_ACTIVE": counted(active, "cycles")},
        Change(bank_conflicts=0),
        "Lanes that are served together use the same banks: swizzle or pad the shared tile "
        "(docs/bank_conflicts.md).",
        max(worst, key=lambda a: worst[a], default=None),
    )


def _uncoalesced(access: Access, what: str) -> Look:
    def look(facts: Facts) -> Seen | None:
        asked, moved = facts.costs("bytes"), facts.costs("bytes_moved")
        mine = [a for a in asked if a in facts.code and _vector_memory(facts.code[a], access)]
        wanted, used = sum(asked[a] for a in mine), sum(moved.get(a, 0) for a in mine)
        if not wanted or used < 1.5 * wanted:
            return None
        evidence = {"asked for": counted(wanted, "bytes"), "moved": counted(used, "bytes")}
        worst = max(mine, key=lambda a: moved.get(a, 0) - asked[a])
        return Seen(evidence, Change(coalesced=True), what, worst)

    return look


def _narrow(facts: Facts) -> Seen | None:
    """Loads of at most 4 bytes a lane of which four neighbours could be one."""
    loads = facts.ran(lambda i: _vector_memory(i, Access.LOAD) and not i.modifiers.get("lds"))
    narrow = {
        a: n
        for a, n in loads.items()
        if (memory := facts.code[a].record.memory) is not None and memory.bytes <= 4 and not memory.to_lds
    }
    if len(narrow) < 4 or sum(narrow.values()) < 0.5 * sum(loads.values()):
        return None
    ordered = sorted(narrow)
    return Seen(
        {
            "loads of 4 bytes a lane or less": counted(sum(narrow.values())),
            "loads": counted(sum(loads.values())),
        },
        Change(without=frozenset(a for n, a in enumerate(ordered) if n % 4)),
        "Load 16 bytes a lane at once (float4, or a tile's own loads).",
        ordered[0],
    )


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
    if facts.groups >= units or facts.model.seconds < 4 * facts.model.overhead:
        return None
    return Seen(
        {"work-groups": counted(facts.groups), "compute units": counted(units)},
        Change(spread=facts.groups / units),
        "Compute units stay empty: smaller tiles, or split the sum over K.",
    )


def _tail(facts: Facts) -> Seen | None:
    units = int(facts.profile.machine.compute_units) * facts.profile.resources.occupancy.groups_per_cu
    rounds = facts.groups / units
    full = -(-facts.groups // units)
    if rounds <= 1 or rounds / full > 0.9:
        return None
    return Seen(
        {"rounds of work-groups": counted(round(rounds, 2)), "rounds that it takes": counted(full)},
        Change(spread=rounds / full),
        "The last round leaves most of the chip empty: another tile size, a persistent kernel, or stream K.",
    )


def _launch(facts: Facts) -> Seen | None:
    model = facts.model
    if model.overhead < 0.25 * model.seconds:
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
        "Vector instructions keep the matrix cores waiting: move addresses and scales out of the loop.",
        max(vector, key=lambda a: vector[a]),
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
    """Dot products of vector instructions where the matrix cores idle."""
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
        "Products of matrices on the vector ALUs: the matrix cores do many times as many a clock.",
        max(fma, key=lambda a: fma[a]),
    )


def _trans(instruction: Instruction) -> bool:
    return instruction.record.pipeline == "trans"


def _integer(instruction: Instruction) -> bool:
    return Trait.WIDE_INTEGER in instruction.record.traits


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
    Rule("few-groups", "Fewer work-groups than compute units", _few_groups),
    Rule("tail", "The last round is nearly empty", _tail),
    Rule("launch", "The launch takes much of the time", _launch),
    Rule("conflicts", "LDS bank conflicts", _conflicts),
    Rule(
        "loads-scattered",
        "Loads touch more than they use",
        _uncoalesced(
            Access.LOAD, "Neighbouring lanes should load neighbouring addresses: transpose through LDS."
        ),
    ),
    Rule(
        "stores-scattered",
        "Stores touch more than they write",
        _uncoalesced(
            Access.STORE, "Neighbouring lanes should store to neighbouring addresses: transpose through LDS."
        ),
    ),
    Rule("narrow-loads", "Loads of a few bytes a lane", _narrow),
    Rule("repeated-loads", "The same bytes are loaded many times", _repeated),
    Rule("tile-order", "L2 serves little of what is read again", _tile_order),
    Rule(
        "early-wait",
        "Waits for memory stand too early",
        _stall(
            "WAIT_MEMORY",
            "waits for memory",
            "Load a turn ahead, and wait by vmcnt(n) for what is needed alone.",
        ),
    ),
    Rule(
        "lds-wait",
        "Waits for LDS stand too early",
        _stall("WAIT_LDS", "waits for LDS", "Read the next fragments while the present ones are used."),
    ),
    Rule(
        "scalar-wait",
        "Waits for scalar loads",
        _stall("WAIT_SCALAR", "waits for scalar loads", "Load arguments and offsets once, before the loop."),
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
            every=2,
        ),
    ),
    Rule(
        "lds-port",
        "LDS is asked for more than it serves",
        _stall("LDS_PORT", "waits for the LDS port", "Wider reads, or fragments kept in registers."),
    ),
    Rule(
        "memory-queue",
        "The queue of vector memory is full",
        _stall("MEMORY_QUEUE", "waits for the queue", "Wider accesses: 16 bytes a lane."),
    ),
    Rule(
        "idling",
        "s_nop and s_sleep take much of the time",
        _stall("IDLING", "idles", "Independent instructions in place of s_nop."),
    ),
    Rule("spills", "Registers are spilled", _spills),
    Rule("matrix-loop", "Vector instructions beside the matrix instructions", _vector_in_matrix_loop),
    Rule("no-matrix-cores", "Matrix products without matrix cores", _scalar_matrix),
    Rule(
        "conversions",
        "Conversions of types",
        _without(
            "conversions",
            _is_conversion,
            0.2,
            "vector instructions",
            "Convert once, packed (v_cvt_pk), or keep the type.",
        ),
    ),
    Rule(
        "transcendental",
        "Transcendental functions",
        _without(
            "transcendental",
            _trans,
            0.2,
            "vector instructions",
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
"""All of them."""
