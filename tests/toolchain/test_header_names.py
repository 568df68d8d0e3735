"""Headers by the names in ROCm programs, and their contents, on the emulated device."""

from __future__ import annotations

import json
import shutil
import string
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import workbench as wb
from tests.toolchain import math_names
from workbench import runtime, toolchain
from workbench.emulator import hip
from workbench.errors import CompileError
from workbench.toolchain import CompileOptions, compile_device
from workbench.toolchain.compiler import INCLUDE

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
    *("rocrand/rocrand_kernel.h", "hiprand/hiprand_kernel.h", "hip/library_types.h"),
    *("hip/channel_descriptor.h", "hip/driver_types.h", "hip/hip_common.h", "hip/hip_texture_types.h"),
    *("hip/surface_types.h", "hip/texture_types.h"),
    *(
        f"hip/amd_detail/{name}.h"
        for name in (
            *(
                "amd_hip_bf16",
                "amd_hip_fp8",
                "amd_hip_fp16",
                "amd_hip_bfloat16",
                "amd_hip_fp4",
                "amd_hip_fp6",
            ),
            *("amd_hip_complex", "amd_hip_cooperative_groups", "amd_hip_atomic", "amd_hip_unsafe_atomics"),
            *("amd_warp_functions", "amd_warp_sync_functions", "amd_device_functions", "amd_math_functions"),
        )
    ),
)


def test_every_name(any_compiler: toolchain.Compiler) -> None:
    includes = "".join(f"#include <{name}>\n" for name in NAMES)
    source = includes + "__global__ void k(int *x) { *x = 1; }\n"
    assert compile_device(source, CompileOptions("gfx942", name="names.hip")).diagnostics == ()


def test_guards_have_rocms_names(zig: toolchain.Compiler) -> None:
    """Sources check with these macros of ROCm's headers whether one has been included."""
    guards = {
        "hip/amd_detail/amd_hip_bf16.h": (
            "_HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BF16_H_",
            "HIP_INCLUDE_HIP_HIP_BF16_H",
        ),
        "hip/amd_detail/amd_hip_fp8.h": (
            "_HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP8_H_",
            "HIP_INCLUDE_HIP_HIP_FP8_H",
        ),
        "hip/amd_detail/amd_hip_fp16.h": (
            "HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP16_H",
            "HIP_INCLUDE_HIP_HIP_FP16_H",
        ),
        "hip/amd_detail/amd_warp_functions.h": ("HIP_INCLUDE_HIP_AMD_DETAIL_WARP_FUNCTIONS_H",),
        "hip/hip_runtime.h": (
            "HIP_INCLUDE_HIP_HIP_RUNTIME_H",
            "HIP_INCLUDE_HIP_HIP_RUNTIME_API_H",
            "HIP_INCLUDE_HIP_AMD_DETAIL_HIP_RUNTIME_H",
            "HIP_INCLUDE_HIP_AMD_DETAIL_DEVICE_FUNCTIONS_H",
            "HIP_INCLUDE_HIP_AMD_DETAIL_HIP_LDG_H",
        ),
        "hip/hip_complex.h": ("HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COMPLEX_H",),
    }
    runtime = guards["hip/hip_runtime.h"][:3]
    lines = [f"#ifdef {name}\n#error {name} before a header\n#endif" for name in runtime]
    for header, names in guards.items():
        lines.append(f"#include <{header}>")
        lines += [f"#ifndef {name}\n#error {name} is missing after {header}\n#endif" for name in names]
    source = "\n".join([*lines, "__global__ void k(int *x) { *x = __shfl(1, 0); }\n"])
    assert compile_device(source, CompileOptions("gfx950")).diagnostics == ()


