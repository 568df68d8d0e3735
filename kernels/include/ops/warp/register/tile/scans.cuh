/**
 * @file
 * @brief Scans: each element becomes the reduction of all elements up to it, along lanes and along the rows of tiles.
 */
#pragma once

#include "maps.cuh"

namespace kittens {

/**
 * @brief op over the values of this lane and those before it, in the order of the lanes.
 *
 * @tparam step distance between lanes of a sequence: the WARP_THREADS / step lanes with the same number modulo `step`
 * are a sequence.
 */
template <ducks::base_ops::binary op, int step = 1, typename T>
__device__ inline T scan_lanes(T value) {
    static_assert(detail::is_power_of_two(step) && step <= WARP_THREADS, "scan_lanes: the step is a power of two");
    const int lane = laneid();
#pragma unroll
    for (int distance = step; distance < WARP_THREADS; distance *= 2) {
        const T before = detail::from_lane(value, lane - distance);
        if (lane >= distance) value = op::template op<T>(before, value);
    }
    return value;
}

/** dst = op over each row of src up to the element, in float and in the order of the columns. In the row layout. */
template <ducks::base_ops::binary op, ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void row_scan(DST &dst, const SRC &src) {
    constexpr bool fits = detail::same_distribution<DST, SRC> && DST::packing == SRC::packing && DST::is_row;
    static_assert(fits, "row_scan: the tiles are in the row layout, with the same dimensions and base shape");
    if constexpr (fits) {
        using base = typename DST::base_tile;
        constexpr int minor = base::distribution::minor, stride = base::stride, packing = DST::packing;
        const int lane = laneid();
        // The runs of all base tiles and strides are consecutive; each is shared by the lanes of a row.
#pragma unroll
        for (int i = 0; i < DST::height; i++) {
            float carry = 0.0f;
            bool first = true;
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int s = 0; s < base::num_strides; s++) {
                    float run[stride];
#pragma unroll
                    for (int e = 0; e < stride; e++) {
                        const int n = s * stride + e;
                        const auto given = detail::numbers<typename SRC::dtype>::of(src.tiles[i][j].data[n / packing]);
                        run[e] =
                            e == 0 ? given.n[n % packing] : op::template op<float>(run[e - 1], given.n[n % packing]);
                    }
                    const float through = scan_lanes<op, minor>(run[stride - 1]);
                    const float before = detail::from_lane(through, lane - minor);
#pragma unroll
                    for (int e = 0; e < stride; e++) {
                        if (lane >= minor) run[e] = op::template op<float>(before, run[e]);
                        if (!first) run[e] = op::template op<float>(carry, run[e]);
                    }
                    const float last = detail::from_lane(through, WARP_THREADS - minor + lane % minor);
                    carry = first ? last : op::template op<float>(carry, last);
                    first = false;
#pragma unroll
                    for (int e = 0; e < stride; e += packing) {
                        detail::numbers<typename DST::dtype> made;
#pragma unroll
                        for (int p = 0; p < packing; p++) made.n[p] = run[e + p];
                        dst.tiles[i][j].data[(s * stride + e) / packing] = made.packed();
                    }
                }
        }
    }
}
/** Cumulative sums along the rows. */
template <ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void row_cumsum(DST &dst, const SRC &src) {
    row_scan<base_ops::sum>(dst, src);
}

} // namespace kittens
