"""The forecast without bank conflicts equals the time of a twin without them."""

from __future__ import annotations

from functools import cache

import pytest
import torch

import workbench as wb
from workbench.targets import TILE_TARGETS

SOURCE = r"""#include <hip/hip_runtime.h>
// The compiler is not to see it: it would take wider instructions where places are aligned.
template <int stride> __device__ inline int place_of() {
    int place = threadIdx.x * stride;
    asm volatile("" : "+v"(place));
    return place;
}
template <typename T, int stride> __device__ inline void read_again(float *out) {
    __shared__ T tile[64 * 32 + 8];
    T *own = &tile[place_of<stride>()], sum = {};
    for (int turn = 0; turn < 64; turn++) {
        asm volatile("" ::"v"(tile) : "memory");
#pragma unroll
        for (int k = 0; k < 8; k++) sum += own[k];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = *(float *)&sum;
}
template <typename T, int stride> __device__ inline void write_again(float *out) {
    __shared__ T tile[64 * 32 + 8];
    T *own = &tile[place_of<stride>()];
    for (int turn = 0; turn < 64; turn++) {
#pragma unroll
        for (int k = 0; k < 8; k++) own[k] = T{};
        asm volatile("" ::"v"(tile) : "memory");
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = ((float *)tile)[threadIdx.x];
}
typedef float two __attribute__((ext_vector_type(2)));
typedef float four __attribute__((ext_vector_type(4)));
#define KERNELS(name, T) \
    extern "C" __global__ void reads_##name(float *out) { read_again<T, 1>(out); } \
    extern "C" __global__ void reads_##name##_conflicts(float *out) { read_again<T, 32>(out); } \
    extern "C" __global__ void writes_##name(float *out) { write_again<T, 1>(out); } \
    extern "C" __global__ void writes_##name##_conflicts(float *out) { write_again<T, 32>(out); }
KERNELS(one, float)
KERNELS(two, two)
KERNELS(four, four)
"""
GROUPS = 512


@cache
def module(arch: str) -> wb.Module:
    return wb.compile(SOURCE, arch=arch)


@cache
def profiled(arch: str, name: str) -> wb.ProfileResult:
    kernel = module(arch)[name]
    return wb.profile(kernel[GROUPS, 64], torch.zeros(GROUPS * 64), device=f"emulated:{arch}")


@pytest.mark.parametrize("width", ["one", "two", "four"])
@pytest.mark.parametrize("access", ["reads", "writes"])
@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_without_conflicts_a_launch_takes_what_its_twin_does(arch: str, access: str, width: str) -> None:
    good, bad = (profiled(arch, f"{access}_{width}{suffix}") for suffix in ("", "_conflicts"))
    assert good["SQ_LDS_BANK_CONFLICT"].value == 0
    assert bad["SQ_LDS_BANK_CONFLICT"].value > 0
    assert good.model is not None
    assert bad.model is not None
    unchanged, cured = (result.what_if(bank_conflicts=0) for result in (good, bad))
    assert unchanged.seconds == pytest.approx(good.model.seconds)
    assert unchanged.parts["lds"] == pytest.approx(good.model.parts["lds"])
    assert cured.parts["lds"] == pytest.approx(good.model.parts["lds"])
    assert cured.seconds == pytest.approx(good.model.seconds, rel=0.01)
    assert cured.seconds < bad.model.seconds
