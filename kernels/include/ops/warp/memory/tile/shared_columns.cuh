/**
 * @file
 * @brief Rows of a register tile from columns of a shared tile, for an operand whose rows in memory run across K.
 */
#pragma once

#include "shared_to_register.cuh"

namespace kittens {

namespace detail {

/** Reads that return a column to each of 16 lanes: 8 bytes at once on gfx950, 4 on gfx942. */
template <int size>
struct column_lanes {
    /** Columns that 16 lanes read together. */
    static constexpr int cols = 16;
#if defined(KITTENS_CDNA4)
    using read = transposing_read<size>;
    using piece = u32x2;
    /** Rows in a piece. */
    static constexpr int rows = read::rows;
    /** The row and the column that a lane reads. */
    static __host__ __device__ constexpr int row(int lane) { return read::row(lane); }
    static __host__ __device__ constexpr int col(int lane) { return read::col(lane); }
    static __device__ inline piece load(shared_pointer<const char> at, int) { return read::load(at); }
#else
    // Adjacent lanes read as many columns of a row as they are, and exchange elements.
    using piece = unsigned;
    static constexpr int rows = 4 / size;
    static __host__ __device__ constexpr int row(int lane) { return lane % rows; }
    static __host__ __device__ constexpr int col(int lane) { return lane % 16 / rows * rows; }
    static __device__ inline piece load(shared_pointer<const char> at, int lane) {
        return transpose_word<rows>(*(shared_pointer<const unsigned>)at, lane);
    }
#endif
};

/** Reads of `count` consecutive elements of each row. */
template <int count>
struct neighbour_lanes {
    static constexpr int rows = 1;
    static constexpr int cols = 16 * count;
    static __host__ __device__ constexpr int row(int) { return 0; }
    static __host__ __device__ constexpr int col(int lane) { return lane % 16 * count; }
};

/**
 * @brief Position that a lane reads for elements from `e` on of base tile {., j}: the lane's own part plus a constant,
 * which costs no register.
 *
 * @tparam Lanes column_lanes or neighbour_lanes.
 */
template <ducks::rt::all RT, ducks::st::whole ST, typename Lanes>
struct column_places {
    using base = typename RT::base_tile;
    static __host__ __device__ constexpr uint32_t offset(int lane, int j, int e, int first_col) {
        return ST::offset(j * RT::base_tile_cols + base::col(lane, e) + Lanes::row(lane), first_col + Lanes::col(lane));
    }
    static __host__ __device__ constexpr uint32_t step(int j, int e, int period) {
        return ST::offset(j * RT::base_tile_cols + base::col(0, e) - base::col(0, e % period), 0);
    }
    static constexpr bool has_period(int period) {
        // The swizzle flips bits of the column: a step that is the same in the first columns and in the last, where
        // all these bits are 0 and all are 1, is the same in all columns.
        for (int last = 0; last < 2; last++) {
            const int first_col = last * (ST::cols - Lanes::cols);
            for (int lane = 0; lane < WARP_THREADS; lane++)
                for (int j = 0; j < RT::width; j++)
                    for (int e = 0; e < base::elements_per_thread; e += Lanes::rows)
                        if (offset(lane, j, e, first_col) !=
                            offset(lane, 0, e % period, first_col) + step(j, e, period))
                            return false;
        }
        return true;
    }
    /** Elements with their own addresses; the others are at a constant distance from one of these. */
    static constexpr int period = [] {
        int least = Lanes::rows;
        while (!has_period(least) && least < base::elements_per_thread) least *= 2;
        return least;
    }();
    static_assert(has_period(period), "load_columns: the shared tile is of st_32x128_s or st_16x128_s");
    static constexpr int count = period / Lanes::rows;

    shared_pointer<const char> first[count];

