"""Headers by the names that ROCm programs include them by, and what they bring, on the emulated device."""

from __future__ import annotations

import re
import string
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import workbench as wb
from workbench import runtime, toolchain
from workbench.errors import CompileError
from workbench.toolchain import CompileOptions, compile_device

NAMES = (
    *(
        "hip_bf16.h",
        "hip_fp16.h",
        "hip_fp8.h",
        "hip_runtime.h",
        "rocrand_kernel.h",
        "hiprand_kernel.h",
        "omp.h",
    ),
    *("hip/amd_detail/amd_hip_runtime.h", "hip/amd_detail/hip_ldg.h", "hip/hip_fp6.h", "hip/hip_fp4.h"),
    *("hip/amd_detail/amd_hip_ocp_fp.hpp", "hip/amd_detail/amd_hip_ocp_fp_cxx.hpp", "hip/hip_ext_ocp.h"),
    *("rocrand/rocrand_kernel.h", "hiprand/hiprand_kernel.h"),
)


def test_every_name(any_compiler: toolchain.Compiler) -> None:
    includes = "".join(f"#include <{name}>\n" for name in NAMES)
    source = includes + "__global__ void k(int *x) { *x = 1; }\n"
    assert compile_device(source, CompileOptions("gfx942", name="names.hip")).diagnostics == ()


def test_single_capital_letters_are_the_programs(any_compiler: toolchain.Compiler) -> None:
    """`-DN=4` reaches the program, and no header, whichever of them it includes."""
    letters = {letter: n for n, letter in enumerate(string.ascii_uppercase)}
    source = "".join(f"#include <{name}>\n" for name in (*NAMES, "hipcub/hipcub.hpp", "kittens.cuh"))
    source += "".join(f"static_assert({letter} == {n});\n" for letter, n in letters.items())
    source += "__global__ void k(int *x) { kittens::rt_fl<16, Q> tile; kittens::zero(tile); *x = T; }"
    flags = [f"-D{letter}={n}" for letter, n in letters.items()]
    assert compile_device(source, CompileOptions("gfx950", flags=flags)).diagnostics == ()
    undefined = "#include <hip/hip_runtime.h>\n#ifdef N\n#error N\n#endif\n__global__ void k() {}"
    assert compile_device(undefined, CompileOptions("gfx950")).diagnostics == ()


def test_a_header_of_the_users_own_comes_first(zig: toolchain.Compiler, tmp_path: Path) -> None:
    (tmp_path / "omp.h").write_text("#define OWN 1\n")
    source = "#include <omp.h>\n#include <hip/hip_runtime.h>\nstatic_assert(OWN);\n"
    assert compile_device(source, CompileOptions("gfx950", include=[tmp_path])).diagnostics == ()


SOURCE = """
#include <hip/amd_detail/amd_hip_runtime.h>
#include <hip/hip_fp6.h>
#include <hip/amd_detail/amd_hip_ocp_fp_cxx.hpp>
#include <rocrand_kernel.h>
struct __align__(32) Aligned { float x; };
static_assert(sizeof(Aligned) == 32 && sizeof(__amd_fp6x32_storage_t) == 32);
static_assert(sizeof(__hip_fp6_e2m3) == 1 && sizeof(__hip_fp6x4_e3m2) == 4);
extern "C" __global__ void k(unsigned *out, float *values) {
    const int i = threadIdx.x;
    assert(i < 64);
    __amd_fp6x32_storage_t packed;
    memset(&packed, 0x1f, sizeof packed);
    out[i] = packed[i % 6];
    rocrand_state_philox4x32_10 philox;
    rocrand_init(0, 0, 0, &philox);
    skipahead(i, &philox);
    out[64 + i] = rocrand(&philox);
    rocrand_state_xorwow xorwow;
    rocrand_init(0xa03697cb2c7f967full, 0, i, &xorwow);
    out[128 + i] = rocrand(&xorwow);
    values[i] = float(__hip_fp6_e2m3(i * 0.0625f));
}
"""


