/**
 * @file
 * @brief Register tiles from one type, layout or orientation to another.
 */
#pragma once

#include "maps.cuh"

namespace kittens {

/** dst = src in dst's element type; both have the same size, layout and base shape. No value changes its lane. */
template <ducks::rt::all DST, ducks::rt::all SRC>
    requires(!detail::is_same<DST, SRC> && detail::numbers_in<typename DST::T> == detail::numbers_in<typename SRC::T>)
__device__ inline void copy(DST &dst, const SRC &src) {
    constexpr bool same_distribution = detail::same_distribution<DST, SRC>;
    static_assert(same_distribution,
                  "copy: the tiles have the same size, layout and base shape, and differ in the element type only; "
                  "swap_layout changes the layout");
    using to = typename DST::dtype;
    using from = typename SRC::dtype;
    if constexpr (DST::packing == SRC::packing) {
#pragma unroll
        for (int i = 0; i < DST::height; i++)
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int k = 0; k < DST::packed_per_base_tile; k++)
                    dst.tiles[i][j].data[k] = base_types::convertor<to, from>::convert(src.tiles[i][j].data[k]);
    } else {
        // fp8 is packed in fours, the others in twos: convert four elements at a time through float.
        constexpr int per_step = 4;
        using four_to = struct {
            typename DST::dtype v[per_step / DST::packing];
        };
        using four_from = struct {
            typename SRC::dtype v[per_step / SRC::packing];
        };
        using four_elements_to = struct {
            typename DST::T e[per_step];
        };
        using four_elements_from = struct {
            typename SRC::T e[per_step];
        };
#pragma unroll
        for (int i = 0; i < DST::height; i++)
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int k = 0; k < DST::base_tile_elements_per_thread / per_step; k++) {
                    four_from packed;
#pragma unroll
                    for (int v = 0; v < per_step / SRC::packing; v++)
                        packed.v[v] = src.tiles[i][j].data[k * (per_step / SRC::packing) + v];
                    const auto elements = detail::bit_cast<four_elements_from>(packed);
                    four_elements_to converted;
#pragma unroll
                    for (int e = 0; e < per_step; e++)
                        converted.e[e] =
                            base_types::convertor<typename DST::T, typename SRC::T>::convert(elements.e[e]);
                    const auto result = detail::bit_cast<four_to>(converted);
#pragma unroll
                    for (int v = 0; v < per_step / DST::packing; v++)
                        dst.tiles[i][j].data[k * (per_step / DST::packing) + v] = result.v[v];
                }
    }
}

/**
 * @brief `copy` of floats that are not NaN; a NaN may become any value.
 *
 * On gfx942 and gfx1201, which round to bf16 by integer instructions, it costs half as much as `copy`; elsewhere the
 * same.
 */
template <ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void copy_numbers(DST &dst, const SRC &src) {
#if !defined(KITTENS_CDNA4)
    if constexpr (detail::is_same<typename DST::T, bf16> && detail::is_same<typename SRC::T, float>) {
        static_assert(detail::same_distribution<DST, SRC>, "copy_numbers: the tiles differ in the element type only");
#pragma unroll
        for (int i = 0; i < DST::height; i++)
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int k = 0; k < DST::packed_per_base_tile; k++) {
                    u32x2 bits = detail::bit_cast<u32x2>(src.tiles[i][j].data[k]);
                    // To nearest, ties to even; the upper halves are what is left.
                    bits[0] += 0x7fffu + (bits[0] >> 16 & 1u);
                    bits[1] += 0x7fffu + (bits[1] >> 16 & 1u);
                    const unsigned halves = __builtin_amdgcn_perm(bits[1], bits[0], 0x07060302u);
                    dst.tiles[i][j].data[k] = detail::bit_cast<typename DST::dtype>(halves);
                }
        return;
    }
#endif
    copy(dst, src);
}

/**
 * @brief dst = src transposed, where dst has the other layout and the base shape with rows and columns exchanged: then
 * every element is already in the right lane and register, and the function costs nothing.
 */
template <ducks::rt::all DST, ducks::rt::all SRC>
    requires(!detail::is_same<typename DST::layout, typename SRC::layout>)
