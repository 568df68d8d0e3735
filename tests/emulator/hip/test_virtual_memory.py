"""Virtual memory: addresses, memory and maps between them, from a program and from hip-python."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from workbench import errors, runtime
from workbench.emulator.hip import calls, structures
from workbench.emulator.node.device import node
from workbench.runtime.hip import api as load_hip

PAGE = 2 << 20

KERNELS = """#include <hip/hip_runtime.h>
__global__ void fill(int *x, int v) { x[threadIdx.x] = v; }
"""


class Handle:
    """The library's functions by ctypes: (name, arguments...) to a hipError_t."""

    def __init__(self) -> None:
        load_hip(runtime.device("emulated:gfx950").backend)
        from workbench.emulator import hip

        self.library = hip.load().handle

    def __call__(self, name: str, *arguments: Any) -> int:
        wide = [ctypes.c_size_t(a) if isinstance(a, int) else a for a in arguments]
        return int(getattr(self.library, name)(*wide))


@pytest.fixture(scope="module")
def call() -> Handle:
    return Handle()


@pytest.fixture(scope="module")
def kernels() -> wb.Module:
    return wb.compile(KERNELS, arch="gfx950")


def properties() -> structures.MemAllocationProp:
    return structures.MemAllocationProp(type=1, location=structures.MemLocation(1, 0))


def access(flags: int) -> structures.MemAccessDesc:
    return structures.MemAccessDesc(structures.MemLocation(1, 0), flags)


@pytest.fixture
def allocation(call: Handle) -> Iterator[tuple[int, int]]:
    """Four pages of addresses and a page of memory."""
    base, handle = ctypes.c_size_t(), ctypes.c_size_t()
    assert call("hipMemAddressReserve", ctypes.byref(base), 4 * PAGE, 0, 0, 0) == 0
    used = node().memory.used
    assert call("hipMemCreate", ctypes.byref(handle), PAGE, ctypes.byref(properties()), 0) == 0
    assert node().memory.used == used + PAGE
    yield base.value, handle.value
    used = node().memory.used
    call("hipMemUnmap", base.value, PAGE)
    # A test may have released it before.
    released = call("hipMemRelease", handle.value) == 0
    assert node().memory.used == used - PAGE * released
    assert call("hipMemAddressFree", base.value, 4 * PAGE) == 0


def run(kernels: wb.Module, name: str, *arguments: object) -> None:
    kernels[name][(1,), (64,)](*arguments)


def test_the_same_memory_at_two_places(call: Handle, kernels: wb.Module, allocation: tuple[int, int]) -> None:
    base, handle = allocation
    assert base % PAGE == 0
    for place in (base, base + 2 * PAGE):
        assert call("hipMemMap", place, PAGE, 0, handle, 0) == 0
        assert call("hipMemSetAccess", place, PAGE, ctypes.byref(access(3)), 1) == 0
    run(kernels, "fill", base + 8192, 7)
    out = (ctypes.c_int * 64)()
    assert call("hipMemcpy", out, base + 2 * PAGE + 8192, 256, 2) == 0
    assert list(out) == [7] * 64
    assert call("hipMemUnmap", base + 2 * PAGE, PAGE) == 0


def test_memory_outlives_its_mapping_and_its_handle(
    call: Handle, kernels: wb.Module, allocation: tuple[int, int]
) -> None:
    base, handle = allocation
    assert call("hipMemMap", base, PAGE, 0, handle, 0) == 0
    assert call("hipMemSetAccess", base, PAGE, ctypes.byref(access(3)), 1) == 0
    run(kernels, "fill", base, 9)
    again = ctypes.c_size_t()
    assert call("hipMemRetainAllocationHandle", ctypes.byref(again), base + 100) == 0
    assert again.value == handle
    assert call("hipMemUnmap", base, PAGE) == 0
    assert call("hipMemMap", base + PAGE, PAGE, 0, handle, 0) == 0
    assert call("hipMemRelease", handle) == 0
    assert call("hipMemSetAccess", base + PAGE, PAGE, ctypes.byref(access(1)), 1) == 0
    out = (ctypes.c_int * 64)()
    assert call("hipMemcpy", out, base + PAGE, 256, 2) == 0
    assert list(out) == [9] * 64
    assert call("hipMemUnmap", base + PAGE, PAGE) == 0