def test_a_guard_that_a_source_defines_keeps_the_header_out(zig: toolchain.Compiler) -> None:
    """As in ROCm: a source with its own declarations defines the guard's macro."""
    guards = {
        "hip_runtime_api.h": "HIP_INCLUDE_HIP_HIP_RUNTIME_API_H",
        "hip_runtime.h": "HIP_INCLUDE_HIP_HIP_RUNTIME_H",
        "hip_vector_types.h": "HIP_INCLUDE_HIP_HIP_VECTOR_TYPES_H",
        "driver_types.h": "HIP_INCLUDE_HIP_DRIVER_TYPES_H",
        "library_types.h": "HIP_INCLUDE_HIP_LIBRARY_TYPES_H",
        "hip_fp16.h": "HIP_INCLUDE_HIP_HIP_FP16_H",
        "hip_bf16.h": "HIP_INCLUDE_HIP_HIP_BF16_H",
        "hip_fp8.h": "HIP_INCLUDE_HIP_HIP_FP8_H",
        "hip_complex.h": "HIP_INCLUDE_HIP_HIP_COMPLEX_H",
        "hip_cooperative_groups.h": "HIP_INCLUDE_HIP_HIP_COOPERATIVE_GROUP_H",
    }
    defines = "".join(f"#define {guard}\n" for guard in guards.values())
    includes = "".join(f"#include <hip/{header}>\n" for header in guards)
    source = f"""{defines}{includes}
    typedef int hipError_t;
    typedef void *hipStream_t;
    #define hipSuccess 0
    struct dim3 {{ unsigned x, y, z; }};
    struct float4 {{ float x, y, z, w; }};
    struct __half {{ short bits; }};
    struct __hip_bfloat16 {{ short bits; }};
    extern "C" hipError_t hipMalloc(void **pointer, unsigned long bytes);
    enum hipMemcpyKind {{ hipMemcpyHostToHost = 0 }};
    __attribute__((global)) void k(int *x) {{ *x = __builtin_amdgcn_workitem_id_x(); }}
    """
    assert compile_device(source, CompileOptions("gfx942")).diagnostics == ()


@pytest.mark.parametrize("standard", ["c++11", "gnu++14", "c++17"])
def test_older_standards(standard: str, any_compiler: toolchain.Compiler) -> None:
    """Makefiles select older standards; code that uses C++17's library needs C++17, as with ROCm."""
    younger = ("hip_ext_ocp.h", "rand_kernel.h", "_ocp_fp.hpp", "_ocp_fp_cxx.hpp", "fp4.h", "fp6.h")
    names = [name for name in NAMES if standard == "c++17" or not name.endswith(younger)]
    source = (
        "".join(f"#include <{name}>\n" for name in names)
        + """
    #include <hip/hip_cooperative_groups.h>
    #include <hip/hip_complex.h>
    static_assert(float4{1, 2, 3, 4}.w == 4 && float1(3).x == 3, "one number each");
    static_assert(!std::is_convertible<float, float4>::value, "all elements alike, where it is said");
    static_assert(!std::is_convertible<float, float1>::value, "");
    __global__ void k(float4 *out, float2 in) {
        out[0] = make_float4(1, in[0], 3, 4) * 2.0f + __shfl_xor(in.y, 1) + min(2u, 3.0f);
        if (out[0][3] > max(8, 9L)) printf("%f\\n", out[0].x);
    }
    """
    )
    options = CompileOptions("gfx942", name="old.hip", flags=[f"-std={standard}"])
    assert compile_device(source, options).diagnostics == ()


def test_every_function_of_the_host_api_is_declared(zig: toolchain.Compiler) -> None:
    """Compared with the names that the library exports."""
    names = json.loads((Path(hip.__file__).parent / "interface.json").read_text())["functions"]
    assert len(names) > 500
    source = "#include <hip/hip_runtime.h>\n#include <hip/hip_ext.h>\n"
    source += "".join(f"namespace check_{name} {{ using ::{name}; }}\n" for name in names)
    assert compile_device(source, CompileOptions("gfx942", name="declared.hip")).diagnostics == ()


