"""The list of PyTorch's allocations: complete, each in the table once."""

from __future__ import annotations

import os
import random
import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.emulator.native import abi
from workbench.emulator.native.abi import ffi
from workbench.emulator.node.device import node
from workbench.emulator.node.storages import _latest
from workbench.launches import BufferLabel

STORAGES = node().memory.storages
ROOM, MIB = abi.STORAGE_ROOM, 1 << 20


@pytest.fixture(autouse=True)
def _in_the_door() -> Iterator[None]:
    with wb.torch_as_gpu("emulated:gfx950"):
        yield


def pieces(tensors: list[torch.Tensor]) -> dict[int, int]:
    return {tensor.data_ptr(): tensor.nbytes for tensor in tensors if tensor.nbytes}


def test_what_lives_is_listed() -> None:
    before = dict(STORAGES.blocks())
    tensors: list[torch.Tensor] = []
    for _ in range(20):
        tensors += [torch.empty(random.randrange(5000)) for _ in range(200)]
        random.shuffle(tensors)
        del tensors[random.randrange(len(tensors)) :]
        listed = dict(STORAGES.blocks())
        assert {base: listed.get(base) for base in pieces(tensors)} == pieces(tensors)
        # Nothing else, except what others have allocated or freed meanwhile.
        assert len(listed) <= len(pieces(tensors)) + len(before) + 10


def test_threads_allocate_at_once() -> None:
    tensors: list[torch.Tensor] = []

    def work() -> None:
        for size in range(1, 500):
            tensors.append(torch.empty(size))
            torch.empty(3 * size)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pieces(tensors).items() <= dict(STORAGES.blocks()).items()


def test_a_child_process_has_its_own() -> None:
    x = torch.empty(1000)
    child = os.fork()
    if child == 0:
        y = torch.empty(1000)
        listed = STORAGES.at(x.data_ptr())[0], STORAGES.at(y.data_ptr())[0]
        os._exit(0 if listed == (4000, 4000) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_table_has_each_once() -> None:
    x, y = torch.empty(1000), torch.empty(77)
    memory = node().memory
    label = {x.data_ptr(): BufferLabel("argument 'x'", 4)}
    with memory.lent([(x.data_ptr(), x.nbytes)], label), memory.reaching_storages(abi.STORAGE_BLOCK):
        rows = np.frombuffer(ffi.buffer(memory.table(0)), np.uint64).reshape(-1, 5)
        assert (rows[1:, 0] >= rows[:-1, 1]).all()
        [lent] = rows[rows[:, 0] == x.data_ptr()].tolist()
        [listed] = rows[rows[:, 0] == y.data_ptr()].tolist()
        assert memory.whereabouts(y.data_ptr() + 308, 4, 0).startswith("1 byte past the end of ")
    # Memory lent by another owner has the owner's bounds.
    assert lent[3] == x.data_ptr() + 4000
    assert listed[1:4] == [
        y.data_ptr() + 308,
        abi.ALLOCATION_ROUNDED | 3,
        y.data_ptr() + 512 + abi.STORAGE_ROOM,
    ]
    rows = np.frombuffer(ffi.buffer(memory.table(0)), np.uint64).reshape(-1, 5)
    assert not (rows[:, 0] == y.data_ptr()).any()


@pytest.mark.parametrize(
    ("granularity", "exact", "reads"),
    [(512, True, 512 + ROOM), (512, False, 512 + ROOM), (4, True, 77), (4, False, 80)],
)
def test_where_reads_end(granularity: int, exact: bool, reads: int) -> None:
    x = torch.empty(77, dtype=torch.int8)
    with node().memory.reaching_storages(granularity):
        table = node().memory.table(0, exact)
        [end] = [row.read_end for row in table if row.base == x.data_ptr()]
    assert end == x.data_ptr() + reads


# Pieces of a GPU's memory are 2 MiB for tensors up to 1 MiB, 20 MiB up to 10, and then a multiple of 2 MiB.
@pytest.mark.parametrize(
    ("size", "reach"),
    [
        (512, 512 + ROOM),
        (MIB, MIB + ROOM),
        (10 * MIB - 512, 10 * MIB - 512 + ROOM),
        (10 * MIB, 10 * MIB),
        (12 * MIB - 1000, 12 * MIB),
        (12 * MIB + 1, 12 * MIB + 512 + ROOM),
    ],
)
def test_memory_continues_after_a_tensor(size: int, reach: int) -> None:
    x = torch.empty(size, dtype=torch.int8)
    assert STORAGES.at(x.data_ptr()) == (size, reach)
    assert not STORAGES.at(x.data_ptr() + 64)[0]


def test_unknown_addresses() -> None:
    x, array, memory = torch.empty(1000), np.zeros(1000), node().memory
    with memory.reaching_storages(abi.STORAGE_BLOCK):
        for last, is_unknown in ((x.data_ptr() + 4000, False), (array.ctypes.data, True)):
            # Two sizes in one word look like an unmapped address.
            arguments = struct.pack("QQQI", x.data_ptr(), last, 1000 | 64 << 32, 7)
            assert memory.has_unknown_address(arguments) is is_unknown


def test_of_pieces_that_overlap_the_latest_counts() -> None:
    records = np.array(
        [[640, 64, 1, 512], [600, 100, 2, 512], [704, 10, 3, 512], [900, 0, 4, 512], [690, 10, 0, 512]],
        np.uint64,
    )
    assert _latest(records)[:, 2].tolist() == [2, 3]
