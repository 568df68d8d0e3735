/**
 * @file
 * @brief Register tiles of 4- and 6-bit numbers from and to tiles of float, bf16 and half.
 *
 * A tile of them counts pairs (fp4, int4) or groups of four (fp6), n numbers each. The wide tile has the same rows, n
 * times the columns and, so that every number stays in its lane, the same base shape with n times the columns and the
 * stride: for `rt_fp4e2m1_2<M, K / 2>` of `rt_16x64_s`, and for `rt_fp6e2m3_4<M, K / 4>` of `rt_16x32_s`, that is M x K
 * of `rt_shape<16, 128, 32>`; for 32x32x64 `rt_shape<32, 64, 32>`. In the column layout it is n times the rows.
 *
 * On gfx950 the conversions use the instructions with a scale (v_cvt_scalef32_*), one for two numbers of fp4 or 32 of
 * fp6; elsewhere they take a dozen instructions per number. Numbers are rounded to nearest, ties to even, and saturate.
 */
#pragma once

#include "mma.cuh"

namespace kittens {

namespace detail {

/** True if SMALL is a tile of small floats and WIDE has the same numbers in the same lanes. */
template <ducks::rt::all SMALL, ducks::rt::all WIDE>
inline constexpr void check_small_and_wide() {
    constexpr int n = numbers_in<typename SMALL::T>;
    constexpr int down = SMALL::is_row ? 1 : n, across = SMALL::is_row ? n : 1;
    using S = typename SMALL::shape;
    constexpr bool wide_type =
        is_same<typename WIDE::T, float> || is_same<typename WIDE::T, bf16> || is_same<typename WIDE::T, half>;
    static_assert(wide_type, "copy: tiles of fp4, fp6 and int4 are converted from and to float, bf16 and half");
    constexpr bool same_layout = SMALL::is_row == WIDE::is_row;
    static_assert(same_layout, "copy: the tiles have the same layout");
    constexpr bool same_numbers = WIDE::rows == SMALL::rows * down && WIDE::cols == SMALL::cols * across;
    static_assert(same_numbers, "copy: the wider tile has as many numbers along each side as the tile of fp4 or int4 "
                                "(pairs) or fp6 (fours)");
    constexpr bool same_lanes =
        is_same<typename WIDE::shape, rt_shape<S::rows * down, S::cols * across, S::stride * n>>;
    static_assert(same_lanes, "copy: the wider tile's base shape is that of the tile of fp4, fp6 or int4 with its "
                              "numbers counted singly: rt_shape<16, 128, 32> for rt_16x64_s of pairs, rt_16x32_s of "
                              "fours");
}

/** A lane's numbers of a base tile. */
template <int count>
struct lane_numbers {
    float x[count];
};
template <typename Base>
__device__ inline lane_numbers<Base::elements_per_thread> numbers_of(const Base &tile) {
    using elements = struct {
        typename Base::T e[Base::elements_per_thread];
    };
    elements from;
    __builtin_memcpy(&from, tile.data, sizeof(from));
    lane_numbers<Base::elements_per_thread> to;
#pragma unroll
    for (int e = 0; e < Base::elements_per_thread; e++)
        to.x[e] = base_types::convertor<float, typename Base::T>::convert(from.e[e]);
    return to;
}

/** Numbers divided by `scale`, a power of two, as consecutive small floats of type T. */
template <typename T, int count>
struct small_floats {
    static constexpr int n = numbers_in<T>;
    struct elements {
        T e[count / n];
    };

