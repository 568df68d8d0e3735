/**
 * @file
 * @brief Loads of many equal tiles straight from global to shared memory, at minimal cost in a loop.
 */
#pragma once

#include "global_to_shared.cuh"

namespace kittens {

/** Rows of a shared tile in the order of global memory. */
struct rows_in_order {
    __host__ __device__ constexpr int operator()(int row) const { return row; }
};

namespace detail {

/** `count` loads of `bytes` bytes per lane, adjacent in shared memory, with one M0. */
template <int bytes, int count, int first>
__device__ inline void load_direct_run(const i32x4 &resource, uint32_t lds, const uint32_t *offsets,
                                       uint32_t uniform_offset) {
    static_assert(bytes == 4 || bytes == 16, "load_direct_run: a lane loads 4 or 16 bytes");
    static_assert(bytes <= MAX_DIRECT_LOAD_BYTES,
                  "load_direct_run: gfx942 (CDNA3) loads 4 bytes a lane straight to shared memory");
    static_assert(count == 1 || count == 2 || count == 4, "load_direct_run: 1, 2 or 4 loads");
    constexpr int step = bytes * WARP_THREADS;
    static_assert((first + count - 1) * step < 4096, "load_direct_run: the offset of a load has 12 bits");
#if defined(KITTENS_WAVE32)
    // The instructions' offsets, which `offsets` are short of, are added here.
    load_direct<bytes, first * step>(resource, lds, offsets[first] + static_cast<uint32_t>(first * step),
                                     uniform_offset);
    if constexpr (count > 1) load_direct_run<bytes, count / 2, first + 1>(resource, lds, offsets, uniform_offset);
    if constexpr (count == 4) load_direct_run<bytes, 1, first + 3>(resource, lds, offsets, uniform_offset);
#else
    // One statement, so that nothing separates the write of M0 from its reads. A load may read M0 one cycle after it is
    // written, which the compiler does not ensure inside a statement.
#define KITTENS_LOAD(width, i)                                                                                         \
    "\n\tbuffer_load_" width " %[offset" #i "], %[resource], %[uniform] offen offset:%[step" #i "] lds"
#define KITTENS_PLACE(i) [offset##i] "v"(offsets[first + i]), [step##i] "n"((first + i) * step)
#define KITTENS_START "s_mov_b32 m0, %[lds]\n\ts_nop " KITTENS_AFTER_UNIFORM
#define KITTENS_SCALARS                                                                                                \
    [lds] "s"(KITTENS_UNIFORM(lds)), [resource] "s"(KITTENS_UNIFORM_RESOURCE(resource)),                               \
        [uniform] "s"(KITTENS_UNIFORM(uniform_offset))
#define KITTENS_LOADS(width)                                                                                           \
    if constexpr (count == 1)                                                                                          \
        asm volatile(KITTENS_START KITTENS_LOAD(width, 0)::KITTENS_SCALARS, KITTENS_PLACE(0) : "memory");              \
    else if constexpr (count == 2)                                                                                     \
        asm volatile(KITTENS_START KITTENS_LOAD(width, 0) KITTENS_LOAD(width, 1)::KITTENS_SCALARS, KITTENS_PLACE(0),   \
                     KITTENS_PLACE(1)                                                                                  \
                     : "memory");                                                                                      \
    else                                                                                                               \
        asm volatile(KITTENS_START KITTENS_LOAD(width, 0) KITTENS_LOAD(width, 1) KITTENS_LOAD(width, 2)                \
                         KITTENS_LOAD(width, 3)::KITTENS_SCALARS,                                                      \
                     KITTENS_PLACE(0), KITTENS_PLACE(1), KITTENS_PLACE(2), KITTENS_PLACE(3)                            \
                     : "memory")
    if constexpr (bytes == 16) {
        KITTENS_LOADS("dwordx4");
    } else {
        KITTENS_LOADS("dword");
    }
#undef KITTENS_LOAD
#undef KITTENS_PLACE
#undef KITTENS_START
#undef KITTENS_SCALARS
#undef KITTENS_LOADS
#endif
}

} // namespace detail

/**
 * @brief Loads by N waves of tiles of type ST from a matrix with one row pitch; values that do not change from tile to
 * tile stay in registers.
 *
 * A wave fills consecutive memory of the tile, `loads` times 1 KB (gfx950) or 256 bytes (gfx942). In a loop, a tile
 * costs its loads and one scalar instruction for every four of them: its position in global memory is a scalar offset,
 * and its position in shared memory is M0 plus the instructions' offsets.
 *
 * @tparam N waves that load a tile together, with consecutive indices starting at a multiple of N.
 * @tparam ST the shared tile.
 * @tparam Rows maps a row of the shared tile to a row of global memory, counted from the first: `int operator()(int)`,
 *         whose result is at least the row's index within its wave's part of the tile.
 */
template <int N, ducks::st::whole ST, typename Rows = rows_in_order>
struct tile_stream {
    static constexpr int bytes_per_load = ST::underlying_subtile_bytes_per_thread;
    using pieces = detail::pieces<ST, N, bytes_per_load>;
    static_assert(pieces::even, "tile_stream: every wave loads as much of the tile");
    /** Loads per wave and tile: its contribution to vmcnt. */
    static constexpr int loads = pieces::per_wave;
    /** Loads that start at once. */
    static constexpr int loads_per_run = loads % 4 == 0 ? 4 : loads % 2 == 0 ? 2 : 1;
    static constexpr int runs = loads / loads_per_run;
    static constexpr int bytes_per_run = loads_per_run * pieces::bytes_per_wave;
    static_assert(loads * pieces::bytes_per_wave <= 4096, "tile_stream: a wave loads at most 4 KB of a tile");
    static_assert(ST::underlying_subtiles_per_row == 1 ||
                      ST::underlying_subtile_bytes % (loads * pieces::bytes_per_wave) == 0,
                  "tile_stream: the tile is as wide as its base shape, or a wave's part of it is in one base shape");

