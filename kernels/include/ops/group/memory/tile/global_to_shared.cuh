/**
 * @file
 * @brief Moves of a shared tile between global memory and several waves: the basis of the members of `group`.
 *
 * The hardware stores direct loads of a wave's lanes contiguously in shared memory. The order of elements in a shared
 * tile, including its swizzle, therefore depends on the element that each lane loads.
 */
#pragma once

#include "../../../warp/warp.cuh"

namespace kittens::detail {

/** Pieces of `bytes` bytes per lane that the waves of a group move in turn: piece i * waves + w is wave w's i-th. */
template <ducks::st::whole ST, int waves, int bytes>
struct pieces {
    static_assert(!ducks::st_shape::padded<typename ST::shape>,
                  "group: loads of this name fill shared memory without gaps; a padded tile is filled by "
                  "kittens::load_async, load_tdm or kittens::load with a row stride");
    static constexpr int bytes_per_wave = bytes * WARP_THREADS;
    static constexpr int tile_bytes = static_cast<int>(sizeof(typename ST::dtype)) * ST::num_elements;
    static constexpr int total = (tile_bytes + bytes_per_wave - 1) / bytes_per_wave;
    static constexpr int per_wave = (total + waves - 1) / waves;
    /** True if all lanes of the last piece have a part of it. */
    static constexpr bool whole = tile_bytes % bytes_per_wave == 0;
    /** True if every wave moves the same amount. */
    static constexpr bool even = whole && total % waves == 0;

    /** Row of the tile, and first byte in the row, that this lane moves in turn i. */
    struct place {
        int row;
        int col_bytes;
    };
    static __device__ inline place at(int i, int wave, int lane) {
        return at_byte((i * waves + wave) * bytes_per_wave + lane * bytes);
    }
    /** The same for the element at a byte offset in the shared tile. */
    static __device__ inline place at_byte(int byte) {
        using shape = typename ST::shape;
        constexpr int row_bytes = shape::cols * static_cast<int>(sizeof(typename ST::dtype));
        const int subtile = byte / ST::underlying_subtile_bytes, swizzled = byte % ST::underlying_subtile_bytes;
        // Swizzling twice restores the unswizzled offset.
        int inside;
        if constexpr (own_swizzle<ST>)
            inside = static_cast<int>(ST::swizzle(
                int2{swizzled / row_bytes, swizzled % row_bytes / static_cast<int>(sizeof(typename ST::dtype))}));
        else
            inside = static_cast<int>(ST::order::swizzled(static_cast<uint32_t>(swizzled)));
        return {subtile / ST::underlying_subtiles_per_row * shape::rows + inside / row_bytes,
                subtile % ST::underlying_subtiles_per_row * row_bytes + inside % row_bytes};
    }
    /** True if a lane of wave `wave` has a part of a piece in turn i. */
    static __device__ inline bool has(int i, int wave, int lane) {
        if constexpr (whole)
            return even || i * waves + wave < total;
        else
            return (i * waves + wave) * bytes_per_wave + lane * bytes < tile_bytes;
    }
};

/** Behaves like an array whose elements are computed when they are read. */
template <typename Of>
struct computed {
    Of of;
    __device__ inline auto operator[](int i) const { return of(i); }
};

/** Starts the loads of turns i, i + 1, ... of one wave; `offsets[i]` is this lane's. */
template <typename P, int waves, int bytes, int i = 0, typename Offsets>
__device__ inline void start_loads(const Offsets &offsets, const i32x4 &resource, uint32_t uniform_offset, uint32_t lds,
                                   int wave) {
    if constexpr (i < P::per_wave) {
        if (P::has(i, wave, laneid()))
            load_direct<bytes, i * waves * P::bytes_per_wave>(resource, lds, offsets[i], uniform_offset);
        start_loads<P, waves, bytes, i + 1>(offsets, resource, uniform_offset, lds, wave);
    }
}

/** Waits for loads to shared memory, but on gfx950, where functions called `load` do not. */
__device__ inline void arrive() {
#if !defined(KITTENS_CDNA4)
    wait_vmcnt<0>();
#endif
}

} // namespace kittens::detail
