// HIP's functions on OCP formats, by the names of its documentation (HIP low precision types, C-APIs): cvt converts, sr
// rounds stochastically, scale divides or multiplies by 2^scale.
#pragma once

#include "hip/device/push_names.h"

#include "hip/device/ocp.h"

#define __HIP_OCP_NARROW(large, small, count, bits)                                                                    \
    __hip_host_device_inline __amd_##small##_storage_t __amd_cvt_##large##_to_##small##_scale(                         \
        const __amd_##large##_storage_t in, const __amd_##bits##_interpretation_t kind, const __amd_scale_t scale) {   \
        return __hip_ocp::to_small<__amd_##small##_storage_t, count>(in, __hip_ocp::of(kind), scale);                  \
    }                                                                                                                  \
    __hip_host_device_inline __amd_##small##_storage_t __amd_cvt_##large##_to_##small##_sr_scale(                      \
        const __amd_##large##_storage_t in, const __amd_##bits##_interpretation_t kind, const unsigned int seed,       \
        const __amd_scale_t scale) {                                                                                   \
        return __hip_ocp::to_small<__amd_##small##_storage_t, count>(in, __hip_ocp::of(kind), scale, &seed);           \
    }
#define __HIP_OCP_WIDEN(large, small, count, bits)                                                                     \
    __hip_host_device_inline __amd_##large##_storage_t __amd_cvt_##small##_to_##large##_scale(                         \
        const __amd_##small##_storage_t in, const __amd_##bits##_interpretation_t kind, const __amd_scale_t scale) {   \
        return __hip_ocp::to_large<__amd_##large##_storage_t, count>(in, __hip_ocp::of(kind), scale);                  \
    }
#define __HIP_OCP_BOTH(large, small, count, bits)                                                                      \
    __HIP_OCP_NARROW(large, small, count, bits)                                                                        \
    __HIP_OCP_WIDEN(large, small, count, bits)
// Without a scale: 8-bit numbers only.
#define __HIP_OCP_PLAIN(large, small)                                                                                  \
    __hip_host_device_inline __amd_##small##_storage_t __amd_cvt_##large##_to_##small(                                 \
        const __amd_##large##_storage_t in, const __amd_fp8_interpretation_t kind) {                                   \
        return __amd_cvt_##large##_to_##small##_scale(in, kind, 0);                                                    \
    }                                                                                                                  \
    __hip_host_device_inline __amd_##large##_storage_t __amd_cvt_##small##_to_##large(                                 \
        const __amd_##small##_storage_t in, const __amd_fp8_interpretation_t kind) {                                   \
        return __amd_cvt_##small##_to_##large##_scale(in, kind, 0);                                                    \
    }

typedef float __amd_float_storage_t;

__HIP_OCP_BOTH(float, fp8, 1, fp8)
__HIP_OCP_BOTH(fp16, fp8, 1, fp8)
__HIP_OCP_BOTH(bf16, fp8, 1, fp8)
__HIP_OCP_BOTH(floatx2, fp8x2, 2, fp8)
__HIP_OCP_BOTH(fp16x2, fp8x2, 2, fp8)
__HIP_OCP_BOTH(bf16x2, fp8x2, 2, fp8)
__HIP_OCP_BOTH(floatx8, fp8x8, 8, fp8)
__HIP_OCP_BOTH(fp16x8, fp8x8, 8, fp8)
__HIP_OCP_BOTH(bf16x8, fp8x8, 8, fp8)
__HIP_OCP_BOTH(floatx32, fp6x32, 32, fp6)
__HIP_OCP_BOTH(fp16x32, fp6x32, 32, fp6)
__HIP_OCP_BOTH(bf16x32, fp6x32, 32, fp6)
__HIP_OCP_BOTH(floatx2, fp4x2, 2, fp4)
__HIP_OCP_BOTH(fp16x2, fp4x2, 2, fp4)
__HIP_OCP_BOTH(bf16x2, fp4x2, 2, fp4)
__HIP_OCP_BOTH(floatx8, fp4x8, 8, fp4)
__HIP_OCP_BOTH(fp16x8, fp4x8, 8, fp4)
__HIP_OCP_BOTH(bf16x8, fp4x8, 8, fp4)
__HIP_OCP_PLAIN(float, fp8)
__HIP_OCP_PLAIN(floatx2, fp8x2)
__HIP_OCP_PLAIN(fp16, fp8)
__HIP_OCP_PLAIN(fp16x2, fp8x2)

#undef __HIP_OCP_NARROW
#undef __HIP_OCP_WIDEN
#undef __HIP_OCP_BOTH
#undef __HIP_OCP_PLAIN

// The first 16 numbers, then the others.
__hip_host_device_inline __amd_fp6x32_storage_t
__amd_cvt_floatx16_floatx16_to_fp6x32_scale(const __amd_floatx16_storage_t a, const __amd_floatx16_storage_t b,
                                            const __amd_fp6_interpretation_t kind, const __amd_scale_t scale) {
    __amd_floatx32_storage_t both;
    for (int n = 0; n < 32; n++) both[n] = n < 16 ? a[n] : b[n - 16];
    return __amd_cvt_floatx32_to_fp6x32_scale(both, kind, scale);
}

