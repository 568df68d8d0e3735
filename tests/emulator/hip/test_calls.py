"""HIP calls on the emulated devices through hip-python: devices, memory, streams, events, errors."""

from __future__ import annotations

import ctypes
import time
from types import SimpleNamespace

import numpy as np
import pytest

from workbench import runtime
from workbench.emulator import hip as emulated
from workbench.emulator.hip import streams, structures
from workbench.runtime.hip import accept_both_forms
from workbench.runtime.hip import api as load_hip


@pytest.fixture(scope="module")
def hip():
    return load_hip(runtime.device("emulated").backend)


def check(answer):
    status, *values = answer
    assert int(status) == 0, status
    return values[0] if len(values) == 1 else tuple(values)


def test_devices_with_the_properties_of_the_hardware(hip) -> None:
    attribute = hip.hipDeviceAttribute_t
    instinct = [(256, 163840), (304, 65536), (104, 65536), (256, 163840), (304, 65536)]
    # Work-group processors of two compute units each, which share 128 KiB; a work-group has half.
    radeon = [(units, 65536) for units in (32, 48, 48, 30, 16, 6, 20)]
    devices = [*instinct, *radeon, (256, 327680)]
    assert check(hip.hipGetDeviceCount()) == len(devices)
    for ordinal, (units, lds) in enumerate(devices):
        for name, expected in (
            (attribute.hipDeviceAttributeMultiprocessorCount, units),
            (attribute.hipDeviceAttributeMaxSharedMemoryPerBlock, lds),
            (attribute.hipDeviceAttributeWarpSize, 64 if ordinal < len(instinct) else 32),
            (attribute.hipDeviceAttributeMaxThreadsPerBlock, 1024),
        ):
            assert check(hip.hipDeviceGetAttribute(name, ordinal)) == expected
    assert int(hip.hipSetDevice(len(devices))[0]) == structures.INVALID_DEVICE


def test_properties_in_the_forms_of_older_and_newer_hip_python(hip) -> None:
    """A record that the call fills, before 7.14, and one that it creates."""
    assert [(p.major, p.minor) for p in (check(hip.hipGetDeviceProperties(n)) for n in (0, 2, 5, 6, 12))] == [
        (9, 5),
        (9, 0),
        (12, 0),
        (11, 0),
        (12, 5),
    ]
    fresh, record = check(hip.hipGetDeviceProperties(1)), hip.hipDeviceProp_t()
    assert check(hip.hipGetDeviceProperties(record, 1)) == ()
    for properties in (fresh, record):
        assert properties.gcnArchName.startswith("gfx942")
        assert properties.multiProcessorCount == 304
    assert int(hip.hipGetDeviceProperties(99)[0]) == structures.INVALID_DEVICE
    assert int(hip.hipGetDeviceProperties(record, 99)[0]) == structures.INVALID_DEVICE
    with pytest.raises(TypeError):
        hip.hipGetDeviceProperties("one")


def test_properties_of_an_older_hip_python() -> None:
    """The function fills a record and accepts no other form."""

    class Record:
        value = 0

    def fill(record: Record, ordinal: int) -> tuple[int]:
        record.value = 10 + ordinal
        return (0,)

    module = SimpleNamespace(hipGetDeviceProperties=fill, hipDeviceProp_t=Record)
    accept_both_forms(module)
    status, record = module.hipGetDeviceProperties(2)
    assert (status, record.value) == (0, 12)


def test_registers_of_a_block_are_those_of_all_its_waves(hip) -> None:
    """Triton's tutorials divide them by a kernel's registers: with 512, one lane's, their grid is empty."""
    name = hip.hipDeviceAttribute_t.hipDeviceAttributeMaxRegistersPerBlock
    # Four SIMDs of 512 registers of 64 lanes.
    assert check(hip.hipDeviceGetAttribute(name, 0)) == 131_072


