/**
 * @file
 * @brief Register tiles from and to global memory.
 *
 * Coordinates count in tiles and must be the same in all lanes of a wave. Elements are converted between the types of
 * the tile and of the global layout; a tile of numbers reads and writes a layout of pairs (fp4, int4) or fours (fp6). A
 * lane moves consecutive elements of a row layout at once, up to 16 bytes; elements of a column layout one by one.
 *
 * Every function checks rows through the buffer's range, at no cost: rows past the end of their axis read as zero and
 * are not written. `load` and `store` do not check columns: the end of a row is followed by the next row.
 * `load_bounded` and `store_bounded` do, for tiles wider than the rest of a row; if the layout fixes the number of
 * columns, the compiler omits checks that cannot fail.
 */
#pragma once

#include "../../../../types/types.cuh"

namespace kittens {

namespace detail {

/** `length` elements next to each other in memory, moved in words of up to 16 bytes. */
template <typename T, int length>
struct run {
    static constexpr int bytes = bytes_in<T>(length);
    static constexpr int word_bytes = bytes % 16 == 0  ? 16
                                      : bytes % 8 == 0 ? 8
                                      : bytes % 4 == 0 ? 4
                                      : bytes % 2 == 0 ? 2
                                                       : 1;
    static constexpr int count = bytes / word_bytes;
    using word =
        select<word_bytes == 16, u32x4,
               select<word_bytes == 8, u32x2,
                      select<word_bytes == 4, unsigned, select<word_bytes == 2, unsigned short, unsigned char>>>>;
    struct words {
        word w[count];
    };
    struct elements {
        T e[length];
    };

