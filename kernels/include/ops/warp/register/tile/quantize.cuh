/**
 * @file
 * @brief Quantization: tiles of float to 8-, 6- and 4-bit numbers with a scale for each row or block, and back.
 *
 * Numbers are divided by their scale and rounded to nearest, ties to even. Scales map the largest magnitude of a row or
 * block to the format's largest number; they are floats, or powers of two as in the OCP microscaling formats. If a
 * number is NaN or infinite, the scale is NaN and the row or block zero, so that the error is visible in every result.
 * Quantized tiles are of fp8e4m3, fp8e5m2, int8, or, in pairs and groups of four as in `small_floats.cuh`, of
 * fp4e2m1_2, int4_2, fp6e2m3_4 and fp6e3m2_4; wide tiles are of float, and in the row layout for blocks.
 */
#pragma once

#include "blocks.cuh"
#include "small_floats.cuh"

namespace kittens {

/** Rounding of a block's scale to a power of two, if the ratio of the largest magnitude and the format's largest number
    is not one. */
enum class scale_rounding {
    /** Uses only the exponent of the largest magnitude, as in the OCP specification; larger numbers saturate. */
    down,
    /** Uses the exponent of the largest magnitude rounded to the format's mantissa (AITER's mxfp4). */
    even,
    /** Rounds up, so that nothing saturates (AITER's MoE weights). */
    up,
};

namespace detail {

/** Properties of a format that scales depend on: its largest number, that number's exponent, the bits of the mantissa.
 */
template <typename T>
struct format_of {
    static constexpr bool is_fp4 = is_same<T, fp4e2m1_2>, is_e2m3 = is_same<T, fp6e2m3_4>,
                          is_e3m2 = is_same<T, fp6e3m2_4>, is_e4m3 = is_same<T, fp8e4m3>, is_e5m2 = is_same<T, fp8e5m2>,
                          is_int8 = is_same<T, int8>, is_int4 = is_same<T, int4_2>;
    static constexpr bool known = is_fp4 || is_e2m3 || is_e3m2 || is_e4m3 || is_e5m2 || is_int8 || is_int4;
    static_assert(known, "quantize: to fp8e4m3, fp8e5m2, fp6e2m3_4, fp6e3m2_4, fp4e2m1_2, int8 or int4_2");
#if !defined(KITTENS_CDNA3)
    static constexpr float largest_e4m3 = 448.0f;
#else
    static constexpr float largest_e4m3 = 240.0f;
#endif
    static constexpr float largest = is_fp4    ? 6.0f
                                     : is_e2m3 ? 7.5f
                                     : is_e3m2 ? 28.0f
                                     : is_e4m3 ? largest_e4m3
                                     : is_e5m2 ? 57344.0f
                                     : is_int8 ? 127.0f
                                               : 7.0f;
    static constexpr unsigned bits = __builtin_bit_cast(unsigned, largest);
    static constexpr int exponent = static_cast<int>(bits >> 23) - 127;
    static constexpr int mantissa_bits = is_fp4 ? 1 : is_e2m3 || is_e4m3 ? 3 : is_int8 ? 6 : 2;
};

/** A scale, and the division by it; numbers become zero if it is NaN. */
struct divisor {
    float scale, reciprocal;

    __device__ inline explicit divisor(float scale) : scale(scale), reciprocal(1.0f / scale) {}
    /** x / scale, rounded once: Markstein's correction of a product with the rounded reciprocal. */
    __device__ inline float operator()(float x) const {
        const float near = x * reciprocal;
        const float beyond = __builtin_fmaf(near, scale, -x);
        const float quotient = __builtin_fmaf(-beyond, reciprocal, near);
        return scale == scale ? quotient : 0.0f;
    }
};
/** The same by a power of two: one product, without rounding. */
struct power_divisor {
    float scale, reciprocal;

