"""Memory operations stay between the waits, barriers and priorities of the program.

Schedules are drawn at random. Each is read in the machine code, where its operations are in the order of
the source, and run, where a load that comes late sees what another wave has written since.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pytest
import torch
from clangs import FOLDERS
from main_loop import branch_target
from tile_cases import PREAMBLE

import workbench as wb
from workbench.codeobject.instruction import Instruction
from workbench.runtime import device

WAVES = 4
SIDE = 32
ROUNDS = 3
STEPS = 10

TILES = {
    "rows": ("row_l, rt_16x32_s", "st_16x32_s"),
    "columns": ("col_l, rt_32x16_s", "st_32x16_s"),
}
"""Layouts and base shapes of the register tile and of the shared tile: reads of 16 bytes, and reads that
transpose."""

NOP = 13
"""The s_nop next to a wait of the program, which distinguishes it from the compiler's."""

WAITS = {
    "assembly": 'asm volatile("s_waitcnt {counter}(0)\\n\\ts_nop {nop}");',
    "builtin": "__builtin_amdgcn_s_waitcnt({code}); __builtin_amdgcn_sched_barrier(0); "
    'asm volatile("s_nop {nop}"); __builtin_amdgcn_sched_barrier(0);',
}
COUNTERS = {"lgkmcnt": 0xC07F, "vmcnt": 0x0F70}
"""Operands that wait for one counter only (CDNA3 and CDNA4 ISA guides, s_waitcnt)."""


@dataclass(frozen=True)
class Step:
    """One line of a schedule: its C++ and the kinds of instructions that it should become, in order."""

    text: str
    kinds: tuple[str, ...]


@dataclass
class Schedule:
    """A random schedule and what a work-group of WAVES waves computes by it.

    Each wave has a register tile `held`, another one that loads fill, two tiles in shared memory and one in
    global memory. `held` and `stored` are what the tiles of the waves are when the schedule ended.
    """

    name: str
    tiles: str
    steps: list[Step]
    initial: torch.Tensor
    held: list[torch.Tensor]
    stored: list[torch.Tensor]
    taken: int

    def source(self) -> str:
        layout, shape = TILES[self.tiles]
        body = "\n".join(f"        {step.text}" for step in self.steps)
        return f"""
__global__ __launch_bounds__({WAVES * 64})
void {self.name}(bf16 *given_at, bf16 *held_at, bf16 *stored_at, int rounds, int taken) {{
    const auto matrix = [](bf16 *at) {{
        return gl<bf16, 1, 1, -1, {SIDE}>(at, nullptr, nullptr, {WAVES * SIDE}, nullptr);
    }};
    const auto given = matrix(given_at), stored = matrix(stored_at);
    __shared__ st<bf16, {SIDE}, {SIDE}, {shape}> shared[{WAVES}][2];
    rt<bf16, {SIDE}, {SIDE}, {layout}> held, loaded;
    const int wave = warpid();
    load(held, given, {{0, 0, wave, 0}});
    zero(loaded);
#pragma clang loop unroll(disable)
    for (int round = 0; round < rounds; round++) {{
{body}
    }}
    store(matrix(held_at), held, {{0, 0, wave, 0}});
}}
"""


def wait(counter: str) -> Step:
    form = random.choice(list(WAITS.values()))
    return Step(form.format(counter=counter, code=COUNTERS[counter], nop=NOP), ("wait",))


BARRIER = Step("__builtin_amdgcn_s_barrier();", ("barrier",))
FIXED = Step("__builtin_amdgcn_sched_barrier(0);", ())


def priority(level: int) -> Step:
    return Step(f"__builtin_amdgcn_s_setprio({level});", (f"priority {level}",))


def draw(name: str, tiles: str) -> Schedule:
    """A random schedule without a race, according to the rules for its waits and barriers."""
    initial = torch.randint(-100, 100, (WAVES * SIDE, SIDE)).to(torch.bfloat16)
    held = list(initial.chunk(WAVES))
    shared = [[initial[:SIDE] * 0] * 2 for _ in range(WAVES)]
    stored = [initial[:SIDE] * 0] * WAVES
    loaded = [initial[:SIDE] * 0] * WAVES
    taken = random.getrandbits(STEPS + 1)
    plan = [(random.choice(OPERATIONS), random.randrange(2), random.randrange(WAVES)) for _ in range(STEPS)]
    # Shared memory is filled before it is read, and the last loads are used.
    plan = [("publish", 0, 0), ("direct", 1, 1), *plan]
    steps: list[Step] = []
    uses = [index for index, (what, _, _) in enumerate(plan) if what in ("fetch", "reload")]
    for round in range(ROUNDS):
        for index, (operation, half, wave) in enumerate(plan):
            if operation == "publish":
                for w in range(WAVES):
                    shared[w][half] = held[w]
            elif operation == "direct":
                for w in range(WAVES):
                    shared[w][half] = initial.chunk(WAVES)[(w + wave) % WAVES]
            elif operation == "fetch":
                loaded = [shared[(w + wave) % WAVES][half] for w in range(WAVES)]
            elif operation == "reload":
                loaded = [initial.chunk(WAVES)[(w + wave) % WAVES] for w in range(WAVES)]
            elif operation == "keep":
                stored = list(held)
            if index in uses and taken >> uses.index(index) & 1:
                held = [-tile for tile in loaded]
            if round == 0:
                steps += lines(operation, half, wave, uses.index(index) if index in uses else -1)
    return Schedule(name, tiles, steps, initial, held, stored, taken)


