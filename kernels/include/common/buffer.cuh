/**
 * @file
 * @brief Buffer resources: global memory with a range; outside it, loads return zero and stores do nothing.
 */
#pragma once

#include "base_types.cuh"
#include "util.cuh"

namespace kittens {

namespace detail {
/** Last word of a resource: a 32-bit data format, which must be valid even for untyped accesses, and no swizzling; on
 * gfx1100 and gfx1201 also the range check of raw buffers, by bytes. gfx1250 has no formats, and checks a resource of
 * stride zero by bytes. */
#if defined(KITTENS_CDNA5)
inline constexpr int RESOURCE_FORMAT = 0;
#elif defined(KITTENS_RDNA4) || defined(KITTENS_RDNA3)
inline constexpr int RESOURCE_FORMAT = 0x31004000;
#else
inline constexpr int RESOURCE_FORMAT = 0x00027000;
#endif
} // namespace detail

/**
 * @brief A buffer resource for the `range_bytes` bytes from `ptr`, both the same in all lanes.
 *
 * A load at an offset of `range_bytes` or more returns zero, and a store there does nothing; the hardware checks it at
 * no cost. `row_stride_bytes` exists for source compatibility: the resource is a raw one, of stride zero, because only
 * raw resources count their range in bytes.
 */
__device__ inline i32x4 make_srsrc(const void *ptr, uint32_t range_bytes,
                                   [[maybe_unused]] uint32_t row_stride_bytes = 0) {
    const uint64_t base = reinterpret_cast<uint64_t>(ptr);
    i32x4 resource;
    resource[0] = __builtin_amdgcn_readfirstlane(static_cast<int>(base));
#if defined(KITTENS_CDNA5)
    // 57 bits of address, then 45 of the range.
    const uint32_t high = (static_cast<uint32_t>(base >> 32) & 0x1ffffff) | range_bytes << 25;
    resource[1] = __builtin_amdgcn_readfirstlane(static_cast<int>(high));
    resource[2] = __builtin_amdgcn_readfirstlane(static_cast<int>(range_bytes >> 7));
#else
    resource[1] = __builtin_amdgcn_readfirstlane(static_cast<int>(base >> 32) & 0xffff);
    resource[2] = __builtin_amdgcn_readfirstlane(static_cast<int>(range_bytes));
#endif
    resource[3] = detail::RESOURCE_FORMAT;
    return resource;
}

/** A buffer resource by its fields: address (the row stride in its upper 16 bits), bytes, and the last word. */
struct buffer_resource {
    uint64_t ptr;
    uint32_t range;
    uint32_t config;
    __device__ inline operator i32x4() const { return detail::bit_cast<i32x4>(*this); }
};
__device__ inline buffer_resource make_buffer_resource(uint64_t ptr, uint32_t range, uint32_t config) {
    return {ptr, range, config};
}

/** A value that is the same in all lanes, in a scalar register. */
__device__ inline uint32_t to_sgpr_u32(uint32_t value) {
    return static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(value)));
}

// HipKittens' fp6 branch leaves these names to programs.
#if !defined(KITTENS_FP6)
/** Shared memory in the form for the compiler's direct loads. */
using as3_uint32_ptr = __attribute__((address_space(3))) uint32_t *;

/** Cache policies of buffer instructions: the bits of their last argument. */
enum class coherency { cache_all = 0, cache_global = 1, cache_stream = 2, non_temporal = 3 };

/**
 * @brief The compiler's load of `size` bytes per lane (constant; 4, on gfx950 also 12 and 16) straight to shared
 * memory, at `lds` plus size times the lane.
 *
 * @param lds the same in all lanes.
 * @param voffset,soffset,offset bytes from the resource's beginning: a lane's own, one for all lanes, and a constant.
 * @param aux a `coherency`.
 *
 * Unlike the loads of `group::load`, it is known to the compiler, which waits for it before any later access to shared
 * memory that may overlap.
 */
extern "C" __device__ void llvm_amdgcn_raw_buffer_load_lds(i32x4 resource, as3_uint32_ptr lds, int size, int voffset,
                                                           int soffset, int offset,
                                                           int aux) __asm("llvm.amdgcn.raw.buffer.load.lds");
#endif

/**
 * @brief The compiler's loads and stores of 1 to 16 bytes per lane through a buffer resource, at the sum of a lane's
 * offset and an offset for all lanes. The last argument, a `coherency`, is a constant.
 *
 * The compiler waits for their results where they are used, and may move the loads and stores.
 */
