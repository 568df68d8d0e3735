"""Global, flat, scratch and buffer memory operations against a byte-by-byte model in Python."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.emulator.native.ops.flat import LOADS, STORES, TO_LDS
from workbench.targets import TILE_TARGETS

SIZES = {
    "ubyte": 1, "sbyte": 1, "ushort": 2, "sshort": 2, "ubyte_d16": 1, "sbyte_d16": 1, "short_d16": 2,
    "ubyte_d16_hi": 1, "sbyte_d16_hi": 1, "short_d16_hi": 2, "dword": 4, "dwordx2": 8, "dwordx3": 12,
    "dwordx4": 16, "byte": 1, "short": 2, "byte_d16_hi": 1,
}  # fmt: skip


def some_exec(random: np.random.Generator) -> int:
    kind = random.integers(0, 4)
    if kind == 0:
        return (1 << 64) - 1
    if kind == 1:
        return 1 << int(random.integers(0, 64))
    return int(random.integers(0, 1 << 63)) | 1 << 63


def loaded(kind: str, data: bytes) -> list[int]:
    """Registers of one lane after a load, from the definition of each kind."""
    if kind.startswith("dword"):
        return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    value = int.from_bytes(data, "little", signed=kind.startswith("s") and "short_d16" not in kind)
    if kind.endswith("d16_hi"):
        return [(value & 0xFFFF) << 16]
    if kind.endswith("d16"):
        return [value & 0xFFFF]
    return [value & 0xFFFFFFFF]


def stored(kind: str, registers: list[int]) -> bytes:
    if kind.endswith("hi"):
        return (registers[0] >> 16).to_bytes(2, "little")[: SIZES[kind]]
    return b"".join(r.to_bytes(4, "little") for r in registers)[: SIZES[kind]]


def offsets(random: np.random.Generator, size: int, limit: int) -> np.ndarray:
    """Byte offsets of 64 lanes: in order, strided, scattered; mostly not aligned."""
    kind = random.integers(0, 3)
    if kind == 0:
        return np.arange(64) * size + int(random.integers(0, 5))
    if kind == 1:
        return (np.arange(64) % 4) * 16 + (np.arange(64) // 4) * 80
    return random.integers(0, limit - size + 1, 64)


def random_free(at: np.ndarray, size: int) -> np.ndarray:
    """The same order of lanes, spread so that no two overlap."""
    return np.argsort(np.argsort(at, kind="stable"), kind="stable") * (size + 3) + 1


@pytest.mark.parametrize("space", ["global", "global saddr", "flat"])
@pytest.mark.parametrize("kind", LOADS)
def test_load(native, random, space: str, kind: str) -> None:
    memory = random.integers(0, 256, 4096).astype(np.uint8)
    wave = native.Wave(memory=[memory])
    wave.exec = exec_mask = some_exec(random)
    at = offsets(random, SIZES[kind], memory.size)
    wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
    offset = int(random.integers(-100, 100)) if space != "flat" else int(random.integers(0, 100))
    base = memory.ctypes.data - offset
    if space == "global saddr":
        back = 300
        wave.set_s64(10, base - back)
        wave.v[20] = at + back
        src = [native.v(20), native.s(10, 2)]
    else:
        wave.set_v64(20, base + at)
        src = [native.v(20, 2), native.off]
    # Inactive lanes hold addresses that must not be followed.
    for lane in range(64):
        if not exec_mask >> lane & 1:
            wave.v[20 : 21 if "saddr" in space else 22, lane] = 0xFFFFFFF0
    before = wave.v.copy()
    opcode = f"{space.split()[0]}_load_{kind}"
    # The result replaces the address.
    assert not wave.run(native.instruction(opcode, [native.v(20, 4)], src, offset=offset))
    expected = before.copy()
    for lane in range(64):
        if exec_mask >> lane & 1:
            data = memory[at[lane] : at[lane] + SIZES[kind]].tobytes()
            registers = loaded(kind, data)
            expected[20 : 20 + len(registers), lane] = registers
    assert np.array_equal(wave.v, expected)


@pytest.mark.parametrize("space", ["global", "global saddr", "flat"])
@pytest.mark.parametrize("kind", STORES)
def test_store(native, random, space: str, kind: str) -> None:
    memory = random.integers(0, 256, 4096).astype(np.uint8)
    expected = memory.copy()
    wave = native.Wave(memory=[memory])
    wave.exec = exec_mask = some_exec(random)
    at = random_free(offsets(random, SIZES[kind], memory.size), SIZES[kind])
    wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
    if space == "global saddr":
        wave.set_s64(10, memory.ctypes.data)
        wave.v[20] = at
        src = [native.v(20), native.v(40, 4), native.s(10, 2)]
    else:
        wave.set_v64(20, memory.ctypes.data + at)
        src = [native.v(20, 2), native.v(40, 4), native.off]
    before = wave.v.copy()
    assert not wave.run(native.instruction(f"{space.split()[0]}_store_{kind}", [], src))
    for lane in range(64):
        if exec_mask >> lane & 1:
            data = stored(kind, [int(r) for r in before[40 : 40 + max(1, SIZES[kind] // 4), lane]])
            expected[at[lane] : at[lane] + len(data)] = list(data)
    assert np.array_equal(memory, expected)
    assert np.array_equal(wave.v, before)


def test_lanes_that_write_to_one_place_leave_the_highest(native) -> None:
    memory = np.zeros(64, np.uint8)
    wave = native.Wave(memory=[memory])
    for kind, rows in (("dword", 1), ("dwordx4", 4)):
        wave.set_v64(2, np.full(64, memory.ctypes.data))
        wave.v[4 : 4 + rows] = np.arange(64)
        wave.run(
            native.instruction(f"global_store_{kind}", [], [native.v(2, 2), native.v(4, rows), native.off])
        )
        assert memory[0] == 63


def test_lanes_may_be_in_different_allocations(native) -> None:
    first, second = np.arange(64, dtype=np.uint32), np.arange(100, 164, dtype=np.uint32)
    wave = native.Wave(memory=[first, second])
    lanes = np.arange(64)
    wave.set_v64(2, np.where(lanes % 2, first.ctypes.data, second.ctypes.data) + 4 * lanes)
    assert not wave.run(native.instruction("global_load_dword", [native.v(5)], [native.v(2, 2), native.off]))
    assert np.array_equal(wave.v[5], np.where(lanes % 2, first, second))


@pytest.mark.parametrize("space", ["global", "flat"])
def test_fault_names_the_lane(native, space: str) -> None:
    memory = np.zeros(1024, np.uint8)
    wave = native.Wave(memory=[memory])
    at = memory.ctypes.data + 16 * np.arange(64)
    at[37] = memory.ctypes.data + 1024 - 15
    wave.set_v64(2, at)
    load = native.instruction(f"{space}_load_dwordx4", [native.v(8, 4)], [native.v(2, 2), native.off])
    assert wave.run(load)
    fault = wave.wave.fault
    assert (fault.kind, fault.lane, fault.address, fault.size, fault.is_write) == (
        native.abi.FAULT_ADDRESS,
        37,
        int(at[37]),
        16,
        0,
    )
    assert wave.wave.pc == native.PC
    wave.exec = ~(1 << 37) & (1 << 64) - 1
    assert not wave.run(load)


def test_reads_may_go_past_an_end_that_writes_may_not(native) -> None:
    memory = np.arange(64, dtype=np.uint8)
    wave = native.Wave(memory=[memory[:6]])
    wave.allocations[0].read_end += 2
    wave.set_s64(4, memory.ctypes.data)
    wave.wave.s[native.abi.EXEC], wave.wave.s[native.abi.EXEC + 1] = 1, 0
    for offset, kind, fits in (
        (4, "dword", True),
        (6, "ushort", True),
        (5, "dword", False),
        (8, "ubyte", False),
    ):
        operands = [native.v(1), native.s(4, 2)]
        run = native.instruction(f"global_load_{kind}", [native.v(2)], operands, offset=offset)
        assert bool(wave.run(run)) is not fits, (offset, kind)
    store = [native.v(1), native.v(2), native.s(4, 2)]
    assert wave.run(native.instruction("global_store_dword", [], store, offset=4))
    assert wave.wave.fault.kind == native.abi.FAULT_ADDRESS


def test_writes_to_read_only_memory_fault(native) -> None:
    memory = np.zeros(1024, np.uint8)
    wave = native.Wave(read_only=[memory])
    wave.set_v64(2, memory.ctypes.data + 4 * np.arange(64))
    assert wave.run(native.instruction("global_store_dword", [], [native.v(2, 2), native.v(8), native.off]))
    assert wave.wave.fault.kind == native.abi.FAULT_READ_ONLY
    assert not memory.any()


def scratch_bytes(wave, lane: int) -> np.ndarray:
    """One lane's scratch in order: dword d is at row d, lane by lane."""
    return wave.scratch.reshape(-1, 64, 4)[:, lane].reshape(-1)


