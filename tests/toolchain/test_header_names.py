"""Headers by the names that ROCm programs include them by, and what they bring, on the emulated device."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

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
    *("hip/amd_detail/amd_hip_ocp_fp.hpp", "hip/amd_detail/amd_hip_ocp_fp_cxx.hpp"),
    *("rocrand/rocrand_kernel.h", "hiprand/hiprand_kernel.h"),
)


def test_every_name(any_compiler: toolchain.Compiler) -> None:
    includes = "".join(f"#include <{name}>\n" for name in NAMES)
    source = includes + "__global__ void k(int *x) { *x = 1; }\n"
    assert compile_device(source, CompileOptions("gfx942", name="names.hip")).diagnostics == ()


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