__device__ uint8_t llvm_amdgcn_raw_buffer_load_b8(i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                  uint32_t aux) __asm("llvm.amdgcn.raw.buffer.load.i8");
__device__ uint16_t llvm_amdgcn_raw_buffer_load_b16(i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                    uint32_t aux) __asm("llvm.amdgcn.raw.buffer.load.i16");
__device__ uint32_t llvm_amdgcn_raw_buffer_load_b32(i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                    uint32_t aux) __asm("llvm.amdgcn.raw.buffer.load.i32");
__device__ uint64_t llvm_amdgcn_raw_buffer_load_b64(i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                    uint32_t aux) __asm("llvm.amdgcn.raw.buffer.load.i64");
__device__ __uint96_t llvm_amdgcn_raw_buffer_load_b96(i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                      uint32_t aux) __asm("llvm.amdgcn.raw.buffer.load.v3i32");
__device__ __uint128_t llvm_amdgcn_raw_buffer_load_b128(i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                        uint32_t aux) __asm("llvm.amdgcn.raw.buffer.load.i128");
__device__ void llvm_amdgcn_raw_buffer_store_b8(uint8_t value, i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                uint32_t aux) __asm("llvm.amdgcn.raw.buffer.store.i8");
__device__ void llvm_amdgcn_raw_buffer_store_b16(uint16_t value, i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                 uint32_t aux) __asm("llvm.amdgcn.raw.buffer.store.i16");
__device__ void llvm_amdgcn_raw_buffer_store_b32(uint32_t value, i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                 uint32_t aux) __asm("llvm.amdgcn.raw.buffer.store.i32");
__device__ void llvm_amdgcn_raw_buffer_store_b64(uint64_t value, i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                 uint32_t aux) __asm("llvm.amdgcn.raw.buffer.store.i64");
__device__ void llvm_amdgcn_raw_buffer_store_b96(__uint96_t value, i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                 uint32_t aux) __asm("llvm.amdgcn.raw.buffer.store.v3i32");
__device__ void llvm_amdgcn_raw_buffer_store_b128(__uint128_t value, i32x4 resource, uint32_t voffset, uint32_t soffset,
                                                  uint32_t aux) __asm("llvm.amdgcn.raw.buffer.store.i128");

namespace detail {

/** An offset outside every range, even after additions to offsets. */
inline constexpr uint32_t OUT_OF_RANGE = 0xffffff00u;

#if !defined(KITTENS_RAW_BUFFER_INTRINSICS) && !__has_builtin(__builtin_amdgcn_raw_buffer_load_b128)
#define KITTENS_RAW_BUFFER_INTRINSICS
#endif

#if defined(KITTENS_RAW_BUFFER_INTRINSICS)
// Compilers before clang 20 (ROCm 6) support the operations but have no names for them in C++.
__device__ unsigned char raw_buffer_load_i8(i32x4 resource, int offset, int uniform,
                                            int aux) __asm("llvm.amdgcn.raw.buffer.load.i8");
__device__ unsigned short raw_buffer_load_i16(i32x4 resource, int offset, int uniform,
                                              int aux) __asm("llvm.amdgcn.raw.buffer.load.i16");
__device__ unsigned raw_buffer_load_i32(i32x4 resource, int offset, int uniform,
                                        int aux) __asm("llvm.amdgcn.raw.buffer.load.i32");
__device__ u32x2 raw_buffer_load_v2i32(i32x4 resource, int offset, int uniform,
                                       int aux) __asm("llvm.amdgcn.raw.buffer.load.v2i32");
__device__ u32x4 raw_buffer_load_v4i32(i32x4 resource, int offset, int uniform,
                                       int aux) __asm("llvm.amdgcn.raw.buffer.load.v4i32");
__device__ void raw_buffer_store_i8(unsigned char value, i32x4 resource, int offset, int uniform,
                                    int aux) __asm("llvm.amdgcn.raw.buffer.store.i8");
__device__ void raw_buffer_store_i16(unsigned short value, i32x4 resource, int offset, int uniform,
                                     int aux) __asm("llvm.amdgcn.raw.buffer.store.i16");
__device__ void raw_buffer_store_i32(unsigned value, i32x4 resource, int offset, int uniform,
                                     int aux) __asm("llvm.amdgcn.raw.buffer.store.i32");
__device__ void raw_buffer_store_v2i32(u32x2 value, i32x4 resource, int offset, int uniform,
                                       int aux) __asm("llvm.amdgcn.raw.buffer.store.v2i32");
__device__ void raw_buffer_store_v4i32(u32x4 value, i32x4 resource, int offset, int uniform,
                                       int aux) __asm("llvm.amdgcn.raw.buffer.store.v4i32");
#endif

/** A resource in the form for the compiler's buffer loads and stores. */
struct buffer {
#if defined(KITTENS_RAW_BUFFER_INTRINSICS)
    i32x4 resource;

