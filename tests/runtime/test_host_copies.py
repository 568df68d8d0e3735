"""Copies of host memory for a launch: relocated addresses, data written back, and pointers that are not
followed."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator

import numpy as np
import pytest

from workbench import runtime
from workbench.errors import DeviceError
from workbench.launches import BufferLabel
from workbench.runtime.hip import Hip
from workbench.runtime.host_copies import HostCopies


@pytest.fixture
def hip() -> Iterator[Hip]:
    with runtime.device("emulated:gfx950").hip() as functions:
        yield functions


def buffer(array: np.ndarray) -> tuple[int, int]:
    return array.ctypes.data, array.nbytes


def write(hip: Hip, address: int, content: bytes) -> None:
    source = np.frombuffer(content, np.uint8)
    hip.call("hipMemcpy", address, source.ctypes.data, source.size, hip.api.hipMemcpyKind.hipMemcpyDefault)


def test_addresses_inside_of_memory_are_moved_with_it(hip: Hip) -> None:
    array = np.arange(100, dtype=np.int64)
    start = array.ctypes.data
    block = struct.pack("<QqQii", start, -1, start + 80, 7, 9) + b"tail"
    with HostCopies(hip) as copies:
        copies.take([buffer(array)])
        moved = copies.relocated(block, [buffer(array)], {})
        first, minus, inside, seven, nine = struct.unpack_from("<QqQii", moved)
        assert inside - first == 80
        assert first != start
        assert (minus, seven, nine, moved[-4:]) == (-1, 7, 9, b"tail")
        write(hip, inside, struct.pack("<q", -5))
        assert array[10] == 10
    assert array[10] == -5
    assert (np.delete(array, 10) == np.delete(np.arange(100), 10)).all()


def test_nothing_is_written_back_to_what_no_kernel_changed(hip: Hip) -> None:
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ) as pages:
        array = np.frombuffer(pages, np.uint8)
        # A byte written here would end the process.
        with HostCopies(hip) as copies:
            copies.take([buffer(array)])
        del array


def test_of_two_extents_of_a_tensor_the_later_has_the_changes(hip: Hip) -> None:
    array = np.zeros(64, dtype=np.int32)
    half = array[:32]
    with HostCopies(hip) as copies:
        copies.take([buffer(half)])
        block = struct.pack("<Q", array.ctypes.data)
        (address,) = struct.unpack("<Q", copies.relocated(block, [buffer(half)], {}))
        write(hip, address, struct.pack("<i", 3))
        copies.take([buffer(array)])
        (address,) = struct.unpack("<Q", copies.relocated(block, [buffer(array)], {}))
        write(hip, address + 4 * 40, struct.pack("<i", 4))
    assert {n: value for n, value in enumerate(array.tolist()) if value} == {0: 3, 40: 4}


def test_what_fails_changes_nothing_on_the_host(hip: Hip) -> None:
    array = np.zeros(4, dtype=np.int32)
    block = struct.pack("<Q", array.ctypes.data)

    def launch_that_fails() -> None:
        with HostCopies(hip) as copies:
            copies.take([buffer(array)])
            (address,) = struct.unpack("<Q", copies.relocated(block, [buffer(array)], {}))
            write(hip, address, struct.pack("<i", 3))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        launch_that_fails()
    assert not array.any()


def test_memory_behind_other_memory_is_refused_by_name(hip: Hip) -> None:
    array, table = np.zeros(4), np.zeros(1, dtype=np.int64)
    table[0] = array.ctypes.data
    labels = {array.ctypes.data: BufferLabel("argument 'table', address 0", 8)}
    with HostCopies(hip) as copies:
        copies.take([buffer(table), buffer(array)])
        with pytest.raises(DeviceError, match=r"argument 'table', address 0: .* copies .* do not follow"):
            copies.relocated(struct.pack("<Q", table.ctypes.data), [buffer(table), buffer(array)], labels)


def test_memory_that_was_freed_is_neither_written_back_nor_taken_for_copied(hip: Hip) -> None:
    array = np.ones(64, np.int64)
    pointer = struct.pack("<Q", array.ctypes.data)
    with HostCopies(hip) as copies:
        copies.take([buffer(array)])
        (copy,) = struct.unpack("<Q", copies.relocated(pointer, [buffer(array)], {}))
        write(hip, copy, struct.pack("<q", -5))
        copies.forget([buffer(array[8:16])])
        # What malloc has put in the same place since.
        array[:] = 2
        copies.take([buffer(array)])
        (copy,) = struct.unpack("<Q", copies.relocated(pointer, [buffer(array)], {}))
        write(hip, copy + 8, struct.pack("<q", -6))
    assert array[:3].tolist() == [2, -6, 2]
    assert (array[3:] == 2).all()