    static __device__ inline elements from(const lane_numbers<count> &numbers, float scale) {
        elements to;
#if defined(KITTENS_CDNA4) && __has_builtin(__builtin_amdgcn_cvt_scalef32_2xpk16_fp6_f32)
        if constexpr (is_same<T, fp4e2m1_2>) {
#pragma unroll
            for (int e = 0; e < count / 2; e++)
                to.e[e] = {static_cast<unsigned char>(
                    __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0u, numbers.x[2 * e], numbers.x[2 * e + 1], scale, 0))};
            return to;
        } else if constexpr (is_fp6<T> && count % 32 == 0) {
#pragma unroll
            for (int first = 0; first < count; first += 32) {
                // The instruction takes even numbers from its first source, odd ones from the second.
                f32x16 even, odd;
#pragma unroll
                for (int i = 0; i < 16; i++) {
                    even[i] = numbers.x[first + 2 * i];
                    odd[i] = numbers.x[first + 2 * i + 1];
                }
                using six = unsigned __attribute__((ext_vector_type(6)));
                six packed;
                if constexpr (is_same<T, fp6e2m3_4>)
                    packed = __builtin_amdgcn_cvt_scalef32_2xpk16_fp6_f32(even, odd, scale);
                else
                    packed = __builtin_amdgcn_cvt_scalef32_2xpk16_bf6_f32(even, odd, scale);
                // The instruction takes several passes, and would read its own result if that overlapped a source,
                // which clang 22 allows (LLVM pull request 188809): so the sources stay alive after it.
                asm("" : "+v"(packed) : "v"(even), "v"(odd));
                __builtin_memcpy(&to.e[first / n], &packed, 24);
            }
            return to;
        }
#endif
        const float factor = 1.0f / scale;
        using wide = typename numeric<T>::wide;
#pragma unroll
        for (int e = 0; e < count / n; e++) {
            wide group;
#pragma unroll
            for (int i = 0; i < n; i++) group[i] = numbers.x[e * n + i] * factor;
            to.e[e] = narrow<T>(group);
        }
        return to;
    }
    static __device__ inline lane_numbers<count> numbers(const elements &from) {
        lane_numbers<count> to;
#pragma unroll
        for (int e = 0; e < count / n; e++) {
            const auto group = widen(from.e[e]);
#pragma unroll
            for (int i = 0; i < n; i++) to.x[e * n + i] = group[i];
        }
        return to;
    }
};

/** Converts base tile by base tile; `scale(i, j)` is the divisor of the numbers of base tile {i, j}. */
template <ducks::rt::all DST, ducks::rt::all SRC, typename Scale>
__device__ inline void to_small(DST &dst, const SRC &src, Scale scale) {
    check_small_and_wide<DST, SRC>();
    using floats = small_floats<typename DST::T, SRC::base_tile_elements_per_thread>;
#pragma unroll
    for (int i = 0; i < DST::height; i++)
#pragma unroll
        for (int j = 0; j < DST::width; j++) {
            const auto small = floats::from(numbers_of(src.tiles[i][j]), scale(i, j));
            __builtin_memcpy(dst.tiles[i][j].data, &small, sizeof(small));
        }
}

} // namespace detail

/** dst = src, fp4, fp6 or int4 from float, bf16 or half; the top of this header describes matching tiles. */
template <ducks::rt::all DST, ducks::rt::all SRC>
    requires(detail::numbers_in<typename DST::T> > 1 && detail::numbers_in<typename SRC::T> == 1)
__device__ inline void copy(DST &dst, const SRC &src) {
    detail::to_small(dst, src, [](int, int) { return 1.0f; });
}

/**
 * @brief dst = src divided by block scales, so that `mma_*_scaled` with the same scales computes with src.
 *
 * Blocks have 32 numbers along K; a lane holds one whole block in each base tile.
 *
 * @param scales registers as for `mma_*_scaled`: base tile {i, s} has byte i % 4 of register i / 4 of those of s.
 *        (In the column layout base tiles along K come first, {s, i}.) A scale is 1 to 254, 2^-126 to 2^127.
 */
template <ducks::rt::all DST, ducks::rt::all SRC>
    requires(detail::numbers_in<typename DST::T> > 1 && detail::numbers_in<typename SRC::T> == 1)
__device__ inline void copy_scaled(DST &dst, const SRC &src, const fp8e8m0_4 *scales) {
    constexpr int tiles = DST::is_row ? DST::height : DST::width;
    detail::to_small(dst, src, [&](int i, int j) {
        const int along = DST::is_row ? j : i, down = DST::is_row ? i : j;
        const unsigned scale = scales[along * ((tiles + 3) / 4) + down / 4] >> (down % 4 * 8) & 255;
        return detail::bit_cast<float>(scale << 23);
    });
}

/** dst = src, float, bf16 or half from fp4, fp6 or int4: exact. */
template <ducks::rt::all DST, ducks::rt::all SRC>
    requires(detail::numbers_in<typename DST::T> == 1 && detail::numbers_in<typename SRC::T> > 1)
__device__ inline void copy(DST &dst, const SRC &src) {
    detail::check_small_and_wide<SRC, DST>();
    using T = typename DST::T;
    constexpr int count = DST::base_tile_elements_per_thread;
    using floats = detail::small_floats<typename SRC::T, count>;
    using elements = struct {
        T e[count];
    };
#pragma unroll
    for (int i = 0; i < DST::height; i++)
#pragma unroll
        for (int j = 0; j < DST::width; j++) {
            typename floats::elements small;
            __builtin_memcpy(&small, src.tiles[i][j].data, sizeof(small));
            const auto numbers = floats::numbers(small);
            elements wide;
#pragma unroll
            for (int e = 0; e < count; e++) wide.e[e] = base_types::convertor<T, float>::convert(numbers.x[e]);
            __builtin_memcpy(dst.tiles[i][j].data, &wide, sizeof(wide));
        }
}

} // namespace kittens
