/**
 * @file
 * @brief Base shapes of shared tiles, and the order of elements in them.
 *
 * A shared tile is a grid of base tiles, consecutive in memory. Inside a base tile, elements are row-major, with some
 * bits of an element's byte offset flipped by higher bits of the same offset, which are bits of its row. Lanes that
 * read the same columns of adjacent rows then access different banks. Flipping keeps pieces of `atom` bytes whole, so
 * that a lane can still read that many at once.
 *
 * The right bits depend on the width of a row and on the LDS: CDNA4 reads 256 bytes per cycle from 64 banks, and serves
 * 16 lanes that read 16 bytes each at once; CDNA3 reads 128 bytes from 32 banks, and serves 8.
 */
#pragma once

#include "../../common/common.cuh"

namespace kittens {
namespace ducks::st_shape {

struct identifier {};

/** Flips `width` bits of an offset, from bit `to` on, by those from bit `from` on. */
struct flip {
    int from = 0, to = 0, width = 0;
    __host__ __device__ constexpr uint32_t operator()(uint32_t offset) const {
        return ((offset >> from) & ((1u << width) - 1)) << to;
    }
};

/** Up to three flips, applied at once, so that two applications restore the offset. */
struct swizzling {
    flip first = {}, second = {}, third = {};
    __host__ __device__ constexpr uint32_t operator()(uint32_t offset) const {
        return offset ^ first(offset) ^ second(offset) ^ third(offset);
    }
    /** Bytes that stay together. */
    __host__ __device__ constexpr int atom() const {
        int least = 16;
        if (first.width) least = detail::min(least, 1 << first.to);
        if (second.width) least = detail::min(least, 1 << second.to);
        if (third.width) least = detail::min(least, 1 << third.to);
        return least;
    }
};

/**
 * @brief Flips all bits from that of `atom` up to the width of a row by the lowest bits that differ between rows which
 * share banks: CDNA3's banks hold 128 bytes, and one cycle writes 128 bytes on both.
 */
__host__ __device__ constexpr swizzling by_rows(int row_bytes, int atom) {
    const int low = __builtin_ctz(static_cast<unsigned>(atom));
    const int high = __builtin_ctz(static_cast<unsigned>(row_bytes));
    if (high <= low) return {};
    return {.first = {.from = detail::max(7, high), .to = low, .width = high - low}};
}

/** Rows and columns of a base tile; the shapes derive from it. */
template <typename derived, int _rows, int _cols>
struct base {
    using identifier = st_shape::identifier;
    static constexpr int rows = _rows;
    static constexpr int cols = _cols;
    static constexpr int num_elements = rows * cols;