@pytest.mark.parametrize("mode", ["SV", "SS", "ST", "SVS"])
@pytest.mark.parametrize("kind", ["dword", "dwordx2", "dwordx4", "ubyte", "sbyte", "short_d16_hi"])
def test_scratch(native, random, mode: str, kind: str) -> None:
    wave = native.Wave(scratch_size=256)
    wave.scratch[:] = random.integers(0, 256, wave.scratch.size)
    wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
    wave.exec = exec_mask = some_exec(random)
    wave.v[20] = random.integers(0, 80, 64)
    wave.wave.s[9] = scalar = int(random.integers(0, 20)) * 4
    immediate = int(random.integers(0, 20)) * 4
    address = native.v(20) if "V" in mode else native.off
    base = native.s(9) if mode in ("SS", "SVS") else native.off
    at = (
        immediate
        + (scalar if mode in ("SS", "SVS") else 0)
        + (wave.v[20] if "V" in mode else np.zeros(64, int))
    )
    before = wave.v.copy()
    load = native.instruction(f"scratch_load_{kind}", [native.v(30, 4)], [address, base], offset=immediate)
    assert not wave.run(load)
    for lane in range(64):
        data = scratch_bytes(wave, lane)[at[lane] : at[lane] + SIZES[kind]].tobytes()
        registers = loaded(kind, data)
        if not exec_mask >> lane & 1:
            registers = [int(r) for r in before[30 : 30 + len(registers), lane]]
        assert [int(r) for r in wave.v[30 : 30 + len(registers), lane]] == registers
    if kind not in STORES:
        return
    expected = wave.scratch.copy().reshape(-1, 64, 4)
    store = native.instruction(
        f"scratch_store_{kind}", [], [address, native.v(40, 4), base], offset=immediate
    )
    assert not wave.run(store)
    for lane in range(64):
        memory = expected[:, lane].reshape(-1).copy()
        if exec_mask >> lane & 1:
            data = stored(kind, [int(r) for r in wave.v[40:44, lane]])
            memory[at[lane] : at[lane] + len(data)] = list(data)
        assert np.array_equal(scratch_bytes(wave, lane), memory)


