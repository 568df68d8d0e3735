"""hiprtc: kernels compiled from strings, by hip-python and by C++ programs, and run."""

from __future__ import annotations

from ctypes import c_float, c_void_p
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import runtime
from workbench.runtime.hip import api as load_hip
from workbench.targets import GENERICS, TILE_TARGETS, runs_on

SOURCE = b"""
#include "scale.h"
namespace mine {
template <typename T> __global__ void scale(T *x, T by) {
    x[threadIdx.x] = scaled(x[threadIdx.x], by) + OFFSET;
}
__device__ int counter = 7;
}
"""
ONCE = b"#if FAST && __HIPCC_RTC__\n__global__ void once(T *x) { x[N] = 1; }\n#endif\n"
HEADER = b"template <typename T> __device__ T scaled(T x, T by) { return x * by; }\n"


@pytest.fixture(scope="module")
def hip() -> Any:
    return load_hip(runtime.device("emulated:gfx950").backend)


@pytest.fixture(scope="module")
def rtc(hip: Any) -> Any:
    from hip import hiprtc

    return hiprtc


def good(answer: Any) -> Any:
    status, *values = answer if isinstance(answer, tuple) else (answer,)
    assert int(status) == 0, status
    return values[0] if len(values) == 1 else tuple(values)


def status(answer: Any) -> int:
    return int(answer[0])


def log_of(rtc: Any, program: Any) -> str:
    text = bytearray(good(rtc.hiprtcGetProgramLogSize(program)))
    good(rtc.hiprtcGetProgramLog(program, text))
    return text.rstrip(b"\0").decode()


def code_of(rtc: Any, program: Any) -> bytearray:
    code = bytearray(good(rtc.hiprtcGetCodeSize(program)))
    good(rtc.hiprtcGetCode(program, code))
    return code