OPERATIONS = ("publish", "direct", "fetch", "fetch", "fetch", "reload", "keep")


def lines(operation: str, half: int, wave: int, use: int) -> Iterator[Step]:
    """An operation with the waits and barriers that make it right, and with others."""
    other = f"(wave + {wave}) % {WAVES}"
    if operation == "publish":
        yield Step(f"store(shared[wave][{half}], held);", ("shared store",))
        yield wait("lgkmcnt")
    elif operation == "direct":
        yield Step(
            f"group<1>::load_async(shared[wave][{half}], given, {{0, 0, {other}, 0}});", ("direct load",)
        )
        yield wait("vmcnt")
    elif operation == "fetch":
        yield Step(f"load(loaded, shared[{other}][{half}]);", ("shared load",))
        yield wait("lgkmcnt")
    elif operation == "reload":
        yield Step(f"load(loaded, given, {{0, 0, {other}, 0}});", ("global load",))
        yield wait("vmcnt")
    else:
        yield Step("store(stored, held, {0, 0, wave, 0});", ("global store",))
    if random.random() < 0.5:
        yield FIXED
    yield BARRIER
    level = random.randrange(4)
    yield priority(level)
    if use >= 0:
        # A branch into which the compiler would sink the operations that only it needs.
        yield Step(f"if (taken >> {use} & 1) mul(held, loaded, bf16(-1.0f));", ())
        yield priority((level + 1) % 4)


def kind_of(instruction: Instruction) -> str | None:
    """Kind of an instruction in a step's `kinds`; None if it is not part of a step."""
    opcode = instruction.opcode
    if opcode.startswith("ds_read"):
        return "shared load"
    if opcode.startswith("ds_write"):
        return "shared store"
    if opcode.startswith("buffer_load"):
        return "direct load" if instruction.modifiers.get("lds") else "global load"
    if opcode.startswith("buffer_store"):
        return "global store"
    if opcode == "s_barrier":
        return "barrier"
    immediate = instruction.words[0] & 0xFFFF
    if opcode == "s_setprio":
        return f"priority {immediate}"
    if opcode == "s_nop" and immediate == NOP:
        return "wait"
    return None


def misplaced(instructions: Sequence[Instruction], body: list[str]) -> str | None:
    """Follows every path through a kernel; what is wrong with the first that has other kinds of steps than
    those of a load of a tile, any number of rounds of `body`, and a store. None where all have them.

    Steps of a kind that follow each other count as one, as an operation is several instructions.
    """
    expected = [kind for kind, _ in groupby(["global load", *body, "global store"])]
    start, end = 0, len(expected) - 1
    by_address = {instruction.address: index for index, instruction in enumerate(instructions)}
    seen: set[tuple[int, int]] = set()
    todo = [(0, start)]
    while todo:
        at, state = todo.pop()
        if (at, state) in seen:
            continue
        seen.add((at, state))
        instruction = instructions[at]
        if instruction.opcode == "s_endpgm":
            if state != end:
                return f"a path ends after step {state} of {end}"
            continue
        kind = kind_of(instruction)
        if kind is not None and kind != expected[state]:
            # Behind the last step of a round comes the first of the next, or what is behind the loop.
            before_round, behind_round = state in (start, end - 1), [1, end]
            following = [s for s in (behind_round if before_round else [state + 1]) if expected[s] == kind]
            if not following:
                return f"{instruction} comes after step {state} of {list(enumerate(expected))}"
            state = following[0]
        if instruction.opcode.startswith(("s_cbranch", "s_branch")):
            todo.append((by_address[branch_target(instruction)], state))
        if instruction.opcode != "s_branch":
            todo.append((at + 1, state))
    return None


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("level", ["-O1", "-O3", *(["-O2"] if os.environ.get(FOLDERS) else [])])
def test_schedules_stay_as_written(arch: str, level: str) -> None:
    torch.manual_seed(random.getrandbits(32))
    schedules = [draw(f"schedule_{i}", tiles) for i, tiles in enumerate([*TILES] * 2)]
    source = PREAMBLE + "".join(schedule.source() for schedule in schedules)
    # Full debug info of these kernels crashes clang 20.
    module = wb.compile(source, arch=arch, name="order.hip", flags=(level, "-g1", "-Wall", "-Wextra"))
    for schedule in schedules:
        kernel = module[schedule.name]
        text = schedule.source()
        wrong = misplaced(kernel.instructions, [kind for step in schedule.steps for kind in step.kinds])
        assert wrong is None, f"{wrong}\n{text}"
        held, stored = torch.zeros_like(schedule.initial), torch.zeros_like(schedule.initial)
        kernel.launch(
            wb.Launch(1, WAVES * 64),
            (schedule.initial, held, stored, ROUNDS, schedule.taken),
            {},
            device=device(f"emulated:{arch}"),
        )
        assert torch.equal(held, torch.cat(schedule.held)), text
        assert torch.equal(stored, torch.cat(schedule.stored)), text