def test_scratch_ends_at_its_size(native) -> None:
    wave = native.Wave(scratch_size=32)
    wave.v[3] = 0
    wave.v[3, 5] = 29
    load = native.instruction("scratch_load_dword", [native.v(4)], [native.v(3), native.off])
    assert wave.run(load)
    assert (wave.wave.fault.kind, wave.wave.fault.lane) == (native.abi.FAULT_SCRATCH, 5)


def test_flat_apertures(native, random) -> None:
    """Lanes of one flat access in global memory, LDS and scratch."""
    memory = random.integers(0, 256, 1024).astype(np.uint8)
    wave = native.Wave(memory=[memory], lds_size=1024, scratch_size=64)
    wave.lds[:] = random.integers(0, 256, wave.lds.size)
    wave.scratch[:] = random.integers(0, 256, wave.scratch.size)
    lanes = np.arange(64)
    at = np.choose(
        lanes % 3,
        [
            memory.ctypes.data + 8 * lanes,
            native.abi.SHARED_APERTURE + 8 * lanes,
            native.abi.PRIVATE_APERTURE + lanes % 7 * 4 + 1,
        ],
    ).astype(np.uint64)
    wave.set_v64(2, at)
    assert not wave.run(native.instruction("flat_load_dwordx2", [native.v(4, 2)], [native.v(2, 2)]))
    for lane in range(64):
        where = [memory[8 * lane :], wave.lds[8 * lane :], scratch_bytes(wave, lane)[lane % 7 * 4 + 1 :]][
            lane % 3
        ]
        assert wave.v[4:6, lane].tobytes() == where[:8].tobytes()
    wave.v[6:8] = random.integers(0, 1 << 32, (2, 64))
    assert not wave.run(native.instruction("flat_store_dwordx2", [], [native.v(2, 2), native.v(6, 2)]))
    for lane in range(64):
        where = [memory[8 * lane :], wave.lds[8 * lane :], scratch_bytes(wave, lane)[lane % 7 * 4 + 1 :]][
            lane % 3
        ]
        assert wave.v[6:8, lane].tobytes() == where[:8].tobytes()
    at[1] = native.abi.SHARED_APERTURE + 1020
    wave.set_v64(2, at)
    assert wave.run(native.instruction("flat_load_dwordx2", [native.v(4, 2)], [native.v(2, 2)]))
    assert (wave.wave.fault.kind, wave.wave.fault.lane) == (native.abi.FAULT_LDS, 1)


