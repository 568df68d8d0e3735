"""Compiled host code on the emulated devices: registration, <<<>>> launches, device variables."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import numpy as np
import pytest

from workbench import toolchain
from workbench.emulator import hip as emulated
from workbench.emulator.hip import structures
from workbench.targets import TILE_TARGETS
from workbench.toolchain import native as build

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "runtime" / "kernels.hip"


def bundle(codes: dict[str, bytes]) -> bytes:
    """A HIP fat binary, as clang-offload-bundler writes it."""
    entries = [("host-x86_64-unknown-linux-gnu-", b"")]
    entries += [(f"hipv4-amdgcn-amd-amdhsa--{arch}", code) for arch, code in codes.items()]
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    body, offset = b"", 4096
    for triple, code in entries:
        head += struct.pack("<QQQ", offset + len(body), len(code), len(triple)) + triple.encode()
        body += code + b"\0" * (-len(code) % 4096)
    return head.ljust(4096, b"\0") + body


@pytest.fixture(scope="module")
def program():
    emulated.load()
    path = build.build(
        "hosttest", [HERE / "host_program.c"], flags=["-Wl,--allow-shlib-undefined", "-Wl,-z,undefs"]
    )
    library = ctypes.CDLL(str(path))
    source = KERNELS.read_text()
    codes = {
        arch: toolchain.compile_device(source, toolchain.CompileOptions(arch, name="kernels.hip")).code_object
        for arch in TILE_TARGETS
    }
    content = ctypes.create_string_buffer(bundle(codes))
    library.host_register(content)
    library.content = content
    yield library
    library.host_unregister()
    assert library.host_unknown() == structures.INVALID_DEVICE_FUNCTION


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("ordinal", [0, 1])
def test_a_launch_runs_on_the_current_device(program, ordinal: int) -> None:
    handle = emulated.load().handle
    assert handle.hipSetDevice(ordinal) == 0
    a = np.arange(1000, dtype=np.float32)
    b = np.ones(1000, dtype=np.float32)
    c = np.zeros(1000, dtype=np.float32)
    assert program.host_add(pointer(a), pointer(b), pointer(c), 1000) == 0
    np.testing.assert_array_equal(c, a + b)
    assert handle.hipSetDevice(0) == 0


def test_device_variables_by_their_host_shadow(program) -> None:
    out = np.zeros(4, dtype=np.int32)
    assert program.host_counter(1000, pointer(out)) == 0
    np.testing.assert_array_equal(out, 1000 + np.array([1, 2, 3, 4]))


def test_a_function_that_nobody_registered(program) -> None:
    assert program.host_unknown() == structures.INVALID_DEVICE_FUNCTION
