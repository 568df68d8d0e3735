/**
 * @file
 * @brief Single loads and stores at addresses: 8 and 16 bytes a lane of shared and of global memory.
 *
 * The functions return with the value, all earlier loads of the wave being there too. With `_async` in the name they
 * return when the access is under way; the compiler waits for the value where it is used.
 */
#pragma once

#include "../../../types/types.cuh"

namespace kittens {

namespace detail {
template <typename T>
__device__ inline T load_from(const T *from) {
    const program_order order;
    return *(const __attribute__((address_space(1))) T *)from;
}
template <typename T>
__device__ inline T load_from(uint32_t address) {
    const program_order order;
    return *(const __attribute__((address_space(3))) T *)address;
}
} // namespace detail

/** 8 bytes a lane from an address in shared memory. */
__device__ inline float2 load_shared_vec_async(uint32_t address) { return detail::load_from<float2>(address); }
__device__ inline float2 load_shared_vec(uint32_t address) {
    const float2 value = load_shared_vec_async(address);
    wait_lgkmcnt<0>();
    return value;
}
/** 8 bytes a lane to an address in shared memory. */
__device__ inline void store_shared_vec(uint32_t address, float2 value) {
    const detail::program_order order;
    *(__attribute__((address_space(3))) float2 *)address = value;
}
/** 8 and 16 bytes a lane from global memory. */
__device__ inline float2 load_global_vec2_async(const float2 *from) { return detail::load_from(from); }
__device__ inline float4 load_global_vec4_async(const float4 *from) { return detail::load_from(from); }
__device__ inline float2 load_global_vec2(const float2 *from) {
    const float2 value = load_global_vec2_async(from);
    wait_vmcnt<0>();
    return value;
}
__device__ inline float4 load_global_vec4(const float4 *from) {
    const float4 value = load_global_vec4_async(from);
    wait_vmcnt<0>();
    return value;
}
/** 16 bytes a lane to global memory. */
__device__ inline void store_global_b128_async(void *to, __uint128_t value) {
    const detail::program_order order;
    *(__attribute__((address_space(1))) detail::u32x4 *)to = detail::bit_cast<detail::u32x4>(value);
}

/** Values of a type from and to addresses in shared memory, and from and to global memory. */
template <typename T>
struct move {
    static __device__ inline void lds(T &dst, uint32_t src) { dst = detail::load_from<T>(src); }
    static __device__ inline void sts(uint32_t dst, const T &src) {
        const detail::program_order order;
        *(__attribute__((address_space(3))) T *)dst = src;
    }
    static __device__ inline void ldg(T &dst, T *src) { dst = detail::load_from<T>(src); }
    static __device__ inline void stg(T *dst, const T &src) {
        const detail::program_order order;
        *(__attribute__((address_space(1))) T *)dst = src;
    }
};

namespace detail {
template <typename T>
inline constexpr uint32_t bytes_of = sizeof(T);
template <ducks::st::all ST>
inline constexpr uint32_t bytes_of<ST> = ST::num_elements * sizeof(typename ST::dtype);
template <ducks::sv::all SV>
inline constexpr uint32_t bytes_of<SV> = SV::length * sizeof(typename SV::dtype);
} // namespace detail
/** Bytes of some types together; of shared tiles and vectors those of their elements. */
template <typename... Types>
inline constexpr uint32_t size_bytes = (0u + ... + detail::bytes_of<typename detail::bare_type<Types>::type>);

} // namespace kittens
