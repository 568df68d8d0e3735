"""Arguments that HIP refuses. The codes are the answers of AMD's libamdhip64 6.4.3 under `exec --driver`."""

from __future__ import annotations

import ctypes

import pytest

from workbench.emulator import hip

INVALID_VALUE = 1
HANDLE = ctypes.c_void_p


def call(name: str, *arguments: object) -> int:
    """The hipError_t of a function of the emulated device's library."""
    return int(getattr(hip.load().handle, name)(*arguments))


@pytest.fixture
def result() -> HANDLE:
    return HANDLE()


@pytest.mark.parametrize(
    ("flags", "code"),
    [(0, 0), (1, 0), (2, 0), (4, 1), (6, 0), (8, 1), (1 << 29, 0), (1 << 30, 0), (1 << 31, 0), (3 << 30, 1)],
)
def test_flags_of_events(result: HANDLE, flags: int, code: int) -> None:
    assert call("hipEventCreateWithFlags", ctypes.byref(result), ctypes.c_uint(flags)) == code
    if code == 0:
        assert call("hipEventDestroy", result) == 0


@pytest.mark.parametrize(("flags", "code"), [(0, 0), (1, 0), (9, INVALID_VALUE)])
def test_flags_of_streams(result: HANDLE, flags: int, code: int) -> None:
    assert call("hipStreamCreateWithFlags", ctypes.byref(result), ctypes.c_uint(flags)) == code
    if code == 0:
        assert call("hipStreamDestroy", result) == 0


@pytest.mark.parametrize(
    ("size", "flags", "code"),
    [(64, 0, 1), (64, 1, 0), (64, 2, 0), (64, 3, 1), (64, 9, 1), (0, 1, 1)],
)
def test_managed_memory(result: HANDLE, size: int, flags: int, code: int) -> None:
    words = ctypes.byref(result), ctypes.c_size_t(size), ctypes.c_uint(flags)
    assert call("hipMallocManaged", *words) == code
    if code == 0:
        assert call("hipFree", result) == 0


def test_waits_and_callbacks(result: HANDLE) -> None:
    event = HANDLE()
    assert call("hipStreamCreate", ctypes.byref(result)) == 0
    assert call("hipEventCreateWithFlags", ctypes.byref(event), ctypes.c_uint(0)) == 0
    assert call("hipStreamWaitEvent", result, event, ctypes.c_uint(0)) == 0
    assert call("hipStreamWaitEvent", result, event, ctypes.c_uint(9)) == INVALID_VALUE
    # A callback at address 0 was called before.
    assert call("hipStreamAddCallback", result, None, None, ctypes.c_uint(0)) == INVALID_VALUE
    assert call("hipEventDestroy", event) == 0
    assert call("hipStreamDestroy", result) == 0


def test_unregistering_nothing() -> None:
    assert call("hipHostUnregister", None) == INVALID_VALUE
