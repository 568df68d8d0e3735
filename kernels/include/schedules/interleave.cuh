/**
 * @file
 * @brief 4-wave interleave: one wave per SIMD, with finely mixed memory and matrix instructions.
 *
 * The schedule of HipKittens (arXiv 2511.08083) for kernels in which one wave needs all 512 registers of its lanes:
 * alone on its SIMD, a wave hides its memory instructions behind its own matrix instructions. Each of these takes many
 * cycles on the matrix core, during which the wave issues other instructions.
 *
 * The program determines the order: `mix` spreads the memory steps over the compute steps and pins their order, since
 * the compiler would otherwise gather the loads at the beginning. (`sched_group_barrier` would do the same for
 * instructions that the compiler knows, but not for loads to shared memory in inline assembly.)
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
     * @brief Calls `compute(index<i>)` for 0 <= i < computes and `memory(index<j>)` for 0 <= j < memories, each in this
     * order, with the memory steps spread evenly over the first `span` compute steps, each before one of these.
     *
     * With a span shorter than `computes`, the last compute steps hide the latency of the memory steps.
     */
    template <int computes, int memories, int span = computes, typename Compute, typename Memory>
    static __device__ inline void mix(Compute &&compute, Memory &&memory) {
        static_assert(computes > 0 && memories >= 0, "interleave: nothing to compute");
        static_assert(span > 0 && span <= computes, "interleave: memory steps come between compute steps");
        for_each_index<0, computes>([&](auto i) {
            constexpr int step = decltype(i)::v;
            // Number of memory steps that begin in this compute step's share of the time.
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
     * @brief Ends a stage: waits for this wave's reads from shared memory and for all but its last `in_flight` loads to
     * shared memory, and for every wave to do the same.
     *
     * Afterwards, data that the stage read may be overwritten, and data that has arrived is visible to all waves.
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
