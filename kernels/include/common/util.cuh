/**
 * @file
 * @brief Thread indices, distribution of work-groups over the chip, and allocation of shared memory.
 */
#pragma once

#include "base_types.cuh"
#include "meta.cuh"
#include "target.cuh"

/** The type of an expression, without const and reference. */
#define typeof(A) typename kittens::detail::bare_type<decltype(A)>::type

#define KITTENS_ALIGN_AS(n) alignas(n)
/** Alignment of tiles in shared memory: the widest access of a lane. */
#define KITTENS_DEFAULT_ALIGN KITTENS_ALIGN_AS(16)

namespace kittens {

/** Four 32-bit words in scalar registers: a buffer resource. */
using i32x4 = int __attribute__((ext_vector_type(4)));
using int32x4_t = i32x4;
using uint2_t = u32x2;
using __uint96_t = u32x3;

/** Units of 4 to 32 bytes. */
using bytes_4 = HIP_vector_type<float, 1>;
using bytes_8 = HIP_vector_type<float, 2>;
using bytes_12 = HIP_vector_type<float, 3>;
using bytes_16 = HIP_vector_type<float, 4>;
struct bytes_32 {
    float4 x, y;
};

/** Sides and elements of the base tile of the smallest matrix instruction. */
template <typename T>
inline constexpr int TILE_ROW_DIM = 16;
template <typename T>
inline constexpr int TILE_COL_DIM = detail::is_six_bits<T> ? 128
                                    : sizeof(T) == 1       ? 32
                                                           : 16;
template <typename T>
inline constexpr int TILE_ELEMENTS = TILE_ROW_DIM<T> * TILE_COL_DIM<T>;

/** The most waves of a work-group, which has at most 1024 threads. */
inline constexpr int MAX_WARPS = 1024 / WARP_THREADS;
/** Waves and threads of a `warpgroup`. */
inline constexpr int WARPGROUP_WARPS = 4;
inline constexpr int WARPGROUP_THREADS = WARPGROUP_WARPS * WARP_THREADS;

/** All lanes of a wave, as a mask. */
inline constexpr uint64_t MASK_ALL = ~uint64_t{0};

namespace ducks {
/** The unit of a coordinate that counts elements, not tiles. */
struct default_type {};
} // namespace ducks

/** Quotient rounded up, for non-negative integers. */
template <typename A, typename B>
__host__ __device__ constexpr auto ceil_div(A a, B b) {
    return (a + b - 1) / b;
}

/** This wave's index in its work-group, along x only. The compiler knows that it is the same in all lanes. */
__device__ inline int warpid() { return __builtin_amdgcn_readfirstlane(static_cast<int>(threadIdx.x) / WARP_THREADS); }
/** This wave's `warpgroup` in its work-group. The same in all lanes. */
__device__ inline int warpgroupid() { return warpid() / WARPGROUP_WARPS; }
/** Waves in this work-group, along x only. */
__device__ inline int num_warps() { return (static_cast<int>(blockDim.x) + WARP_THREADS - 1) / WARP_THREADS; }
/** This thread's index in its wave, from 0 to WARP_THREADS - 1. */
__device__ inline int laneid() { return static_cast<int>(threadIdx.x) % WARP_THREADS; }

/**
 * @brief Renumbers work-groups so that consecutive ones run on one chiplet and share its L2.
 *
 * The hardware assigns work-groups to the chiplets (XCDs) in turn. From each `num_xcds * chunk` consecutive ids, every
 * XCD gets a run of `chunk` consecutive results; ids past the last whole block do not change. The result is a
 * permutation of 0 .. num_workgroups - 1.
 *
 * It is a template, so that a program's function of this name takes precedence: HipKittens' fp6 branch has none.
 */
template <int = 0>
__host__ __device__ constexpr int chiplet_transform_chunked(int workgroup_id, int num_workgroups, int num_xcds,
                                                            int chunk) {
    const int block = num_xcds * chunk;
    if (workgroup_id >= num_workgroups / block * block) return workgroup_id;
    const int xcd = workgroup_id % num_xcds;
    const int turn = workgroup_id / num_xcds;
    return turn / chunk * block + xcd * chunk + turn % chunk;
}

/** Element type of the dynamic shared memory array: `extern __shared__ alignment_dummy __shm[];`. */
struct KITTENS_DEFAULT_ALIGN alignment_dummy {
    int dummy[4];
};

namespace detail {

/** A, or an array of A: `A[first][rest]...`. */
template <typename A, size_t... dims>
struct array_of {
    using type = A;
};
template <typename A, size_t first, size_t... rest>
struct array_of<A, first, rest...> {
    using type = typename array_of<A, rest...>::type[first];
};

} // namespace detail

#if defined(KITTENS_CDNA5)
/**
 * @brief A segment of gfx1250's shared memory, for `shared_allocator::allocate_in`. Reads of two tiles in different
 * segments do not wait for each other.
 */
template <int number>
struct segment {
    static_assert(number >= 0 && number < SHARED_MEMORY_NUM_SEGMENTS, "segment: shared memory has segments 0 to 4");
    static constexpr int index = number;
    static constexpr int byte_offset = number * MAX_SHARED_MEMORY_PER_SEGMENT;
};

namespace ducks::segment_tag {
template <typename T>
struct is_segment {
    static constexpr bool value = false;
};
template <int number>
struct is_segment<segment<number>> {
    static constexpr bool value = true;
};
template <typename T>
concept all = is_segment<T>::value;
} // namespace ducks::segment_tag
#endif

/**
 * @brief Allocates shared memory from a pointer upwards, without deallocation.
 *
 * Every thread of the work-group makes the same calls and gets the same addresses. The launch must request enough
 * dynamic shared memory.
 */
template <int default_alignment = 16>
struct shared_allocator {
    static_assert(detail::is_power_of_two(default_alignment), "shared_allocator: the alignment is a power of two");