def test_accesses_across_mappings_that_follow_each_other(
    call: Handle, kernels: wb.Module, allocation: tuple[int, int]
) -> None:
    base, handle = allocation
    second = ctypes.c_size_t()
    assert call("hipMemCreate", ctypes.byref(second), PAGE, ctypes.byref(properties()), 0) == 0
    assert call("hipMemMap", base, PAGE, 0, handle, 0) == 0
    assert call("hipMemMap", base + PAGE, PAGE, 0, second.value, 0) == 0
    assert call("hipMemSetAccess", base, 2 * PAGE, ctypes.byref(access(3)), 1) == 0
    run(kernels, "fill", base + PAGE - 128, 5)
    out = (ctypes.c_int * 64)()
    assert call("hipMemcpy", out, base + PAGE - 128, 256, 2) == 0
    assert list(out) == [5] * 64
    assert call("hipMemcpy", out, base + 2 * PAGE - 128, 256, 2) == structures.INVALID_VALUE
    assert call("hipMemUnmap", base + PAGE, PAGE) == 0
    with pytest.raises(errors.AddressFault, match=r"lane 32 .* at byte 2097152 of 8388608 bytes of reserved"):
        run(kernels, "fill", base + PAGE - 128, 6)
    assert call("hipMemRelease", second.value) == 0


def test_faults(call: Handle, kernels: wb.Module, allocation: tuple[int, int]) -> None:
    base, handle = allocation
    with pytest.raises(errors.AddressFault, match="reserved addresses, where nothing is mapped"):
        run(kernels, "fill", base, 1)
    assert call("hipMemMap", base, PAGE, 0, handle, 0) == 0
    with pytest.raises(errors.AddressFault, match="to which hipMemSetAccess gave no access"):
        run(kernels, "fill", base, 1)
    out = (ctypes.c_int * 64)()
    assert call("hipMemcpy", out, base, 256, 2) == structures.INVALID_VALUE
    assert call("hipMemSetAccess", base, PAGE, ctypes.byref(access(1)), 1) == 0
    with pytest.raises(errors.AddressFault, match="in memory that is read-only"):
        run(kernels, "fill", base, 1)
    flags = ctypes.c_uint64()
    assert call("hipMemGetAccess", ctypes.byref(flags), ctypes.byref(structures.MemLocation(1, 0)), base) == 0
    assert flags.value == 1


def test_arguments_that_are_wrong(call: Handle, allocation: tuple[int, int]) -> None:
    base, handle = allocation
    wrong = structures.INVALID_VALUE
    result = ctypes.c_size_t()
    assert call("hipMemAddressReserve", ctypes.byref(result), 1000, 0, 0, 0) == wrong
    assert call("hipMemCreate", ctypes.byref(result), 1000, ctypes.byref(properties()), 0) == wrong
    assert call("hipMemMap", base + 4 * PAGE, PAGE, 0, handle, 0) == wrong
    assert call("hipMemMap", base, 2 * PAGE, 0, handle, 0) == wrong
    assert call("hipMemMap", base, PAGE, 4096, handle, 0) == wrong
    assert call("hipMemMap", base, PAGE, 0, handle + 1, 0) == wrong
    assert call("hipMemUnmap", base, PAGE) == wrong
    assert call("hipMemMap", base, PAGE, 0, handle, 0) == 0
    assert call("hipMemMap", base, PAGE, 0, handle, 0) == wrong
    assert call("hipMemSetAccess", base, 2 * PAGE, ctypes.byref(access(3)), 1) == wrong
    assert call("hipMemSetAccess", base, PAGE, ctypes.byref(access(2)), 1) == wrong
    assert call("hipMemAddressFree", base, 4 * PAGE) == wrong
    assert call("hipFree", base) == wrong


def test_a_descriptor_gives_the_memory_again(
    call: Handle, kernels: wb.Module, allocation: tuple[int, int]
) -> None:
    base, handle = allocation
    descriptor, again, used = ctypes.c_int(), ctypes.c_size_t(), node().memory.used
    assert call("hipMemExportToShareableHandle", ctypes.byref(descriptor), handle, 1, 0) == 0
    assert call("hipMemImportFromShareableHandle", ctypes.byref(again), descriptor.value, 1) == 0
    # HIP before 7.1 takes its address.
    older = ctypes.c_size_t()
    assert call("hipMemImportFromShareableHandle", ctypes.byref(older), ctypes.byref(descriptor), 1) == 0
    os.close(descriptor.value)
    assert again.value != handle
    assert node().memory.used == used
    for place, memory in ((base, handle), (base + PAGE, again.value)):
        assert call("hipMemMap", place, PAGE, 0, memory, 0) == 0
        assert call("hipMemSetAccess", place, PAGE, ctypes.byref(access(3)), 1) == 0
    run(kernels, "fill", base + PAGE, 5)
    assert (ctypes.c_int * 64).from_address(base)[63] == 5
    assert call("hipMemUnmap", base + PAGE, PAGE) == 0
    for memory in (again.value, older.value):
        assert call("hipMemRelease", memory) == 0


