"""HIP's functions and classes of OCP numbers: against tables of the formats, and gfx950's instructions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import workbench as wb

LANES, ROUNDS = 64, 16

# Each writes the header's result and the instruction's, one word per lane.
AGAINST_INSTRUCTIONS = """#include <hip/hip_runtime.h>
#include <hip/hip_ext_ocp.h>
typedef short s2 __attribute__((ext_vector_type(2)));
template <typename A, typename B> __device__ void both(unsigned *&out, A header, B instruction) {
    unsigned words[2][8] = {};
    __builtin_memcpy(words[0], &header, sizeof header < 24 ? sizeof header : 24);
    __builtin_memcpy(words[1], &instruction, sizeof header < 24 ? sizeof header : 24);
    for (int n = 0; n < 6; n++) {
        *out++ = words[0][n];
        *out++ = words[1][n];
    }
}
__device__ bool same(_Float16 a, _Float16 b) {
    return __builtin_bit_cast(short, a) == __builtin_bit_cast(short, b);
}
__global__ void k(const float *x, unsigned *results, const unsigned *seeds, const int *scales, int rounds) {
    const int lane = threadIdx.x;
    for (int round = 0; round < rounds; round++) {
        __amd_floatx32_storage_t f;
        __amd_fp16x32_storage_t h;
        __amd_bf16x32_storage_t b;
        for (int n = 0; n < 32; n++) {
            f[n] = x[(round * 64 + lane) * 32 + n];
            h[n] = static_cast<_Float16>(f[n]);
            b[n] = static_cast<__bf16>(f[n]);
        }
        const unsigned seed = seeds[round * 64 + lane];
        const __amd_scale_t scale = scales[round * 64 + lane];
        const float factor = __builtin_bit_cast(float, (scale + 127) << 23);
        unsigned *out = results + (round * 64 + lane) * COUNT * 12;
        both(out, __hipext_ocp_fp8x2_e4m3(__amd_floatx2_storage_t{f[0], f[1]}, scale).__x,
             __builtin_amdgcn_cvt_scalef32_pk_fp8_f32(s2{}, f[0], f[1], factor, false));
        const __amd_fp16x2_storage_t two{h[0], h[1]};
        both(out, __hipext_ocp_fp8x2_e5m2(two, scale).__x,
             __builtin_amdgcn_cvt_scalef32_pk_bf8_f16(s2{}, two, factor, false));
        both(out, __hipext_ocp_fp8_e4m3(f[0], seed, scale).__x,
             __builtin_amdgcn_cvt_scalef32_sr_fp8_f32(0, f[0], seed, factor, 0));
        both(out, __hipext_ocp_fp8_e5m2(b[0], seed, scale).__x,
             __builtin_amdgcn_cvt_scalef32_sr_bf8_bf16(0, b[0], seed, factor, 0));
        both(out, __amd_cvt_float_to_fp8_sr(f[2], __AMD_OCP_E4M3, seed),
             __builtin_amdgcn_cvt_sr_fp8_f32(f[2], seed, 0, 0));
        both(out, __hipext_ocp_fp4x2_e2m1(f[0], f[1], scale).__x,
             __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0, f[0], f[1], factor, 0));
        const __amd_bf16x2_storage_t pair{b[0], b[1]};
        both(out, __hipext_ocp_fp4x2_e2m1(pair, seed, scale).__x,
             __builtin_amdgcn_cvt_scalef32_sr_pk_fp4_bf16(0, pair, seed, factor, 0));
        const __hipext_ocp_fp6x32_e2m3 six(f, seed, scale);
        both(out, six.__x, __builtin_amdgcn_cvt_scalef32_sr_pk32_fp6_f32(f, seed, factor));
        const __hipext_ocp_fp6x32_e3m2 other(h, scale);
        both(out, other.__x, __builtin_amdgcn_cvt_scalef32_pk32_bf6_f16(h, factor));
        const auto wide = six.get_scaled_floatx32(scale);
        const auto known = __builtin_amdgcn_cvt_scalef32_pk32_f32_fp6(six.__x, factor);
        const auto halves = other.get_scaled_fp16x32(scale);
        const auto right = __builtin_amdgcn_cvt_scalef32_pk32_f16_bf6(other.__x, factor);
        unsigned equal = 0;
        for (int n = 0; n < 32; n++)
            equal += wide[n] == known[n] && same(halves[n], right[n]);
        both(out, equal, 32u);
    }
}
"""
COUNT = AGAINST_INSTRUCTIONS.count("both(out,")


def numbers(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of every magnitude that the formats distinguish, with ties, zeros, infinities and NaN."""
    x = generator.standard_normal(shape) * 2.0 ** generator.integers(-20, 20, shape)
    near = generator.integers(-64, 64, shape) / 8
    x = np.where(generator.random(shape) < 0.3, near, x)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 480, 57344, 61440, 6, 7.5, 7.75, 28])
    return np.where(generator.random(shape) < 0.05, generator.choice(special, shape), x).astype(np.float32)