def test_on_the_device() -> None:
    code = compile_device(SOURCE, CompileOptions("gfx950", name="names.hip")).code_object
    function = runtime.device("emulated:gfx950").load(code).function("k")
    out, values = np.zeros(192, np.uint32), np.zeros(64, np.float32)
    buffers = [(array.ctypes.data, array.nbytes) for array in (out, values)]
    arguments = struct.pack("<QQ", *(address for address, _ in buffers))
    function.launch((1, 1, 1), (64, 1, 1), 0, arguments, buffers=buffers)
    assert set(out[:64].tolist()) == {0x1F1F1F1F}
    # Random123's first block, and Marsaglia's generator from the state in his paper.
    assert out[64:68].tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    x, d = [123456789, 362436069, 521288629, 88675123, 5783321], 6615241
    for got in out[128:].tolist():
        t = x[0] ^ x[0] >> 2
        x, d = [*x[1:], (x[4] ^ x[4] << 4 ^ t ^ t << 1) & 0xFFFFFFFF], d + 362437
        assert got == (x[4] + d) & 0xFFFFFFFF
    # Up to 2 the codes are 1/8 apart and ties go to the even one; up to 4 they are 1/4 apart.
    eighths = np.rint(np.arange(64) / 2) / 8
    quarters = np.rint(np.arange(64) / 4) / 4
    np.testing.assert_array_equal(values, np.where(np.arange(64) < 32, eighths, quarters))


def test_an_absent_generator_says_what_to_use() -> None:
    source = (
        "#include <rocrand_kernel.h>\n__global__ void k() { rocrand_state_mrg32k3a *state; (void)state; }\n"
    )
    with pytest.raises(CompileError, match=r"needs ROCm's headers: use rocrand_state_philox4x32_10"):
        compile_device(source, CompileOptions("gfx950"))


# What clang's own HIP header declares for itself, for C libraries' macros, or on request by a macro of ROCm's
# (the operations that round up, down or to zero).
_NOT_HIPS = re.compile(
    r"__(?:make_mantissa\w*|static_assert\w*|suppress\w*|attribute__|finitef?|is(?:nan|inf)f?)|\w+_r[duz]"
)


def test_every_math_function_of_clangs_own_header() -> None:
    """ROCm's device functions are this header; a clang without ROCm has it too."""
    compiler = toolchain.find_compiler("gfx950")
    answer = subprocess.run([*compiler.command, "-print-resource-dir"], capture_output=True, text=True)
    header = Path(answer.stdout.strip(), "include", "__clang_hip_math.h")
    if not header.is_file():
        pytest.skip(f"{compiler.version} does not carry it")
    found = re.findall(r"__DEVICE__\s+[\w ]+?[\s*&]+(\w+)\s*\(", header.read_text())
    names = sorted({name for name in found if not _NOT_HIPS.fullmatch(name)})
    assert len(names) > 150
    checks = "".join(f"namespace check_{name} {{ using ::{name}; }}\n" for name in names)
    compile_device(checks + "__global__ void k() {}\n", CompileOptions("gfx950"))


def test_half_numbers_and_lanes_have_rocms_further_functions() -> None:
    """Names of ROCm 7's headers that are neither mathematics nor anywhere else in these tests."""
    source = """
    #include "hip/hip_bf16.h"
    #include "hip/hip_fp16.h"
    #include "hip/hip_fp8.h"
    __global__ void k(int *out, float *sum, const __half *halves) {
        const float inf = __builtin_inff(), nan = __builtin_nanf("");
        int n = 0;
        out[n++] = __low2float(__hisinf2({inf, 3.0f})) == 1 && __high2float(__hisinf2({inf, 3.0f})) == 0;
        out[n++] = __hbltu2(__hip_bfloat162{nan, 1.0f}, __hip_bfloat162{1.0f, 2.0f});
        out[n++] = !__hbltu2(__hip_bfloat162{nan, 3.0f}, __hip_bfloat162{1.0f, 2.0f});
        out[n++] = __hip_cvt_double2_to_fp8x2({1.0, -2.0}, __HIP_SATFINITE, __HIP_E4M3) == 0xc038;
        out[n++] = __fns(0b101100, 0, 2) == 3;
        out[n++] = __mbcnt_lo(~0u, 5) == 5 + (threadIdx.x < 32 ? threadIdx.x : 32);
        out[n++] = __ldcg(halves) == halves[0] && __ldca(out) == 1 && __ldcs(out) == 1;
        out[n++] = __smid() < 4096;
        atomicAddNoRet(sum, 0.5f);
    }
    """
    out, total = torch.zeros(8, dtype=torch.int32), torch.zeros(1)
    wb.compile(source, arch="gfx950")["k"][1, 1](out, total, torch.ones(1, dtype=torch.float16))
    assert out.tolist() == [1] * 8
    assert total.item() == 0.5