@pytest.mark.parametrize("target", TILE_TARGETS)
@pytest.mark.parametrize("kind", TO_LDS)
@pytest.mark.parametrize("space", ["global", "buffer"])
def test_load_to_lds(native, random, target: str, kind: str, space: str) -> None:
    """Lane l's slot is M0 + offset + l * width, also where the lanes below it are not active."""
    memory = random.integers(0, 256, 4096).astype(np.uint8)
    wave = native.Wave(target, memory=[memory], lds_size=65536)
    wave.lds[:] = random.integers(0, 256, wave.lds.size)
    expected = wave.lds.copy()
    wave.exec = exec_mask = some_exec(random)
    at = random.integers(0, 4096 - 16 - 64, 64)
    wave.v[1] = at
    wave.wave.s[native.abi.M0] = 512
    immediate = int(random.integers(0, 16)) * 4
    slot = 16 if kind in ("dwordx3", "dwordx4") else 4
    for lane in range(64):
        if exec_mask >> lane & 1:
            data = memory[at[lane] + immediate :][: SIZES[kind]].tobytes()
            words = b"".join(r.to_bytes(4, "little") for r in loaded(kind, data))
            start = 512 + immediate + lane * slot
            expected[start : start + len(words)] = list(words)
    if space == "global":
        wave.set_s64(4, memory.ctypes.data)
        run = native.instruction(
            f"global_load_lds_{kind}", [], [native.v(1), native.s(4, 2)], offset=immediate
        )
    else:
        resource(wave, memory.ctypes.data, records=4096)
        run = native.instruction(
            f"buffer_load_{kind}",
            [],
            [native.v(1), native.s(8, 4), native.imm(0)],
            offset=immediate,
            offen=1,
            lds=1,
        )
    assert not wave.run(run)
    assert np.array_equal(wave.lds, expected)


