"""One wave's path through a kernel, reconstructed from execution counts: issue cycles and waits.

A wave issues in order. It stops at a wait until the loads that it names have returned, and at an MFMA
while the matrix core is busy with the one before; everything else takes its issue cycles. `flow` extracts
what that needs from a counted launch; `walk` computes the cycles of an average wave that has its SIMD to
itself.

The path of a wave to a block is not counted, only how often the block ran. So every block is entered with the
loads in flight that its most frequent predecessor left (edge counts follow from block counts if one side has
a single edge).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.codeobject.instructions import Control
from workbench.codeobject.waits import requests_left
from workbench.profile.issue import issue_cycles
from workbench.targets import Request

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.targets import Timing

_SWEEPS = 3
_IN_FLIGHT = 64


@dataclass(frozen=True)
class Step:
    """One instruction, from the point of view of a wave.

    Attributes:
        kind: "issue", "mfma", "memory" (a vector memory load), "scalar" (a scalar load), "lds" or "wait".
        address: address of the instruction.
        cycles: cycles that it takes, of issue or of the matrix core.
        memory_left, local_left: for a wait, loads from memory, and LDS or scalar ones, that may still be in
            flight after it; None if it does not wait for them.
    """

    kind: str
    cycles: int
    memory_left: int | None = None
    local_left: int | None = None
    address: int = 0


@dataclass
class Block:
    """A basic block.

    Attributes:
        count: executions by waves.
        steps: instructions of the block.
        before: the most frequent predecessor's index; None for the first.
    """

    count: int
    steps: list[Step]
    before: int | None = None


@dataclass(frozen=True)
class Walk:
    """Cycles of an average wave alone on its SIMD, from its first to its last instruction.

    Attributes:
        issue: cycles of issuing, and of waiting for the matrix core.
        memory: cycles of waiting for loads from memory, without those in which it issued.
        lds: cycles of waiting for LDS, likewise.
    """

    issue: float
    memory: float
    lds: float

    @property
    def total(self) -> float:
        return self.issue + self.memory + self.lds


_KINDS = {"mfma": "mfma", "vmem_load": "memory", "flat_load": "memory", "smem": "scalar", "lds": "lds"}
"""Kinds of steps by pipeline; all others issue."""


def _step(instruction: Instruction, timing: Timing) -> Step:
    cycles, at = issue_cycles(instruction, timing), instruction.address
    if instruction.record.control is Control.WAIT:
        memory, local = (requests_left(instruction, kind) for kind in (Request.LOAD, Request.LDS))
        return Step("wait", cycles, memory, local, at)
    return Step(_KINDS.get(instruction.record.pipeline, "issue"), cycles, address=at)


def _target(instruction: Instruction) -> int | None:
    if instruction.record.pipeline != "branch":
        return None
    return next((int(o.value or 0) for o in instruction.src + instruction.dst if o.kind == "label"), None)


def flow(
    counts: Mapping[int, int], instructions: Mapping[int, Instruction], timing: Timing
) -> tuple[Block, ...]:
    """The executed blocks in address order, each with its most frequent predecessor."""
    executed = [a for a in sorted(counts) if counts[a] and a in instructions]
    targets = {t for a in executed if (t := _target(instructions[a])) is not None}
    blocks: list[Block] = []
    starts: dict[int, int] = {}
    ends: list[Instruction] = []
    for address in executed:
        instruction = instructions[address]
        last = ends[-1] if ends else None
        if (
            last is None
            or address in targets
            or last.record.pipeline == "branch"
            or last.address + last.size != address
            or blocks[-1].count != counts[address]
        ):
            starts[address] = len(blocks)
            blocks.append(Block(counts[address], []))
            ends.append(instruction)
        blocks[-1].steps.append(_step(instruction, timing))
        ends[-1] = instruction
    _choose_predecessors(blocks, starts, ends)
    return tuple(blocks)


def _choose_predecessors(
    blocks: Sequence[Block], starts: Mapping[int, int], ends: Sequence[Instruction]
) -> None:
    falls: list[int | None] = []
    jumps: list[int | None] = []
    ways = [0] * len(blocks)
    for end in ends:
        target = _target(end)
        jump = starts.get(target) if target is not None else None
        fall = starts.get(end.address + end.size) if end.record.flow.goes_on else None
        for to in (fall, jump):
            if to is not None:
                ways[to] += 1
        falls.append(fall)
        jumps.append(jump)
    best = [0] * len(blocks)
    for i, block in enumerate(blocks):
        fall, jump = falls[i], jumps[i]
        edges: list[tuple[int, int]] = []
        if fall is not None and jump is not None:
            if ways[jump] == 1:
                taken = blocks[jump].count
            else:
                taken = block.count - min(block.count, blocks[fall].count)
            taken = min(block.count, taken)
            edges = [(fall, block.count - taken), (jump, taken)]
        elif fall is not None:
            edges = [(fall, block.count)]
        elif jump is not None:
            edges = [(jump, block.count)]
        for to, count in edges:
            if count > best[to]:
                best[to], blocks[to].before = count, i


@dataclass
class _State:
    """A wave between two instructions; times in cycles, relative to now.

    Attributes:
        core: cycles until the matrix core is free.
        port: cycles until LDS has served all requests.
        memory, local: cycles until each load in flight returns, oldest first; LDS and scalar loads share a
            counter.
    """

    core: float = 0
    port: float = 0
    memory: deque[float] = field(default_factory=lambda: deque(maxlen=_IN_FLIGHT))
    local: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=_IN_FLIGHT))

    def copy(self) -> _State:
        return _State(self.core, self.port, deque(self.memory, _IN_FLIGHT), deque(self.local, _IN_FLIGHT))

    def shift(self, cycles: float) -> None:
        self.core = max(0.0, self.core - cycles)
        self.port = max(0.0, self.port - cycles)
        self.memory = deque((t - cycles for t in self.memory), _IN_FLIGHT)
        self.local = deque(((t - cycles, kind) for t, kind in self.local), _IN_FLIGHT)


def walk(
    blocks: Sequence[Block], waves: int, timing: Timing, *, memory_latency: float, lds_cycles: float
) -> Walk:
    """Cycles of an average wave.

    Args:
        blocks: blocks from `flow`.
        waves: waves of the launch.
        timing: timing of the target.
        memory_latency: cycles until a load from memory returns.
        lds_cycles: cycles that LDS is busy with one instruction, and with those that the other waves of the
            work-group send at the same time.
    """
    spent = _sweep(blocks, timing, memory_latency, lds_cycles)
    sums = [sum(s[k] * b.count for s, b in zip(spent, blocks, strict=True)) for k in range(3)]
    return Walk(*(total / max(waves, 1) for total in sums))


def stalls(
    blocks: Sequence[Block], timing: Timing, *, memory_latency: float, lds_cycles: float
) -> dict[int, float]:
    """Cycles for which waves stall at each instruction, by address, summed over all waves of the launch.

    They stall at a wait until its loads have returned, at an MFMA until the matrix core is free: this shows
    the place of a wait, not its cause. The same walk as `walk`, with the same arguments; instructions without
    a stall are absent.
    """
    waits: list[list[float]] = [[] for _ in blocks]
    _sweep(blocks, timing, memory_latency, lds_cycles, waits)
    by_address: dict[int, float] = {}
    for block, cycles in zip(blocks, waits, strict=True):
        for step, stall in zip(block.steps, cycles, strict=True):
            if stall:
                by_address[step.address] = by_address.get(step.address, 0.0) + stall * block.count
    return by_address


def _sweep(
    blocks: Sequence[Block],
    timing: Timing,
    memory_latency: float,
    lds_cycles: float,
    waits: Sequence[list[float]] | None = None,
) -> list[tuple[float, float, float]]:
    """Cycles of issue, memory and LDS waits of each block, entered as its predecessor left it.

    `waits` gets the stall at each step of each block.
    """
    outs = [_State() for _ in blocks]
    spent = [(0.0, 0.0, 0.0)] * len(blocks)
    for _ in range(_SWEEPS):
        for i, block in enumerate(blocks):
            state = outs[block.before].copy() if block.before is not None else _State()
            at: list[float] = []
            spent[i] = _run(block.steps, state, timing, memory_latency, lds_cycles, at)
            outs[i] = state
            if waits is not None:
                waits[i][:] = at
    return spent


def _run(
    steps: Sequence[Step],
    state: _State,
    timing: Timing,
    memory_latency: float,
    lds_cycles: float,
    at: list[float],
) -> tuple[float, float, float]:
    """Runs a block from `state`, which becomes the state after it; cycles of issue, memory and LDS waits.

    `at` gets the stall at each step.
    """
    now = issue = memory = lds = 0.0
    core, port = state.core, state.port
    turn = int(timing.turn)
    # The latency was measured by chasing pointers, from one read to the next, so it includes the wait's own
    # turn.
    lds_latency = int(timing.lds_latency) - turn
    for step in steps:
        spent, stall = float(step.cycles), 0.0
        if step.kind == "mfma":
            stall = max(0.0, core - now)
            core = now + stall + step.cycles
            spent = stall + turn
        elif step.kind == "memory":
            state.memory.append(now + memory_latency)
        elif step.kind == "scalar":
            state.local.append((now + memory_latency, "memory"))
        elif step.kind == "lds":
            port = max(port, now) + lds_cycles
            state.local.append((port + lds_latency, "lds"))
        elif step.kind == "wait":
            until_memory = until_lds = now
            while step.memory_left is not None and len(state.memory) > step.memory_left:
                until_memory = max(until_memory, state.memory.popleft())
            while step.local_left is not None and len(state.local) > step.local_left:
                until, kind = state.local.popleft()
                if kind == "lds":
                    until_lds = max(until_lds, until)
                else:
                    until_memory = max(until_memory, until)
            # The longer of the two hides the other.
            if until_memory >= until_lds:
                memory += until_memory - now
            else:
                lds += until_lds - now
            stall = max(until_memory, until_lds) - now
            now += stall
        at.append(stall)
        now += spent
        issue += spent
    state.core, state.port = core, port
    state.shift(now)
    return issue, memory, lds
