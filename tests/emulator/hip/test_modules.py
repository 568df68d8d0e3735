"""Modules and kernels through hip-python: loading, both ways of passing arguments, variables, attributes."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.codeobject.test_bundle import compressed
from workbench import errors, runtime, toolchain
from workbench.codeobject.bundle import fat_binary
from workbench.emulator import hip as emulated
from workbench.emulator.hip import structures
from workbench.runtime.hip import api as load_hip

KERNELS = Path(__file__).parents[2] / "runtime" / "kernels.hip"


@pytest.fixture(scope="module")
def hip():
    return load_hip(runtime.device("emulated").backend)


@pytest.fixture(scope="module")
def code() -> bytes:
    return toolchain.compile_device(
        KERNELS.read_text(), toolchain.CompileOptions("gfx950", name="kernels.hip")
    ).code_object


def check(answer):
    status, *values = answer
    assert int(status) == 0, (status, emulated.take_exception())
    return values[0] if len(values) == 1 else tuple(values)


@pytest.fixture
def module(hip, code):
    handle = check(hip.hipModuleLoadData(code))
    yield handle
    check(hip.hipModuleUnload(handle))


def upload(hip, array: np.ndarray) -> int:
    address = int(check(hip.hipMalloc(array.nbytes)))
    check(hip.hipMemcpy(address, array, array.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    return address


def download(hip, address: int, array: np.ndarray) -> np.ndarray:
    check(hip.hipMemcpy(array, address, array.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    check(hip.hipFree(address))
    return array


@pytest.mark.parametrize("way", ["pointers", "buffer"])
def test_a_launch_on_device_memory(hip, module, way: str) -> None:
    n = 500
    a, b = np.arange(n, dtype=np.float32), np.full(n, 2, dtype=np.float32)
    da, db, dc = upload(hip, a), upload(hip, b), upload(hip, np.zeros(n, dtype=np.float32))
    kernel = check(hip.hipModuleGetFunction(module, b"vector_add"))
    stream = check(hip.hipStreamCreate())
    values = [*(ctypes.c_void_p(x) for x in (da, db, dc)), ctypes.c_int(n)]
    if way == "buffer":
        check(hip.hipModuleLaunchKernel(kernel, 2, 1, 1, 256, 1, 1, 0, stream, None, tuple(values)))
    else:
        pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(v) for v in values))
        check(
            hip.hipModuleLaunchKernel(kernel, 2, 1, 1, 256, 1, 1, 0, stream, ctypes.addressof(pointers), None)
        )
    check(hip.hipStreamSynchronize(stream))
    np.testing.assert_array_equal(download(hip, dc, np.zeros(n, dtype=np.float32)), a + b)
    for address in (da, db):
        check(hip.hipFree(address))


def test_variables_are_read_and_written_by_name(hip, module) -> None:
    address, size = check(hip.hipModuleGetGlobal(module, b"counter"))
    assert size == 4
    value = np.array([100], dtype=np.int32)
    check(hip.hipMemcpy(int(address), value, 4, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    kernel = check(hip.hipModuleGetFunction(module, b"globals"))
    out = int(check(hip.hipMalloc(16)))
    argument = (ctypes.c_void_p(out),)
    check(hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, None, None, argument))
    np.testing.assert_array_equal(download(hip, out, np.zeros(4, dtype=np.int32)), [101, 102, 103, 104])
    assert int(hip.hipModuleGetGlobal(module, b"nothing")[0]) == structures.NOT_FOUND


def test_unknown_kernels_are_named(hip, module) -> None:
    emulated.take_exception()
    assert int(hip.hipModuleGetFunction(module, b"nothing")[0]) == structures.NOT_FOUND
    assert "vector_add" in str(emulated.take_exception())


def test_a_fault_is_an_error_code_with_an_exception_behind_it(hip, module) -> None:
    kernel = check(hip.hipModuleGetFunction(module, b"out_of_bounds"))
    data = int(check(hip.hipMalloc(256)))
    argument = (ctypes.c_void_p(data), ctypes.c_int(64))
    emulated.take_exception()
    status = hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, None, argument)[0]
    assert int(status) == structures.ILLEGAL_ADDRESS
    behind = emulated.take_exception()
    assert isinstance(behind, errors.AddressFault)
    assert "wrote 4 bytes" in str(behind)
    assert "1 byte past the end of a 256-byte device allocation" in str(behind)
    assert int(hip.hipGetLastError()[0]) == structures.ILLEGAL_ADDRESS
    check(hip.hipFree(data))


def test_use_after_free_is_a_fault(hip, module) -> None:
    kernel = check(hip.hipModuleGetFunction(module, b"out_of_bounds"))
    data = int(check(hip.hipMalloc(256)))
    check(hip.hipFree(data))
    argument = (ctypes.c_void_p(data), ctypes.c_int(2))
    emulated.take_exception()
    hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, None, argument)
    assert "at byte 8 of a 256-byte device allocation that was freed" in str(emulated.take_exception())


def test_attributes_and_occupancy(hip, module) -> None:
    kernel = check(hip.hipModuleGetFunction(module, b"small_blocks"))
    attribute = hip.hipFunction_attribute
    limit = check(hip.hipFuncGetAttribute(attribute.HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel))
    assert limit == 128
    # 8 waves a SIMD, 4 SIMDs, 2 waves a block
    assert check(hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(kernel, 128, 0)) == 16
    # half of the 160 KiB each
    assert check(hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(kernel, 64, 81920)) == 2
    sums = check(hip.hipModuleGetFunction(module, b"row_sums"))
    shared = check(hip.hipFuncGetAttribute(attribute.HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, sums))
    assert shared == 1024


def test_a_file_that_is_not_there(hip) -> None:
    assert int(hip.hipModuleLoad(b"/nowhere/at/all.co")[0]) == structures.FILE_NOT_FOUND


def test_code_that_ends_too_soon(hip, code: bytes) -> None:
    """Loading any part of a code object is an error and nothing worse."""
    for length in (0, 3, 64, 200, len(code) // 2, len(code) - 100):
        content = ctypes.create_string_buffer(code[:length], length + 1)
        status = hip.hipModuleLoadData(ctypes.addressof(content))[0]
        assert int(status) in (structures.INVALID_IMAGE, structures.NO_BINARY_FOR_GPU), length


def test_libraries_and_functions_of_the_driver(hip, code: bytes) -> None:
    handle = emulated.load().handle
    library, kernel, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    content = ctypes.create_string_buffer(code, len(code))
    assert handle.hipLibraryLoadData(ctypes.byref(library), content, None, None, 0, None, None, 0) == 0
    count = ctypes.c_uint()
    assert handle.hipLibraryGetKernelCount(ctypes.byref(count), library) == 0
    assert count.value > 3
    assert handle.hipLibraryGetKernel(ctypes.byref(kernel), library, b"globals") == 0
    assert handle.hipKernelGetFunction(ctypes.byref(function), kernel) == 0
    name = ctypes.c_char_p()
    assert handle.hipKernelGetName(ctypes.byref(name), kernel) == 0
    assert name.value == b"globals"
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert handle.hipLibraryGetGlobal(ctypes.byref(address), ctypes.byref(size), library, b"counter") == 0
    value = np.array([7], dtype=np.int32)
    check(hip.hipMemcpy(address.value, value, 4, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    out = ctypes.c_void_p(int(check(hip.hipMalloc(16))))
    unit = structures.Dim3(1, 1, 1)
    config = structures.DriverLaunchConfig(gridDim=unit, blockDim=structures.Dim3(4, 1, 1))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(out))
    assert handle.hipDrvLaunchKernelEx(ctypes.byref(config), function, arguments, None) == 0
    np.testing.assert_array_equal(download(hip, out.value, np.zeros(4, dtype=np.int32)), [8, 9, 10, 11])
    assert handle.hipLibraryUnload(library) == 0
    assert handle.hipLibraryUnload(library) == structures.INVALID_HANDLE


ADD = """
#include <hip/hip_runtime.h>
extern "C" __global__ void add(int *x) { x[threadIdx.x] += threadIdx.x; }
"""


@pytest.fixture(scope="module")
def generic() -> bytes:
    options = toolchain.CompileOptions("gfx9-4-generic", name="add.hip")
    return toolchain.compile_device(ADD, options).code_object


def add_on(hip, ordinal: int, image: bytes) -> np.ndarray:
    """Result of an image's kernel on 64 zeros on a device."""
    check(hip.hipSetDevice(ordinal))
    try:
        module = check(hip.hipModuleLoadData(image))
        address = upload(hip, np.zeros(64, np.int32))
        kernel = check(hip.hipModuleGetFunction(module, b"add"))
        values = (ctypes.c_void_p(address),)
        check(hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, None, values))
        result = download(hip, address, np.zeros(64, np.int32))
        check(hip.hipModuleUnload(module))
    finally:
        hip.hipSetDevice(0)
    return result