@pytest.mark.parametrize("spoiled", [False, True])
def test_dwords_to_lds_in_fours(native, random, spoiled: bool) -> None:
    """Four lanes' dwords that are 16 bytes of memory move at once, but not with one lane elsewhere."""
    memory = random.integers(0, 256, 8192).astype(np.uint8)
    wave = native.Wave("gfx942", memory=[memory], lds_size=1024)
    at = np.repeat(4 * random.integers(0, 2000, 16), 4) + np.tile([0, 4, 8, 12], 16)
    if spoiled:
        at[random.integers(0, 64)] ^= 4
    wave.v[1] = at
    wave.set_s64(4, memory.ctypes.data)
    assert not wave.run(native.instruction("global_load_lds_dword", [], [native.v(1), native.s(4, 2)]))
    assert np.array_equal(wave.lds[:256].reshape(64, 4), memory[at[:, None] + np.arange(4)])


@pytest.mark.parametrize("inside", [0, 1, 62, 63, 64])
def test_load_to_lds_beyond_the_share_is_dropped(native, inside: int) -> None:
    memory = np.ones(4096, np.uint8)
    wave = native.Wave(memory=[memory], lds_size=1024)
    wave.set_s64(4, memory.ctypes.data)
    start = wave.wave.s[native.abi.M0] = 1024 - inside * 16
    assert not wave.run(native.instruction("global_load_lds_dwordx4", [], [native.v(1), native.s(4, 2)]))
    assert not wave.lds[:start].any()
    assert wave.lds[start:1024].all()
    assert not wave.lds[1024:].any()


def resource(
    wave,
    base: int,
    *,
    records: int,
    stride: int = 0,
    swizzle: int = 0,
    index_stride: int = 0,
    add_tid: int = 0,
) -> None:
    """A buffer resource in s[8:11]."""
    wave.wave.s[8] = base & 0xFFFFFFFF
    wave.wave.s[9] = base >> 32 & 0xFFFF | stride << 16 | swizzle << 31
    wave.wave.s[10] = records
    data_format = 0 if add_tid else 7
    wave.wave.s[11] = data_format << 15 | index_stride << 21 | add_tid << 23


