"""A launch's schedule (`workbench.schedules`) for the C side: flags of blocks and of instructions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from workbench import schedules
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Space, Trait
from workbench.emulator.native import abi
from workbench.emulator.native.abi import ffi
from workbench.emulator.node.dispatch import Dispatch
from workbench.emulator.node.faults import Scene
from workbench.emulator.node.request import Request
from workbench.emulator.translate.late_loads import can_stop_before, follow_at_once
from workbench.schedules import Points

# Blocks end at each access and wait, so a turn of as many instructions has more of them.
_TURNS = 8
_LDS = (Space.LDS, Space.LANES)


def prepare(prepared: Dispatch, request: Request, scene: Scene) -> None:
    """Puts the request's schedule into a prepared launch, and its points into the log if there is one."""
    schedule = request.schedule
    assert schedule is not None
    points = _points(request, scene)
    schedules.note(points)
    launch, text = prepared.launch, request.loaded.code_object.text
    held = set(schedule.held_at(points))
    holds = np.array([block.address in held for block in scene.blocks], dtype=np.uint8)
    late = np.zeros(len(text.data) // 4 + 1, dtype=np.uint8)
    late[[(address - text.address) // 4 for address in schedule.late_at(points)]] = 1
    waves = schedule.waves or range(abi.MAX_WAVES)
    record = ffi.new(
        "HkSchedule *",
        {
            "holds": ffi.from_buffer("uint8_t[]", holds),
            "late": ffi.from_buffer("uint8_t[]", late),
            "code_first": text.address,
            "group": abi.EVERY_GROUP if schedule.group is None else schedule.group,
            "waves": sum(1 << wave for wave in waves),
            "reverse": schedule.groups == schedules.REVERSE,
            "mixes": schedule.groups == schedules.MIXED,
            # Waves beyond those that a schedule can order take their turns after the others.
            "order": (*schedule.turns(), *range(schedules.MOST_WAVES, abi.MAX_WAVES)),
        },
    )
    launch.schedule = record
    launch.machine.late = abi.LATE_LISTED
    launch.turn_blocks *= _TURNS
    if schedule.groups == schedules.MIXED:
        # No other thread takes work-groups, so this one starts all that the device holds.
        launch.share = launch.group_total
    prepared.keep += [holds, late, record]


def _points(request: Request, scene: Scene) -> Points:
    """The points of the launch's kernel; those of a kernel are found once."""
    loaded, geometry = request.loaded, request.geometry
    known = loaded.points.get(request.kernel)
    if known is None:
        instructions = [instruction for block in scene.blocks for instruction in block.instructions]
        known = loaded.points[request.kernel] = points_of(instructions)
    accesses, lds, stops = known
    waves = geometry.waves(loaded.code_object.kernels[request.kernel].wave_size)
    return Points(request.kernel, accesses, lds, stops, waves, geometry.group_count)


def points_of(code: Iterable[Instruction]) -> tuple[tuple[int, ...], frozenset[int], tuple[int, ...]]:
    """Addresses of accesses that can be late, those of LDS among them, and places where waves can stop."""
    ordered = sorted(code, key=lambda instruction: instruction.address)
    accesses = tuple(instruction.address for instruction in ordered if _can_be_late(instruction))
    lds = frozenset(
        instruction.address
        for instruction in ordered
        if instruction.record.memory is not None and instruction.record.memory.space in _LDS
    )
    stops = [
        after.address
        for before, after in pairwise(ordered)
        if can_stop_before(after) and not follow_at_once(before, after)
    ]
    first = [i.address for i in ordered[:1] if can_stop_before(i)]
    return accesses, lds, (*first, *stops)


def _can_be_late(instruction: Instruction) -> bool:
    """True if a wait decides when registers or LDS have the effect: stores to memory are not late here."""
    memory, traits = instruction.record.memory, instruction.record.traits
    if traits & (Trait.ASYNCHRONOUS | Trait.COPIES_TILES):
        return True
    if memory is None:
        return False
    if memory.space in (Space.SCALAR, Space.SCALAR_BUFFER):
        return memory.access is Access.LOAD
    if memory.space in _LDS or memory.to_lds or instruction.modifiers.get("lds"):
        return True
    return memory.access is not Access.NONE and any(operand.kind in "va" for operand in instruction.dst)