@pytest.mark.parametrize("arch", [*TILE_TARGETS, *GENERICS])
def test_a_program_with_headers_options_and_names(hip: Any, rtc: Any, arch: str) -> None:
    program = good(rtc.hiprtcCreateProgram(SOURCE, b"mine.cu", 1, [HEADER], [b"scale.h"]))
    for name in (b"mine::scale<float>", b"mine::scale<int>", b"&mine::counter"):
        good(rtc.hiprtcAddNameExpression(program, name))
    assert status(rtc.hiprtcGetLoweredName(program, b"mine::scale<int>")) == 9
    options = [b"--offload-arch=" + arch.encode(), b"-DOFFSET=1", b"-O2"]
    good(rtc.hiprtcCompileProgram(program, len(options), options))
    assert log_of(rtc, program) == ""
    lowered = str(good(rtc.hiprtcGetLoweredName(program, b"mine::scale<float>")))
    assert lowered == "_ZN4mine5scaleIfEEvPT_S1_"
    assert str(good(rtc.hiprtcGetLoweredName(program, b"&mine::counter"))) == "_ZN4mine7counterE"
    assert status(rtc.hiprtcGetLoweredName(program, b"mine::scale<char>")) == 10
    assert status(rtc.hiprtcAddNameExpression(program, b"mine::scale<double>")) == 8
    code = code_of(rtc, program)
    good(rtc.hiprtcDestroyProgram(program.createRef()))

    good(hip.hipSetDevice(runtime.device(f"emulated:{runs_on(arch)[-1]}").ordinal))
    module = good(hip.hipModuleLoadData(code))
    function = good(hip.hipModuleGetFunction(module, lowered.encode()))
    values = np.arange(64, dtype=np.float32)
    memory = good(hip.hipMalloc(values.nbytes))
    good(hip.hipMemcpy(memory, values, values.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    good(
        hip.hipModuleLaunchKernel(
            function,
            *(1, 1, 1),
            *(64, 1, 1),
            sharedMemBytes=0,
            stream=None,
            kernelParams=None,
            extra=(c_void_p(int(memory)), c_float(2.5)),
        )
    )
    good(hip.hipMemcpy(values, memory, values.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    good(hip.hipFree(memory))
    good(hip.hipModuleUnload(module))
    good(hip.hipSetDevice(0))
    np.testing.assert_array_equal(values, np.arange(64, dtype=np.float32) * 2.5 + 1)


def test_errors_are_in_the_log_as_clang_prints_them(rtc: Any) -> None:
    program = good(
        rtc.hiprtcCreateProgram(b"__global__ void k() {\n  undeclared = 3;\n}\n", b"bad.cu", 0, None, None)
    )
    assert status(rtc.hiprtcCompileProgram(program, 0, None)) == 6
    log = log_of(rtc, program)
    assert "bad.cu:2:3: error: use of undeclared identifier 'undeclared'\n" in log
    assert "    2 |   undeclared = 3;\n      |   ^" in log
    assert log.endswith("1 error generated.\n")
    assert status(rtc.hiprtcGetCodeSize(program)) == 4


def test_warnings_are_in_the_log(rtc: Any) -> None:
    program = good(rtc.hiprtcCreateProgram(b"__global__ void k() { int unused; }\n", b"w.cu", 0, None, None))
    good(rtc.hiprtcCompileProgram(program, 2, [b"-Wall", b"--std=c++17"]))
    assert "w.cu:1:27: warning: unused variable 'unused'" in log_of(rtc, program)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([b"--offload-arch=gfx9999"], "gfx9999"),
        ([b"-c"], "flag -c"),
    ],
)
def test_options_that_are_none(rtc: Any, options: list[bytes], words: str) -> None:
    program = good(rtc.hiprtcCreateProgram(b"__global__ void k() {}\n", b"k.cu", 0, None, None))
    assert status(rtc.hiprtcCompileProgram(program, len(options), options)) == 5
    assert words in log_of(rtc, program)


def test_a_name_that_is_none(rtc: Any) -> None:
    program = good(rtc.hiprtcCreateProgram(b"__global__ void k() {}\n", b"k.cu", 0, None, None))
    good(rtc.hiprtcAddNameExpression(program, b"nothing<int>"))
    assert status(rtc.hiprtcCompileProgram(program, 0, None)) == 6
    assert "name expressions:1:" in log_of(rtc, program)


def test_a_program_is_compiled_once(rtc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = []
    for _ in range(2):
        program = good(rtc.hiprtcCreateProgram(ONCE, b"once.cu", 0, None, None))
        good(rtc.hiprtcCompileProgram(program, 4, [b"-DN=4", b"-DT=float", b"-D", b"FAST"]))
        codes.append(code_of(rtc, program))
        good(rtc.hiprtcDestroyProgram(program.createRef()))
        monkeypatch.setattr("workbench.toolchain.process.run", lambda *_, **__: pytest.fail("a compiler ran"))
    assert codes[0] == codes[1]


def test_every_result_has_its_name(rtc: Any) -> None:
    for result in rtc.hiprtcResult:
        assert str(rtc.hiprtcGetErrorString(result)[-1]) == result.name
    assert good(rtc.hiprtcVersion()) == (7, 2)


def test_a_header_outside_the_programs_folder_is_refused(rtc: Any) -> None:
    assert status(rtc.hiprtcCreateProgram(b"", b"k.cu", 1, [b"x"], [b"../../x.h"])) == 2


PROGRAM = r"""
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>
#include <cstdio>
#include <string>
#include <vector>
int main() {
    const char *source = "extern \"C\" __global__ void fill(int *x, int v)"
                         "{ x[threadIdx.x] = v + threadIdx.x; }";
    hiprtcProgram program;
    if (hiprtcCreateProgram(&program, source, "fill.cu", 0, nullptr, nullptr) != HIPRTC_SUCCESS) return 1;
    if (hiprtcCompileProgram(program, 0, nullptr) != HIPRTC_SUCCESS) return 2;
    size_t size = 0;
    hiprtcGetCodeSize(program, &size);
    std::vector<char> code(size);
    hiprtcGetCode(program, code.data());
    hiprtcDestroyProgram(&program);
    hipModule_t module;
    hipFunction_t kernel;
    if (program || hipModuleLoadData(&module, code.data()) != hipSuccess) return 3;
    if (hipModuleGetFunction(&kernel, module, "fill") != hipSuccess) return 4;
    int *x, v = 40;
    hipMallocManaged(&x, 256);
    void *arguments[] = {&x, &v};
    if (hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr)) return 5;
    hipDeviceSynchronize();
    std::printf("%d %s\n", x[2], hiprtcGetErrorString(HIPRTC_ERROR_COMPILATION));
}
"""


def test_a_program_in_cxx() -> None:
    result = wb.run_program(PROGRAM, device="emulated:gfx942", flags="-lhiprtc -lamdhip64")
    assert result.check().stdout == "42 HIPRTC_ERROR_COMPILATION\n"


def test_a_part_is_bitcode(rtc: Any) -> None:
    source = b"__device__ int f(int);\n__global__ void k(int *x) { *x = f(*x); }\n"
    program = good(rtc.hiprtcCreateProgram(source, b"part.cu", 0, None, None))
    assert status(rtc.hiprtcGetBitcodeSize(program)) == 4
    good(rtc.hiprtcCompileProgram(program, 1, [b"-fgpu-rdc"]))
    bitcode = bytearray(good(rtc.hiprtcGetBitcodeSize(program)))
    good(rtc.hiprtcGetBitcode(program, bitcode))
    assert bytes(bitcode[:4]) == b"BC\xc0\xde"
    assert status(rtc.hiprtcGetCodeSize(program)) == 4