    static constexpr bool enough_comes_before() {
        constexpr int rows_of_wave = ST::rows / N;
        for (int row = 0; row < ST::rows; row++)
            if (Rows{}(row) < row % rows_of_wave) return false;
        return true;
    }
    static_assert(enough_comes_before(),
                  "tile_stream: Rows puts a row further up than it is in its wave's part of the tile");

    /**
     * @brief Offset in the matrix of a lane's first load, minus the instructions' own offsets.
     *
     * These offsets are added to both shared and global addresses, but only shared memory needs them. In a matrix whose
     * rows are at least as long as the tile's, at least as many bytes precede the load.
     */
    uint32_t offsets[loads];

    /**
     * @param pitch bytes from one row of the matrix to the next, at least those of a row of the tile.
     * @param skip number of zero columns of the tile before the matrix's first column.
     * @param zero_rows number of zero rows at the beginning of the tile.
     */
    __device__ inline explicit tile_stream(uint32_t pitch, int skip = 0, int zero_rows = 0) {
        const int wave = warpid() % N, lane = laneid();
        constexpr int size = static_cast<int>(sizeof(typename ST::dtype));
#pragma unroll
        for (int i = 0; i < loads; i++) {
            const auto place = pieces::at_byte((wave * loads + i) * pieces::bytes_per_wave + lane * bytes_per_load);
            const int column = place.col_bytes - skip * size;
            const uint32_t offset = static_cast<uint32_t>(Rows{}(place.row)) * pitch + static_cast<uint32_t>(column);
            offsets[i] = (column < 0 || place.row < zero_rows ? detail::OUT_OF_RANGE : offset) -
                         static_cast<uint32_t>(i * pieces::bytes_per_wave);
        }
    }

    /** Buffer resource over the `bytes` bytes from `first` on; tiles read as zero outside it. */
    static __device__ inline i32x4 resource(const void *first, uint32_t bytes) {
        i32x4 made = make_srsrc(first, bytes);
#if defined(__OPTIMIZE__)
        // A load may use a resource five cycles after a vector instruction (v_readfirstlane) wrote it. (Without
        // optimization, each load creates its own and waits.)
        asm volatile("s_nop 4" : "+s"(made));
#endif
        return made;
    }

    /**
     * @brief Buffer resource over a matrix from row `row` to its last, for tiles that begin in that row; rows past the
     * last read as zero.
     *
     * @param first element of row 0.
     * @param rows rows of the matrix; at `rows` and more the resource is empty.
     * @param pitch bytes from one row to the next.
     */
    static __device__ inline i32x4 rows_resource(const typename ST::dtype *first, int row, int rows, uint32_t pitch) {
        return resource(reinterpret_cast<const char *>(first) + static_cast<uint64_t>(row) * pitch,
                        row < rows ? static_cast<uint32_t>(rows - row) * pitch : 0);
    }

    /** Bytes of a number of columns, for `start`. */
    static __host__ __device__ constexpr uint32_t bytes_of(int columns) {
        return static_cast<uint32_t>(columns) * sizeof(typename ST::dtype);
    }

    /** Address in shared memory of this wave's part of a tile; the same in all lanes. */
    static __device__ inline uint32_t lds_base(const ST &tile) {
        return static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(
            static_cast<int>(detail::shared_address(&tile.data[0]) +
                             static_cast<uint32_t>(warpid() % N * loads * pieces::bytes_per_wave))));
    }

    /**
     * @brief Starts run `run` of the loads of a tile.
     * @param source from `resource`.
     * @param uniform bytes from the resource's first element to the tile's.
     * @param lds from `lds_base`.
     */
    template <int run>
    __device__ inline void start_run(const i32x4 &source, uint32_t uniform, uint32_t lds) const {
        static_assert(run >= 0 && run < runs, "tile_stream: no such run");
        detail::load_direct_run<bytes_per_load, loads_per_run, run * loads_per_run>(source, lds, offsets, uniform);
    }

    /** Starts all loads of a tile. */
    template <int run = 0>
    __device__ inline void start(const i32x4 &source, uint32_t uniform, uint32_t lds) const {
        start_run<run>(source, uniform, lds);
        if constexpr (run + 1 < runs) start<run + 1>(source, uniform, lds);
    }
};

} // namespace kittens