PROGRAM = """
#include <hip/hip_ext.h>
#include <hip/hip_hcc.h>
#include <hip/amd_detail/host_defines.h>
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_HOST_DEFINES_H
#error "Thrust would undefine __host__ and __device__"
#endif
__global__ void fill(int *out, float value, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = std::acosf(-value) + std::tanhf(0.0f) + __ocml_log_f32(value) + __ocml_fmod_f64(2, value);
    if (i < n) out[i] = int(std::fabsf(x) * 100) + gridDim.x;
}
int main() {
    std::array<int, 128> host;
    const auto began = std::chrono::steady_clock::now();
    std::thread([&] { memset(host.data(), 0, sizeof host); }).join();
    assert(host[0] == 0);
    struct hipDeviceProp_t properties;
    if (hipGetDeviceProperties(&properties, 0) != HIP_SUCCESS) return 1;
    int *device;
    if (hipMalloc(&device, sizeof host) != HIP_SUCCESS) return 2;
    hipEvent_t start, stop;
    if (hipEventCreate(&start) || hipEventCreate(&stop)) return 3;
    // An int for the float.
    hipExtLaunchKernelGGL(fill, dim3(2), dim3(64), 0, nullptr, start, stop, 0, device, 1, 128);
    float milliseconds = -1;
    if (hipEventElapsedTime(&milliseconds, start, stop) || milliseconds < 0) return 4;
    if (hipMemcpy(host.data(), device, sizeof host, hipMemcpyDeviceToHost)) return 5;
    if (host[127] != 314 + 2) return 6;
    // Sizes in work-items: 64 are one group of 64.
    float value = 1;
    int n = 128;
    hipFunction_t function;
    if (hipGetFuncBySymbol(&function, reinterpret_cast<const void *>(fill))) return 7;
    void *arguments[] = {&device, &value, &n};
    if (hipExtModuleLaunchKernel(function, 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr)) return 8;
    if (hipMemcpy(host.data(), device, sizeof host, hipMemcpyDeviceToHost) || host[63] != 314 + 1) return 9;
    if (host[64] != 314 + 2 || hipGetStreamDeviceId(nullptr) != 0) return 10;
    HIP_ARRAY_DESCRIPTOR array = {4, 4, HIP_AD_FORMAT_FLOAT, 1};
    hipArray_t made;
    if (hipArrayCreate(&made, &array) != hipErrorNotSupported) return 11;
    hipCtx_t context;
    if (hipCtxGetCurrent(&context) != hipSuccess) return 12;
    static_assert(HIP_R_16BF == 14 && hipKernelNodeAttributePriority == 8, "");
    static_assert(hipGraphNodeTypeCount == 14 && hipHostRegisterReadOnly == 8, "");
    const unsigned flags = hipHostRegisterPortable | hipHostRegisterReadOnly;
    if (hipHostRegister(host.data(), sizeof host, flags)) return 13;
    int chosen = -1, grid, block;
    if (hipChooseDevice(&chosen, &properties) || chosen != 0) return 14;
    const auto kilobyte_a_thread = [](int threads) { return threads * 1024; };
    if (hipOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, fill, kilobyte_a_thread)) return 15;
    // One block takes more than half of a compute unit's.
    if (block != int(properties.sharedMemPerBlock / 1024 / 64 * 64)) return 16;
    if (grid != properties.multiProcessorCount) return 17;
    if (hipOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(&grid, &block, fill, kilobyte_a_thread, 32))
        return 18;
    if (block != 32) return 19;
    if (hipOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, fill) || block < 64) return 20;
#if defined(_LIBCPP_VERSION)
    static_assert(std::is_same<_VSTD::thread, std::thread>::value, "Thrust's name for libc++'s namespace");
#endif
    printf("%d\\n", std::chrono::steady_clock::now() >= began);
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_program_with_what_rocms_headers_bring_along(arch: str) -> None:
    result = wb.run_program(PROGRAM, device=f"emulated:{arch}", flags=["-std=c++17"])
    assert (result.exit_code, result.stdout) == (0, "1\n"), result.stderr


def test_single_capital_letters_are_the_programs(any_compiler: toolchain.Compiler) -> None:
    """`-DN=4` affects the program, and none of the headers."""
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
#include <cassert>
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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hipblas/hipblas.h", "hipBLAS is not on the emulated device"),
        ("hipblaslt/hipblaslt.h", "hipBLASLt is not on the emulated device"),
        ("rocblas/rocblas.h", "rocBLAS is not on the emulated device"),
        ("hiprand/hiprand.h", "hiprand_kernel.h"),
        ("hip/hip_gl_interop.h", "no memory with graphics"),
        ("rocfft/rocfft.h", "rocFFT is not on the emulated device: transform with a kernel"),
        ("hipfft/hipfft.h", "hipFFT is not on the emulated device"),
        ("hipsolver/hipsolver.h", "hipSOLVER is not on the emulated device: solve with a kernel"),
        ("rocsolver/rocsolver.h", "rocSOLVER is not on the emulated device"),
        ("hipsparse/hipsparse.h", "hipSPARSE is not on the emulated device: multiply with a kernel"),
        ("rocsparse/rocsparse.h", "rocSPARSE is not on the emulated device"),
        ("miopen/miopen.h", "MIOpen is not on the emulated device"),
        ("rccl/rccl.h", "RCCL is not on the emulated device: a program has one device here"),
        ("rocprim/rocprim.hpp", r"rocPRIM is .* so install it \(librocprim-dev, .* give its folder with -I"),
        ("thrust/device_vector.h", r"rocThrust is .* so install it \(librocthrust-dev, .* with -I"),
        ("thrust/iterator/zip_iterator.h", "rocThrust is not installed here"),
        ("thrust/shuffle.h", "rocThrust is not installed here"),
    ],
)
def test_an_absent_library_is_refused_by_name(
    name: str, message: str, zig: toolchain.Compiler, tmp_path: Path
) -> None:
    source = f"#include <hip/hip_runtime.h>\n#include <{name}>\n__global__ void k() {{}}\n"
    with pytest.raises(CompileError, match=message):
        compile_device(source, CompileOptions("gfx950"))
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("")
    options = CompileOptions("gfx950", flags=["-isystem", str(tmp_path)])
    assert compile_device(source, options).diagnostics == ()


@pytest.mark.parametrize("name", ["hipblas/hipblas.h", "rocblas.h"])
def test_a_library_that_is_installed_is_taken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    include = tmp_path / "include"
    (include / "hip").mkdir(parents=True)
    (include / "hip" / "hip_runtime.h").write_text('#error "HIP itself is the workbench\'s"\n')
    library = Path(name).stem
    (include / library).mkdir()
    (include / library / f"{library}.h").write_text("#define INSTALLED 1\n")
    monkeypatch.setenv("HIPKITTENS_COMPILER", "zig")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    source = f"#include <hip/hip_runtime.h>\n#include <{name}>\n__global__ void k(int (*)[INSTALLED]) {{}}\n"
    assert compile_device(source, CompileOptions("gfx950")).diagnostics == ()


OTHER_COMPILER = """
#include <hip/hip_runtime.h>
#include <string>
static_assert(sizeof(dim3) == 12 && alignof(float4) == 16, "");
__host__ __device__ inline float twice(float x) { return 2 * x; }
int main() {
    int count = 0;
    hipDeviceProp_t properties;
    if (hipGetDeviceCount(&count) != hipSuccess) return 1;
    if (hipGetDeviceProperties(&properties, 0) != hipSuccess) return 2;
    float *memory = nullptr;
    const float4 vector = make_float4(1, 2, 3, 4) * 2.0f;
    const dim3 grid(count, 2);
    return hipMalloc(&memory, 64) != hipSuccess || twice(vector.w) != 16 || grid.z != 1;
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed (apt-get install g++)")
def test_host_code_of_another_compiler(tmp_path: Path) -> None:
    """As in ROCm, with the platform's macro; without it the first error explains that."""
    (tmp_path / "host.cpp").write_text(OTHER_COMPILER)
    command = ["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-I", str(INCLUDE), "host.cpp"]
    wrong = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "host code without kernels with -D__HIP_PLATFORM_AMD__" in wrong.stderr.split("error:")[1]
    right = subprocess.run([*command, "-D__HIP_PLATFORM_AMD__"], capture_output=True, text=True, cwd=tmp_path)
    assert (right.returncode, right.stderr) == (0, "")
    (tmp_path / "host.cpp").write_text("#include <hip/hip_fp16.h>\n")
    wrong = subprocess.run([*command, "-D__HIP_PLATFORM_AMD__"], capture_output=True, text=True, cwd=tmp_path)
    assert "are for clang: compile with hipcc" in wrong.stderr.split("error:")[1]


def test_vectors_of_more_elements_by_hips_base() -> None:
    """As rocWMMA has them: a specialization of HIP_vector_base, whose Native_vec_ does the arithmetic."""
    source = """#include <hip/hip_runtime.h>
    template <>
    struct HIP_vector_base<float, 8> {
        using Native_vec_ = float __attribute__((ext_vector_type(8)));
        using value_type = float;
        Native_vec_ data;
        HIP_vector_base() = default;
        __host__ __device__ constexpr explicit HIP_vector_base(float x) : data(x) {}
        template <typename... T>
        __host__ __device__ constexpr HIP_vector_base(float x, float y, T... rest) : data{x, y, rest...} {}
    };
    struct count { int n; };
    __host__ __device__ inline count operator+(count a, count b) { return {a.n + b.n}; }
    __host__ __device__ inline count &operator+=(count &a, count b) { return a = a + b; }
    // Of a type that the compiler has no vectors of, and whose operator++ a program writes itself.
    template <>
    inline __host__ __device__ HIP_vector_type<float, 2> &HIP_vector_type<float, 2>::operator++() noexcept {
        x += 10;
        return *this;
    }
    static_assert(sizeof(HIP_vector_type<float, 8>) == 32 && sizeof(float3::Native_vec_) == 12);
    __global__ void k(float *out) {
        HIP_vector_type<float, 8> a(1, 2, 3, 4, 5, 6, 7, 8);
        a = -(a * a + 2.0f);
        a[3] += 0.5f;
        for (int i = 0; i < 8; i++) out[i] = a[i];
        out[8] = a == a && !(a == HIP_vector_type<float, 8>(1.0f));
        out[9] = (++HIP_vector_type<float, 8>(3.0f))[7];
        float4 b = make_float4(1, 2, 3, 4);
        get_native_vector(b) *= 3.0f;
        out[10] = b.z;
        HIP_vector_type<count, 2> counts{count{1}, count{2}};
        counts += counts;
        out[11] = counts.y.n;
        float2 two = make_float2(1, 2);
        out[12] = (++two).x;
        out[13] = two++.y;
    }
    """
    out = torch.zeros(14)
    wb.compile(source, arch="gfx950")["k"][1, 1](out)
    squares = [-(i * i + 2.0) for i in range(1, 9)]
    squares[3] += 0.5
    assert out.tolist() == [*squares, 1, 4, 9, 4, 11, 2]


def test_every_math_function_of_clangs_own_header() -> None:
    """This header has ROCm's device functions; for a clang that has them, clang's."""
    release, names = math_names.recorded()
    assert len(names) > 150
    compiler = toolchain.find_compiler("gfx950")
    answer = subprocess.run([*compiler.command, "-print-resource-dir"], capture_output=True, text=True)
    resources = Path(answer.stdout.strip())
    header_names = math_names.in_header(resources)
    if header_names and resources.name == release:
        assert header_names == names, f"run python tests/toolchain/math_names.py {resources}"
    names = sorted({*names, *header_names})
    checks = "".join(f"namespace check_{name} {{ using ::{name}; }}\n" for name in names)
    compile_device(checks + "__global__ void k() {}\n", CompileOptions("gfx950"))


def test_half_numbers_and_lanes_have_rocms_further_functions() -> None:
    """Names of ROCm 7's headers that are neither mathematics nor anywhere else in these tests."""
    source = """#include <hip/hip_runtime.h>
    #include "hip/hip_bf16.h"
    #include "hip/hip_fp16.h"
    #include "hip/hip_fp8.h"
    __global__ void k(int *out, float *sum, const __half *halves) {
        const float inf = __builtin_inff(), nan = __builtin_nanf("");
        int n = 0;
        const __half2 infinite = __hisinf2(__floats2half2_rn(inf, 3.0f));
        out[n++] = __low2float(infinite) == 1 && __high2float(infinite) == 0;
        out[n++] = __hbltu2(__hip_bfloat162{nan, 1.0f}, __hip_bfloat162{1.0f, 2.0f});
        out[n++] = !__hbltu2(__hip_bfloat162{nan, 3.0f}, __hip_bfloat162{1.0f, 2.0f});
        out[n++] = __hip_cvt_double2_to_fp8x2({1.0, -2.0}, __HIP_SATFINITE, __HIP_E4M3) == 0xc038;
        out[n++] = __fns(0b101100, 0, 2) == 3;
        out[n++] = __mbcnt_lo(~0u, 5) == 5 + (threadIdx.x < 32 ? threadIdx.x : 32);
        out[n++] = __ldcg(halves) == halves[0] && __ldca(halves) == halves[0] && __ldg(out) == 1;
        out[n++] = __smid() < 4096;
        atomicAddNoRet(sum, 0.5f);
    }
    """
    out, total = torch.zeros(8, dtype=torch.int32), torch.zeros(1)
    wb.compile(source, arch="gfx950")["k"][1, 1](out, total, torch.ones(1, dtype=torch.float16))
    assert out.tolist() == [1] * 8
    assert total.item() == 0.5