    __device__ inline column_places(const ST &src, int first_col, int lane) {
        const auto from = (shared_pointer<const char>)reinterpret_cast<const char *>(&src.data[0]);
#pragma unroll
        for (int i = 0; i < count; i++) first[i] = from + offset(lane, 0, i * Lanes::rows, first_col);
    }
    __device__ inline shared_pointer<const char> at(int j, int e) const {
        return first[e % period / Lanes::rows] + step(j, e, period);
    }
};

/** The part of a shared tile's row that a lane reads: `count` consecutive elements. */
template <typename T, int count>
struct neighbours {
    static constexpr int bytes = count * static_cast<int>(sizeof(T));
    static_assert(bytes == 2 || bytes == 4 || bytes == 8, "columns_in_turn: a lane reads 2, 4 or 8 bytes");
    using word = select<bytes == 8, u32x2, select<bytes == 4, unsigned, unsigned short>>;
    unsigned w[bytes == 8 ? 2 : 1];

    static __device__ inline neighbours load(shared_pointer<const char> at) {
        const word got = *(shared_pointer<const word>)at;
        if constexpr (bytes == 8)
            return {{got[0], got[1]}};
        else
            return {{got}};
    }
};

/** Transposes as many rows as fill a word: word i has the elements of column i. */
template <int count>
__device__ inline void words_of_columns(unsigned (&columns)[count], const neighbours<bf16, count> (&rows)[2]) {
#pragma unroll
    for (int i = 0; i < count; i++)
        columns[i] = __builtin_amdgcn_perm(rows[1].w[i / 2], rows[0].w[i / 2], i % 2 ? 0x07060302u : 0x05040100u);
}
template <int count>
__device__ inline void words_of_columns(unsigned (&columns)[count], const neighbours<int8, count> (&rows)[4]) {
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        const unsigned pairs = i ? 0x07030602u : 0x05010400u;
        const unsigned upper = __builtin_amdgcn_perm(rows[1].w[0], rows[0].w[0], pairs);
        const unsigned lower = __builtin_amdgcn_perm(rows[3].w[0], rows[2].w[0], pairs);
        columns[i] = __builtin_amdgcn_perm(lower, upper, 0x05040100u);
        columns[i + 1] = __builtin_amdgcn_perm(lower, upper, 0x07060302u);
    }
}

template <ducks::rt::all RT, ducks::st::whole ST>
inline constexpr void check_columns() {
    static_assert(RT::is_row, "load_columns: the register tile is in the row layout");
    static_assert(sizeof(typename ST::dtype) <= 2 && is_same<typename RT::T, typename ST::dtype>,
                  "load_columns: both tiles have the same elements, of 2 bytes or 1");
    static_assert(RT::base_tile_rows == 16 && RT::base_tile_stride * sizeof(typename RT::T) == 16,
                  "load_columns: the register tile is of 16 rows and runs of 16 bytes: rt_16x32_s of 2 bytes, "
                  "rt_16x64_s and rt_16x128_s of 1");
    static_assert(RT::cols == ST::rows && RT::rows <= ST::cols,
                  "load_columns: the shared tile has as many rows as the register tile has columns");
}

} // namespace detail

namespace detail {
template <ducks::rt::all RT, ducks::st::whole ST>
__device__ inline void rows_of_columns(RT &dst, const ST &src, int first_col) {
    check_columns<RT, ST>();
    using lanes = column_lanes<static_cast<int>(sizeof(typename RT::T))>;
    constexpr int count = RT::base_tile::elements_per_thread;
    const program_order order;
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RT::height; i++) {
        const column_places<RT, ST, lanes> places(src, first_col + i * RT::base_tile_rows, lane);
#pragma unroll
        for (int j = 0; j < RT::width; j++) {
            typename lanes::piece pieces[count / lanes::rows];
#pragma unroll
            for (int e = 0; e < count; e += lanes::rows) pieces[e / lanes::rows] = lanes::load(places.at(j, e), lane);
            __builtin_memcpy(&dst.tiles[i][j].data, pieces, sizeof(pieces));
        }
    }
}
} // namespace detail