@pytest.mark.parametrize("mode", ["none", "offen", "idxen", "both"])
@pytest.mark.parametrize("kind", ["dword", "dwordx2", "dwordx4", "sbyte", "short_d16_hi"])
def test_buffer_load(native, random, mode: str, kind: str) -> None:
    memory = random.integers(0, 256, 8192).astype(np.uint8)
    wave = native.Wave(memory=[memory])
    wave.exec = exec_mask = some_exec(random)
    wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
    stride = 48 if mode in ("idxen", "both") else 0
    records = 60 if stride else 1000
    resource(wave, memory.ctypes.data, records=records, stride=stride)
    wave.wave.s[20] = scalar = 64
    immediate = 8
    index = random.integers(0, 70, 64)
    offset = random.integers(0, 32, 64) if stride else random.integers(0, 1100, 64)
    offset[7] = 0 if stride else 0xFFFFFFFF
    if mode == "idxen":
        wave.v[2] = index
    elif mode == "both":
        wave.v[2], wave.v[3] = index, offset
    elif mode == "offen":
        wave.v[2] = offset
    place = immediate + (offset if mode in ("offen", "both") else 0) + (index * stride if stride else 0)
    place = np.broadcast_to(place, 64)
    before = wave.v.copy()
    modifiers = {
        "none": {},
        "offen": {"offen": 1},
        "idxen": {"idxen": 1},
        "both": {"offen": 1, "idxen": 1},
    }[mode]
    address = native.off if mode == "none" else native.v(2, 2)
    load = native.instruction(
        f"buffer_load_{kind}",
        [native.v(30, 4)],
        [address, native.s(8, 4), native.s(20)],
        offset=immediate,
        **modifiers,
    )
    assert not wave.run(load)
    expected = before.copy()
    for lane in range(64):
        if not exec_mask >> lane & 1:
            continue
        step = min(SIZES[kind], 4)
        data = b""
        for component in range(SIZES[kind] // step):
            start = scalar + int(place[lane]) + 4 * component
            inside = index[lane] < records if stride else start < records
            data += memory[start : start + step].tobytes() if inside else bytes(step)
        registers = loaded(kind, data)
        expected[30 : 30 + len(registers), lane] = registers
    assert np.array_equal(wave.v, expected)


def test_buffer_store_drops_what_is_out_of_range(native, random) -> None:
    memory = random.integers(0, 256, 4096).astype(np.uint8)
    expected = memory.copy()
    wave = native.Wave(memory=[memory])
    resource(wave, memory.ctypes.data, records=16 * 40 + 8)
    wave.v[2] = np.arange(64) * 16
    wave.v[4:8] = random.integers(0, 1 << 32, (4, 64))
    store = native.instruction(
        "buffer_store_dwordx4", [], [native.v(4, 4), native.v(2), native.s(8, 4), native.imm(0)], offen=1
    )
    assert not wave.run(store)
    expected[: 16 * 64] = np.frombuffer(wave.v[4:8].T.tobytes(), np.uint8)
    expected[16 * 40 + 8 :] = memory[16 * 40 + 8 :]
    assert np.array_equal(memory, expected)


def test_null_resource_reads_zero(native) -> None:
    wave = native.Wave()
    resource(wave, 0, records=0)
    wave.v[30] = 5
    load = native.instruction(
        "buffer_load_dword", [native.v(30)], [native.v(2), native.s(8, 4), native.imm(0)], offen=1
    )
    assert not wave.run(load)
    assert not wave.v[30].any()


def test_buffer_beyond_its_allocation_faults(native) -> None:
    memory = np.zeros(256, np.uint8)
    wave = native.Wave(memory=[memory])
    resource(wave, memory.ctypes.data, records=1024)
    wave.v[2] = np.arange(64) * 8
    load = native.instruction(
        "buffer_load_dword", [native.v(30)], [native.v(2), native.s(8, 4), native.imm(0)], offen=1
    )
    assert wave.run(load)
    assert (wave.wave.fault.kind, wave.wave.fault.lane) == (native.abi.FAULT_ADDRESS, 32)


def test_swizzled_buffer_is_the_scratch_layout(native, random) -> None:
    """Thread id added, index stride 64: byte b of lane l is at (b / 4) * 256 + 4 * l + b % 4."""
    memory = random.integers(0, 256, 64 * 64).astype(np.uint8)
    wave = native.Wave(memory=[memory])
    resource(wave, memory.ctypes.data, records=0xFFFFFFFF, stride=64, swizzle=1, index_stride=3, add_tid=1)
    wave.v[2] = random.integers(0, 12, 64) * 4
    load = native.instruction(
        "buffer_load_dwordx4", [native.v(30, 4)], [native.v(2), native.s(8, 4), native.imm(0)], offen=1
    )
    assert not wave.run(load)
    words = memory.view(np.uint32).reshape(16, 64)
    for lane in range(64):
        first = int(wave.v[2, lane]) // 4
        assert np.array_equal(wave.v[30:34, lane], words[first : first + 4, lane])


@pytest.mark.parametrize("to_lds", [False, True], ids=["registers", "lds"])
def test_a_swizzled_buffer_without_an_index_is_linear(native, random, to_lds: bool) -> None:
    """Stride and swizzle enable set, neither idxen nor the thread id: offsets count bytes from the base."""
    memory = random.integers(0, 256, 4096).astype(np.uint8)
    wave = native.Wave(memory=[memory], lds_size=4096)
    resource(wave, memory.ctypes.data, records=memory.size, stride=256 | 0x4000, swizzle=1, index_stride=3)
    wave.v[2] = offsets = random.permutation(64) * 16
    wave.wave.s[native.abi.M0] = 512
    expected = memory.reshape(-1, 16)[offsets // 16].view(np.uint32)
    if to_lds:
        load = native.instruction(
            "buffer_load_dwordx4", [], [native.v(2), native.s(8, 4), native.imm(0)], offen=1, lds=1
        )
        assert not wave.run(load)
        assert np.array_equal(wave.lds[512 : 512 + 1024].view(np.uint32).reshape(64, 4), expected)
    else:
        load = native.instruction(
            "buffer_load_dwordx4", [native.v(30, 4)], [native.v(2), native.s(8, 4), native.imm(0)], offen=1
        )
        assert not wave.run(load)
        assert np.array_equal(wave.v[30:34].T, expected)


FORMATS = {  # number of the data format: bits of its components, lowest first
    1: (8,), 2: (16,), 3: (8, 8), 4: (32,), 5: (16, 16), 6: (11, 11, 10), 7: (10, 11, 11), 8: (2, 10, 10, 10),
    9: (10, 10, 10, 2), 10: (8, 8, 8, 8), 11: (32, 32), 12: (16,) * 4, 13: (32,) * 3, 14: (32,) * 4,
}  # fmt: skip
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7


def component(raw: int, bits: int, number: int) -> int:
    """Register value of one component, from the definition of the number formats."""
    signed = raw - (1 << bits) if raw >> (bits - 1) else raw
    if number in (UINT, SINT):
        return (raw if number == UINT else signed) & 0xFFFFFFFF
    if number == FLOAT:
        if bits == 32:
            return raw
        half = np.array([raw << (16 - bits - (bits < 16))], np.uint16).view(np.float16)
        single = int(half.astype(np.float32).view(np.uint32)[0])
        # A conversion makes NaNs quiet.
        return single | 0x00400000 if np.isnan(half[0]) else single
    value = {
        UNORM: raw / ((1 << bits) - 1),
        SNORM: max(-1.0, signed / ((1 << (bits - 1)) - 1)),
        USCALED: float(raw),
        SSCALED: float(signed),
    }[number]
    return int(np.float32(value).view(np.uint32))


@pytest.mark.parametrize("number", [UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT])
@pytest.mark.parametrize("data", FORMATS)
def test_typed_buffer(native, random, data: int, number: int) -> None:
    bits = FORMATS[data]
    if number == FLOAT and min(bits) < 10:
        pytest.skip("no such float")
    size = sum(bits) // 8
    memory = random.integers(0, 256, 64 * 16).astype(np.uint8)
    wave = native.Wave(memory=[memory])
    wave.exec = exec_mask = some_exec(random)
    resource(wave, memory.ctypes.data, records=60, stride=size)
    # The resource selects component w, z, y, x; and 1 and 0 where the test checks those.
    wave.wave.s[11] = 7 | 6 << 3 | 5 << 6 | 4 << 9 | number << 12 | data << 15
    wave.v[:] = random.integers(0, 1 << 32, wave.v.shape)
    wave.v[2] = np.arange(64)
    before = wave.v.copy()
    sources = [native.v(2), native.s(8, 4), native.imm(0)]
    typed = {"idxen": 1, "dfmt": data, "nfmt": number}
    assert not wave.run(native.instruction("tbuffer_load_format_xyzw", [native.v(10, 4)], sources, **typed))
    assert not wave.run(native.instruction("buffer_load_format_xyzw", [native.v(20, 4)], sources, idxen=1))
    unit = 1 if number in (UINT, SINT) else 0x3F800000
    for lane in range(64):
        if not exec_mask >> lane & 1:
            assert np.array_equal(wave.v[10:24, lane], before[10:24, lane])
            continue
        value = [0, 0, 0, unit]
        whole = int.from_bytes(memory[lane * size : lane * size + size].tobytes(), "little")
        for index, width in enumerate(bits):
            value[index] = component(whole & (1 << width) - 1, width, number)
            whole >>= width
        if lane >= 60:
            value = [0, 0, 0, 0]
        assert [int(x) for x in wave.v[10:14, lane]] == value
        assert [int(x) for x in wave.v[20:24, lane]] == value[::-1]
    # Loaded values are stored as the same bytes, if each value has one representation.
    nans = number == FLOAT
    if not nans and number != SNORM and not (max(bits) == 32 and number in (UNORM, USCALED, SSCALED)):
        copy = memory.copy()
        memory[:] = 0
        store = "tbuffer_store_format_xyzw"
        assert not wave.run(native.instruction(store, [], [native.v(10, 4), *sources], **typed))
        for lane in range(64):
            there = memory[lane * size : lane * size + size]
            expected = copy[lane * size : lane * size + size] if exec_mask >> lane & 1 and lane < 60 else 0
            assert np.array_equal(there, np.broadcast_to(expected, size))


@pytest.mark.parametrize(
    ("number", "values", "stored"),
    [
        (UNORM, [-0.5, 0.5, 1.5, float("nan")], [0, 128, 255, 0]),
        (SNORM, [-2.0, -0.5, 0.25, 2.0], [-127, -64, 32, 127]),
        (USCALED, [-3.0, 0.5, 200.75, 300.0], [0, 0, 200, 255]),
        (SSCALED, [-300.0, -5.5, 5.5, 300.0], [-128, -5, 5, 127]),
        (UINT, [0, 7, 255, 256], [0, 7, 255, 255]),
        (SINT, [-129, -128, 127, 128], [-128, -128, 127, 127]),
    ],
)
def test_typed_buffer_stores_what_fits(native, number: int, values: list[float], stored: list[int]) -> None:
    """Four components of 8 bits: values saturate; norms are rounded, others truncated."""
    memory = np.full(4, 0x55, np.uint8)
    wave = native.Wave(memory=[memory])
    wave.exec = 1
    resource(wave, memory.ctypes.data, records=4)
    source = np.array(values, np.int32 if number in (UINT, SINT) else np.float32)
    wave.v[10:14, 0] = source.view(np.uint32)
    sources = [native.v(10, 4), native.off, native.s(8, 4), native.imm(0)]
    store = native.instruction("tbuffer_store_format_xyzw", [], sources, dfmt=10, nfmt=number)
    assert not wave.run(store)
    assert memory.tolist() == [value & 0xFF for value in stored]


def test_typed_buffer_of_halves(native) -> None:
    """d16: two components per register, converted to half precision."""
    memory = np.array([0, 51, 102, 255], np.uint8)
    wave = native.Wave(memory=[memory])
    wave.exec = 1
    resource(wave, memory.ctypes.data, records=4)
    wave.v[10:13] = 0x12345678
    sources = [native.off, native.s(8, 4), native.imm(0)]
    typed = {"dfmt": 10, "nfmt": UNORM}
    load = native.instruction("tbuffer_load_format_d16_xyz", [native.v(10, 2)], sources, **typed)
    assert not wave.run(load)
    halves = wave.v[10:12, 0].copy().view(np.float16)
    assert list(halves[:3]) == [0.0, np.float16(0.2), np.float16(0.4)]
    assert wave.v[11, 0] >> 16 == 0


def test_counters(native) -> None:
    memory = np.zeros(65536, np.uint8)
    wave = native.Wave(memory=[memory], profile=True)
    # Lines are counted as on a GPU, where an allocation begins at one.
    base = memory.ctypes.data
    wave.set_s64(4, base)
    wave.v[1] = 16 * np.arange(64)
    wave.run(native.instruction("global_load_dwordx4", [native.v(8, 4)], [native.v(1), native.s(4, 2)]))
    counters = wave.counters
    assert counters.global_bytes_read == 1024
    assert (counters.global_read_lines_64, counters.global_read_lines_128) == (16, 8)
    wave.exec = 0xFFFF
    wave.v[1] = 256 * np.arange(64) + 62
    wave.run(native.instruction("global_store_dword", [], [native.v(1), native.v(8), native.s(4, 2)]))
    assert counters.global_bytes_written == 64
    assert (counters.global_write_lines_64, counters.global_write_lines_128) == (32, 16)
    wave.run(native.instruction("global_load_lds_dword", [], [native.v(1), native.s(4, 2)]))
    assert counters.direct_to_lds_bytes == 64
