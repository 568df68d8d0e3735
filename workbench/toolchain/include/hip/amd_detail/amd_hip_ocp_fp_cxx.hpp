// HIP's classes of OCP numbers, by the names of its documentation (HIP EXT C++ API): made of larger numbers, with a
// seed rounded stochastically, with a scale divided by 2^scale; `get_scaled_*` multiply by it.
#pragma once

#include "hip/device/push_names.h"

#include "hip/amd_detail/amd_hip_ocp_fp.hpp"

#define __HIP_OCP_SCALED(name, small, large)                                                                           \
    __host__ __device__ name(const __amd_##large##_storage_t in, const unsigned int seed, const __amd_scale_t scale)   \
        : __x(__amd_cvt_##large##_to_##small##_sr_scale(in, __default_interpret, seed, scale)) {}                      \
    __host__ __device__ __amd_##large##_storage_t get_scaled_##large(const __amd_scale_t scale) const {                \
        return __amd_cvt_##small##_to_##large##_scale(__x, __default_interpret, scale);                                \
    }
#define __HIP_OCP_ROUNDED(name, small, large)                                                                          \
    __host__ __device__ name(const __amd_##large##_storage_t in, const __amd_scale_t scale)                            \
        : __x(__amd_cvt_##large##_to_##small##_scale(in, __default_interpret, scale)) {}

#define __HIP_OCP_FP8(name, kind)                                                                                      \
    struct name {                                                                                                      \
        __amd_fp8_storage_t __x;                                                                                       \
        static constexpr __amd_fp8_interpretation_t __default_interpret = kind;                                        \
        name() = default;                                                                                              \
        __host__ __device__ name(const float in) : __x(__amd_cvt_float_to_fp8(in, kind)) {}                            \
        __host__ __device__ name(const float in, const unsigned int seed)                                              \
            : __x(__amd_cvt_float_to_fp8_sr(in, kind, seed)) {}                                                        \
        __HIP_OCP_SCALED(name, fp8, float)                                                                             \
        __HIP_OCP_SCALED(name, fp8, fp16)                                                                              \
        __HIP_OCP_SCALED(name, fp8, bf16)                                                                              \
        __host__ __device__ operator float() const { return __amd_cvt_fp8_to_float(__x, kind); }                       \
    };
#define __HIP_OCP_FP8X2(name, kind)                                                                                    \
    struct name {                                                                                                      \
        __amd_fp8x2_storage_t __x;                                                                                     \
        static constexpr __amd_fp8_interpretation_t __default_interpret = kind;                                        \
        name() = default;                                                                                              \
        __host__ __device__ name(const float a, const float b) : name(__amd_floatx2_storage_t{a, b}) {}                \
        __host__ __device__ name(const __amd_floatx2_storage_t in) : __x(__amd_cvt_floatx2_to_fp8x2(in, kind)) {}      \
        __HIP_OCP_ROUNDED(name, fp8x2, floatx2)                                                                        \
        __HIP_OCP_ROUNDED(name, fp8x2, fp16x2)                                                                         \
        __HIP_OCP_ROUNDED(name, fp8x2, bf16x2)                                                                         \
        __HIP_OCP_SCALED(name, fp8x2, floatx2)                                                                         \
        __HIP_OCP_SCALED(name, fp8x2, fp16x2)                                                                          \
        __HIP_OCP_SCALED(name, fp8x2, bf16x2)                                                                          \
        __host__ __device__ operator __amd_floatx2_storage_t() const { return __amd_cvt_fp8x2_to_floatx2(__x, kind); } \
    };
#define __HIP_OCP_FP6X32(name, kind)                                                                                   \
    struct name {                                                                                                      \
        __amd_fp6x32_storage_t __x;                                                                                    \
        static constexpr __amd_fp6_interpretation_t __default_interpret = kind;                                        \
        name() = default;                                                                                              \
        __host__ __device__ name(const __amd_floatx16_storage_t a, const __amd_floatx16_storage_t b,                   \
                                 const __amd_scale_t scale)                                                            \
            : __x(__amd_cvt_floatx16_floatx16_to_fp6x32_scale(a, b, kind, scale)) {}                                   \
        __HIP_OCP_ROUNDED(name, fp6x32, fp16x32)                                                                       \
        __HIP_OCP_ROUNDED(name, fp6x32, bf16x32)                                                                       \
        __HIP_OCP_SCALED(name, fp6x32, floatx32)                                                                       \
        __HIP_OCP_SCALED(name, fp6x32, fp16x32)                                                                        \
        __HIP_OCP_SCALED(name, fp6x32, bf16x32)                                                                        \
    };

__HIP_OCP_FP8(__hipext_ocp_fp8_e4m3, __AMD_OCP_E4M3)
__HIP_OCP_FP8(__hipext_ocp_fp8_e5m2, __AMD_OCP_E5M2)
__HIP_OCP_FP8X2(__hipext_ocp_fp8x2_e4m3, __AMD_OCP_E4M3)
__HIP_OCP_FP8X2(__hipext_ocp_fp8x2_e5m2, __AMD_OCP_E5M2)
__HIP_OCP_FP6X32(__hipext_ocp_fp6x32_e2m3, __AMD_OCP_E2M3)
__HIP_OCP_FP6X32(__hipext_ocp_fp6x32_e3m2, __AMD_OCP_E3M2)

struct __hipext_ocp_fp4x2_e2m1 {
    __amd_fp4x2_storage_t __x;
    static constexpr __amd_fp4_interpretation_t __default_interpret = __AMD_OCP_E2M1;
    __hipext_ocp_fp4x2_e2m1() = default;
    __host__ __device__ __hipext_ocp_fp4x2_e2m1(const float a, const float b, const __amd_scale_t scale)
        : __hipext_ocp_fp4x2_e2m1(__amd_floatx2_storage_t{a, b}, scale) {}
    __HIP_OCP_ROUNDED(__hipext_ocp_fp4x2_e2m1, fp4x2, floatx2)
    __HIP_OCP_ROUNDED(__hipext_ocp_fp4x2_e2m1, fp4x2, fp16x2)
    __HIP_OCP_ROUNDED(__hipext_ocp_fp4x2_e2m1, fp4x2, bf16x2)
    __HIP_OCP_SCALED(__hipext_ocp_fp4x2_e2m1, fp4x2, floatx2)
    __HIP_OCP_SCALED(__hipext_ocp_fp4x2_e2m1, fp4x2, fp16x2)
    __HIP_OCP_SCALED(__hipext_ocp_fp4x2_e2m1, fp4x2, bf16x2)
};

#undef __HIP_OCP_SCALED
#undef __HIP_OCP_ROUNDED
#undef __HIP_OCP_FP8
#undef __HIP_OCP_FP8X2
#undef __HIP_OCP_FP6X32

#include "hip/device/pop_names.h"