__device__ inline void transpose(DST &dst, const SRC &src) {
    constexpr bool turned_size = DST::rows == SRC::cols && DST::cols == SRC::rows;
    static_assert(turned_size, "transpose: dst has as many rows as src has columns, and the reverse");
    constexpr bool same_type = detail::is_same<typename DST::T, typename SRC::T>;
    static_assert(same_type, "transpose: the tiles have the same element type");
    constexpr bool turned_shape = detail::is_same<typename DST::shape, typename SRC::shape::transposed>;
    static_assert(turned_shape, "transpose: dst's base shape is src's with rows and columns exchanged");
    if constexpr (same_type) {
#pragma unroll
        for (int i = 0; i < DST::height; i++)
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int k = 0; k < DST::packed_per_base_tile; k++) dst.tiles[i][j].data[k] = src.tiles[j][i].data[k];
    }
}

namespace detail {

/**
 * @brief The base tile, lane and unit of SRC for each unit of DST; a unit is a word if both layouts keep the elements
 * of a word together, else an element.
 */
template <ducks::rt::all DST, ducks::rt::all SRC>
struct exchange {
    using T = typename DST::T;
    using to = typename DST::base_tile;
    using from = typename SRC::base_tile;
    static constexpr int size = static_cast<int>(sizeof(T));
    static constexpr int in_word = size < 4 ? 4 / size : 1;
    static constexpr bool by_words =
        DST::is_row == SRC::is_row && to::stride % in_word == 0 && from::stride % in_word == 0;
    static constexpr int elements = by_words ? in_word : 1;
    static constexpr int units = to::elements_per_thread / elements;
    static constexpr int units_of_source = from::elements_per_thread / elements;

    struct source {
        int tile, lane, unit;
    };
    static __host__ __device__ constexpr source of(int i, int j, int lane, int unit) {
        const int row = i * to::rows + to::row(lane, unit * elements),
                  col = j * to::cols + to::col(lane, unit * elements);
        const int minor = (SRC::is_row ? row : col) % from::distribution::minor;
        const int major = (SRC::is_row ? col : row) % from::distribution::major;
        constexpr int stride = from::stride, run = from::distribution::groups * stride;
        return {row / from::rows * SRC::width + col / from::cols,
                minor + major % run / stride * from::distribution::minor,
                (major / run * stride + major % stride) / elements};
    }
    /** Units per word, words per base tile of the source, and words of the whole source. */
    static constexpr int per_word = in_word / elements;
    static constexpr int words = units_of_source / per_word, all_words = SRC::height * SRC::width * words;
    /** Words of the source that contain a unit in any lane: `tile * words + word` of each. */
    struct sources {
        int count, at[all_words];
    };
    static __host__ __device__ constexpr sources sources_of(int i, int j, int unit) {
        bool has[all_words]{};
        for (int lane = 0; lane < WARP_THREADS; lane++) {
            const source s = of(i, j, lane, unit);
            has[s.tile * words + s.unit / per_word] = true;
        }
        sources found{};
        for (int at = 0; at < all_words; at++)
            if (has[at]) found.at[found.count++] = at;
        return found;
    }
    /** True if all lanes take a unit from their own registers. */
    static __host__ __device__ constexpr bool stays(int i, int j, int unit) {
        for (int lane = 0; lane < WARP_THREADS; lane++)
            if (of(i, j, lane, unit).lane != lane) return false;
        return true;
    }

    /** True if all lanes take the same part of a word. */
    static __host__ __device__ constexpr bool alike(int i, int j, int unit) {
        for (int lane = 1; lane < WARP_THREADS; lane++)
            if ((of(i, j, lane, unit).unit - of(i, j, 0, unit).unit) % per_word != 0) return false;
        return true;
    }
    static __device__ inline unsigned get(const SRC &src, int at) {
        unsigned bits;
        __builtin_memcpy(
            &bits,
            reinterpret_cast<const char *>(src.tiles[at / words / SRC::width][at / words % SRC::width].data) +
                at % words * sizeof(bits),
            sizeof(bits));
        return bits;
    }
    /** A unit in the lower bits of a word. */
    template <int i, int j, int unit>
    static __device__ inline unsigned take(const SRC &src, int lane) {
        // Computed once here: the optimiser would repeat it for each source.
        constexpr sources from = sources_of(i, j, unit);
        constexpr bool here = stays(i, j, unit);
        if constexpr (here && from.count == 1 && alike(i, j, unit)) {
            return get(src, from.at[0]) >> of(i, j, 0, unit).unit % per_word * (32 / per_word);
        } else {
            const source wanted = of(i, j, lane, unit);
            unsigned result = 0;
            for_constants<from.count>([&]<int each>() {
                constexpr int at = from.at[each];
                const unsigned held = get(src, at);
                const unsigned got = here ? held : from_lane(held, wanted.lane);
                if (wanted.tile == at / words && wanted.unit / per_word == at % words) result = got;
            });
            return result >> wanted.unit % per_word * (32 / per_word);
        }
    }
    static __device__ inline void run(DST &dst, const SRC &src) {
        const int lane = laneid();
        for_constants<DST::height>([&]<int i>() {
            for_constants<DST::width>([&]<int j>() {
                for_constants<units>([&]<int unit>() {
                    const unsigned bits = take<i, j, unit>(src, lane);
                    __builtin_memcpy(reinterpret_cast<char *>(dst.tiles[i][j].data) + unit * elements * size, &bits,
                                     elements * size);
                });
            });
        });
    }
};

} // namespace detail

