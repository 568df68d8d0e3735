"""Compiling host and device code together: both compilers and C++ libraries, the host API's declarations."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path
from uuid import uuid4

import needs
import pytest

import workbench as wb
from workbench import errors, toolchain
from workbench.emulator.hip import structures
from workbench.emulator.hip.library import function_names, interface
from workbench.toolchain import CompileOptions, host, host_library, precompiled
from workbench.toolchain.compiler import INCLUDE

PROGRAM = r"""#include <hip/hip_runtime.h>
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


ABSOLUTE = r"""#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void nothing() {}
template <typename T> bool kept(T x) {
    static_assert(__is_same(decltype(abs(x)), T));
    return abs(x) == x && abs(-x) == x;
}
int main() {
    std::printf("%d\n", kept(0.75f) && kept(0.75) && kept(7) && kept(7L) && kept(7LL));
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


@pytest.mark.parametrize("include", ["", "#include <stdlib.h>\n#include <cmath>\n"])
def test_absolute_values_in_host_code(include: str) -> None:
    """The result has the argument's own type, whichever headers a program includes."""
    result = wb.run_program(include + ABSOLUTE, device="emulated:gfx950")
    assert result.check().stdout == "1\n"


@pytest.mark.skipif(
    not os.environ.get("HIPKITTENS_SLOW_TESTS"), reason="zig compiles its C++ library at first use: minutes"
)
@pytest.mark.parametrize("kind", ["zig", "clang"])
def test_the_cxx_library_of_zig(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_COMPILER", kind)
    monkeypatch.setenv("HIPKITTENS_CXX_LIBRARY", "zig")
    assert wb.run_program(PROGRAM, device="emulated:gfx950").check().stdout == "21\n"


def test_installed_headers_come_behind_those_of_zig(
    monkeypatch: pytest.MonkeyPatch, zig: toolchain.Compiler
) -> None:
    """Debian's Python includes its configuration by a path below /usr/include."""
    installed = Path("/usr/include")
    below = next((path for path in installed.glob("*-linux-*/*/*.h")), None)
    if below is None or not (installed / "stdio.h").is_file():
        pytest.skip("no headers of a Debian are installed")
    monkeypatch.setenv("HIPKITTENS_CXX_LIBRARY", "zig")
    library = host_library.host_library(zig)
    source = f"#if __has_include(<{below.relative_to(installed)}>)\n#include <stdio.h>\n#endif\n"
    answer = subprocess.run(
        [*zig.command, "-x", "c++", *library.arguments, "-M", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    headers = [word for word in answer.stdout.split() if word.endswith("/stdio.h")]
    assert headers
    assert not any(header.startswith("/usr/include") for header in headers)


def test_a_choice_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CXX_LIBRARY", "msvc")
    with pytest.raises(errors.UsageError, match="HIPKITTENS_CXX_LIBRARY=msvc: expected system or zig"):
        host.compile_host(PROGRAM, CompileOptions("gfx950"), module=False)


def test_linker_flags(tmp_path: Path) -> None:
    with pytest.raises(errors.ToolchainError, match=r"linking failed(.|\n)*nosuchlibrary"):
        host.compile_host(PROGRAM, CompileOptions("gfx950", flags=["-lnosuchlibrary"]), module=False)
    built = host.compile_host(PROGRAM, CompileOptions("gfx950", flags="-lm -Wl,--as-needed"), module=False)
    assert built.library.is_file()


MODULE = """#include <hip/hip_runtime.h>
#include <pybind11/pybind11.h>
__global__ void k(int *x) { *x = 1; }
PYBIND11_MODULE(small, m) { m.def("seven", [] { return 7; }); }
"""


@needs.python_headers
def test_precompiled_headers_change_nothing_but_the_time() -> None:
    # A macro without precompiled headers, while the device's library exists.
    options = CompileOptions("gfx950", name="small.cpp", debug=False, define=[f"OF_THIS_TEST_{uuid4().hex}"])
    precompiled.wait()
    without = host.compile_host(MODULE, options, module=True)
    precompiled.wait()
    with_them = host.compile_host(MODULE, options, module=True, use_cache=False)
    assert "-include-pch" not in without.command
    assert "-include-pch" in with_them.command
    device = [wb.load(each.library, arch="gfx950").code_object.data for each in (without, with_them)]
    assert device[0] == device[1]
    assert wb.load_module(with_them.library).seven() == 7
    assert host.compile_host(MODULE, options, module=True).cached
    with pytest.raises(errors.CompileError, match=r"small\.cpp:5:1"):
        host.compile_host(MODULE + "oops\n", options, module=True)


def test_an_error_in_one_half_stops_the_other() -> None:
    """The host part alone would take the compiler minutes."""
    source = """
    #if !__HIP_DEVICE_COMPILE__
    constexpr long count(long n) { long x = 0; for (long i = 0; i < n; i++) x += i; return x; }
    constexpr long waited = count(1L << 40);
    #else
    oops
    #endif
    int main() { return 0; }
    """
    # A host part that continued would end by this limit instead.
    options = CompileOptions("gfx950", flags="-fconstexpr-steps=2147483647", timeout=60)
    with pytest.raises(errors.CompileError, match="oops"):
        host.compile_host(source, options, module=False)


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
    lines = ["#include <hip/hip_runtime.h>", "#include <cstddef>"]
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
    renamed = dict(re.findall(r"^#define (hip\w+) (hip\w+)$", text, re.MULTILINE))
    declared = {renamed.get(name, name) for name in re.findall(r"\b(_*hip\w+)\(", text)}
    assert len(declared) > 100
    assert len(renamed) > 1
    assert declared <= set(function_names())
