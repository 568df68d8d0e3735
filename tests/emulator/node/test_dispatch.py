"""The driver: initial state, turns, barriers, faults, limits, interrupts, with blocks written in C."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench import errors
from workbench.codeobject import KernelArg, KernelDescriptor, KernelInfo
from workbench.codeobject.decoder import decode
from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import NATIVE_FOLDER, abi
from workbench.emulator.node import dispatch, faults, interrupts
from workbench.emulator.node.allocations import Memory, MemoryKind
from workbench.emulator.node.dispatch import Geometry
from workbench.toolchain import native as build

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def blocks() -> ctypes.CDLL:
    path = build.build(
        "testblocks",
        [HERE / "blocks.c"],
        depends=[abi.HEADER, NATIVE_FOLDER / "run" / "wave.h"],
        include=NATIVE_FOLDER,
        flags=[f"-DPOISON_PLUS={dispatch.POISON + 3000}u", f"-DHK_LANES={abi.MAX_LANES}"],
    )
    return ctypes.CDLL(str(path))


@pytest.fixture(scope="module")
def memory() -> Memory:
    return Memory()


def nop(address: int) -> Instruction:
    return next(iter(decode(bytes((0, 0, 0x80, 0xBF)), address, "gfx942")))


@dataclass
class Block:
    index: int
    address: int
    instructions: tuple[Instruction, ...]


@dataclass
class Fake:
    """A fake Translation; block i is at 0x1000 * (i + 1), with one instruction a dword later."""

    library: ctypes.CDLL
    names: tuple[str, ...]
    entry: int = 0
    row_count: int = 8
    poisoned: bytes | None = None
    functions: Any = field(init=False)
    blocks: Any = field(init=False)
    places: Any = field(init=False)

    def __post_init__(self) -> None:
        pointers = [ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value for name in self.names]
        self.functions = np.array(pointers, np.uint64)
        starts = [0x1000 * (i + 1) for i in range(len(pointers))]
        self.blocks = [Block(i, a, (nop(a), nop(a + 0xFFC))) for i, a in enumerate(starts)]
        self.places = np.array(starts, np.uint64), np.arange(len(starts), dtype=np.int32)


def descriptor(**fields: int) -> KernelDescriptor:
    values = {
        "group_segment_fixed_size": 0,
        "private_segment_fixed_size": 0,
        "kernarg_size": 8,
        "entry_offset": 0,
        "rsrc1": 0,
        # 2 user SGPRs, work-group ids x y z, work-item ids x y z
        "rsrc2": 2 << 1 | 0b111 << 7 | 2 << 11,
        "rsrc3": 0,
        "properties": 1 << 3,
        "kernarg_preload_length": 0,
        "kernarg_preload_offset": 0,
    }
    return KernelDescriptor(**(values | fields), target="gfx950")


def kernel_info(args: tuple[KernelArg, ...] = (), **fields: int) -> KernelInfo:
    return KernelInfo(
        name="test",
        demangled="test(unsigned*)",
        descriptor=descriptor(**fields),
        descriptor_address=0,
        entry=0x1000,
        size=0x1000,
        args=args,
        metadata={},
        kernarg_size=64,
        kernarg_align=8,
        group_segment_size=0,
        private_segment_size=fields.get("private_segment_fixed_size", 0),
        max_workgroup_size=1024,
        required_workgroup_size=None,
        sgpr_count=16,
        vgpr_count=8,
        agpr_count=0,
        sgpr_spill_count=0,
        vgpr_spill_count=0,
        uses_dynamic_stack=False,
    )


def prepare(
    fake: Fake, memory: Memory, geometry: Geometry, out: int, shared: int = 64, **fields: int
) -> dispatch.Dispatch:
    description = dispatch.describe(
        translation=fake,
        kernel=kernel_info(**fields),
        geometry=geometry,
        shared_bytes=shared,
        code_base=0x5000_0000,
        target="gfx950",
        profile=False,
    )
    registers = [out & 0xFFFFFFFF, out >> 32]
    return dispatch.prepare(description, registers=registers, allocations=memory.table(0))


def output(memory: Memory, dwords: int) -> tuple[int, np.ndarray]:
    allocation = memory.allocate(4 * dwords, MemoryKind.DEVICE, 0)
    view = np.frombuffer((ctypes.c_uint32 * dwords).from_address(allocation.base), dtype=np.uint32)
    return allocation.base, view


@pytest.mark.parametrize(
    ("groups", "block"),
    [((3, 1, 1), (64, 1, 1)), ((2, 1, 1), (100, 1, 1)), ((2, 2, 1), (8, 10, 3)), ((1, 1, 2), (1, 1, 130))],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_work_item_ids_are_packed_and_partial_waves_masked(
    blocks: ctypes.CDLL,
    memory: Memory,
    groups: tuple[int, int, int],
    block: tuple[int, int, int],
    threads: int,
) -> None:
    geometry = Geometry.of_blocks(groups, block)
    base, out = output(memory, 1024 * geometry.group_count)
    out[:] = 0xDEAD
    run = prepare(Fake(blocks, ("test_store_ids",)), memory, geometry, base)
    outcome = dispatch.run(run, threads=threads)
    assert outcome.fault is None
    ids = [x | y << 10 | z << 20 for z in range(block[2]) for y in range(block[1]) for x in range(block[0])]
    expected = np.array(ids + [0xDEAD] * (1024 - len(ids)), dtype=np.uint32)
    for group in range(geometry.group_count):
        np.testing.assert_array_equal(out[1024 * group : 1024 * (group + 1)], expected)


def test_item_id_mode_leaves_out_what_the_kernel_does_not_use(blocks: ctypes.CDLL, memory: Memory) -> None:
    geometry = Geometry.of_blocks((1, 1, 1), (4, 4, 4))
    base, out = output(memory, 1024)
    run = prepare(Fake(blocks, ("test_store_ids",)), memory, geometry, base, rsrc2=2 << 1 | 0 << 11)
    dispatch.run(run, threads=1)
    np.testing.assert_array_equal(out[:64], np.tile(np.arange(4, dtype=np.uint32), 16))


@pytest.mark.parametrize("architected", [False, True])
def test_work_group_ids_follow_the_user_sgprs(blocks: ctypes.CDLL, memory: Memory, architected: bool) -> None:
    """Or are in trap temporaries, as on gfx12 (LLVM AMDGPUUsage, "Initial kernel execution state")."""
    geometry = Geometry.of_blocks((3, 4, 5), (64, 1, 1))
    base, out = output(memory, 4 * 60)
    block = "test_store_architected_group" if architected else "test_store_group"
    run = prepare(Fake(blocks, (block,)), memory, geometry, base)
    run.launch.architected_group_ids = architected
    dispatch.run(run)
    expected = [[x, y, z, 64] for z in range(5) for y in range(4) for x in range(3)]
    np.testing.assert_array_equal(out.reshape(60, 4), expected)


def test_work_group_ids_that_are_not_enabled_take_no_register(blocks: ctypes.CDLL, memory: Memory) -> None:
    geometry = Geometry.of_blocks((3, 4, 1), (64, 1, 1))
    base, out = output(memory, 4 * 12)
    # x off, y on: s2 is y, s3 and s4 hold what registers hold at the start.
    run = prepare(Fake(blocks, ("test_store_group",)), memory, geometry, base, rsrc2=2 << 1 | 0b010 << 7)
    dispatch.run(run)
    rows = out.reshape(12, 4)
    np.testing.assert_array_equal(rows[:, 0], [i // 3 for i in range(12)])
    assert (rows[:, 1:3] == dispatch.POISON).all()


def test_partial_work_groups_have_fewer_items(blocks: ctypes.CDLL, memory: Memory) -> None:
    geometry = Geometry.of_items((70, 1, 1), (64, 1, 1))
    base, out = output(memory, 8)
    dispatch.run(prepare(Fake(blocks, ("test_store_group",)), memory, geometry, base))
    assert out.reshape(2, 4)[:, 3].tolist() == [64, 6]


@pytest.mark.parametrize("threads", [1, 3])
def test_waves_meet_at_a_barrier(blocks: ctypes.CDLL, memory: Memory, threads: int) -> None:
    geometry = Geometry.of_blocks((9, 1, 1), (512, 1, 1))
    base, out = output(memory, 9 * 16)
    run = prepare(Fake(blocks, ("test_barrier_0", "test_barrier_1")), memory, geometry, base)
    outcome = dispatch.run(run, threads=threads)
    np.testing.assert_array_equal(
        out.reshape(9, 16)[:, :8], np.tile([101, 102, 103, 104, 105, 106, 107, 100], (9, 1))
    )
    assert outcome.counts.tolist() == [72, 72]


def scene(fake: Fake, memory: Memory, geometry: Geometry) -> faults.Scene:
    return faults.Scene(
        kernel=kernel_info(),
        blocks=fake.blocks,
        geometry=geometry,
        memory=memory,
        device=0,
        shared_bytes=64,
        scratch_bytes=0,
        source_of=lambda address: ("cell.cpp", address // 0x1000, 1),
        variable_at=lambda *_: None,
    )


def test_a_barrier_does_not_wait_for_waves_that_have_ended(blocks: ctypes.CDLL, memory: Memory) -> None:
    geometry = Geometry.of_blocks((2, 1, 1), (320, 1, 1))
    fake = Fake(blocks, ("test_missed_barrier", "test_end"))
    outcome = dispatch.run(prepare(fake, memory, geometry, 0), threads=2)
    assert outcome.fault is None
    # Five waves of both groups begin; the three even ones of each continue after the barrier.
    assert outcome.counts.tolist() == [10, 6]


def test_waves_that_wait_for_each_other_in_memory_make_progress(blocks: ctypes.CDLL, memory: Memory) -> None:
    geometry = Geometry.of_blocks((4, 1, 1), (1024, 1, 1))
    outcome = dispatch.run(prepare(Fake(blocks, ("test_spin_wave",)), memory, geometry, 0), timeout=300)
    assert not outcome.timed_out


@pytest.mark.parametrize("threads", [1, 2])
def test_work_groups_that_wait_for_each_other_make_progress(
    blocks: ctypes.CDLL, memory: Memory, threads: int
) -> None:
    geometry = Geometry.of_blocks((6, 1, 1), (64, 1, 1))
    base, _ = output(memory, 1)
    run = prepare(Fake(blocks, ("test_spin_group",)), memory, geometry, base)
    assert not dispatch.run(run, timeout=300, threads=threads).timed_out


def test_work_groups_get_company_however_short_the_slices(
    blocks: ctypes.CDLL, memory: Memory, set_pace: Callable[..., None]
) -> None:
    """Each call of the driver returns at once, as if other processes took the time."""
    set_pace(first_slice=0, slice=0)
    geometry = Geometry.of_blocks((6, 1, 1), (64, 1, 1))
    base, _ = output(memory, 1)
    run = prepare(Fake(blocks, ("test_spin_group",)), memory, geometry, base)
    assert not dispatch.run(run, timeout=300, threads=1).timed_out


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_faulting_work_group_is_reported_for_any_thread_count(
    blocks: ctypes.CDLL, memory: Memory, threads: int
) -> None:
    geometry = Geometry.of_blocks((40, 1, 1), (128, 1, 1))
    fake = Fake(blocks, ("test_fault",))
    outcome = dispatch.run(prepare(fake, memory, geometry, 0), threads=threads)
    assert outcome.fault is not None
    error = faults.exception(scene(fake, memory, geometry), outcome.fault)
    assert isinstance(error, errors.AddressFault)
    assert (error.workgroup, error.wave, error.lane) == ((3, 0, 0), 0, 7)
    assert error.address == 0x1010
    assert "read 4 bytes at 0x13" in str(error)
    assert "cell.cpp:1" in str(error)


def test_jumps_find_their_block(blocks: ctypes.CDLL, memory: Memory) -> None:
    geometry = Geometry.of_blocks((1, 1, 1), (64, 1, 1))
    base, out = output(memory, 1)
    run = prepare(Fake(blocks, ("test_jump", "test_jump_target")), memory, geometry, base)
    outcome = dispatch.run(run)
    assert outcome.fault is None
    assert out[0] == 77


def test_a_jump_into_nowhere_is_a_fault(blocks: ctypes.CDLL, memory: Memory) -> None:
    geometry = Geometry.of_blocks((1, 1, 1), (64, 1, 1))
    fake = Fake(blocks, ("test_jump_wild",))
    outcome = dispatch.run(prepare(fake, memory, geometry, 0))
    assert outcome.fault is not None
    error = faults.exception(scene(fake, memory, geometry), outcome.fault)
    assert isinstance(error, errors.JumpFault)
    assert "0x123456" in str(error)


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_are_counted(blocks: ctypes.CDLL, memory: Memory, threads: int) -> None:
    geometry = Geometry.of_blocks((10, 1, 1), (128, 1, 1))
    run = prepare(Fake(blocks, ("test_loop", "test_end")), memory, geometry, 0)
    outcome = dispatch.run(run, threads=threads)
    assert outcome.counts.tolist() == [2 * sum(i + 1 for i in range(10)), 20]


def test_an_endless_loop_ends_at_its_time_limit(blocks: ctypes.CDLL, memory: Memory) -> None:
    geometry = Geometry.of_blocks((100, 1, 1), (256, 1, 1))
    fake = Fake(blocks, ("test_endless",))
    outcome = dispatch.run(prepare(fake, memory, geometry, 0), timeout=0.2, threads=2)
    assert outcome.timed_out
    error = faults.timeout(scene(fake, memory, geometry), outcome.stopped_at, 0.2, "Next step.")
    assert "time limit of 0.2 s" in str(error)
    assert error.workgroup is not None


def test_an_interrupt_stops_an_endless_loop(
    blocks: ctypes.CDLL, memory: Memory, interrupt_of_a_launch: None
) -> None:
    geometry = Geometry.of_blocks((100, 1, 1), (256, 1, 1))
    run = prepare(Fake(blocks, ("test_endless",)), memory, geometry, 0)
    with pytest.raises(KeyboardInterrupt), interrupts.held():
        dispatch.run(run, threads=2)
    assert not any(t.name == "emulated-device" for t in threading.enumerate())


def test_hidden_arguments_describe_the_launch() -> None:
    kinds = [
        ("hidden_block_count_x", 4),
        ("hidden_block_count_y", 4),
        ("hidden_block_count_z", 4),
        ("hidden_group_size_x", 2),
        ("hidden_group_size_y", 2),
        ("hidden_group_size_z", 2),
        ("hidden_remainder_x", 2),
        ("hidden_remainder_y", 2),
        ("hidden_remainder_z", 2),
        ("hidden_global_offset_x", 8),
        ("hidden_grid_dims", 2),
        ("hidden_dynamic_lds_size", 4),
        ("hidden_private_base", 4),
        ("hidden_shared_base", 4),
    ]
    args, offset = [], 0
    for kind, size in kinds:
        offset = -(-offset // size) * size
        args.append(KernelArg("", offset, size, kind))
        offset += size
    geometry = Geometry.of_items((130, 6, 1), (64, 3, 1))
    values = {a.value_kind: v for a, v in dispatch.hidden_arguments(tuple(args), geometry, 4096).items()}
    assert values == {
        "hidden_block_count_x": 2,
        "hidden_block_count_y": 2,
        "hidden_block_count_z": 1,
        "hidden_group_size_x": 64,
        "hidden_group_size_y": 3,
        "hidden_group_size_z": 1,
        "hidden_remainder_x": 2,
        "hidden_remainder_y": 0,
        "hidden_remainder_z": 0,
        "hidden_global_offset_x": 0,
        "hidden_grid_dims": 2,
        "hidden_dynamic_lds_size": 4096,
        "hidden_private_base": 0x00020000,
        "hidden_shared_base": 0x00010000,
    }


def test_user_sgprs_come_in_the_descriptors_order() -> None:
    # dispatch pointer, kernarg pointer, dispatch id, then 3 preloaded dwords from dword 1 on
    enabled = descriptor(
        properties=1 << 1 | 1 << 3 | 1 << 4,
        rsrc2=9 << 1,
        kernarg_preload_length=3,
        kernarg_preload_offset=1,
    )
    registers = dispatch.user_sgprs(
        enabled,
        kernarg=0x1111_2222_3333_4444,
        packet=0x5555_6666_7777_8888,
        arguments=struct.pack("<4I", 10, 11, 12, 13),
        private_bytes=0,
    )
    assert list(registers) == [0x77778888, 0x55556666, 0x33334444, 0x11112222, 0, 0, 11, 12, 13]


def test_the_dispatch_packet_has_the_hsa_layout() -> None:
    geometry = Geometry.of_blocks((5, 6, 1), (64, 2, 1))
    packet = dispatch.dispatch_packet(geometry, 16, 1024, 0xABC, 0xDEF)
    assert len(packet) == 64
    assert struct.unpack_from("<HHHHH", packet, 0) == (2, 2, 64, 2, 1)
    assert struct.unpack_from("<IIIII", packet, 12) == (320, 12, 1, 16, 1024)
    assert struct.unpack_from("<QQ", packet, 32) == (0xABC, 0xDEF)


def test_thread_count_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_THREADS", "3")
    assert dispatch.thread_count() == 3
    monkeypatch.setenv("HIPKITTENS_THREADS", "none")
    with pytest.raises(errors.UsageError, match="HIPKITTENS_THREADS"):
        dispatch.thread_count()