    /** `bytes` bytes from `base` on; both the same in all lanes. */
    __device__ inline buffer(const void *base, uint32_t bytes) : resource(make_srsrc(base, bytes)) {}
#else
    __amdgpu_buffer_rsrc_t resource;

    /** `bytes` bytes from `base` on; both the same in all lanes. */
    __device__ inline buffer(const void *base, uint32_t bytes)
        // Unsigned: the argument has 64 bits since clang 22, and gfx1250's resources use 45 of them.
        : resource(__builtin_amdgcn_make_buffer_rsrc(const_cast<void *>(base), 0, bytes, RESOURCE_FORMAT)) {}
#endif

    /** Loads a T of 1, 2, 4, 8 or 16 bytes. */
    template <typename T>
    __device__ inline T load(uint32_t offset) const {
        const int at = static_cast<int>(offset);
#if defined(KITTENS_RAW_BUFFER_INTRINSICS)
        if constexpr (sizeof(T) == 1)
            return bit_cast<T>(raw_buffer_load_i8(resource, at, 0, 0));
        else if constexpr (sizeof(T) == 2)
            return bit_cast<T>(raw_buffer_load_i16(resource, at, 0, 0));
        else if constexpr (sizeof(T) == 4)
            return bit_cast<T>(raw_buffer_load_i32(resource, at, 0, 0));
        else if constexpr (sizeof(T) == 8)
            return bit_cast<T>(raw_buffer_load_v2i32(resource, at, 0, 0));
        else if constexpr (sizeof(T) == 16)
            return bit_cast<T>(raw_buffer_load_v4i32(resource, at, 0, 0));
#else
        if constexpr (sizeof(T) == 1)
            return bit_cast<T>(__builtin_amdgcn_raw_buffer_load_b8(resource, at, 0, 0));
        else if constexpr (sizeof(T) == 2)
            return bit_cast<T>(__builtin_amdgcn_raw_buffer_load_b16(resource, at, 0, 0));
        else if constexpr (sizeof(T) == 4)
            return bit_cast<T>(__builtin_amdgcn_raw_buffer_load_b32(resource, at, 0, 0));
        else if constexpr (sizeof(T) == 8)
            return bit_cast<T>(__builtin_amdgcn_raw_buffer_load_b64(resource, at, 0, 0));
        else if constexpr (sizeof(T) == 16)
            return bit_cast<T>(__builtin_amdgcn_raw_buffer_load_b128(resource, at, 0, 0));
#endif
        else
            static_assert(never<T>, "buffer::load: a lane loads 1, 2, 4, 8 or 16 bytes");
    }