    __device__ inline explicit power_divisor(float scale)
        : scale(scale), reciprocal(bit_cast<float>((254u - (bit_cast<unsigned>(scale) >> 23)) << 23)) {}
    __device__ inline float operator()(float x) const { return scale == scale ? x * reciprocal : 0.0f; }
};

/** Finds a scale for each block, divides by it, and sets all of the block's elements of `scales` to it. */
template <int block, typename Divisor, ducks::rt::all DST, ducks::rt::all SRC, typename Scale>
__device__ inline void quantize_each_block(DST &dst, SRC &scales, const SRC &src, Scale scale_of) {
    static_assert(is_same<typename SRC::T, float>, "quantize: the source and the scales are tiles of float");
    using blocks = lane_blocks<block, SRC>;
    SRC quotients;
#pragma unroll
    for (int i = 0; i < SRC::height; i++)
#pragma unroll
        for (int n = 0; n < blocks::count; n++) {
            const Divisor by(scale_of(blocks::absmax(src, i, n)));
            blocks::for_each(n, [&](int j, int e) {
                set_number(quotients.tiles[i][j], e, by(blocks::number(src.tiles[i][j], e)));
                set_number(scales.tiles[i][j], e, by.scale);
            });
        }
    copy(dst, quotients);
}

} // namespace detail

/**
 * @brief The float scale for magnitudes up to `absmax`: `absmax`, or at least 1e-10 (AITER's bound), divided by T's
 * largest number; NaN for infinity and NaN.
 */
template <typename T>
__device__ inline float scale_of(float absmax) {
    constexpr float least = 1e-10f;
    const float bounded = absmax < least ? least : absmax;
    return absmax < __builtin_inff() ? bounded / detail::format_of<T>::largest : __builtin_nanf("");
}

/** The power of two for them, 2^-127 to 2^126; the lowest for zeros, and NaN for infinity and NaN. */
template <typename T, scale_rounding rounding = scale_rounding::even>
__device__ inline float power_scale_of(float absmax) {
    using format = detail::format_of<T>;
    constexpr unsigned infinity = 255u << 23, mantissa = (1u << 23) - 1;
    const unsigned bits = detail::bit_cast<unsigned>(absmax);
    unsigned rounded = bits;
    if constexpr (rounding == scale_rounding::even) rounded += 1u << (22 - format::mantissa_bits);
    // One more if the mantissa exceeds that of the format's largest number.
    if constexpr (rounding == scale_rounding::up) rounded += mantissa - (format::bits & mantissa);
    int exponent = static_cast<int>(rounded >> 23) - format::exponent;
    // If AITER rounds up, the scale of a nonzero number is normal.
    const int least = rounding == scale_rounding::up && bits != 0 ? 1 : 0;
    exponent = exponent < least ? least : exponent;
    const float scale = exponent == 0 ? 0x1p-127f : detail::bit_cast<float>(static_cast<unsigned>(exponent) << 23);
    return bits < infinity ? scale : __builtin_nanf("");
}

/** dst = src divided by a scale for each row. */
template <ducks::rt::all DST, ducks::rt::all SRC, ducks::rv::all RV>
__device__ inline void quantize_rows(DST &dst, const SRC &src, const RV &scales) {
    constexpr bool fits = detail::is_same<typename SRC::T, float> && detail::is_same<RV, typename SRC::col_vec>;
    static_assert(fits, "quantize_rows: the source is a tile of float, the scales are its own col_vec");
    if constexpr (fits && SRC::is_row) {
        SRC quotients;
#pragma unroll
        for (int i = 0; i < SRC::height; i++) {
            const detail::divisor by(scales.data[i][0]);
#pragma unroll
            for (int j = 0; j < SRC::width; j++)
#pragma unroll
                for (int k = 0; k < SRC::packed_per_base_tile; k++)
                    quotients.tiles[i][j].data[k] = {by(src.tiles[i][j].data[k].x), by(src.tiles[i][j].data[k].y)};
        }
        copy(dst, quotients);
    } else if constexpr (fits) {
        SRC quotients, of_rows;
        broadcast_row(of_rows, scales);
        map(quotients, src, of_rows, [](float x, float scale) { return detail::divisor(scale)(x); });
        copy(dst, quotients);
    }
}

/** dst = src divided by a scale for each row, computed as `scale_of` the row's largest magnitude. */
template <ducks::rt::all DST, ducks::rt::all SRC, ducks::rv::all RV>
__device__ inline void quantize_rows(DST &dst, RV &scales, const SRC &src) {
    row_reduce<base_ops::absmax>(scales, src);
    map(scales, scales, [](float v) { return scale_of<typename DST::T>(__builtin_fabsf(v)); });
    quantize_rows(dst, static_cast<const SRC &>(src), static_cast<const RV &>(scales));
}

/** dst = src divided by a float for each block of `block` columns, `scale_of` its largest magnitude. `store_blocks`
 * stores the scales. */
template <int block, ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void quantize_blocks(DST &dst, SRC &scales, const SRC &src) {
    detail::quantize_each_block<block, detail::divisor>(dst, scales, src,
                                                        [](float absmax) { return scale_of<typename DST::T>(absmax); });
}

/** dst = src divided by a power of two for each block, `power_scale_of` its largest magnitude: the microscaling
    formats. */
template <int block = 32, scale_rounding rounding = scale_rounding::even, ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void quantize_mx(DST &dst, SRC &scales, const SRC &src) {
    detail::quantize_each_block<block, detail::power_divisor>(
        dst, scales, src, [](float absmax) { return power_scale_of<typename DST::T, rounding>(absmax); });
}

/** dst = src times a scale for each row, rounded once. */
template <ducks::rt::all DST, ducks::rt::all SRC, ducks::rv::all RV>
__device__ inline void dequantize_rows(DST &dst, const SRC &src, const RV &scales) {
    rt<float, DST::rows, DST::cols, typename DST::layout, typename DST::shape> wide;
    copy(wide, src);
    mul_row(wide, wide, scales);
    copy(dst, wide);
}

/**
 * @brief dst = the tile at idx of src, numbers of a quantized format, times the scale of each block of `block` columns,
 * rounded once. Columns past the end of the row read as zero.
 *
 * @param scales a matrix with a column for each block; of fp8e8m0, float or another type.
 *
 * With fp4, int4 and fp6, which src counts in pairs and groups of four, the tile counts single numbers.
 */
template <int block, ducks::rt::all DST, ducks::gl::all GL, ducks::gl::all SCALES,
          ducks::coord::tile COORD = coord<DST>>
__device__ inline void load_dequantized(DST &dst, const GL &src, const SCALES &scales, const COORD &idx) {
    using floats = rt<float, DST::rows, DST::cols, typename DST::layout, typename DST::shape>;
    const coord<> at = idx.template unit_coord<2, 3>();
    floats wide, by;
    load_bounded(wide, src, at);
    load_blocks<block>(by, scales, at.r, at.c);
    mul(wide, wide, by);
    copy(dst, wide);
}

} // namespace kittens
