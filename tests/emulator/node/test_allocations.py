"""The emulated node's allocations: exact to the byte, not reused soon, limits, host ranges."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import random

import numpy as np
import pytest

from workbench import errors
from workbench.emulator.native import abi, native_library
from workbench.emulator.node.allocations import ALIGNMENT, Memory, MemoryKind, host_access, usable_memory
from workbench.launches import BufferLabel


@pytest.fixture
def memory() -> Memory:
    return Memory()


def test_allocations_are_aligned_apart_and_zero(memory: Memory) -> None:
    allocations = [memory.allocate(size, MemoryKind.DEVICE, 0) for size in (1, 255, 256, 257, 5000, 1 << 20)]
    for first, second in itertools.pairwise(allocations):
        assert second.base >= first.end + 4096
    for allocation in allocations:
        assert allocation.base % ALIGNMENT == 0
        assert not any((ctypes.c_ubyte * allocation.size).from_address(allocation.base))


def test_the_table_is_sorted_exact_and_by_device(memory: Memory) -> None:
    mine = memory.allocate(100, MemoryKind.DEVICE, 0)
    memory.allocate(100, MemoryKind.DEVICE, 1)
    pinned = memory.allocate(10, MemoryKind.HOST, None)
    rows = [(row.base, row.end, row.flags) for row in memory.table(0)]
    both = abi.ALLOCATION_READ | abi.ALLOCATION_WRITE
    by_host = both | abi.ALLOCATION_HOST
    assert rows == sorted([(mine.base, mine.end, both), (pinned.base, pinned.end, by_host)])
    assert len(memory.table(1)) == 2


def test_cache_models_do_not_depend_on_host_addresses(memory: Memory) -> None:
    host = mmap.mmap(-1, 8 << 20)
    start = ctypes.addressof(ctypes.c_char.from_buffer(host))
    seen = []
    for shift, device_bytes in ((0, 100), (64 * 77, 5000)):
        other = memory.allocate(device_bytes, MemoryKind.DEVICE, 0)
        ranges = [memory.register(start + shift + at, size) for at, size in ((4 << 20, 300), (64, 2 << 20))]
        placed = {row.base: row.placed for row in memory.table(0)}
        seen.append([placed[start + shift + at] for at in (4 << 20, 64)])
        assert len(set(placed.values())) == 3
        memory.free(other)
        for a in ranges:
            assert a is not None
            memory.unregister(a)
    assert seen[0] == seen[1]
    assert seen[0][1] - seen[0][0] == 2 << 20, "a MiB or more begins at a multiple of 2 MiB"


def test_host_memory_may_be_read_to_its_granularity(memory: Memory) -> None:
    host = mmap.mmap(-1, 4 * mmap.PAGESIZE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(host)) + 2 * mmap.PAGESIZE - 128
    memory.register(base, 70)
    ends = lambda **how: [row.read_end - base for row in memory.table(0, **how)]  # noqa: E731
    assert ends() == [72]
    assert ends(exact=True) == [70]
    with memory.lent([(base, 70)], {base: BufferLabel("argument 'x'", 4)}, 512):
        assert ends() == [512]
    assert ends() == [72]


def test_find_agrees_with_a_plain_search(memory: Memory, draw: random.Random) -> None:
    live = []
    for _ in range(300):
        if live and draw.random() < 0.4:
            memory.free(live.pop(draw.randrange(len(live))))
        else:
            live.append(memory.allocate(draw.randrange(1, 20000), MemoryKind.DEVICE, 0))
    for _ in range(500):
        near = draw.choice(live)
        address = near.base + draw.randrange(-100, near.size + 100)
        matches = [a for a in live if a.base <= address < a.end]
        assert memory.find(address) is (matches[0] if matches else None)


def test_freed_addresses_are_not_reused_and_are_recognised(memory: Memory) -> None:
    first = memory.allocate(4096, MemoryKind.DEVICE, 0)
    memory.free(first)
    second = memory.allocate(4096, MemoryKind.DEVICE, 0)
    assert second.base != first.base
    assert memory.whereabouts(first.base + 8, 4, 0) == (
        "at byte 8 of a 4096-byte device allocation that was freed"
    )


def test_freed_memory_is_zero_again(memory: Memory) -> None:
    first = memory.allocate(1 << 20, MemoryKind.DEVICE, 0)
    ctypes.memset(first.base, 0xFF, first.size)
    memory.free(first)
    assert ctypes.string_at(first.base, 64) == bytes(64)


def test_whereabouts_names_the_nearest_allocation(memory: Memory) -> None:
    here = memory.allocate(4096, MemoryKind.DEVICE, 0)
    assert memory.whereabouts(here.end + 16, 4, 0) == "17 bytes past the end of a 4096-byte device allocation"
    assert memory.whereabouts(here.end, 1, 0) == "1 byte past the end of a 4096-byte device allocation"
    assert memory.whereabouts(here.end - 2, 4, 0) == "2 bytes past the end of a 4096-byte device allocation"
    assert (
        memory.whereabouts(here.base - 4, 4, 0) == "4 bytes before the start of a 4096-byte device allocation"
    )
    assert memory.whereabouts(0x10, 4, 0) == "far from every allocation"
    other = memory.allocate(64, MemoryKind.DEVICE, 1)
    assert "another device" in memory.whereabouts(other.base, 4, 0)


def test_limits_of_the_device_and_of_this_computer(memory: Memory) -> None:
    with pytest.raises(errors.DeviceError, match="the device has 1000") as caught:
        memory.allocate(1001, MemoryKind.DEVICE, 0, capacity=1000)
    assert caught.value.code == 2
    with pytest.raises(errors.DeviceError, match="HIPKITTENS_MEMORY"):
        memory.allocate(memory.limit + 1, MemoryKind.DEVICE, 0)
    assert memory.used == 0


def test_the_limit_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_MEMORY", "64M")
    assert usable_memory() == 64 << 20
    monkeypatch.setenv("HIPKITTENS_MEMORY", "lots")
    with pytest.raises(errors.UsageError, match=r"^HIPKITTENS_MEMORY: 'lots' is not a size"):
        usable_memory()


def test_the_address_range_is_used_again_when_it_ends(memory: Memory) -> None:
    keep = memory.allocate(4096, MemoryKind.DEVICE, 0)
    memory._cursor = memory._arena_end - 4096
    again = memory.allocate(100_000, MemoryKind.DEVICE, 0)
    assert again.base > keep.end
    assert memory.find(again.base) is again


def test_host_ranges_count_while_they_are_registered(memory: Memory) -> None:
    array = np.arange(1000, dtype=np.float32)
    base, size = array.ctypes.data, array.nbytes
    allocation = memory.register(base, size)
    assert allocation is not None
    assert allocation.writable
    assert memory.register(base, size) is allocation
    assert memory.register(base + 4, 8) is None
    memory.unregister(allocation)
    assert memory.find(base) is allocation
    memory.unregister(allocation)
    assert memory.find(base) is None


def test_host_ranges_count_while_they_are_lent(memory: Memory) -> None:
    array = np.arange(1000, dtype=np.float32)
    base, size = array.ctypes.data, array.nbytes
    tables = []
    for _ in range(2):
        with memory.lent([(base, size)], {base: BufferLabel("argument 'x'", 4)}):
            allocation = memory.find(base + size - 1)
            assert allocation is not None
            assert allocation.describe() == f"argument 'x', {size} bytes"
            assert memory.whereabouts(base + size + 4, 4, 0).endswith(
                f"5 bytes past the end of argument 'x', {size} bytes: element 1001 of 1000 (0 to 999)"
            )
            assert memory.whereabouts(base - 4, 4, 0).endswith(": element -1 of 1000 (0 to 999)")
            tables.append(memory.table(0))
            registered = memory.register(base, size) if len(tables) == 2 else None
        assert (memory.find(base) is not None) == (registered is not None)
    assert tables[0] is tables[1], "what was lent again is found again"
    assert registered is not None
    with memory.lent([(base, size), (base + 4, 8)], {}):
        pass
    assert memory.find(base) is registered, "what somebody registered stays"
    memory.unregister(registered)
    before = len(memory.table(0))
    with (
        pytest.raises(errors.DeviceError, match="not readable"),
        memory.lent([(base, size), (0x1000, 64)], {}),
    ):
        raise AssertionError
    assert memory.find(base) is None
    assert len(memory.table(0)) == before


def test_a_forked_process_asks_for_its_own_memory() -> None:
    page = mmap.PAGESIZE
    with mmap.mmap(-1, page) as memory:
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert host_access(base, page)
        child = os.fork()
        if not child:
            # Only the child has revoked write access.
            ctypes.CDLL(None).mprotect(ctypes.c_void_p(base), ctypes.c_size_t(page), mmap.PROT_READ)
            os._exit(host_access(base, page) != abi.ALLOCATION_READ)
        assert os.waitpid(child, 0)[1] == 0
        assert host_access(base, page) == abi.ALLOCATION_READ | abi.ALLOCATION_WRITE


def test_memory_that_is_not_there_cannot_be_registered(memory: Memory) -> None:
    with pytest.raises(errors.DeviceError, match="not readable"):
        memory.register(0x1000, 4096)


@pytest.mark.parametrize("access", ["hk_host_access", "hk_listed_access"])
def test_a_range_has_what_all_of_its_mappings_have(access: str) -> None:
    ask, both = getattr(native_library(), access), abi.ALLOCATION_READ | abi.ALLOCATION_WRITE
    page, libc = mmap.PAGESIZE, ctypes.CDLL(None, use_errno=True)
    with mmap.mmap(-1, 4 * page) as memory:
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))

        def protect(index: int, protection: int) -> None:
            assert libc.mprotect(ctypes.c_void_p(base + index * page), ctypes.c_size_t(page), protection) == 0

        assert ask(base, 4 * page) == both
        protect(1, mmap.PROT_READ)
        protect(3, 0)
        assert ask(base, page) == both
        assert ask(base + page - 1, 2) == ask(base, 3 * page) == abi.ALLOCATION_READ
        assert ask(base + 2 * page, page) == both
        assert ask(base, 4 * page) == ask(base + 3 * page, 1) == 0
        protect(3, mmap.PROT_READ | mmap.PROT_WRITE)
    assert ask(0x1000, page) == ask(base, 0) == 0


def test_read_only_memory_is_registered_read_only(memory: Memory) -> None:
    with open("/bin/sh", "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
        array = np.frombuffer(view, dtype=np.uint8)
        base = array.ctypes.data
        assert host_access(base, 4096) == abi.ALLOCATION_READ
        # The fallback for systems without queries of single mappings gives the same answer.
        assert native_library().hk_listed_access(base, 4096) == abi.ALLOCATION_READ
        allocation = memory.register(base, 4096)
        assert allocation is not None
        assert not allocation.writable
        memory.unregister(allocation)
        del array
