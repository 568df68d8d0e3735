/**
 * @file
 * @brief Reductions of register vectors over the waves of a group.
 */
#pragma once

#include "../warp/warp.cuh"

namespace kittens::detail {

template <int N>
struct group_reductions {
    /**
     * @brief Every wave's vector becomes op over those of the N waves, element by element, in float and in the order of
     * the waves.
     *
     * All waves of the work-group call it. Each group has a separate `scratch`.
     *
     * @tparam for_all whether every wave gets the result; otherwise only the group's first wave does, and the others
     * keep their vectors.
     * @param scratch at least N floats for each element; nothing else may use it before
     *                the next `wait_lgkmcnt` and barrier.
     */
    template <ducks::base_ops::binary op, bool for_all = true, ducks::rv::all RV, ducks::sv::all SV>
    static __device__ inline void all_reduce(RV &values, SV &scratch) {
        constexpr bool in_float = is_same<typename SV::dtype, float>;
        static_assert(in_float, "all_reduce: the scratch is of floats");
        constexpr bool large_enough = SV::length >= N * RV::length;
        static_assert(large_enough, "all_reduce: the scratch has N elements for each of the vector's");
        using packed = numbers<typename RV::dtype>;
        const int lane = laneid(), wave = warpid() % N;
        const bool stores =
            RV::is_naive || (RV::is_align ? RV::distribution::minor_index(lane) == 0 : lane < RV::distribution::minor);
        {
            const program_order order;
            for_each_element<RV>(lane, [&](int at, int i, int k, int e) {
                if (stores && at < RV::length) scratch[place<RV>(at, wave)] = packed::of(values.data[i][k]).n[e];
            });
        }
        wait_lgkmcnt();
        barrier();
        if (!for_all && wave != 0) return;
        const program_order order;
        packed made;
        for_each_element<RV>(lane, [&](int at, int i, int k, int e) {
            if (at < RV::length) {
                made.n[e] = scratch[place<RV>(at, 0)];
#pragma unroll
                for (int other = 1; other < N; other++)
                    made.n[e] = op::template op<float>(made.n[e], scratch[place<RV>(at, other)]);
            }
            if (e + 1 == packed::count) values.data[i][k] = made.packed();
        });
    }

    /**
     * @brief op over the values of this thread and those before it in the group, in the order of the threads.
     *
     * All waves of the work-group call it; `scratch` as in `all_reduce`, with at least N elements.
     */
    template <ducks::base_ops::binary op, ducks::sv::all SV>
    static __device__ inline float scan(float value, SV &scratch) {
        constexpr bool large_enough = is_same<typename SV::dtype, float> && SV::length >= N;
        static_assert(large_enough, "scan: the scratch has N floats");
        const int wave = warpid() % N;
        value = scan_lanes<op>(value);
        {
            const program_order order;
            if (laneid() == WARP_THREADS - 1) scratch[wave] = value;
        }
        wait_lgkmcnt();
        barrier();
        const program_order order;
        for (int other = wave - 1; other >= 0; other--) value = op::template op<float>(scratch[other], value);
        return value;
    }

  private:
    /**
     * @brief Position in the scratch of element `at` of a wave.
     *
     * For a short vector, an element's N values are contiguous, so that a lane reads them at once. A vector as long as
     * a wave is contiguous, and elements at the same place of the lanes' runs are adjacent, so that there are no bank
     * conflicts.
     */
    template <ducks::rv::all RV>
    static __device__ inline int place(int at, int wave) {
        if constexpr (RV::length < WARP_THREADS) {
            return at * N + wave;
        } else {
            constexpr int run = RV::length % vector_run<RV> == 0 ? vector_run<RV> : 1;
            return wave * RV::length + at % run * (RV::length / run) + at / run;
        }
    }

    /** Calls f(index, i, k, e) for each element of a vector that a lane holds. */
    template <ducks::rv::all RV, typename F>
    static __device__ inline void for_each_element(int lane, F f) {
        constexpr int count = base_types::packing<typename RV::dtype>::num();
#pragma unroll
        for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
            for (int k = 0; k < RV::inner_dim; k++)
#pragma unroll
                for (int e = 0; e < count; e++) f(RV::index(i, lane, k * count + e), i, k, e);
    }
};

} // namespace kittens::detail