def test_the_current_device_is_the_threads_own(hip) -> None:
    import threading

    check(hip.hipSetDevice(1))
    seen = []
    thread = threading.Thread(target=lambda: seen.append(check(hip.hipGetDevice())))
    thread.start()
    thread.join()
    assert seen == [0]
    assert check(hip.hipGetDevice()) == 1
    check(hip.hipSetDevice(0))


def test_versions_and_texts(hip) -> None:
    assert check(hip.hipRuntimeGetVersion()) == structures.VERSION
    name = hip.hipGetErrorName(hip.hipError_t.hipErrorIllegalAddress)
    text = name[-1] if isinstance(name, tuple) else name
    assert "hipErrorIllegalAddress" in (text.decode() if isinstance(text, bytes) else str(text))


def test_copies_in_every_direction(hip) -> None:
    source = np.arange(1000, dtype=np.int32)
    back = np.zeros_like(source)
    first, second = check(hip.hipMalloc(4000)), check(hip.hipMalloc(4000))
    kind = hip.hipMemcpyKind
    check(hip.hipMemcpy(first, source, 4000, kind.hipMemcpyHostToDevice))
    check(hip.hipMemcpy(second, first, 4000, kind.hipMemcpyDeviceToDevice))
    check(hip.hipMemcpyAsync(back, second, 4000, kind.hipMemcpyDeviceToHost, None))
    np.testing.assert_array_equal(back, source)
    check(hip.hipMemset(second, 0xAB, 100))
    check(hip.hipMemcpy(back, second, 4000, kind.hipMemcpyDefault))
    assert (back[:25].view(np.uint8) == 0xAB).all()
    assert (back[25:] == source[25:]).all()
    check(hip.hipFree(first))
    check(hip.hipFree(second))


def test_a_copy_past_the_end_is_refused(hip) -> None:
    host = np.zeros(2000, dtype=np.uint8)
    device = check(hip.hipMalloc(1000))
    kind = hip.hipMemcpyKind.hipMemcpyHostToDevice
    assert int(hip.hipMemcpy(device, host, 1001, kind)[0]) == structures.INVALID_VALUE
    assert int(hip.hipMemcpy(int(device) + 1000, host, 1, kind)[0]) == structures.INVALID_VALUE
    check(hip.hipMemcpy(device, host, 1000, kind))
    address = int(device)
    check(hip.hipFree(device))
    assert int(hip.hipMemcpy(address, host, 1, kind)[0]) == structures.INVALID_VALUE
    assert int(hip.hipFree(address)[0]) == structures.INVALID_VALUE


def test_pitched_copies_and_patterns(hip) -> None:
    address, pitch = check(hip.hipMallocPitch(100, 7))
    assert pitch == 256
    rows = np.arange(700, dtype=np.uint8).reshape(7, 100)
    back = np.zeros((7, 100), dtype=np.uint8)
    kind = hip.hipMemcpyKind
    check(hip.hipMemcpy2D(address, pitch, rows, 100, 100, 7, kind.hipMemcpyHostToDevice))
    check(hip.hipMemcpy2D(back, 100, address, pitch, 100, 7, kind.hipMemcpyDeviceToHost))
    np.testing.assert_array_equal(back, rows)
    check(hip.hipMemsetD32(address, 0x01020304, 25))
    check(hip.hipMemcpy(back, address, 100, kind.hipMemcpyDeviceToHost))
    assert (back[0].view(np.uint32) == 0x01020304).all()
    check(hip.hipFree(address))


def test_more_than_there_is_is_out_of_memory(hip) -> None:
    assert int(hip.hipMalloc(1 << 50)[0]) == structures.OUT_OF_MEMORY
    free, total = check(hip.hipMemGetInfo())
    assert 0 < free <= total == 288 << 30


