/**
 * @file
 * @brief Shared tiles from global memory through registers, in two steps with computation between them.
 *
 * Where a direct load moves 4 bytes per lane (CDNA3), loads to registers move 16, and shared memory needs room for only
 * one tile: the registers hold the next one while the waves compute on the current one.
 */
#pragma once

#include "global_to_shared.cuh"

namespace kittens {
namespace detail {

/** The 16 bytes of a tile for each of `threads` threads in turn i, in row-major order. */
template <ducks::st::whole ST, int threads>
struct buffered {
    static constexpr int size = static_cast<int>(sizeof(typename ST::dtype));
    static constexpr int elements = 16 / size;
    static constexpr int per_row = ST::cols / elements;
    static constexpr int total = ST::rows * per_row;
    static constexpr int per_thread = (total + threads - 1) / threads;

    static_assert(threads > 0 && threads % WARP_THREADS == 0,
                  "register buffer: the number of threads is a multiple of a wave's");
    static_assert(ST::shape::cols * size % 16 == 0,
                  "register buffer: a row of the shared tile's base shape is a multiple of 16 bytes");

    /** This thread's piece of turn i; there is none if it is `total` or more. */
    static __device__ inline int piece(int i) { return i * threads + static_cast<int>(threadIdx.x) % threads; }
    static __device__ inline bool has(int i) { return total % threads == 0 || piece(i) < total; }
    static __device__ inline int row(int i) { return piece(i) / per_row; }
    static __device__ inline int col(int i) { return piece(i) % per_row * elements; }
};

} // namespace detail

/**
 * @brief Starts loading the tile at `idx` of `src` into registers, 16 bytes per thread at a time.
 *
 * The compiler waits for the loads at the first use of the registers, in `store_register_buffer_to_shared`. Rows past
 * the end of the axis read as zero.
 *
 * @tparam axis axis of the rows: 2, 1 or 0.
 * @tparam aligned for source compatibility; nothing depends on it.
 * @tparam threads number of threads that share the tile and all call this: consecutive ones, starting at a multiple.
 * @param buffer ceil(rows * cols * sizeof(T) / (16 * threads)) elements.
 * @param buffer_size number of elements of `buffer`; the rest of the tile is not loaded.
 * @param dst a shared tile like the destination; it is not accessed.
 */
template <int axis = 2, bool aligned = false, int threads = WARP_THREADS, ducks::st::whole ST, ducks::gl::all GL,
          ducks::coord::tile COORD = coord<ST>>
__device__ inline void load_global_to_register_buffer(float4 *buffer, int buffer_size, const GL &src, const COORD &idx,
                                                      [[maybe_unused]] const ST &dst) {
    constexpr bool same_type = detail::is_same<typename ST::dtype, typename GL::dtype>;
    static_assert(same_type, "load_global_to_register_buffer: the shared tile and the global layout have the same "
                             "element type");
    using P = detail::buffered<ST, threads>;
    const detail::program_order order;
    const detail::window<axis, GL> view(src, idx.template unit_coord<axis, 3>());
    const detail::buffer memory(view.base, view.bytes);
#pragma unroll
    for (int i = 0; i < P::per_thread; i++)
        if (i < buffer_size && P::has(i))
            buffer[i] = memory.template load<float4>(static_cast<uint32_t>(P::row(i)) * view.pitch +
                                                     static_cast<uint32_t>(P::col(i) * P::size));
}

/**
 * @brief Stores what `load_global_to_register_buffer` loaded, with the same number of threads, into a shared tile.
 *
 * Before the call, every wave must have finished reading the tile; after it, a barrier must precede reads of the new
 * data.
 *
 * @tparam threads as in the load.
 * @tparam wait whether to return when this wave's stores are done; otherwise `wait_lgkmcnt` comes before the barrier.
 * @param buffer_size number of elements of `buffer`.
 */
template <int threads = WARP_THREADS, bool wait = true, ducks::st::whole ST>
__device__ inline void store_register_buffer_to_shared(ST &dst, const float4 *buffer,
                                                       int buffer_size = detail::buffered<ST, threads>::per_thread) {
    using P = detail::buffered<ST, threads>;
    constexpr int together = ST::atom_bytes < 16 ? ST::atom_bytes : 16;
    static_assert(together >= 4, "register buffer: the swizzle keeps 4 bytes together");
    using word = detail::select<together == 16, u32x4, detail::select<together == 8, u32x2, uint32_t>>;
    struct words {
        word at[16 / together];
    };
    const detail::program_order order;
    const auto shared = (detail::shared_pointer<char>)reinterpret_cast<char *>(&dst.data[0]);
#pragma unroll
    for (int i = 0; i < P::per_thread; i++) {
        if (i >= buffer_size || !P::has(i)) continue;
        const auto piece = detail::bit_cast<words>(buffer[i]);
#pragma unroll
        for (int k = 0; k < 16 / together; k++)
            *reinterpret_cast<detail::shared_pointer<word>>(
                shared + ST::offset(P::row(i), P::col(i) + k * together / P::size)) = piece.at[k];
    }
    if constexpr (wait) wait_lgkmcnt<0>();
}

} // namespace kittens
