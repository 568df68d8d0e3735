"""Compiling host and device code together: both compilers and C++ libraries, the host API's declarations."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

import pytest

import workbench as wb
from workbench import errors
from workbench.emulator.hip import structures
from workbench.emulator.hip.library import function_names, interface
from workbench.toolchain import CompileOptions, host, host_library
from workbench.toolchain.compiler import INCLUDE

PROGRAM = r"""
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
__global__ void triple(int *x) { x[threadIdx.x] *= 3; }
int main() {
    std::map<std::string, int> values{{"seven", 7}};
    int *x;
    if (hipMallocManaged(&x, 256) != hipSuccess) return 1;
    for (int i = 0; i < 64; i++) x[i] = values.at("seven");
    triple<<<1, 64>>>(x);
    if (hipDeviceSynchronize() != hipSuccess) return 2;
    try {
        values.at("eight");
    } catch (const std::out_of_range &) {
        std::printf("%d\n", x[63]);
    }
    return 0;
}
"""


@pytest.fixture(autouse=True)
def fresh() -> None:
    host_library.host_library.cache_clear()


@pytest.mark.parametrize("kind", ["zig", "clang"])
def test_each_compiler(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_COMPILER", kind)
    try:
        result = wb.run_program(PROGRAM, device="emulated:gfx950")
    except errors.CompilerNotFound as error:
        pytest.skip(str(error).splitlines()[0])
    assert result.check().stdout == "21\n"


@pytest.mark.skipif(
    not os.environ.get("HIPKITTENS_SLOW_TESTS"), reason="zig compiles its C++ library at first use: minutes"
)
@pytest.mark.parametrize("kind", ["zig", "clang"])
def test_the_cxx_library_of_zig(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_COMPILER", kind)
    monkeypatch.setenv("HIPKITTENS_CXX_LIBRARY", "zig")
    assert wb.run_program(PROGRAM, device="emulated:gfx950").check().stdout == "21\n"


def test_a_choice_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CXX_LIBRARY", "msvc")
    with pytest.raises(errors.UsageError, match="HIPKITTENS_CXX_LIBRARY=msvc: expected system or zig"):
        host.compile_host(PROGRAM, CompileOptions("gfx950"), module=False)


def test_linker_flags(tmp_path: Path) -> None:
    with pytest.raises(errors.ToolchainError, match=r"linking failed(.|\n)*nosuchlibrary"):
        host.compile_host(PROGRAM, CompileOptions("gfx950", flags=["-lnosuchlibrary"]), module=False)
    made = host.compile_host(PROGRAM, CompileOptions("gfx950", flags="-lm -Wl,--as-needed"), module=False)
    assert made.library.is_file()


STRUCTURES = {
    "hipDeviceProp_t": structures.DeviceProp,
    "hipPointerAttribute_t": structures.PointerAttributes,
    "hipFuncAttributes": structures.FuncAttributes,
    "hipMemcpy3DParms": structures.Memcpy3D,
    "hipMemsetParams": structures.MemsetParams,
    "hipKernelNodeParams": structures.KernelNodeParams,
    "hipHostNodeParams": structures.HostNodeParams,
    "hipLaunchConfig_t": structures.LaunchConfig,
    "hipPitchedPtr": structures.PitchedPointer,
    "hipExtent": structures.Extent,
    "dim3": structures.Dim3,
}


def test_structures_and_numbers_of_the_headers_are_the_librarys() -> None:
    """The compiler itself compares them, so that one small compilation tests all."""
    lines = ["#include <cstddef>"]
    for name, structure in STRUCTURES.items():
        lines.append(f"static_assert(sizeof({name}) == {ctypes.sizeof(structure)});")
        for field, *_ in structure._fields_:
            offset = getattr(structure, field).offset
            lines.append(f"static_assert(offsetof({name}, {field}) == {offset});")
    for enum in ("hipError_t", "hipDeviceAttribute_t", "hipLimit_t", "hipFunction_attribute"):
        for name, value in interface()["enums"][enum].items():
            if "Unused" not in name:
                lines.append(f"static_assert({name} == {value});")
    lines.append("__global__ void k() {}")
    assert wb.compile("\n".join(lines), arch="gfx950").kernels


def test_every_declared_function_is_exported() -> None:
    text = (INCLUDE / "hip" / "host" / "functions.h").read_text()
    declared = set(re.findall(r"\b(_*hip\w+)\(", text)) - {"hipGetDeviceProperties"}
    assert len(declared) > 100
    assert declared <= set(function_names())