__hip_host_device_inline __amd_fp8_storage_t __amd_cvt_float_to_fp8_sr(const float in,
                                                                       const __amd_fp8_interpretation_t kind,
                                                                       const unsigned int seed) {
    return __amd_cvt_float_to_fp8_sr_scale(in, kind, seed, 0);
}
__hip_host_device_inline __amd_fp8_storage_t __amd_cvt_fp16_to_fp8_sr(const __amd_fp16_storage_t in,
                                                                      const __amd_fp8_interpretation_t kind,
                                                                      const short seed) {
    return __amd_cvt_fp16_to_fp8_sr_scale(in, kind, static_cast<unsigned>(seed) << 16, 0);
}
__hip_host_device_inline __amd_fp16_storage_t __amd_cvt_float_to_fp16_sr(const float in, const unsigned int seed) {
    return __hip_ocp::to_small<__amd_fp16_storage_t, 1>(in, __hip_ocp::half_format, 0, &seed);
}
__hip_host_device_inline __amd_fp16x2_storage_t __amd_cvt_float_float_to_fp16x2_sr(const float a, const float b,
                                                                                   const unsigned int seed) {
    return __amd_fp16x2_storage_t{__amd_cvt_float_to_fp16_sr(a, seed), __amd_cvt_float_to_fp16_sr(b, seed)};
}
__hip_host_device_inline __amd_bf16_storage_t __amd_cvt_float_to_bf16_sr(const float in, const unsigned int seed) {
    return __hip_ocp::to_small<__amd_bf16_storage_t, 1>(in, __hip_ocp::bf16_format, 0, &seed);
}

// Between these types and HIP's own.
__hip_host_device_inline float2 __amd_cvt_floatx2_to_float2(const __amd_floatx2_storage_t x) { return {x[0], x[1]}; }
__hip_host_device_inline __half __amd_cvt_fp16_to_half(const __amd_fp16_storage_t x) { return __hip_half(x); }
__hip_host_device_inline __amd_fp16_storage_t __amd_cvt_half_to_fp16(const __half x) { return __hip_f16(x); }
__hip_host_device_inline __half2 __amd_cvt_fp16x2_to_half2(const __amd_fp16x2_storage_t x) {
    return __builtin_bit_cast(__half2, x);
}
__hip_host_device_inline __amd_fp16x2_storage_t __amd_cvt_half2_to_fp16x2(const __half2 x) {
    return __builtin_bit_cast(__amd_fp16x2_storage_t, x);
}
__hip_host_device_inline __hip_bfloat16 __amd_cvt_bf16_to_hipbf16(const __amd_bf16_storage_t x) {
    return __builtin_bit_cast(__hip_bfloat16, x);
}
__hip_host_device_inline __amd_bf16_storage_t __amd_cvt_hipbf16_to_bf16(const __hip_bfloat16 x) {
    return __builtin_bit_cast(__amd_bf16_storage_t, x);
}
__hip_host_device_inline __hip_bfloat162 __amd_cvt_bf16x2_to_hipbf162(const __amd_bf16x2_storage_t x) {
    return __builtin_bit_cast(__hip_bfloat162, x);
}
__hip_host_device_inline __amd_bf16x2_storage_t __amd_cvt_hipbf162_to_bf16x2(const __hip_bfloat162 x) {
    return __builtin_bit_cast(__amd_bf16x2_storage_t, x);
}

// Pairs of numbers in a word of eight, and out of it.
__hip_host_device_inline __amd_fp8x2_storage_t __amd_extract_fp8x2(const __amd_fp8x8_storage_t x,
                                                                   const std::size_t pair) {
    return static_cast<__amd_fp8x2_storage_t>(x[2 * pair] | x[2 * pair + 1] << 8);
}
__hip_host_device_inline __amd_fp8x8_storage_t __amd_create_fp8x8(const __amd_fp8x2_storage_t a,
                                                                  const __amd_fp8x2_storage_t b,
                                                                  const __amd_fp8x2_storage_t c,
                                                                  const __amd_fp8x2_storage_t d) {
    const __amd_fp8x2_storage_t pairs[4] = {a, b, c, d};
    return __builtin_bit_cast(__amd_fp8x8_storage_t, pairs);
}
__hip_host_device_inline __amd_fp4x2_storage_t __amd_extract_fp4x2(const __amd_fp4x8_storage_t x,
                                                                   const std::size_t pair) {
    return static_cast<__amd_fp4x2_storage_t>(x >> 8 * pair);
}
__hip_host_device_inline __amd_fp4x8_storage_t __amd_create_fp4x8(const __amd_fp4x2_storage_t a,
                                                                  const __amd_fp4x2_storage_t b,
                                                                  const __amd_fp4x2_storage_t c,
                                                                  const __amd_fp4x2_storage_t d) {
    return static_cast<__amd_fp4x8_storage_t>(a) | static_cast<__amd_fp4x8_storage_t>(b) << 8 |
           static_cast<__amd_fp4x8_storage_t>(c) << 16 | static_cast<__amd_fp4x8_storage_t>(d) << 24;
}

#include "hip/device/pop_names.h"