def test_registered_and_pinned_host_memory(hip) -> None:
    array = np.zeros(4096, dtype=np.uint8)
    base = array.ctypes.data
    check(hip.hipHostRegister(base, 4096, 0))
    assert int(hip.hipHostRegister(base + 10, 10, 0)[0]) == structures.HOST_MEMORY_ALREADY_REGISTERED
    assert int(check(hip.hipHostGetDevicePointer(base, 0))) == base
    check(hip.hipHostUnregister(base))
    assert int(hip.hipHostUnregister(base)[0]) == structures.HOST_MEMORY_NOT_REGISTERED
    pinned = check(hip.hipHostMalloc(100, 0))
    ctypes.memset(int(pinned), 1, 100)
    check(hip.hipHostFree(pinned))


def test_pointer_attributes_say_what_memory_is(hip) -> None:
    address = check(hip.hipMalloc(64))
    # hip-python's signature differs between its versions; the C one does not.
    attributes = structures.PointerAttributes()
    pointer = ctypes.c_void_p(int(address) + 8)
    assert emulated.load().handle.hipPointerGetAttributes(ctypes.byref(attributes), pointer) == 0
    assert (attributes.type, attributes.device) == (structures.MEMORY_DEVICE, 0)
    assert (attributes.devicePointer, attributes.hostPointer) == (pointer.value, None)
    base, size = check(hip.hipMemGetAddressRange(int(address) + 10))
    assert (int(base), size) == (int(address), 64)
    check(hip.hipFree(address))


def test_events_measure_this_computers_time(hip, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=5_000_000_000, monotonic=time.monotonic, sleep=time.sleep)
    clock.monotonic_ns = lambda: clock.now
    monkeypatch.setattr(streams, "time", clock)
    monkeypatch.setenv("HIPKITTENS_EVENT_TIMES", "host")
    start, stop = check(hip.hipEventCreate()), check(hip.hipEventCreate())
    stream = check(hip.hipStreamCreate())
    assert int(hip.hipEventElapsedTime(start, stop)[0]) == structures.INVALID_HANDLE
    check(hip.hipEventRecord(start, stream))
    clock.now += 20_500_000
    check(hip.hipEventRecord(stop, stream))
    clock.now += 7_000_000
    check(hip.hipEventSynchronize(stop))
    assert check(hip.hipEventElapsedTime(start, stop)) == 20.5
    check(hip.hipStreamWaitEvent(stream, stop, 0))
    check(hip.hipStreamSynchronize(stream))
    check(hip.hipStreamDestroy(stream))
    assert int(hip.hipStreamSynchronize(stream)[0]) == structures.INVALID_HANDLE
    check(hip.hipEventDestroy(start))
    check(hip.hipEventDestroy(stop))


def test_contexts_name_their_device(hip) -> None:
    context = check(hip.hipDevicePrimaryCtxRetain(1))
    check(hip.hipCtxSetCurrent(context))
    assert check(hip.hipGetDevice()) == 1
    check(hip.hipSetDevice(0))
    check(hip.hipDevicePrimaryCtxRelease(1))


def test_contexts_answer_what_devices_do(hip) -> None:
    context = check(hip.hipDevicePrimaryCtxRetain(1))
    handle = emulated.load().handle
    number = ctypes.c_uint(99)
    assert handle.hipCtxGetApiVersion(ctypes.c_void_p(int(context)), ctypes.byref(number)) == 0
    assert number.value == structures.VERSION
    assert handle.hipCtxGetFlags(ctypes.byref(number)) == 0
    assert handle.hipCtxSetCacheConfig(0) == 0
    assert handle.hipCtxEnablePeerAccess(ctypes.c_void_p(int(context)), 0) == structures.INVALID_DEVICE
    assert handle.hipCtxDisablePeerAccess(ctypes.c_void_p(int(context))) == structures.PEER_ACCESS_NOT_ENABLED
    assert handle.hipCtxGetApiVersion(ctypes.c_void_p(5), ctypes.byref(number)) == structures.INVALID_CONTEXT
    check(hip.hipDevicePrimaryCtxRelease(1))
    check(hip.hipSetDevice(0))


