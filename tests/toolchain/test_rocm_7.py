"""ROCm 7's number types by value: host and device agree, also for sums in memory."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.errors import CompileError

OPERATORS = """
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <cstdio>
template <typename T> __host__ __device__ void one(float *o, float x, float y) {
    const T a = T(x), b = T(y);
    T c = a;
    c += a * b; *o++ = float(c);
    c = a; c -= b; *o++ = float(c);
    c = a; c /= b; *o++ = float(c);
    *o++ = float(-a);
    c = a; ++c; *o++ = float(c); c--; *o++ = float(c);
    *o++ = (a < b) + 2 * (a > b) + 4 * (a == b) + 8 * (a != b) + 16 * (a <= b) + 32 * (a >= b);
    const float f = a;
    *o++ = f; *o++ = bool(a); *o++ = float(static_cast<T>(3));
}
template <typename T2, typename T> __host__ __device__ void two(float *o, float x, float y) {
    const T2 a{T(x), T(y)}, b{T(2.0f), T(-1.0f)};
    T2 c = a * b; *o++ = float(c.x); *o++ = float(c.y);
    c = -a; *o++ = float(c.x);
    c = a; ++c; c--; ++c; *o++ = float(c.x); c -= b; *o++ = float(c.y);
    *o++ = (a == a) + 2 * (a != b) + 4 * (a < b) + 8 * (b < a) + 16 * (a >= b) + 32 * (a <= a);
}
__host__ __device__ void all(float *o, float x, float y) {
    one<__hip_bfloat16>(o, x, y); one<__half>(o + 10, x, y);
    two<__hip_bfloat162, __hip_bfloat16>(o + 20, x, y); two<__half2, __half>(o + 26, x, y);
}
__global__ void k(float *o, float x, float y) { all(o, x, y); }
int main() {
    float *d, h[32] = {}, g[32] = {};
    if (hipMalloc(&d, sizeof h)) return 1;
    k<<<1, 1>>>(d, 3.5f, 2.0f);
    if (hipMemcpy(h, d, sizeof h, hipMemcpyDeviceToHost)) return 2;
    all(g, 3.5f, 2.0f);
    for (int i = 0; i < 32; i++) if (h[i] != g[i]) return 10 + i;
    for (float x : h) printf("%g ", x);
}
"""


def test_operators_of_both_types_on_host_and_device() -> None:
    result = wb.run_program(OPERATORS, device="emulated:gfx942")
    assert result.exit_code == 0, result.stderr
    ones = [10.5, 1.5, 1.75, -3.5, 4.5, 3.5, 2 + 8 + 32, 3.5, 1, 3]
    # ROCm's bf162 compares the first element of the left side with both of the right side.
    bf16, half = [7, -2, -3.5, 4.5, 4, 1 + 2 + 16], [7, -2, -3.5, 4.5, 4, 1 + 2 + 8 + 16 + 32]
    assert [float(word) for word in result.stdout.split()] == [*ones, *ones, *bf16, *half]


ATOMICS = """
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
template <typename T2, typename T> __device__ void sums(T2 *sums, T2 pair, T one, float *out) {
    __shared__ T2 shared;
    if (threadIdx.x == 0) shared = T2(T(0.0f), T(0.0f));
    __syncthreads();
    unsafeAtomicAdd(sums, pair);
    atomicAdd(sums + 1, pair);
    unsafeAtomicAdd(&sums[2].x, one);
    atomicAdd(&sums[2].y, one);
    unsafeAtomicAdd(&shared, pair);
    atomicAdd(&shared.y, one);
    __syncthreads();
    if (threadIdx.x == 0) { out[0] = float(shared.x); out[1] = float(shared.y); }
}
__global__ void k(__half2 *h, __hip_bfloat162 *b, float *out) {
    sums(h, __half2(1.0f, 0.5f), __half(1.0f), out);
    sums(b, __hip_bfloat162(1.0f, 0.5f), __hip_bfloat16(1.0f), out + 2);
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_atomic_sums_of_numbers_of_16_bits(arch: str) -> None:
    """Small integers, so every order of the sums is exact."""
    import torch

    h, b = torch.zeros(6, dtype=torch.half), torch.zeros(6, dtype=torch.bfloat16)
    out = torch.zeros(4)
    wb.compile(ATOMICS, arch=arch)["k"][1, 128](h, b, out)
    assert h.tolist() == b.tolist() == [128, 64, 128, 64, 128, 128]
    assert out.tolist() == [128, 64 + 128] * 2


def test_a_sources_own_atomic_is_taken_before_that_of_later_headers() -> None:
    """ROCm 7.2 has none, so sources bring their own."""
    source = """
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
__device__ void atomicAdd(__half *address, __half value) { *address = __half(7.0f); }
__global__ void k(__half *x) { atomicAdd(x, __half(1.0f)); }
"""
    import torch

    x = torch.zeros(1, dtype=torch.half)
    wb.compile(source, arch="gfx942")["k"][1, 1](x)
    assert x.item() == 7


FP8 = """
#include <hip/hip_runtime.h>
#include <hip/hip_fp8.h>
#if HIP_FP8_TYPE_OCP
using one = __hip_fp8_e4m3; using two = __hip_fp8x2_e4m3; using four = __hip_fp8x4_e4m3;
#else
using one = __hip_fp8_e4m3_fnuz; using two = __hip_fp8x2_e4m3_fnuz; using four = __hip_fp8x4_e4m3_fnuz;
#endif
__global__ void k(int *o, float x, float big, float inf) {
    const __half2 h = __float22half2_rn(make_float2(x, x));
    const __hip_bfloat162 b = __float22bfloat162_rn(make_float2(x, x));
    *o++ = HIP_FP8_TYPE_OCP * 2 + HIP_FP8_TYPE_FNUZ;
    *o++ = one(x).__x; *o++ = one(big).__x; *o++ = one(-big).__x; *o++ = one(inf).__x;
    *o++ = two(make_float2(x, x)).__x; *o++ = two(h).__x; *o++ = two(b).__x;
    *o++ = two(make_double2(x, big)).__x;
    *o++ = two(make_float2(x, big)).__x;
    *o++ = four(h, h).__x; *o++ = four(b, b).__x; *o++ = four(make_double4(x, x, x, x)).__x;
    const __half2 back = two(make_float2(x, x));
    *o++ = int(__low2float(back));
    const one f(3.0f);
    const int i = f; const unsigned short us = f; const bool yes = f;
    *o++ = i + us + yes;
}
"""


@pytest.mark.parametrize(
    ("arch", "unit", "largest", "nan"), [("gfx942", 0x40, 0x7F, 0x80), ("gfx950", 0x38, 0x7E, 0x7F)]
)
def test_float8_is_the_targets(arch: str, unit: int, largest: int, nan: int) -> None:
    """Too large becomes the largest number, infinity NaN; a pair of floats is not clamped: both are NaN."""
    import torch

    out = torch.zeros(15, dtype=torch.int32)
    wb.compile(FP8, arch=arch)["k"][1, 1](out, 1.0, 1000.0, float("inf"))
    pair = unit << 8 | unit
    assert out[0] == (1 if arch == "gfx942" else 2)
    assert out[1:10].tolist() == [
        *(unit, largest, 0x80 | largest, nan, pair, pair, pair, largest << 8 | unit, nan << 8 | unit)
    ]
    assert out[10:].tolist() == [*[pair << 16 | pair] * 3, 1, 7]


def test_a_format_of_8_bits_that_the_target_lacks_stops() -> None:
    source = """
#include <hip/hip_runtime.h>
#include <hip/hip_fp8.h>
__global__ void k(unsigned char *o, float x) { *o = __hip_cvt_float_to_fp8(x, __HIP_SATFINITE, __HIP_E4M3); }
"""
    import torch

    with pytest.raises(wb.errors.AssertionFault, match="one that this target has"):
        wb.compile(source, arch="gfx942")["k"][1, 1](torch.zeros(1, dtype=torch.uint8), 1.0)


def test_pytorchs_macros_leave_no_operators_of_half() -> None:
    source = """
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
__global__ void k(__half *a, float *o) {
    a[0] = a[1] + a[2];
    o[0] = a[3];
}
"""
    macros = ["__HIP_NO_HALF_OPERATORS__=1", "__HIP_NO_HALF_CONVERSIONS__=1"]
    wb.compile(source, arch="gfx942")
    with pytest.raises(CompileError) as caught:
        wb.compile(source, arch="gfx942", define=macros)
    errors = [found for found in caught.value.diagnostics if found.severity == "error"]
    assert [found.line for found in errors] == [5, 6]


def test_a_program_with_declarations_of_its_own() -> None:
    """As AITER's smallest header: no name of hip_runtime.h is there before it is included."""
    source = """
typedef int hipError_t;
struct dim3 { unsigned x, y, z; };
extern "C" hipError_t hipDeviceSynchronize();
int main() { return hipDeviceSynchronize(); }
"""
    result = wb.run_program(source, device="emulated:gfx942")
    assert result.exit_code == 0, result.stderr


def test_a_missing_include_is_named() -> None:
    with pytest.raises(CompileError, match=r"hip/hip_runtime\.h"):
        wb.compile("__global__ void k(int *x) { x[threadIdx.x] = 1; }", arch="gfx942")


def test_one_version() -> None:
    source = """
#include <hip/hip_runtime.h>
#include <cstdio>
#if HIP_VERSION_MAJOR != 7
#error
#endif
int main() {
    int runtime, driver;
    if (hipRuntimeGetVersion(&runtime) || hipDriverGetVersion(&driver)) return 1;
    printf("%d %d %d", HIP_VERSION, runtime, driver);
}
"""
    result = wb.run_program(source, device="emulated:gfx942")
    assert len(set(result.stdout.split())) == 1, result.stdout
