"""Kernels that are found in memory by their descriptors."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator

import pytest

from workbench.codeobject import CodeObject
from workbench.emulator.kfd import kernels
from workbench.emulator.node.allocations import Allocation, Memory, MemoryKind
from workbench.targets import target
from workbench.toolchain import CompileOptions, compile_device

SOURCE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void first(float* x) { x[threadIdx.x] *= 2; }
extern "C" __global__ __launch_bounds__(256) void second(float* x, int n) {
    __shared__ float y[256];
    y[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = y[n - threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def code() -> CodeObject:
    return CodeObject.from_bytes(compile_device(SOURCE, CompileOptions("gfx942")).code_object)


@pytest.fixture
def loaded(code: CodeObject) -> Iterator[tuple[Memory, int]]:
    """Memory with the code object behind a page of something else, and its address."""
    content = code.load(0)
    page = mmap.mmap(-1, mmap.PAGESIZE + -(-len(content) // mmap.PAGESIZE) * mmap.PAGESIZE)
    page[mmap.PAGESIZE : mmap.PAGESIZE + len(content)] = bytes(content)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    memory = Memory()
    assert memory.adopt(Allocation(start, len(page), MemoryKind.DEVICE, 0))
    yield memory, start + mmap.PAGESIZE
    del page


def test_a_kernel_of_a_file_has_its_name(code: CodeObject, loaded: tuple[Memory, int]) -> None:
    memory, base = loaded
    table = kernels.Kernels(memory, target("gfx942"))
    table.add_file(code.data)
    for name, info in code.kernels.items():
        assert table.at(base + info.descriptor_address).name == name


def test_a_kernel_without_a_file_has_its_descriptor(code: CodeObject, loaded: tuple[Memory, int]) -> None:
    memory, base = loaded
    table = kernels.Kernels(memory, target("gfx942"))
    for info in code.kernels.values():
        kernel = table.at(base + info.descriptor_address)
        alone = kernel.loaded.code_object.kernels[kernel.name]
        assert alone.name == f"kernel_{base + info.descriptor_address:x}"
        assert kernel.loaded.base + alone.entry == base + info.entry
        for field in ("kernarg_size", "group_segment_size", "private_segment_size", "wave_size"):
            assert getattr(alone, field) == getattr(info, field)
        assert alone.vgpr_count >= info.vgpr_count


def test_the_oldest_files_make_room(
    code: CodeObject, loaded: tuple[Memory, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, base = loaded
    address = base + code.kernels["second"].descriptor_address
    monkeypatch.setattr(kernels, "_MOST_FILE_BYTES", len(code.data) + 100)
    table = kernels.Kernels(memory, target("gfx942"))
    table.add_file(code.data)
    table.add_file(bytes(100))
    assert table.at(address).name == "second"
    table.add_file(bytes(101))
    table.forget(base, 1 << 20)
    assert table.at(address).name == f"kernel_{address:x}"
