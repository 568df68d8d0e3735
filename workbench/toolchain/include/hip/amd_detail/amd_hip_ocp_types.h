// Storage types of packed OCP numbers: the operands of the conversion built-ins.
#pragma once

#include <cstdint>

typedef std::uint8_t __amd_fp8_storage_t;
typedef std::uint16_t __amd_fp8x2_storage_t;
typedef std::uint8_t __attribute__((ext_vector_type(8))) __amd_fp8x8_storage_t;
typedef std::uint8_t __amd_fp4x2_storage_t;
typedef std::uint32_t __amd_fp4x8_storage_t;
typedef std::uint32_t __attribute__((ext_vector_type(6))) __amd_fp6x32_storage_t; // 24 bytes in the room of 32
typedef std::int8_t __amd_scale_t;

typedef _Float16 __amd_fp16_storage_t;
typedef __bf16 __amd_bf16_storage_t;
typedef short __attribute__((ext_vector_type(2))) __amd_shortx2_storage_t;
typedef float __attribute__((ext_vector_type(2))) __amd_floatx2_storage_t;
typedef float __attribute__((ext_vector_type(8))) __amd_floatx8_storage_t;
typedef float __attribute__((ext_vector_type(16))) __amd_floatx16_storage_t;
typedef float __attribute__((ext_vector_type(32))) __amd_floatx32_storage_t;
typedef _Float16 __attribute__((ext_vector_type(2))) __amd_fp16x2_storage_t;
typedef _Float16 __attribute__((ext_vector_type(8))) __amd_fp16x8_storage_t;
typedef _Float16 __attribute__((ext_vector_type(32))) __amd_fp16x32_storage_t;
typedef __bf16 __attribute__((ext_vector_type(2))) __amd_bf16x2_storage_t;
typedef __bf16 __attribute__((ext_vector_type(8))) __amd_bf16x8_storage_t;
typedef __bf16 __attribute__((ext_vector_type(32))) __amd_bf16x32_storage_t;

typedef enum { __AMD_OCP_E4M3 = 0, __AMD_OCP_E5M2 = 1 } __amd_fp8_interpretation_t;
typedef enum { __AMD_OCP_E2M3 = 0, __AMD_OCP_E3M2 = 1 } __amd_fp6_interpretation_t;
typedef enum { __AMD_OCP_E2M1 = 0 } __amd_fp4_interpretation_t;