    static __device__ inline words load(const buffer &memory, uint32_t offset) {
        words got;
#pragma unroll
        for (int i = 0; i < count; i++) got.w[i] = memory.load<word>(offset + static_cast<uint32_t>(i * word_bytes));
        return got;
    }
    static __device__ inline void store(const buffer &memory, uint32_t offset, const words &out) {
#pragma unroll
        for (int i = 0; i < count; i++) memory.store<word>(out.w[i], offset + static_cast<uint32_t>(i * word_bytes));
    }
};

/** Converts a run of elements. */
template <typename To, typename From, int count>
__device__ inline typename run<To, count>::elements convert_run(const typename run<From, count>::elements &from) {
    if constexpr (is_same<To, From>) {
        return from;
    } else {
        typename run<To, count>::elements to;
        constexpr int step = base_types::packing<typename base_types::packing<To>::packed_type>::num();
        constexpr int step_from = base_types::packing<typename base_types::packing<From>::packed_type>::num();
        if constexpr (step == step_from && count % step == 0) {
            // Packed conversions, if there are any: two at a time.
            using to2 = typename base_types::packing<To>::packed_type;
            using from2 = typename base_types::packing<From>::packed_type;
#pragma unroll
            for (int i = 0; i < count; i += step) {
                base_types::lanes_of<from2> pair;
#pragma unroll
                for (int e = 0; e < step; e++) pair.e[e] = from.e[i + e];
                const auto converted = bit_cast<base_types::lanes_of<to2>>(
                    base_types::convertor<to2, from2>::convert(bit_cast<from2>(pair)));
#pragma unroll
                for (int e = 0; e < step; e++) to.e[i + e] = converted.e[e];
            }
        } else {
#pragma unroll
            for (int i = 0; i < count; i++) to.e[i] = base_types::convertor<To, From>::convert(from.e[i]);
        }
        return to;
    }
}

/** Run `s` of a base tile's lane: `stride` elements. */
template <typename Base>
__device__ inline typename run<typename Base::T, Base::stride>::elements get_run(const Base &tile, int s) {
    typename run<typename Base::T, Base::stride>::elements elements;
    __builtin_memcpy(&elements, &tile.data[s * Base::packed_per_stride], sizeof(elements));
    return elements;
}
template <typename Base>
__device__ inline void set_run(Base &tile, int s,
                               const typename run<typename Base::T, Base::stride>::elements &elements) {
    __builtin_memcpy(&tile.data[s * Base::packed_per_stride], &elements, sizeof(elements));
}

/**
 * @brief The same as words of memory that holds elements of type U.
 *
 * If the types are the same, no element is accessed separately, which would let LLVM 21 split a load and repeat part of
 * it.
 */
template <typename U, typename Base>
__device__ inline typename run<U, Base::stride>::words get_words(const Base &tile, int s) {
    using words = typename run<U, Base::stride>::words;
    if constexpr (is_same<U, typename Base::T>) {
        words out;
        __builtin_memcpy(&out, &tile.data[s * Base::packed_per_stride], sizeof(out));
        return out;
    } else {
        return bit_cast<words>(convert_run<U, typename Base::T, Base::stride>(get_run(tile, s)));
    }
}
template <typename U, typename Base>
__device__ inline void set_words(Base &tile, int s, const typename run<U, Base::stride>::words &words) {
    if constexpr (is_same<U, typename Base::T>) {
        __builtin_memcpy(&tile.data[s * Base::packed_per_stride], &words, sizeof(words));
    } else {
        using elements = typename run<U, Base::stride>::elements;
        set_run(tile, s, convert_run<typename Base::T, U, Base::stride>(bit_cast<elements>(words)));
    }
}

/** Number of columns from a tile's first on, for the functions that check them. */
struct unbounded {
    template <typename GL>
    static __device__ inline int columns(const GL &, const coord<> &) {
        return 0x7fffffff;
    }
    static constexpr bool checks = false;
};
struct bounded {
    template <typename GL>
    static __device__ inline int columns(const GL &layout, const coord<> &at) {
        return static_cast<int>(layout.cols()) - at.c;
    }
    static constexpr bool checks = true;
};

/** Positions of elements in a window: rows `pitch` bytes apart. */
template <typename U>
__device__ inline auto in_rows(uint32_t pitch) {
    return [pitch](int row, int col) {
        return static_cast<uint32_t>(row) * pitch + static_cast<uint32_t>(bytes_in<U>(col));
    };
}
/** Row `rows(row)` for row `row` of a tile; out of range if the row does not exist. */
template <typename U, typename Rows>
__device__ inline auto in_chosen_rows(uint32_t pitch, size_t count, const Rows &rows) {
    return [pitch, count, &rows](int row, int col) {
        const auto chosen = static_cast<int64_t>(rows(row));
        const bool there = chosen >= 0 && chosen < static_cast<int64_t>(count);
        return there ? static_cast<uint32_t>(chosen) * pitch + static_cast<uint32_t>(bytes_in<U>(col)) : OUT_OF_RANGE;
    };
}

/**
 * @brief Calls `whole(tile_row, tile_col, run, offset)` for every run of a lane's elements that can be moved at once,
 * and `single(tile_row, tile_col, run, element, offset)` for elements that must be moved one by one. Offsets are in
 * bytes: `place(row, col)` of the run's first element, or out of range past the last column.
 */
template <ducks::rt::all RT, typename U, typename bounds, typename Place, typename Whole, typename Single>
__device__ inline void for_each_run(Place place, int columns, Whole whole, Single single) {
    using base = typename RT::base_tile;
    constexpr int stride = base::stride;
    const int lane = laneid();
    if constexpr (RT::is_row) {
        const bool runs_end_with_row = !bounds::checks || columns % stride == 0;
#pragma unroll
        for (int i = 0; i < RT::height; i++)
#pragma unroll
            for (int j = 0; j < RT::width; j++) {
                const bool inside = !bounds::checks || (j + 1) * base::cols <= columns;
#pragma unroll
                for (int s = 0; s < base::num_strides; s++) {
                    const int row = i * base::rows + base::row(lane, s * stride);
                    const int col = j * base::cols + base::col(lane, s * stride);
                    const uint32_t offset = place(row, col);
                    if (inside) {
                        whole(i, j, s, offset);
                    } else if (runs_end_with_row) {
                        whole(i, j, s, col < columns ? offset : OUT_OF_RANGE);
                    } else {
#pragma unroll
                        for (int e = 0; e < stride; e++)
                            single(i, j, s, e,
                                   col + e < columns ? offset + static_cast<uint32_t>(bytes_in<U>(e)) : OUT_OF_RANGE);
                    }
                }
            }
    } else {
#pragma unroll
        for (int i = 0; i < RT::height; i++)
#pragma unroll
            for (int j = 0; j < RT::width; j++)
#pragma unroll
                for (int s = 0; s < base::num_strides; s++)
#pragma unroll
                    for (int e = 0; e < stride; e++) {
                        const int row = i * base::rows + base::row(lane, s * stride + e);
                        const int col = j * base::cols + base::col(lane, s * stride + e);
                        const uint32_t offset = place(row, col);
                        const bool inside = !bounds::checks || (j + 1) * base::cols <= columns;
                        single(i, j, s, e, inside || col < columns ? offset : OUT_OF_RANGE);
                    }
    }
}

/** Elements without addresses are moved unchanged, in whole runs. */
template <ducks::rt::all RT, typename U, typename bounds>
__device__ constexpr void in_whole_runs() {
    constexpr bool possible = (!is_six_bits<U> && !is_six_bits<typename RT::T>) ||
                              (is_same<U, typename RT::T> && RT::is_row && !bounds::checks);
    static_assert(possible, "load, store: a tile of fp6_e2m3 is in the row layout, and goes from and to a global "
                            "layout of fp6_e2m3, without a check of columns");
}

/** Loads a tile's elements from the offsets of `place`; `columns` as in for_each_run. */
template <ducks::rt::all RT, typename U, typename bounds, typename Place>
__device__ inline void load_runs(RT &dst, const buffer &memory, Place place, int columns) {
    using T = typename RT::T;
    using base = typename RT::base_tile;
    in_whole_runs<RT, U, bounds>();
    for_each_run<RT, U, bounds>(
        place, columns,
        [&](int i, int j, int s, uint32_t offset) {
            set_words<U>(dst.tiles[i][j], s, run<U, base::stride>::load(memory, offset));
        },
        [&](int i, int j, int s, int e, uint32_t offset) {
            if constexpr (!is_six_bits<U>) {
                auto elements = get_run(dst.tiles[i][j], s);
                elements.e[e] = base_types::convertor<T, U>::convert(bit_cast<U>(run<U, 1>::load(memory, offset)));
                set_run(dst.tiles[i][j], s, elements);
            }
        });
}

template <int axis, typename bounds, ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD>
__device__ inline void load_tile(RT &dst, const GL &src, const COORD &idx) {
    using U = typename GL::dtype;
    const program_order order;
    const coord<> at = idx.template unit_coord<axis, 3>();
    const window<axis, GL> view(src, at);
    load_runs<RT, U, bounds>(dst, buffer(view.base, view.bytes), in_rows<U>(view.pitch), bounds::columns(src, at));
}

/** Stores a tile's elements at the offsets of `place`; `columns` as in for_each_run. */
template <ducks::rt::all RT, typename U, typename bounds, typename Place>
__device__ inline void store_runs(const buffer &memory, Place place, int columns, const RT &src) {
    using T = typename RT::T;
    using base = typename RT::base_tile;
    in_whole_runs<RT, U, bounds>();
    for_each_run<RT, U, bounds>(
        place, columns,
        [&](int i, int j, int s, uint32_t offset) {
            run<U, base::stride>::store(memory, offset, get_words<U>(src.tiles[i][j], s));
        },
        [&](int i, int j, int s, int e, uint32_t offset) {
            if constexpr (!is_six_bits<U>) {
                const U value = base_types::convertor<U, T>::convert(get_run(src.tiles[i][j], s).e[e]);
                run<U, 1>::store(memory, offset, bit_cast<typename run<U, 1>::words>(value));
            }
        });
}

template <int axis, typename bounds, ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD>
__device__ inline void store_tile(const GL &dst, const RT &src, const COORD &idx) {
    using U = typename GL::dtype;
    const program_order order;
    const coord<> at = idx.template unit_coord<axis, 3>();
    const window<axis, GL> view(dst, at);
    store_runs<RT, U, bounds>(buffer(view.base, view.bytes), in_rows<U>(view.pitch), bounds::columns(dst, at), src);
}

/**
 * @brief A tile of pairs or groups of four, as in memory, for a tile that counts single numbers; each number stays in
 * its lane.
 */
template <ducks::rt::all RT, typename U>
struct grouped {
    static constexpr int n = numbers_in<U>;
    using S = typename RT::shape;
    static_assert(RT::is_row &&
                      S::stride % (n * base_types::packing<typename base_types::packing<U>::packed_type>::num()) == 0,
                  "load, store: between numbers of fp4, int4 or fp6 in memory and a tile of a wider type lanes move 32 "
                  "bits or more: the tile is in the row layout, of a base shape with a stride of 8 numbers, of fp6 16");
    using tile = rt<U, RT::rows, RT::cols / n, typename RT::layout, rt_shape<S::rows, S::cols / n, S::stride / n>>;
    /** Converts a position in numbers to one in groups. */
    static __device__ inline coord<> position(const coord<> &at) { return {at.b, at.d, at.r, at.c / n}; }
};
template <typename T, typename U>
inline constexpr bool is_grouped = numbers_in<T> == 1 && (numbers_in<U> > 1);

template <int axis, typename bounds, ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD>
    requires is_grouped<typename RT::T, typename GL::dtype>
__device__ inline void load_tile(RT &dst, const GL &src, const COORD &idx) {
    using group = grouped<RT, typename GL::dtype>;
    typename group::tile numbers;
    load_tile<axis, bounds>(numbers, src, group::position(idx.template unit_coord<axis, 3>()));
    copy(dst, numbers);
}
template <int axis, typename bounds, ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD>
    requires is_grouped<typename RT::T, typename GL::dtype>
__device__ inline void store_tile(const GL &dst, const RT &src, const COORD &idx) {
    using group = grouped<RT, typename GL::dtype>;
    typename group::tile numbers;
    copy(numbers, src);
    store_tile<axis, bounds>(dst, numbers, group::position(idx.template unit_coord<axis, 3>()));
}
} // namespace detail

/**
 * @brief dst = the tile at idx of src, its rows along `axis` (0 batch, 1 depth, 2 rows).
 *
 * Costs rows * cols * sizeof(U) / 1024 loads of 16 bytes per lane in a row layout of base shapes with 16 bytes per run.
 */
template <int axis, ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD = coord<RT>>
__device__ inline void load(RT &dst, const GL &src, const COORD &idx) {
    detail::load_tile<axis, detail::unbounded>(dst, src, idx);
}
template <ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD = coord<RT>>
__device__ inline void load(RT &dst, const GL &src, const COORD &idx) {
    load<2, RT, GL, COORD>(dst, src, idx);
}

/** The tile at idx of dst = src, its rows along `axis`. */
template <int axis, ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD = coord<RT>>
__device__ inline void store(const GL &dst, const RT &src, const COORD &idx) {
    detail::store_tile<axis, detail::unbounded>(dst, src, idx);
}
template <ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD = coord<RT>>
__device__ inline void store(const GL &dst, const RT &src, const COORD &idx) {
    store<2, RT, GL, COORD>(dst, src, idx);
}

/** Like load; columns past the end of the row read as zero. */
template <int axis = 2, ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD = coord<RT>>
__device__ inline void load_bounded(RT &dst, const GL &src, const COORD &idx) {
    detail::load_tile<axis, detail::bounded>(dst, src, idx);
}
/** Like store; columns past the end of the row are not written. */
template <int axis = 2, ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD = coord<RT>>
__device__ inline void store_bounded(const GL &dst, const RT &src, const COORD &idx) {
    detail::store_tile<axis, detail::bounded>(dst, src, idx);
}

/**
 * @brief dst = rows rows(0), rows(1), ... of a matrix of src: row r of the tile is row rows(r).
 *
 * @param idx batch, depth and, counted in tiles, columns; its row is ignored.
 * @param rows a function of the tile's row, such as one that reads an index. Rows outside the matrix (negative ones
 *             too) read as zero, as do columns past the end.
 *
 * The matrix has less than 4 GiB.
 */
template <ducks::rt::all RT, ducks::gl::all GL, typename Rows, ducks::coord::tile COORD = coord<RT>>
__device__ inline void gather(RT &dst, const GL &src, const COORD &idx, const Rows &rows) {
    using U = typename GL::dtype;
    const detail::program_order order;
    const coord<> at = idx.template unit_coord<2, 3>();
    const detail::window<2, GL> view(src, coord<>(at.b, at.d, 0, at.c));
    detail::load_runs<RT, U, detail::bounded>(dst, detail::buffer(view.base, view.bytes),
                                              detail::in_chosen_rows<U>(view.pitch, src.rows(), rows),
                                              detail::bounded::columns(src, at));
}
/**
 * @brief Row rows(r) of a matrix of dst = row r of the tile, for all its rows; other rows do not change.
 *
 * Arguments as in `gather`; rows outside the matrix are not written. If two rows have the same index, either may be
 * stored.
 */
template <ducks::rt::all RT, ducks::gl::all GL, typename Rows, ducks::coord::tile COORD = coord<RT>>
__device__ inline void scatter(const GL &dst, const RT &src, const COORD &idx, const Rows &rows) {
    using U = typename GL::dtype;
    const detail::program_order order;
    const coord<> at = idx.template unit_coord<2, 3>();
    const detail::window<2, GL> view(dst, coord<>(at.b, at.d, 0, at.c));
    detail::store_runs<RT, U, detail::bounded>(detail::buffer(view.base, view.bytes),
                                               detail::in_chosen_rows<U>(view.pitch, dst.rows(), rows),
                                               detail::bounded::columns(dst, at), src);
}

} // namespace kittens