    /** Bytes that a lane loads at once when a tile of T is filled straight from global memory. */
    template <typename T>
    static __host__ __device__ constexpr int bytes_per_thread() {
        constexpr bool together = detail::is_same<T, fp8e8m0> || detail::is_fp6<T> || detail::is_six_bits<T> ||
                                  derived::template swizzle<sizeof(T)>.atom() >= 16;
        return detail::min(MAX_DIRECT_LOAD_BYTES, together ? 16 : 4);
    }
};

/** 16x16, row-major and not swizzled. */
struct st_16x16 : base<st_16x16, 16, 16> {
    template <int size>
    static constexpr swizzling swizzle = {};
};

/** 16x16 for lanes that read 8 bytes: `rt_16x16_s` of 2-byte elements. */
struct st_16x16_swizzled : base<st_16x16_swizzled, 16, 16> {
    template <int size>
    static constexpr swizzling swizzle = by_rows(16 * size, size == 4 ? 16 : 8);
};

/** 32x32: for `rt_32x16_s`, `rt_16x32_s` and `rt_32x32_8_s`. */
struct st_32x32 : base<st_32x32, 32, 32> {
#if defined(KITTENS_CDNA4)
    template <int size>
    static constexpr swizzling swizzle = size == 1   ? swizzling{{8, 4, 1}}
                                         : size == 2 ? swizzling{{9, 5, 1}, {10, 4, 1}}
                                                     : swizzling{{8, 4, 1}, {11, 5, 1}, {9, 6, 1}};
#else
    template <int size>
    static constexpr swizzling swizzle = by_rows(32 * size, size == 1 ? 8 : 16);
#endif
};

/** 32x32 for lanes that write 8 bytes, `rt_32x32_s`, and read columns, `rt_16x32_4_s`: of 2-byte elements. */
struct st_32x32_swizzled : base<st_32x32_swizzled, 32, 32> {
    template <int size>
    static constexpr swizzling swizzle = by_rows(32 * size, size == 4 ? 16 : 8);
};

/** 16x32: for `rt_16x32_s`, also of fours of fp6. */
struct st_16x32 : base<st_16x32, 16, 32> {
#if defined(KITTENS_CDNA4)
    template <int size>
    static constexpr swizzling swizzle = size == 1   ? swizzling{{8, 4, 1}}
                                         : size == 2 ? swizzling{{9, 5, 1}}
                                                     : swizzling{{8, 4, 1}, {7, 5, 1}, {9, 6, 1}};
#else
    template <int size>
    static constexpr swizzling swizzle = by_rows(32 * size, size == 1 ? 8 : 16);
#endif
};

/** 32x16: for `rt_32x16_s`. */
struct st_32x16 : base<st_32x16, 32, 16> {
#if defined(KITTENS_CDNA4)
    template <int size>
    static constexpr swizzling swizzle = size == 1   ? swizzling{}
                                         : size == 2 ? swizzling{{8, 4, 1}}
                                                     : swizzling{{8, 4, 2}};
#else
    template <int size>
    static constexpr swizzling swizzle = by_rows(16 * size, size == 1 ? 8 : 16);
#endif
};

/** 8x32: two of them, stacked vertically, for `rt_16x32_s`. */
struct st_8x32 : base<st_8x32, 8, 32> {
#if defined(KITTENS_CDNA4)
    template <int size>
    static constexpr swizzling swizzle =
        size == 4 ? swizzling{{8, 4, 1}, {7, 5, 1}, {9, 6, 1}} : by_rows(32 * size, 16);
#else
    template <int size>
    static constexpr swizzling swizzle = by_rows(32 * size, size == 1 ? 8 : 16);
#endif
};

/** 16x128: for `rt_16x128_s`, mainly of fp8, and for `rt_32x64_s`: CDNA4 flips bits 4 to 6 by bits 8 to 10. */
struct st_16x128 : base<st_16x128, 16, 128> {
#if defined(KITTENS_CDNA4)
    template <int size>
    static constexpr swizzling swizzle = size == 1   ? swizzling{{8, 4, 3}}
                                         : size == 2 ? swizzling{{8, 4, 1}, {10, 6, 1}, {9, 7, 1}}
                                                     : swizzling{{9, 4, 2}, {12, 7, 1}};
#else
    template <int size>
    static constexpr swizzling swizzle = size == 1   ? swizzling{{7, 4, 3}}
                                         : size == 2 ? swizzling{{8, 4, 3}}
                                                     : swizzling{{9, 4, 1}, {11, 5, 1}, {10, 6, 1}};
#endif
};

/**
 * @brief 16x64: for `rt_16x32_s` of 2-byte elements, where rows are whole cache lines of 128 bytes.
 *
 * A wave that loads it straight from global memory requests whole lines. For 1-byte elements it suits fp8 and pairs of
 * fp4 (`rt_16x64_s`, `rt_32x64_s`, `rt_32x32_16_s`), and for tiles of scales (fp8e8m0), which are not swizzled.
 */
struct st_16x64 : base<st_16x64, 16, 64> {
#if defined(KITTENS_CDNA4)
    template <int size>
    static constexpr swizzling swizzle = size == 1   ? swizzling{{8, 5, 1}, {9, 4, 1}, {9, 5, 1}}
                                         : size == 2 ? swizzling{{7, 4, 3}}
                                                     : swizzling{{8, 4, 1}, {10, 6, 1}, {9, 7, 1}};
#else
    template <int size>
    static constexpr swizzling swizzle = by_rows(64 * size, 16);
#endif
};

/**
 * @brief 32x128: for matrices of 2-byte elements and fp8 or int8 whose rows run across K, which are read by columns
 * (`load_columns`, `columns_in_turn`), those of 2 bytes also in the column layout (`rt_32x16_s`, 16x32
 * transposed).
 *
 * The LDS serves together, for 2-byte elements, 16 columns of rows 0 to 3 and 8 to 11 on CDNA4, and of rows 0, 1, 8 and
 * 9 on CDNA3; for 1-byte elements, 16 columns of rows 0 to 7 and 16 to 23 on CDNA4, and adjacent columns of rows 0 and
 * 16 on CDNA3.
 */
struct st_32x128 : base<st_32x128, 32, 128> {
#if defined(KITTENS_CDNA4)
    template <int size>
    static constexpr swizzling swizzle = size == 2   ? swizzling{{8, 5, 2}, {11, 7, 1}}
                                         : size == 1 ? swizzling{{8, 4, 2}, {11, 6, 1}}
                                                     : swizzling{};
#else
    template <int size>
    static constexpr swizzling swizzle = size == 2   ? swizzling{{8, 5, 1}, {11, 6, 1}}
                                         : size == 1 ? swizzling{{11, 6, 1}}
                                                     : swizzling{};
#endif
};

#if defined(KITTENS_CDNA5)
/**
 * @brief 16x32 for `rt_16x32_s` on gfx1250. A tile's rows follow each other in memory, with a gap of `amount` elements
 * after every `interval`, which the tensor data mover leaves, too; nothing is swizzled.
 *
 * The default, 16 bytes after each 256 of 2-byte elements, spreads 16 rows over the banks.
 *
 * @tparam interval elements between gaps, a multiple of 32; a tile's columns divide it or are a multiple of it.
 * @tparam amount elements of a gap, a multiple of 4 bytes; of 16 for `load_async`.
 */
template <int interval = 128, int amount = 8>
struct st_16x32_padded : base<st_16x32_padded<interval, amount>, 16, 32> {
    static constexpr int pad_interval = interval;
    static constexpr int pad_amount = amount;
    static_assert(interval > 0 && interval % 32 == 0 && amount > 0,
                  "st_16x32_padded: gaps come after multiples of 32 elements");

