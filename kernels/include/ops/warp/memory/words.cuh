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

// HipKittens' single instructions on values; those on registers by number are in common/macros.cuh.
namespace macros {

/** A value of 4 bytes from shared memory, at `address` + `offset`. */
template <typename T = uint32_t>
__device__ inline void ds_read_b32(T &dst, uint32_t address, int offset = 0) {
    static_assert(sizeof(T) == 4, "ds_read_b32: to a value of 4 bytes");
    dst = detail::load_from<T>(address + static_cast<uint32_t>(offset));
}
#define KITTENS_SHARED_VALUE(bits, word)                                                                               \
    template <typename T = word>                                                                                       \
    __device__ inline T ds_read_b##bits(uint32_t address, int offset = 0) {                                            \
        static_assert(sizeof(T) == bits / 8, "ds_read_b" #bits ": to a value of " #bits " bits");                      \
        return detail::load_from<T>(address + static_cast<uint32_t>(offset));                                          \
    }
KITTENS_SHARED_VALUE(64, u32x2)
KITTENS_SHARED_VALUE(128, u32x4)
#undef KITTENS_SHARED_VALUE
#define KITTENS_SHARED_VALUE(bits)                                                                                     \
    template <typename T>                                                                                              \
    __device__ inline void ds_write_b##bits(const T &value, uint32_t address, int offset = 0) {                        \
        static_assert(sizeof(T) == bits / 8, "ds_write_b" #bits ": of a value of " #bits " bits");                     \
        detail::store_to(address + static_cast<uint32_t>(offset), value);                                              \
    }
KITTENS_SHARED_VALUE(32)
KITTENS_SHARED_VALUE(64)
KITTENS_SHARED_VALUE(128)
#undef KITTENS_SHARED_VALUE

// A value from and to global memory, at the sum of the offsets in a buffer resource. One of three words has 16 bytes.
#define KITTENS_BUFFER_LOAD(name, word, bits, narrow, wide)                                                            \
    template <typename T = word>                                                                                       \
    __device__ inline T buffer_load_##name(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,   \
                                           uint32_t offset = 0) {                                                      \
        const detail::program_order order;                                                                             \
        const auto loaded = llvm_amdgcn_raw_buffer_load_b##bits(resource, lane_offset + offset, uniform_offset, 0);    \
        return detail::bit_cast<T>(static_cast<wide>(static_cast<narrow>(loaded)));                                    \
    }
KITTENS_BUFFER_LOAD(dword, uint32_t, 32, uint32_t, uint32_t)
KITTENS_BUFFER_LOAD(dwordx2, u32x2, 64, uint64_t, uint64_t)
KITTENS_BUFFER_LOAD(dwordx3, u32x3, 96, u32x3, u32x3)
KITTENS_BUFFER_LOAD(dwordx4, u32x4, 128, __uint128_t, __uint128_t)
KITTENS_BUFFER_LOAD(ubyte, uint32_t, 8, uint8_t, uint32_t)
KITTENS_BUFFER_LOAD(sbyte, uint32_t, 8, int8_t, int32_t)
KITTENS_BUFFER_LOAD(ushort, uint32_t, 16, uint16_t, uint32_t)
KITTENS_BUFFER_LOAD(sshort, uint32_t, 16, int16_t, int32_t)
#undef KITTENS_BUFFER_LOAD
/** Into the low or high half of a value of 4 bytes, whose other half stays. */
#define KITTENS_BUFFER_LOAD_HALF(name, load, mask, shift)                                                              \
    template <typename T = uint32_t>                                                                                   \
    __device__ inline void buffer_load_##name(T &dst, const i32x4 &resource, uint32_t lane_offset,                     \
                                              uint32_t uniform_offset = 0, uint32_t offset = 0) {                      \
        const uint32_t half = buffer_load_##load(resource, lane_offset, uniform_offset, offset) & 0xffffu;             \
        dst = detail::bit_cast<T>((detail::bit_cast<uint32_t>(dst) & mask) | half << shift);                           \
    }
KITTENS_BUFFER_LOAD_HALF(ubyte_d16, ubyte, 0xffff0000u, 0)
KITTENS_BUFFER_LOAD_HALF(sbyte_d16, sbyte, 0xffff0000u, 0)
KITTENS_BUFFER_LOAD_HALF(short_d16, ushort, 0xffff0000u, 0)
KITTENS_BUFFER_LOAD_HALF(ubyte_d16_hi, ubyte, 0xffffu, 16)
KITTENS_BUFFER_LOAD_HALF(sbyte_d16_hi, sbyte, 0xffffu, 16)
KITTENS_BUFFER_LOAD_HALF(short_d16_hi, ushort, 0xffffu, 16)
#undef KITTENS_BUFFER_LOAD_HALF
#define KITTENS_BUFFER_STORE(name, word, bits, raw, shift)                                                             \
    template <typename T = word>                                                                                       \
    __device__ inline void buffer_store_##name(const T &value, const i32x4 &resource, uint32_t lane_offset,            \
                                               uint32_t uniform_offset = 0, uint32_t offset = 0) {                     \
        const detail::program_order order;                                                                             \
        const auto whole = detail::bit_cast<word>(value);                                                              \
        llvm_amdgcn_raw_buffer_store_b##bits(static_cast<raw>(whole shift), resource, lane_offset + offset,            \
                                             uniform_offset, 0);                                                       \
    }
KITTENS_BUFFER_STORE(dword, uint32_t, 32, uint32_t, )
KITTENS_BUFFER_STORE(dwordx2, uint64_t, 64, uint64_t, )
KITTENS_BUFFER_STORE(dwordx3, u32x3, 96, u32x3, )
KITTENS_BUFFER_STORE(dwordx4, __uint128_t, 128, __uint128_t, )
KITTENS_BUFFER_STORE(byte, uint32_t, 8, uint8_t, )
KITTENS_BUFFER_STORE(short, uint32_t, 16, uint16_t, )
KITTENS_BUFFER_STORE(byte_d16_hi, uint32_t, 8, uint8_t, >> 16)
KITTENS_BUFFER_STORE(short_d16_hi, uint32_t, 16, uint16_t, >> 16)
#undef KITTENS_BUFFER_STORE

} // namespace macros

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