def test_a_descriptor_goes_to_another_process(call: Handle, kernels: wb.Module) -> None:
    handle, base, descriptor = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_int()
    asked = properties()
    asked.requestedHandleType = 1
    assert call("hipMemCreate", ctypes.byref(handle), PAGE, ctypes.byref(asked), 0) == 0
    assert call("hipMemExportToShareableHandle", ctypes.byref(descriptor), handle.value, 1, 0) == 0
    try:
        finished = wb.run_program(IMPORTER, [f"/proc/{os.getpid()}/fd/{descriptor.value}"])
        assert (finished.exit_code, finished.stderr) == (0, "")
    finally:
        os.close(descriptor.value)
    assert call("hipMemAddressReserve", ctypes.byref(base), PAGE, 0, 0, 0) == 0
    assert call("hipMemMap", base.value, PAGE, 0, handle.value, 0) == 0
    assert list((ctypes.c_int * 64).from_address(base.value)) == [7 + at for at in range(64)]
    assert call("hipMemUnmap", base.value, PAGE) == 0
    assert call("hipMemRelease", handle.value) == 0
    assert call("hipMemAddressFree", base.value, PAGE) == 0


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        (2, structures.NOT_SUPPORTED, "handles of type 2 belong to other systems"),
        (1, structures.INVALID_VALUE, "expected one that hipMemExportToShareableHandle"),
    ],
)
def test_what_is_no_handle(call: Handle, kind: int, error: int, words: str) -> None:
    result = ctypes.c_size_t()
    with open(os.devnull) as other:
        assert call("hipMemImportFromShareableHandle", ctypes.byref(result), other.fileno(), kind) == error
    assert words in str(calls.take_exception())


IMPORTER = r"""#include <hip/hip_runtime.h>
#include <fcntl.h>
__global__ void fill(int *x) { x[threadIdx.x] = 7 + threadIdx.x; }
int main(int, char **arguments) {
    const int file = open(arguments[1], O_RDWR);
    hipMemGenericAllocationHandle_t handle;
    const auto type = hipMemHandleTypePosixFileDescriptor;
    if (hipMemImportFromShareableHandle(&handle, (void *)(long)file, type)) return 1;
    const size_t size = 2 << 20;
    void *base;
    if (hipMemAddressReserve(&base, size, 0, nullptr, 0) || hipMemMap(base, size, 0, handle, 0)) return 2;
    hipMemAccessDesc access = {{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
    if (hipMemSetAccess(base, size, &access, 1)) return 3;
    fill<<<1, 64>>>((int *)base);
    return hipDeviceSynchronize();
}
"""
PROGRAM = r"""#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void fill(int *x, int n, int v) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = v + i;
}
int main() {
    // A vector that grows in place.
    hipMemAllocationProp properties = {};
    properties.type = hipMemAllocationTypePinned;
    properties.location = {hipMemLocationTypeDevice, 0};
    size_t granularity = 0;
    hipMemGetAllocationGranularity(&granularity, &properties, hipMemAllocationGranularityRecommended);
    void *base;
    if (hipMemAddressReserve(&base, 8 * granularity, 0, nullptr, 0)) return 1;
    hipMemAccessDesc access = {properties.location, hipMemAccessFlagsProtReadWrite};
    for (int step = 0; step < 3; step++) {
        hipMemGenericAllocationHandle_t handle;
        char *place = (char *)base + step * granularity;
        if (hipMemCreate(&handle, granularity, &properties, 0)) return 2;
        if (hipMemMap(place, granularity, 0, handle, 0) || hipMemRelease(handle)) return 3;
        if (hipMemSetAccess(place, granularity, &access, 1)) return 4;
    }
    const int n = 3 * granularity / sizeof(int);
    fill<<<8, 256>>>((int *)base, n, 3);
    int last[2];
    if (hipMemcpy(last, (int *)base + n - 2, sizeof last, hipMemcpyDefault)) return 5;
    if (hipMemUnmap(base, 3 * granularity) || hipMemAddressFree(base, 8 * granularity)) return 6;
    std::printf("%zu %d\n", granularity, last[1] - n);
}
"""


def test_a_program_with_a_vector_that_grows() -> None:
    assert wb.run_program(PROGRAM, device="emulated:gfx950").check().stdout == f"{PAGE} 2\n"
