/**
 * @file
 * @brief 4-wave interleave: one wave per SIMD, with finely mixed memory and matrix instructions.
 *
 * The schedule of HipKittens (arXiv 2511.08083) for kernels in which one wave needs all 512 registers of its lanes:
 * with nobody else on the SIMD, a wave hides its memory instructions behind its own matrix instructions. Each takes
 * many cycles on the matrix core, during which the wave issues what comes next, if that is not another one.
 *
 * The order is the program's: `mix` spreads the memory steps over the compute steps and pins it, since left alone the
 * compiler gathers the loads in front. (`sched_group_barrier` would do the same for instructions that the compiler
 * knows, but not for loads to shared memory in inline assembly.)
 */
#pragma once

#include "sequence.cuh"

namespace kittens::schedules {

/**
 * @tparam NUM_WARPS waves of the work-group: one for each SIMD.
 */
template <int NUM_WARPS = 4>
struct interleave {
    static_assert(NUM_WARPS == 4, "interleave: the work-group has 4 waves, one on each SIMD");

    /**
     * @brief Calls `compute(index<i>)` for 0 <= i < computes and `memory(index<j>)` for 0 <= j < memories, in this
     * order each, the memory steps spread evenly over the first `span` compute steps, each before one.
     *
     * A span shorter than `computes` leaves the last compute steps to hide what the memory steps still wait for.
     */
    template <int computes, int memories, int span = computes, typename Compute, typename Memory>
    static __device__ inline void mix(Compute &&compute, Memory &&memory) {
        static_assert(computes > 0 && memories >= 0, "interleave: nothing to compute");
        static_assert(span > 0 && span <= computes, "interleave: memory steps come between compute steps");
        for_each_index<0, computes>([&](auto i) {
            constexpr int step = decltype(i)::v;
            // The memory steps that begin in this compute step's share of the time.
            constexpr int first = kittens::detail::min((step * memories + span - 1) / span, memories);
            constexpr int end = kittens::detail::min(((step + 1) * memories + span - 1) / span, memories);
            if constexpr (first < end) {
                if constexpr (step > 0) pin();
                for_each_index<first, end>(memory);
                pin();
            }
            compute(i);
        });
    }

    /**
     * @brief The end of a stage: this wave's reads from shared memory have arrived, all but its last `in_flight` loads
     * to shared memory too, and every wave is as far.
     *
     * After it, data that the stage read may be overwritten, and data that has arrived is visible to all waves.
     */
    template <int in_flight>
    static __device__ inline void end_stage() {
        pin();
        wait_lgkmcnt<0>();
        wait_vmcnt<in_flight>();
        barrier();
        pin();
    }
};

} // namespace kittens::schedules
