/**
 * @file
 * @brief Single loads and stores at addresses: 8 and 16 bytes per lane of shared and of global memory.
 *
 * The functions return when the value, and all earlier loads of the wave, have arrived. Functions with `_async` in
 * their names return when the access is in flight; the compiler waits for the value where it is used.
 */
#pragma once

#include "../../../types/types.cuh"

namespace kittens {

namespace detail {
/* A built-in type of this size: classes have no constructors and assignments for shared memory. */
template <size_t bytes>
struct word;
template <>
struct word<1> {
    using type = uint8_t;
};
template <>
struct word<2> {
    using type = uint16_t;
};
template <>
struct word<4> {
    using type = uint32_t;
};
template <>
struct word<8> {
    using type = uint64_t;
};
template <>
struct word<16> {
    using type = u32x4;
};
template <typename T>
using global_word = __attribute__((address_space(1))) typename word<sizeof(T)>::type;
template <typename T>
using shared_word = __attribute__((address_space(3))) typename word<sizeof(T)>::type;

template <typename T>
__device__ inline T load_from(const T *from) {
    const program_order order;
    return bit_cast<T>(*(const global_word<T> *)from);
}
template <typename T>
__device__ inline T load_from(uint32_t address) {
    const program_order order;
    return bit_cast<T>(*(const shared_word<T> *)(uintptr_t)address);
}
template <typename T>
__device__ inline void store_to(T *to, const T &value) {
    const program_order order;
    *(global_word<T> *)to = bit_cast<typename word<sizeof(T)>::type>(value);
}
template <typename T>
__device__ inline void store_to(uint32_t address, const T &value) {
    const program_order order;
    *(shared_word<T> *)(uintptr_t)address = bit_cast<typename word<sizeof(T)>::type>(value);
}
} // namespace detail

/** 8 bytes per lane from an address in shared memory. */
__device__ inline float2 load_shared_vec_async(uint32_t address) { return detail::load_from<float2>(address); }
__device__ inline float2 load_shared_vec(uint32_t address) {
    const float2 value = load_shared_vec_async(address);
    wait_lgkmcnt<0>();
    return value;
}
/** 8 bytes per lane to an address in shared memory. */
__device__ inline void store_shared_vec(uint32_t address, float2 value) { detail::store_to(address, value); }
/** 8 and 16 bytes per lane from global memory. */
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
/** 16 bytes per lane to global memory. */
__device__ inline void store_global_b128_async(void *to, __uint128_t value) {
    detail::store_to(static_cast<__uint128_t *>(to), value);
}

/** Values of a type from and to addresses in shared memory, and from and to global memory. */
template <typename T>
struct move {
    static __device__ inline void lds(T &dst, uint32_t src) { dst = detail::load_from<T>(src); }
    static __device__ inline void sts(uint32_t dst, const T &src) { detail::store_to(dst, src); }
    static __device__ inline void ldg(T &dst, T *src) { dst = detail::load_from<T>(src); }
    static __device__ inline void stg(T *dst, const T &src) { detail::store_to(dst, src); }
};

namespace detail {
template <typename T>
inline constexpr uint32_t bytes_of = sizeof(T);
template <ducks::st::all ST>
inline constexpr uint32_t bytes_of<ST> = ST::num_elements * sizeof(typename ST::dtype);
template <ducks::sv::all SV>
inline constexpr uint32_t bytes_of<SV> = SV::length * sizeof(typename SV::dtype);
} // namespace detail
/** Total bytes of several types; for shared tiles and vectors, the bytes of their elements. */
template <typename... Types>
inline constexpr uint32_t size_bytes = (0u + ... + detail::bytes_of<typename detail::bare_type<Types>::type>);

} // namespace kittens
