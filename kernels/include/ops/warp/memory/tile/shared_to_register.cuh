/**
 * @file
 * @brief Register tiles from and to shared tiles.
 *
 * The register tile is as large as the shared tile (or part of one: `subtile_inplace`) and of the same element type or
 * another. A lane moves its neighbouring elements of a row layout at once, up to 16 bytes or what the shared tile's
 * swizzle keeps together. Elements of a column layout go one by one, but for loads on CDNA4, which has reads that
 * transpose: there 8 bytes of elements of 1 or 2 bytes come at once, if the swizzle keeps 8 bytes together.
 *
 * Addresses differ between base tiles by constants only, which fit the offset field of the instructions where the
 * register's base tile does not reach over the shared tile's.
 */
#pragma once

#include "global_to_register.cuh"

namespace kittens {

namespace detail {

template <typename T>
using shared_pointer = __attribute__((address_space(3))) T *;

/** The LDS address of an object in shared memory. */
template <typename T>
__device__ inline uint32_t shared_address(const T *object) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>((shared_pointer<const T>)object));
}

/** Moves `count` neighbouring elements, `atom` bytes at most at a time, at `place(element)` bytes from `base`. */
template <typename T, int count, int atom>
struct shared_run {
    static constexpr int bytes = count * static_cast<int>(sizeof(T));
    static constexpr int piece_bytes = min(bytes, atom);
    static constexpr int per_piece = piece_bytes / static_cast<int>(sizeof(T));
    using piece = run<T, per_piece>;
    /** One scalar where there is one: LLVM 21 takes a vector of two apart and reads its halves one by one. */
    using word = select<piece::word_bytes == 8, unsigned long long, typename piece::word>;
    struct words {
        word w[piece::count];
    };

    template <typename Place>
    static __device__ inline typename run<T, count>::elements load(shared_pointer<const char> base, Place place) {
        typename run<T, count>::elements result;
#pragma unroll
        for (int first = 0; first < count; first += per_piece) {
            const auto from = (shared_pointer<const word>)(base + place(first));
            words got;
#pragma unroll
            for (int w = 0; w < piece::count; w++) got.w[w] = from[w];
            const auto elements = bit_cast<typename piece::elements>(got);
#pragma unroll
            for (int e = 0; e < per_piece; e++) result.e[first + e] = elements.e[e];
        }
        return result;
    }
    template <typename Place>
    static __device__ inline void store(shared_pointer<char> base, Place place,
                                        const typename run<T, count>::elements &values) {
#pragma unroll
        for (int first = 0; first < count; first += per_piece) {
            typename piece::elements out;
#pragma unroll
            for (int e = 0; e < per_piece; e++) out.e[e] = values.e[first + e];
            const auto in_words = bit_cast<words>(out);
            const auto to = (shared_pointer<word>)(base + place(first));
#pragma unroll
            for (int w = 0; w < piece::count; w++) to[w] = in_words.w[w];
        }
    }
};

/** Byte offset in a shared tile of element {row, col} of base tile {i, j} of a register tile. */
template <ducks::rt::all RT, ducks::st::all ST>
__device__ inline uint32_t shared_offset(int i, int j, int row, int col) {
    using base = typename RT::base_tile;
    using shape = typename ST::shape;
    const int first_row = i * base::rows, first_col = j * base::cols;
    if constexpr (shape::rows % base::rows == 0 && shape::cols % base::cols == 0) {
        // The base tile lies in one of the shared tile's: what depends on the lane does not depend on which.
        const int subtile = first_row / shape::rows * ST::underlying_subtiles_per_row + first_col / shape::cols;
        return static_cast<uint32_t>(subtile * ST::underlying_subtile_bytes) +
               ST::order::inside(first_row % shape::rows + row, first_col % shape::cols + col);
    } else {
        return ST::offset(first_row + row, first_col + col);
    }
}

/** The same of an element that a lane holds. */
template <ducks::rt::all RT, ducks::st::all ST>
__device__ inline uint32_t held_offset(int i, int j, int lane, int element) {
    return shared_offset<RT, ST>(i, j, RT::base_tile::row(lane, element), RT::base_tile::col(lane, element));
}

#if defined(KITTENS_CDNA4)
/**
 * @brief Whether a column layout is read with the transposing reads of CDNA4 (ds_read_b64_tr_b16, _tr_b8).
 *
 * There 16 lanes read 8 bytes each of several rows of 16 columns, and each gets a column: 4 elements of 2 bytes or 8 of
 * one at a time.
 */