    template <typename T>
    static __host__ __device__ constexpr int bytes_per_thread() {
        return 16;
    }
    /** Position in memory of element `flat` of the rows, counted in elements. */
    static __host__ __device__ constexpr int padded(int flat) { return flat + flat / interval * amount; }
    /** Elements of memory of a tile with `elements` elements. */
    static constexpr int padded_elems(int elements) { return padded(elements); }
    static constexpr int storage_elems(int elements) { return padded(elements); }
    /** Byte offset of an element of a tile with one base tile. */
    template <typename T>
    static __host__ __device__ constexpr uint32_t swizzle(int2 at) {
        return static_cast<uint32_t>(padded(at.x * 32 + at.y)) * sizeof(T);
    }
};
#endif

/** Any base shape of a shared tile. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
/** A base shape of tiles with gaps in memory. */
template <typename T>
concept padded = all<T> && requires { T::pad_interval; };

} // namespace ducks::st_shape

using st_16x16_s = ducks::st_shape::st_16x16;
using st_16x16_swizzled_s = ducks::st_shape::st_16x16_swizzled;
using st_32x32_s = ducks::st_shape::st_32x32;
using st_32x32_swizzled_s = ducks::st_shape::st_32x32_swizzled;
using st_16x32_s = ducks::st_shape::st_16x32;
using st_32x16_s = ducks::st_shape::st_32x16;
using st_8x32_s = ducks::st_shape::st_8x32;
using st_16x64_s = ducks::st_shape::st_16x64;
using st_16x128_s = ducks::st_shape::st_16x128;
using st_32x128_s = ducks::st_shape::st_32x128;
#if defined(KITTENS_CDNA5)
using st_16x32_padded_s = ducks::st_shape::st_16x32_padded<>;
#endif

} // namespace kittens