/**
 * @brief dst = the transpose of src's columns from `first_col` on; src has as many rows as dst has columns.
 *
 * If a group's `load` filled src, call `wait_vmcnt` and `barrier` first.
 *
 * Costs, for each 16 bytes per lane: two ds_read_b64_tr on gfx950; on gfx942 four ds_read_b32 (two per instruction) and
 * eight instructions to sort elements of 2 bytes (16 for 1 byte). There are no bank conflicts with `st_32x128_s`,
 * except for 1 byte on gfx942, where `columns_in_turn` has none.
 *
 * @param first_col a multiple of 16.
 */
template <ducks::rt::row_layout RT, ducks::st::whole ST>
__device__ inline void load_columns(RT &dst, const ST &src, int first_col) {
    detail::rows_of_columns(dst, src, first_col);
}

/**
 * @brief `load_columns` by the name that HipKittens has for it, into a tile of `rt_16x128_s` in the column layout.
 *
 * @param first_col a multiple of 16.
 */
template <ducks::rt::col_layout RT, ducks::st::whole ST>
    requires(RT::is_row)
__device__ inline void load(RT &dst, const ST &src, int first_col) {
    detail::rows_of_columns(dst, src, first_col);
}

/**
 * @brief Columns dealt to the base tiles of RT in turn: row r of base tile i, of two or four in height, is column
 * `first_col` + r * height + i of a shared tile.
 *
 * So a lane reads consecutive elements and keeps all of them: no lane needs another lane's data. The user of the tile
 * must account for the order of its rows. `fetch` reads the elements, and `sort` puts a part of them in their
 * registers, possibly later.
 *
 * Costs, for each 16 bytes that a lane gets, on either target: for 2-byte elements 8 / height reads of height elements
 * each, for 1 byte 16 / height (two per instruction if they have 4 bytes or more), and four instructions to sort
 * elements of 2 bytes, eight for 1 byte. On gfx942 there are no bank conflicts with `st_32x128_s`.
 */
template <ducks::rt::row_layout RT, ducks::st::whole ST>
struct columns_in_turn {
    static_assert(RT::height == 2 || RT::height == 4, "columns_in_turn: the register tile is 32 or 64 rows high");
    using base = typename RT::base_tile;
    /** Number of base tiles in a column, which is also the number of elements that a lane reads at once. */
    static constexpr int high = RT::height;
    /** Elements in a register. */
    static constexpr int in_word = 4 / static_cast<int>(sizeof(typename RT::T));
    /** Registers of a base tile in a lane. */
    static constexpr int words = base::elements_per_thread / in_word;
    /** The elements that a lane reads at once. */
    using run = detail::neighbours<detail::select<in_word == 2, bf16, int8>, high>;
    static_assert(ST::atom_bytes >= run::bytes, "columns_in_turn: the swizzle keeps what a lane reads together");

    run rows[RT::width][words][in_word];

    /** If a group's `load` filled src, wait for it first. `first_col` is a multiple of RT's rows.
     */
    __device__ inline void fetch(const ST &src, int first_col) {
        detail::check_columns<RT, ST>();
        const detail::program_order order;
        const detail::column_places<RT, ST, detail::neighbour_lanes<high>> places(src, first_col, laneid());
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int e = 0; e < base::elements_per_thread; e++)
                rows[j][e / in_word][e % in_word] = run::load(places.at(j, e));
    }
    /** Part `part` of `parts` of each lane's elements of a base tile. */
    template <int part = 0, int parts = 1>
    __device__ inline void sort(RT &dst) const {
        static_assert(words % parts == 0, "columns_in_turn: parts are whole words");
        constexpr int count = words / parts;
#pragma unroll
        for (int j = 0; j < RT::width; j++) {
            unsigned sorted[high][count];
#pragma unroll
            for (int w = 0; w < count; w++) {
                unsigned columns[high];
                detail::words_of_columns(columns, rows[j][part * count + w]);
#pragma unroll
                for (int i = 0; i < high; i++) sorted[i][w] = columns[i];
            }
#pragma unroll
            for (int i = 0; i < high; i++)
                __builtin_memcpy(reinterpret_cast<char *>(&dst.tiles[i][j].data) + part * sizeof(sorted[i]), sorted[i],
                                 sizeof(sorted[i]));
        }
    }
};

} // namespace kittens