/**
 * @brief dst = src in another layout, in another base shape, or both; the tiles have the same size and element type.
 *
 * Elements move between lanes: each takes an exchange through the LDS hardware (ds_bpermute) for every word that may
 * contain it; if the layout does not change, the elements of a word move together, and if all elements stay in their
 * lanes, nothing moves. For base shapes larger than 16x16, a shared tile is cheaper.
 */
template <ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void swap_layout(DST &dst, const SRC &src) {
    constexpr bool same_size = DST::rows == SRC::rows && DST::cols == SRC::cols;
    static_assert(same_size, "swap_layout: the tiles have the same size");
    constexpr bool same_type = detail::is_same<typename DST::T, typename SRC::T>;
    static_assert(same_type, "swap_layout: the tiles have the same element type");
    constexpr bool differs = !detail::is_same<DST, SRC>;
    static_assert(differs, "swap_layout: dst has another layout or base shape than src");
    if constexpr (same_size && same_type) detail::exchange<DST, SRC>::run(dst, src);
}

/**
 * @brief Changes the layout, or the base shape, of a tile in place, and returns the tile as its new type; the old name
 * must not be used any more.
 *
 * Costs the same as swap_layout: the elements change lanes.
 */
template <ducks::rt_layout::all layout, ducks::rt_shape::all shape, ducks::rt::all RT>
__device__ inline rt<typename RT::T, RT::rows, RT::cols, layout, shape> &swap_layout_inplace(RT &tile) {
    using DST = rt<typename RT::T, RT::rows, RT::cols, layout, shape>;
    static_assert(sizeof(DST) == sizeof(RT));
    DST swapped;
    swap_layout(swapped, tile);
    __builtin_memcpy(&tile, &swapped, sizeof(DST));
    return reinterpret_cast<DST &>(tile);
}
/** To the other layout, with the same base shape. */
template <ducks::rt::all RT>
__device__ inline auto &swap_layout_inplace(RT &tile) {
    return swap_layout_inplace<typename ducks::rt_layout::transpose<typename RT::layout>::type, typename RT::shape>(
        tile);
}
/** Returns a tile in the other layout, without changing the argument. */
template <ducks::rt::all RT>
__device__ inline auto swap_layout_inplace_copy(const RT &tile) {
    rt<typename RT::T, RT::rows, RT::cols, typename ducks::rt_layout::transpose<typename RT::layout>::type,
       typename RT::shape>
        swapped;
    swap_layout(swapped, tile);
    return swapped;
}

/** dst = src transposed, in the same layout. Costs the same as swap_layout. */
template <ducks::rt::all DST, ducks::rt::all SRC>
    requires(detail::is_same<typename DST::layout, typename SRC::layout>)
__device__ inline void transpose(DST &dst, const SRC &src) {
    rt<typename SRC::T, SRC::cols, SRC::rows, typename ducks::rt_layout::transpose<typename SRC::layout>::type,
       typename SRC::shape::transposed>
        turned;
    transpose(turned, src);
    swap_layout(dst, turned);
}
/** dst = src transposed, in the same layout. */
template <ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void transpose_sep(DST &dst, const SRC &src) {
    transpose(dst, src);
}
/** Transposes a square tile in place. */
template <ducks::rt::all RT>
__device__ inline RT &transpose_inplace(RT &tile) {
    constexpr bool is_square = RT::rows == RT::cols;
    static_assert(is_square, "transpose_inplace: the tile has as many rows as columns");
    const RT given = tile;
    transpose(tile, given);
    return tile;
}

} // namespace kittens