    /** Stores a T of 1, 2, 4, 8 or 16 bytes. */
    template <typename T>
    __device__ inline void store(const T &value, uint32_t offset) const {
        const int at = static_cast<int>(offset);
#if defined(KITTENS_RAW_BUFFER_INTRINSICS)
        if constexpr (sizeof(T) == 1)
            raw_buffer_store_i8(bit_cast<unsigned char>(value), resource, at, 0, 0);
        else if constexpr (sizeof(T) == 2)
            raw_buffer_store_i16(bit_cast<unsigned short>(value), resource, at, 0, 0);
        else if constexpr (sizeof(T) == 4)
            raw_buffer_store_i32(bit_cast<unsigned>(value), resource, at, 0, 0);
        else if constexpr (sizeof(T) == 8)
            raw_buffer_store_v2i32(bit_cast<u32x2>(value), resource, at, 0, 0);
        else if constexpr (sizeof(T) == 16)
            raw_buffer_store_v4i32(bit_cast<u32x4>(value), resource, at, 0, 0);
#else
        if constexpr (sizeof(T) == 1)
            __builtin_amdgcn_raw_buffer_store_b8(bit_cast<unsigned char>(value), resource, at, 0, 0);
        else if constexpr (sizeof(T) == 2)
            __builtin_amdgcn_raw_buffer_store_b16(bit_cast<unsigned short>(value), resource, at, 0, 0);
        else if constexpr (sizeof(T) == 4)
            __builtin_amdgcn_raw_buffer_store_b32(bit_cast<unsigned>(value), resource, at, 0, 0);
        else if constexpr (sizeof(T) == 8)
            __builtin_amdgcn_raw_buffer_store_b64(bit_cast<u32x2>(value), resource, at, 0, 0);
        else if constexpr (sizeof(T) == 16)
            __builtin_amdgcn_raw_buffer_store_b128(bit_cast<u32x4>(value), resource, at, 0, 0);
#endif
        else
            static_assert(never<T>, "buffer::store: a lane stores 1, 2, 4, 8 or 16 bytes");
    }
};

// Operands of inline assembly that are in scalar registers. Without optimization, the compiler keeps values that it
// cannot prove to be uniform in vector registers, even where assembly requires a scalar one; v_readfirstlane, right at
// the operand, moves them. With optimization, it finds out by itself.
#if defined(__OPTIMIZE__)
#define KITTENS_UNIFORM(value) (value)
#define KITTENS_UNIFORM_RESOURCE(resource) (resource)
/** Wait states, minus one, between a vector instruction and the use of its uniform result: one for M0. */
#define KITTENS_AFTER_UNIFORM "0"
#else
#define KITTENS_UNIFORM(value) __builtin_amdgcn_readfirstlane(static_cast<int>(value))
#define KITTENS_UNIFORM_RESOURCE(resource)                                                                             \
    (i32x4{__builtin_amdgcn_readfirstlane((resource)[0]), __builtin_amdgcn_readfirstlane((resource)[1]),               \
           __builtin_amdgcn_readfirstlane((resource)[2]), __builtin_amdgcn_readfirstlane((resource)[3])})
#define KITTENS_AFTER_UNIFORM "4"
#endif

/**
 * @brief Starts a load of `bytes` bytes per lane from global memory to shared memory: straight on CDNA, through
 * registers on CDNA5 and RDNA.
 *
 * Lane l's bytes go to shared memory at `lds + step + l * bytes`, `lds` being the same in all lanes. The compiler does
 * not know of the load: it neither waits for it nor counts it, so the kernel must wait.
 */
template <int bytes, int step>
__device__ inline void load_direct(i32x4 resource, uint32_t lds, uint32_t lane_offset, uint32_t uniform_offset) {
    static_assert(bytes == 4 || bytes == 16, "load_direct: a lane loads 4 or 16 bytes");
    static_assert(bytes <= MAX_DIRECT_LOAD_BYTES,
                  "load_direct: gfx942 (CDNA3) loads 4 bytes a lane straight to shared memory");
#if defined(KITTENS_WAVE32)
    // The target has no such buffer load: the value passes through registers, and `wait_vmcnt` waits for the write.
    const uint32_t to = lds + static_cast<uint32_t>(step + laneid() * bytes);
    if constexpr (bytes == 16)
        *(__attribute__((address_space(3))) u32x4 *)to =
            bit_cast<u32x4>(llvm_amdgcn_raw_buffer_load_b128(resource, lane_offset, uniform_offset, 0));
    else
        *(__attribute__((address_space(3))) uint32_t *)to =
            llvm_amdgcn_raw_buffer_load_b32(resource, lane_offset, uniform_offset, 0);
#else
    // The address in shared memory is in M0, which the load may read one cycle after it is written. The first load
    // waits longer, because a vector instruction (v_readfirstlane) may just have written its resource, and the compiler
    // does not insert the five required cycles for inline assembly.
    if constexpr (bytes == 16 && step == 0)
        asm volatile(
            "s_mov_b32 m0, %0\n\ts_nop 4\n\tbuffer_load_dwordx4 %1, %2, %3 offen lds" ::"s"(KITTENS_UNIFORM(lds)),
            "v"(lane_offset), "s"(KITTENS_UNIFORM_RESOURCE(resource)), "s"(KITTENS_UNIFORM(uniform_offset))
            : "memory");
    else if constexpr (bytes == 16)
        asm volatile("s_add_u32 m0, %0, %4\n\ts_nop " KITTENS_AFTER_UNIFORM
                     "\n\tbuffer_load_dwordx4 %1, %2, %3 offen lds" ::"s"(KITTENS_UNIFORM(lds)),
                     "v"(lane_offset), "s"(KITTENS_UNIFORM_RESOURCE(resource)), "s"(KITTENS_UNIFORM(uniform_offset)),
                     "n"(step)
                     : "memory", "scc");
    else if constexpr (step == 0)
        asm volatile(
            "s_mov_b32 m0, %0\n\ts_nop 4\n\tbuffer_load_dword %1, %2, %3 offen lds" ::"s"(KITTENS_UNIFORM(lds)),
            "v"(lane_offset), "s"(KITTENS_UNIFORM_RESOURCE(resource)), "s"(KITTENS_UNIFORM(uniform_offset))
            : "memory");
    else
        asm volatile("s_add_u32 m0, %0, %4\n\ts_nop " KITTENS_AFTER_UNIFORM
                     "\n\tbuffer_load_dword %1, %2, %3 offen lds" ::"s"(KITTENS_UNIFORM(lds)),
                     "v"(lane_offset), "s"(KITTENS_UNIFORM_RESOURCE(resource)), "s"(KITTENS_UNIFORM(uniform_offset)),
                     "n"(step)
                     : "memory", "scc");
#endif
}

} // namespace detail
} // namespace kittens