template <ducks::rt::all RT, ducks::st::all ST>
struct transposing {
    static constexpr int size = static_cast<int>(sizeof(typename ST::dtype));
    static constexpr bool possible = !RT::is_row && size <= 2 && ST::atom_bytes >= 8 && RT::base_tile_cols % 16 == 0 &&
                                     RT::base_tile_stride * size % 8 == 0;
    /** Rows that one read covers, and lanes that read a row of 16 columns. */
    static constexpr int rows = 8 / size;
    static constexpr int lanes_of_row = 2 * size;

    /** A lane's elements from `element` on, `rows` of them. */
    static __device__ inline typename run<typename ST::dtype, rows>::elements
    load(shared_pointer<const char> memory, int i, int j, int lane, int element) {
        using elements = typename run<typename ST::dtype, rows>::elements;
        const int row = RT::base_tile::row(lane, element) + lane % 16 / lanes_of_row;
        const int col = RT::base_tile::col(lane, element) / 16 * 16 + lane % lanes_of_row * rows;
        const auto at = memory + shared_offset<RT, ST>(i, j, row, col);
        if constexpr (size == 2) {
            using piece = short __attribute__((ext_vector_type(4)));
            return bit_cast<elements>(__builtin_amdgcn_ds_read_tr16_b64_v4i16((shared_pointer<piece>)at));
        } else {
            using piece = int __attribute__((ext_vector_type(2)));
            return bit_cast<elements>(__builtin_amdgcn_ds_read_tr8_b64_v2i32((shared_pointer<piece>)at));
        }
    }
};
#endif

template <typename RT, typename ST>
inline constexpr void check_sizes() {
    static_assert(RT::rows == ST::rows && RT::cols == ST::cols,
                  "load, store: the register tile and the shared tile have the same size; subtile_inplace takes a part "
                  "of a shared tile");
}

} // namespace detail

/**
 * @brief dst = src. The compiler waits for the values where they are used.
 *
 * What was loaded into src with a group's `load` must be waited for first: `wait_vmcnt`, `barrier`.
 */
template <ducks::rt::all RT, ducks::st::all ST>
__device__ inline void load(RT &dst, const ST &src) {
    detail::check_sizes<RT, ST>();
    using T = typename RT::T;
    using U = typename ST::dtype;
    using base = typename RT::base_tile;
    constexpr int stride = base::stride;
#if defined(KITTENS_CDNA4)
    using using_transpose = detail::transposing<RT, ST>;
#endif
    const auto memory = (detail::shared_pointer<const char>)reinterpret_cast<const char *>(&src.data[0]);
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int s = 0; s < base::num_strides; s++) {
#if defined(KITTENS_CDNA4)
                if constexpr (using_transpose::possible) {
                    typename detail::run<U, stride>::elements column;
#pragma unroll
                    for (int e = 0; e < stride; e += using_transpose::rows) {
                        const auto piece = using_transpose::load(memory, i, j, lane, s * stride + e);
#pragma unroll
                        for (int k = 0; k < using_transpose::rows; k++) column.e[e + k] = piece.e[k];
                    }
                    detail::set_run(dst.tiles[i][j], s, detail::convert_run<T, U, stride>(column));
                    continue;
                }
#endif
                constexpr int together = RT::is_row ? ST::atom_bytes : static_cast<int>(sizeof(U));
                const auto got = detail::shared_run<U, stride, together>::load(
                    memory, [&](int e) { return detail::held_offset<RT, ST>(i, j, lane, s * stride + e); });
                detail::set_run(dst.tiles[i][j], s, detail::convert_run<T, U, stride>(got));
            }
}

/** dst = src. Other waves see it after `wait_lgkmcnt` here and a barrier. */
template <ducks::st::all ST, ducks::rt::all RT>
__device__ inline void store(ST &dst, const RT &src) {
    detail::check_sizes<RT, ST>();
    using T = typename RT::T;
    using U = typename ST::dtype;
    using base = typename RT::base_tile;
    constexpr int stride = base::stride;
    const auto memory = (detail::shared_pointer<char>)reinterpret_cast<char *>(&dst.data[0]);
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int s = 0; s < base::num_strides; s++) {
                constexpr int together = RT::is_row ? ST::atom_bytes : static_cast<int>(sizeof(U));
                detail::shared_run<U, stride, together>::store(
                    memory, [&](int e) { return detail::held_offset<RT, ST>(i, j, lane, s * stride + e); },
                    detail::convert_run<U, T, stride>(detail::get_run(src.tiles[i][j], s)));
            }
}

} // namespace kittens
