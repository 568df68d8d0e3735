"""CUDA C++ with HIP's names: replaced names, unchanged names, and cases for a person."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.__main__ import main
from workbench.errors import UsageError

SOURCE = r"""#include <cuda_runtime.h>
#include "cuda_bf16.h" // cudaMalloc stays here
#include <cub/block/block_reduce.cuh>
/* #include <cuda.h> */
#define FULL 0xffffffff
#define CHECK_CUDA(e) if ((e) != cudaSuccess) printf("cudaError %s\n", cudaGetErrorString(e))
__global__ void sums(const __nv_bfloat16 *x, float *out) {
#ifdef __CUDA_ARCH__
    float v = __bfloat162float(x[threadIdx.x]);
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xFFFFFFFFu, v, o);
    v += __shfl_xor_sync(FULL, v, 0);
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v + (CUDART_INF_F < v);
#endif
}
int main() {
    __nv_bfloat16 *x; float *out; int cube = 0, cutoff = cube;
    CHECK_CUDA(cudaMallocManaged(&x, 64 * sizeof(__nv_bfloat16)));
    CHECK_CUDA(cudaMallocHost((void **)&out, 8 + cutoff));
    for (int i = 0; i < 64; i++) x[i] = __float2bfloat16(i < 32 ? 1.0f : 2.0f);
    sums<<<1, 64>>>(x, out);
    CHECK_CUDA(cudaDeviceSynchronize());
    printf("%g %g\n", out[0], out[1]);
}
"""


def test_a_program_runs_under_hip_s_names() -> None:
    result = wb.hipify("#include <cstdio>\n" + SOURCE)
    for part in (
        "#include <hip/hip_runtime.h>\n",
        '#include "hip/hip_bf16.h" // cudaMalloc stays here\n',
        "#include <hipcub/hipcub.hpp>\n",
        "/* #include <cuda.h> */\n",
        "#define FULL 0xffffffffffffffffull\n",
        '#define CHECK_CUDA(e) if ((e) != hipSuccess) printf("cudaError %s\\n", hipGetErrorString(e))',
        "const __hip_bfloat16 *x",
        "#ifdef __HIP_DEVICE_COMPILE__",
        "__shfl_down_sync(0xffffffffffffffffull, v, o)",
        "HIP_INF_F < v",
        "hipHostMalloc((void **)&out, 8 + cutoff)",
    ):
        assert part in result.source
    assert result.names["cudaMallocManaged"] == "hipMallocManaged"
    assert len(result.source.splitlines()) == len(SOURCE.splitlines()) + 1
    left = [(each.line, each.text) for each in result.leftovers]
    assert left == [
        (11, "__shfl_down_sync"),
        (12, "__shfl_xor_sync"),
        (13, "threadIdx.x % 32"),
        (13, "threadIdx.x / 32"),
    ]
    headers = "#include <hip/hip_math_constants.h>\n"
    ran = wb.run_program(
        headers + result.source.replace("#include <hipcub/hipcub.hpp>\n", ""), device="emulated:gfx950"
    )
    assert ran.check().stdout == "64 128\n"


@pytest.mark.parametrize(
    ("source", "text", "why"),
    [
        ('asm("mul.f32 %0, %1;" : "=f"(x) : "f"(y));', "asm", "inline PTX"),
        ('asm volatile("cp.async.commit_group;");', "asm volatile", "load_async"),
        ("nvcuda::wmma::fragment<int> f;", "nvcuda::wmma", "mma_AB"),
        ("#include <mma.h>", "mma.h", "mma_AB"),
        ("float f = tex2D<float>(t, x, y);", "tex2D", "no image instructions"),
        ("cuda::barrier<int> b;", "cuda::barrier", "libcu++"),
        ("#if __CUDA_ARCH__ >= 800", "__CUDA_ARCH__", "compute capability"),
        ("#if CUDART_VERSION >= 11000", "CUDART_VERSION", "HIP_VERSION"),
        ("v = __shfl_sync(mask, v, 0);", "__shfl_sync", "its mask `mask` needs 64 bits"),
        ("cudaFrobnicate();", "cudaFrobnicate", "became hipFrobnicate"),
        ("__stcs(p, v);", "__stcs", "caches"),
    ],
)
def test_what_is_left_is_named_with_its_line(source: str, text: str, why: str) -> None:
    result = wb.hipify(f"// one\n{source}\n", first_line=2)
    (left,) = result.leftovers
    assert (left.line, left.text) == (3, text)
    assert why in left.why
    assert str(left) in str(result)


@pytest.mark.parametrize(
    "source",
    [
        'const char *s = "cudaMalloc \\" cudaFree"; // cudaMemcpy',
        "/* cudaMalloc\n cudaFree */ int custom, cut, CUT_OFF, nvalue; half h; __half2 g = __hadd2(h, h);",
        'asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); asm("v_add_f32 %0, %1, %1" : "=v"(x) : "v"(y));',
        "#include <hip/hip_runtime.h>\nhipError_t e = hipMalloc(&p, 4); v = __ldg(p); x.cudaThing = 1;",
        "v = __shfl_down(v, 1); w = __ballot_sync(0xffffffffffffffffull, 1);",
    ],
)
def test_what_is_none_of_cuda_s_stays(source: str) -> None:
    result = wb.hipify(source)
    assert result.source == source
    assert not result.names
    assert "__ballot_sync" in source or not result.leftovers


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("__global__ void k(int *x) { x[threadIdx.x] = 1; }\n", True),
        ("// a licence\n#include <cstdio>\n#include <cuda_fp16.h>\n__device__ half h;\n", True),
        ("#include <cuda_runtime_api.h>\nint main() { f<<<1, 2>>>(); }\n", True),
        ("// #include <cuda_runtime.h>\n__shared__ int x;\n", True),
        ("#include <cuda_runtime.h>\n__device__ int x;\n", False),
        ("#include <cstdio>\n  # include <hip/hip_runtime.h>\n__device__ int x;\n", False),
        ("int main() { cudaFree(nullptr); } // __global__\n", False),
        ('const char *s = "__global__ f<<<1, 2>>>";\n', False),
    ],
)
def test_device_code_includes_the_runtime_as_under_nvcc(source: str, missing: bool) -> None:
    result = wb.hipify(source)
    assert result.includes_runtime == missing
    assert result.source.startswith("#include <hip/hip_runtime.h>\n") == (
        missing or "cuda_runtime.h>\n" in source[:32]
    )
    assert len(result.source.splitlines()) == len(source.splitlines()) + missing
    again = wb.hipify(result.source)
    assert (again.source, again.includes_runtime) == (result.source, False)
    assert ("hip/hip_runtime.h included" in str(result)) == missing


def test_families_of_names() -> None:
    pairs = {
        "cublasSgemm": "hipblasSgemm",
        "CUBLAS_OP_N": "HIPBLAS_OP_N",
        "curandStatePhilox4_32_10_t": "hiprandStatePhilox4_32_10_t",
        "curand_normal": "hiprand_normal",
        "cufftPlan1d": "hipfftPlan1d",
        "nvrtcCompileProgram": "hiprtcCompileProgram",
        "cuLaunchKernel": "hipModuleLaunchKernel",
        "CUfunction": "hipFunction_t",
        "cub::BlockScan": "hipcub::BlockScan",
        "__nv_fp8x4_e4m3": "__hip_fp8x4_e4m3",
        "__nv_cvt_float_to_fp8": "__hip_cvt_float_to_fp8",
        "make_cuDoubleComplex": "make_hipDoubleComplex",
        "cudaErrorLaunchTimeout": "hipErrorLaunchTimeOut",
    }
    for old, new in pairs.items():
        assert wb.hipify(f"{old}(x);").source == f"{new}(x);"


def test_the_command_prints_or_writes(tmp_path, capsys) -> None:
    file = tmp_path / "a.cu"
    file.write_text("cudaError_t e; // Größe\n__nanosleep(1);\n")
    assert main(["hipify", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out == "hipError_t e; // Größe\n__nanosleep(1);\n"
    assert "1 name exchanged, 1 left to do\nline 2: `__nanosleep`" in err
    assert file.read_text().startswith("cudaError_t")
    assert main(["hipify", "--in-place", str(file)]) == 0
    assert file.read_text().startswith("hipError_t e; // Größe")
    assert main(["hipify", str(tmp_path / "none.cu")]) == 2


def test_only_texts_are_changed() -> None:
    with pytest.raises(UsageError, match="got a int; expected the C"):
        wb.hipify(3)  # type: ignore[arg-type]