def test_one_generic_code_object_runs_on_both(hip, generic: bytes) -> None:
    for name in ("emulated:gfx950", "emulated:gfx942", "emulated:mi350x", "emulated:mi325x"):
        ordinal = [device.name for device in runtime.devices()].index(name)
        for image in (generic, fat_binary({"gfx9-4-generic": generic})):
            np.testing.assert_array_equal(add_on(hip, ordinal, image), np.arange(64))


def test_a_generic_code_object_on_another_target(hip, generic: bytes) -> None:
    ordinal = [device.name for device in runtime.devices()].index("emulated:gfx90a")
    check(hip.hipSetDevice(ordinal))
    try:
        assert int(hip.hipModuleLoadData(generic)[0]) == structures.NO_BINARY_FOR_GPU
        assert "is for gfx9-4-generic, and the device" in str(emulated.take_exception())
    finally:
        hip.hipSetDevice(0)


def test_the_own_code_is_taken_before_a_generic_one(hip, generic: bytes) -> None:
    own = toolchain.compile_device(
        ADD.replace("threadIdx.x;", "7;"), toolchain.CompileOptions("gfx942", name="add.hip")
    ).code_object
    image = fat_binary({"gfx9-4-generic": generic, "gfx942": own})
    names = [device.name for device in runtime.devices()]
    np.testing.assert_array_equal(add_on(hip, names.index("emulated:gfx942"), image), np.full(64, 7))
    np.testing.assert_array_equal(add_on(hip, names.index("emulated:gfx950"), image), np.arange(64))


def test_a_compressed_fat_binary_in_memory(hip, generic: bytes) -> None:
    """The header contains its length, except in the first version."""
    ordinal = [device.name for device in runtime.devices()].index("emulated:gfx942")
    content = fat_binary({"gfx9-4-generic": generic})
    for version in (2, 3):
        np.testing.assert_array_equal(add_on(hip, ordinal, compressed(content, version)), np.arange(64))
    assert int(hip.hipModuleLoadData(compressed(content, 1))[0]) == structures.INVALID_IMAGE
    assert "does not say where it ends" in str(emulated.take_exception())