    int *ptr;
#if defined(KITTENS_CDNA5)
    /** The beginning of the memory, from which segments count. */
    int *base;

    __device__ shared_allocator(int *first) : ptr(first), base(first) {}

    /** The next A, or array of A, at the beginning of a `segment` or behind what has been allocated there. */
    template <ducks::segment_tag::all Segment, typename A, size_t... dims>
    __device__ inline typename detail::array_of<A, dims...>::type &allocate_in() {
        int *const first = base + Segment::byte_offset / static_cast<int>(sizeof(int));
        if (ptr < first) ptr = first;
        return allocate_aligned<default_alignment, A, dims...>();
    }
#else
    __device__ shared_allocator(int *first) : ptr(first) {}
#endif

    /**
     * @brief The next A, or array of A with the given dimensions: `allocate<ST, 2, 2>()` is an `ST (&)[2][2]`.
     */
    template <typename A, size_t... dims>
    __device__ inline typename detail::array_of<A, dims...>::type &allocate() {
        return allocate_aligned<default_alignment, A, dims...>();
    }

    /** The same, with an address that is a multiple of `alignment` bytes. */
    template <int alignment, typename A, size_t... dims>
    __device__ inline typename detail::array_of<A, dims...>::type &allocate() {
        return allocate_aligned<alignment, A, dims...>();
    }
    template <int alignment, typename A, size_t... dims>
    __device__ inline typename detail::array_of<A, dims...>::type &allocate_aligned() {
        static_assert(detail::is_power_of_two(alignment), "shared_allocator: the alignment is a power of two");
        using array = typename detail::array_of<A, dims...>::type;
        // Advancing the pointer, rather than rounding an integer, lets the compiler see that this is still shared
        // memory.
        char *at = reinterpret_cast<char *>(ptr);
        at += -reinterpret_cast<uintptr_t>(at) & (alignment - 1);
        ptr = reinterpret_cast<int *>(at + (sizeof(array) + 3) / 4 * 4);
        return *reinterpret_cast<array *>(at);
    }
};

} // namespace kittens