def test_no_device_reaches_anothers_memory(hip) -> None:
    handle, value = emulated.load().handle, ctypes.c_int(9)
    for attribute in range(4):
        assert handle.hipDeviceGetP2PAttribute(ctypes.byref(value), attribute, 0, 1) == 0
        assert value.value == 0
    assert handle.hipDeviceGetP2PAttribute(ctypes.byref(value), 4, 0, 1) == structures.INVALID_VALUE
    assert handle.hipDeviceGetP2PAttribute(ctypes.byref(value), 0, 0, 99) == structures.INVALID_DEVICE


def test_the_device_that_fits_best(hip) -> None:
    handle, ordinal = emulated.load().handle, ctypes.c_int(9)
    properties = structures.DeviceProp(major=9, multiProcessorCount=300)
    assert handle.hipChooseDeviceR0600(ctypes.byref(ordinal), ctypes.byref(properties)) == 0
    assert ordinal.value == 1
    properties = structures.DeviceProp(major=9, sharedMemPerBlock=160 * 1024)
    assert handle.hipChooseDeviceR0600(ctypes.byref(ordinal), ctypes.byref(properties)) == 0
    assert ordinal.value == 0


def test_a_pool_of_another_device(hip) -> None:
    handle = emulated.load().handle
    pool, memory = ctypes.c_void_p(), ctypes.c_void_p()
    properties = structures.MemPoolProps(allocType=1, location=structures.MemLocation(1, 1))
    assert handle.hipMemPoolCreate(ctypes.byref(pool), ctypes.byref(properties)) == 0
    assert handle.hipMallocFromPoolAsync(ctypes.byref(memory), ctypes.c_size_t(64), pool, None) == 0
    attributes = structures.PointerAttributes()
    assert handle.hipPointerGetAttributes(ctypes.byref(attributes), memory) == 0
    assert (attributes.type, attributes.device) == (structures.MEMORY_DEVICE, 1)
    assert handle.hipDeviceSetMemPool(0, pool) == structures.INVALID_DEVICE
    access, here = ctypes.c_int(9), structures.MemLocation(1, 0)
    assert handle.hipMemPoolGetAccess(ctypes.byref(access), pool, ctypes.byref(here)) == 0
    assert access.value == 0
    description = structures.MemAccessDesc(here, 3)
    assert (
        handle.hipMemPoolSetAccess(pool, ctypes.byref(description), ctypes.c_size_t(1))
        == structures.INVALID_DEVICE
    )
    check(hip.hipFree(memory.value))
    assert handle.hipMemPoolDestroy(pool) == 0
    assert handle.hipMemPoolDestroy(pool) == structures.INVALID_VALUE
    bad = structures.MemPoolProps(allocType=1, location=structures.MemLocation(1, 99))
    assert handle.hipMemPoolCreate(ctypes.byref(pool), ctypes.byref(bad)) == structures.INVALID_DEVICE


def test_a_wait_for_an_unwritten_value_ends(hip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_PATIENCE_SECONDS", 0.05)
    handle = emulated.load().handle
    flag = int(check(hip.hipMalloc(8)))
    emulated.take_exception()
    wait = (None, ctypes.c_void_p(flag), ctypes.c_uint32(5), 1, ctypes.c_uint32(0xFF))
    assert handle.hipStreamWaitValue32(*wait) == structures.NOT_SUPPORTED
    behind = str(emulated.take_exception())
    assert f"waits for 0x5 at {flag:#x}, which holds 0x0" in behind
    assert "write the value before the wait" in behind
    emulated.take_launch_failure()
    assert handle.hipStreamWriteValue32(None, ctypes.c_void_p(flag), ctypes.c_uint32(0x105), 0) == 0
    # The mask does not change the five.
    assert handle.hipStreamWaitValue32(*wait) == 0
    # Half of it lies past the end of the allocation.
    assert (
        handle.hipStreamWriteValue64(None, ctypes.c_void_p(flag + 4), ctypes.c_uint64(1), 0)
        == structures.INVALID_VALUE
    )
    check(hip.hipFree(flag))