def test_conversions_are_those_of_the_instructions(generator: np.random.Generator) -> None:
    """Rounded to nearest and stochastically, scaled and not, from float, half and bf16, and back."""
    x = numbers(generator, ROUNDS, LANES, 32)
    seeds = generator.integers(0, 1 << 32, (ROUNDS, LANES), dtype=np.uint32)
    scales = generator.integers(-12, 13, (ROUNDS, LANES), dtype=np.int32)
    out = np.zeros((ROUNDS, LANES, COUNT, 6, 2), np.uint32)
    module = wb.compile(AGAINST_INSTRUCTIONS, arch="gfx950", define={"COUNT": COUNT}, name="ocp.hip")
    tensors = [torch.from_numpy(array) for array in (x, out, seeds, scales)]
    module["k"][1, LANES](*tensors, ROUNDS)
    for n in range(COUNT):
        different = np.argwhere(out[:, :, n, :, 0] != out[:, :, n, :, 1])
        assert not len(different), (n, different[:3], [hex(w) for w in out[tuple(different[0][:2])][n].flat])
    assert (out[:, :, COUNT - 1, 0] == 32).all()


ON_EVERY_TARGET = """#include <hip/hip_runtime.h>
#include <hip/hip_ext_ocp.h>
__global__ void k(const float *x, float *out) {
    const int lane = threadIdx.x;
    const __amd_floatx2_storage_t two{x[lane], x[64 + lane]};
    const __hipext_ocp_fp8_e4m3 one(two[0]);
    const __amd_floatx2_storage_t fp8 = __hipext_ocp_fp8x2_e5m2(two);
    const auto fp4 = __hipext_ocp_fp4x2_e2m1(two, 2).get_scaled_floatx2(1);
    __amd_floatx32_storage_t all = two[0];
    all[31] = two[1];
    const auto codes = __amd_cvt_floatx32_to_fp6x32_scale(all, __AMD_OCP_E2M3, 0);
    const auto fp6 = __amd_cvt_fp6x32_to_floatx32_scale(codes, __AMD_OCP_E2M3, 0);
    const __amd_fp8x8_storage_t eight = __amd_create_fp8x8(1, 2, 0x0304, 4);
    out[lane] = one;
    out[64 + lane] = fp8[0];
    out[128 + lane] = fp8[1];
    out[192 + lane] = fp4[0];
    out[256 + lane] = fp4[1];
    out[320 + lane] = fp6[17];
    out[384 + lane] = fp6[31];
    out[448 + lane] = __amd_extract_fp8x2(eight, 2) == 0x0304 && __amd_cvt_floatx2_to_float2(two).y == two[1];
}
"""


def nearest(x: np.ndarray, exponent: int, mantissa: int, codes: int) -> np.ndarray:
    """The nearest number of a format without infinity; of two, that with an even code."""
    code = np.arange(codes)
    field, fraction = code >> mantissa, code & (1 << mantissa) - 1
    least = 2 - (1 << exponent - 1)
    step = 2.0 ** (np.maximum(field, 1) - 1 + least - mantissa)
    table = (fraction + (field > 0) * (1 << mantissa)) * step
    distance = np.abs(np.abs(x)[:, None] - table)
    tied = distance == distance.min(1, keepdims=True)
    return np.copysign(table[np.where(tied, code * 2 + code % 2 * codes * 4, 1 << 30).argmin(1)], x)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_conversions_on_every_target(arch: str, generator: np.random.Generator) -> None:
    x = (generator.standard_normal(128) * 2.0 ** generator.integers(-8, 3, 128)).astype(np.float32)
    x[:8] = [1.0625, 1.1875, 0.25, 0.75, 2.5, 3.5, 5, -5]
    out = np.zeros((8, 64), np.float32)
    module = wb.compile(ON_EVERY_TARGET, arch=arch, name="ocp.hip")
    module["k"][1, 64](torch.from_numpy(x), torch.from_numpy(out))
    low, high = x[:64].astype(float), x[64:].astype(float)
    expected = [
        nearest(low, 4, 3, 127),
        nearest(low, 5, 2, 124),
        nearest(high, 5, 2, 124),
        nearest(low / 4, 2, 1, 8) * 2,
        nearest(high / 4, 2, 1, 8) * 2,
        nearest(low, 2, 3, 32),
        nearest(high, 2, 3, 32),
        np.ones(64),
    ]
    for got, right in zip(out, expected, strict=True):
        np.testing.assert_array_equal(got, right)
    eight = torch.from_numpy(x[:64]).to(torch.float8_e4m3fn).float()
    np.testing.assert_array_equal(out[0], eight.numpy())
