"""hiprtc's linker: bitcode of several programs, files, bundles and archives to one code object."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench import errors, runtime
from workbench.codeobject.bundle import BUNDLE_MAGIC
from workbench.emulator.hip import calls, structures
from workbench.runtime.hip import api as load_hip
from workbench.toolchain import CompileOptions
from workbench.toolchain.linking import compile_bitcode

KERNEL = """#include <hip/hip_runtime.h>
extern "C" __device__ float twice(float x);
extern "C" __global__ void k(float *x) {
    __shared__ float s[64];
    s[threadIdx.x] = twice(x[threadIdx.x]);
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}
"""
PART = """
__device__ float factor = 2;
extern "C" __device__ __attribute__((noinline)) float twice(float x) { return factor * x; }
"""
BITCODE, BUNDLED, ARCHIVE, OBJECT = 100, 101, 102, 3


@pytest.fixture(scope="module")
def parts() -> tuple[bytes, bytes]:
    objects = [
        compile_bitcode(text, CompileOptions("gfx950", name=f"{at}.hip"))[0]
        for at, text in enumerate((KERNEL, PART))
    ]
    return objects[0], objects[1]


@pytest.fixture(scope="module")
def rtc() -> Any:
    load_hip(runtime.device("emulated:gfx950").backend)
    from workbench.emulator import hip

    return hip.load_all()


Link = Callable[[Sequence[tuple[int, bytes | Path]]], tuple[int, bytes, str]]


@pytest.fixture(params=["hiprtc", "hip"])
def link(rtc: Any, request: pytest.FixtureRequest) -> Link:
    """Links inputs of each kind: the error, the code object and the error log."""
    library = rtc["hiprtc" if request.param == "hiprtc" else "amdhip64"].handle

    def call(name: str, *arguments: Any) -> int:
        wide = [ctypes.c_size_t(a) if isinstance(a, int) else a for a in arguments]
        return int(getattr(library, request.param + name)(*wide))

    def run(inputs: Sequence[tuple[int, bytes | Path]]) -> tuple[int, bytes, str]:
        log = ctypes.create_string_buffer(2000)
        options, values = (ctypes.c_int * 2)(5, 6), (ctypes.c_size_t * 2)(ctypes.addressof(log), 2000)
        state, code, size = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_size_t()
        assert call("LinkCreate", 2, options, values, ctypes.byref(state)) == 0
        failed = 0
        for kind, content in inputs:
            if isinstance(content, Path):
                failed |= call("LinkAddFile", state.value, kind, str(content).encode(), 0, 0, 0)
            else:
                failed |= call("LinkAddData", state.value, kind, content, len(content), b"part", 0, 0, 0)
        failed = failed or call("LinkComplete", state.value, ctypes.byref(code), ctypes.byref(size))
        linked = b"" if failed else ctypes.string_at(code.value, size.value)
        assert call("LinkDestroy", state.value) == 0
        assert call("LinkDestroy", state.value) != 0
        calls.take_exception()
        return failed, linked, log.value.decode()

    return run


def bundle(target: str, code: bytes) -> bytes:
    triple = f"hip-amdgcn-amd-amdhsa--{target}".encode()
    start = len(BUNDLE_MAGIC) + 8 + 24 + len(triple)
    return BUNDLE_MAGIC + struct.pack("<QQQQ", 1, start, len(code), len(triple)) + triple + code


def archive(*members: bytes) -> bytes:
    def member(name: bytes, content: bytes) -> bytes:
        head = name.ljust(16) + b"0".ljust(32) + str(len(content)).encode().ljust(10) + b"`\n"
        return head + content + b"\n" * (len(content) % 2)

    return b"!<arch>\n" + b"".join(member(b"m%d/" % at, content) for at, content in enumerate(members))


def result(code: bytes) -> list[float]:
    x = torch.arange(64.0)
    wb.load(code)["k"][1, 64](x)
    return x.tolist()


WANTED = [2.0 * (63 - at) for at in range(64)]


def test_two_programs(parts: tuple[bytes, bytes], link: Link) -> None:
    failed, code, log = link([(BITCODE, part) for part in parts])
    assert (failed, log) == (0, "")
    assert result(code) == WANTED


def test_files_bundles_and_archives(parts: tuple[bytes, bytes], link: Link, tmp_path: Path) -> None:
    kernel, part = parts
    file = tmp_path / "kernel.bc"
    file.write_bytes(bundle("gfx950", kernel))
    failed, code, log = link([(BUNDLED, file), (ARCHIVE, archive(bundle("gfx950", part)))])
    assert (failed, log) == (0, "")
    assert result(code) == WANTED


@pytest.mark.parametrize("which", ["missing", "twice", "type", "elf", "target", "nothing", "file", "archive"])
def test_what_does_not_link(parts: tuple[bytes, bytes], link: Link, which: str) -> None:
    kernel, part = parts
    inputs, words = {
        "missing": ([(BITCODE, kernel)], "symbol: twice"),
        "twice": ([(BITCODE, part), (BITCODE, part)], "duplicate symbol: twice"),
        "type": ([(OBJECT, kernel)], "input type 3 cannot be linked"),
        "elf": ([(BITCODE, b"\x7fELF" + bytes(60))], "part is a code object or an object file"),
        "target": ([(BUNDLED, bundle("gfx942", kernel))], "expected gfx950"),
        "nothing": ([], "nothing was added"),
        "file": ([(BITCODE, Path("/nowhere.bc"))], "/nowhere.bc: No such file"),
        "archive": ([(ARCHIVE, archive(part)[:-9])], "the archive is damaged at byte 8"),
    }[which]
    failed, _, log = link(inputs)
    assert failed in (100, structures.INVALID_IMAGE)
    assert words in log


def test_the_error_reaches_who_drives_hip_from_python(rtc: Any) -> None:
    state = ctypes.c_size_t()
    library = rtc["hiprtc"].handle
    assert library.hiprtcLinkCreate(0, None, None, ctypes.byref(state)) == 0
    assert library.hiprtcLinkComplete(state, ctypes.byref(ctypes.c_size_t()), None) == 100
    error = calls.take_exception()
    assert isinstance(error, errors.DeviceError)
    assert "nothing was added" in str(error)
