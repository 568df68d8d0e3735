/**
 * @file
 * @brief 8-wave ping-pong: of two waves on a SIMD, one computes while the other accesses memory.
 *
 * The schedule of HipKittens (arXiv 2511.08083). A work-group of eight waves has two on each of the four SIMDs, waves w
 * and w + 4. All of them run the same program, a sequence of turns; a turn is a memory cluster and a compute cluster
 * with a barrier after each. The upper four waves start one barrier later, so the two waves of a SIMD are always in
 * different clusters:
 *
 *     lower waves   memory 0 | compute 0 | memory 1  | compute 1 | ...
 *     upper waves            | memory 0  | compute 0 | memory 1  | ...
 *
 * No wave is only a producer, so registers are divided evenly and all waves feed the matrix cores.
 *
 * Consequences for shared memory in the clusters of turn t:
 *  - A wave's reads of turn t have arrived when its compute cluster t begins: the schedule waits for them there, once
 *    for all, after the barrier that the other wave of the SIMD needs. Compute clusters do not access shared memory.
 *  - Memory that any wave reads in turn t may be overwritten from memory cluster t + 2 on, not earlier: the upper waves
 *    still read when the lower ones have finished.
 *  - For loads that all waves see in memory cluster t, each wave must wait (`wait_vmcnt`) in its memory cluster t - 1,
 *    or in `load` for the first turn.
 */
#pragma once

#include "sequence.cuh"

namespace kittens::schedules {

/**
 * @tparam NUM_WARPS waves of the work-group: two for each SIMD.
 */
template <int NUM_WARPS = 8>
struct ping_pong {
    static_assert(NUM_WARPS == 8, "ping_pong: the work-group has 8 waves, two on each SIMD");

    /** 0 for the leading waves, 1 for those that are one cluster behind. */
    static __device__ inline int half() { return warpid() / (NUM_WARPS / 2); }

    /**
     * @brief The whole kernel.
     *
     * @param load turn -1: starts the first loads, and waits for this wave's part of the first memory cluster's data.
     * @param work calls `turns`.
     * @param store stores the results; the waves are no longer synchronized there.
     */
    template <typename Load, typename Work, typename Store>
    static __device__ inline void run(Load &&load, Work &&work, Store &&store) {
        load();
        wait_lgkmcnt<0>();
        barrier();
        pin();
        if (half() == 1) barrier();
        work();
        // All waves pass the same number of barriers.
        if (half() == 0) barrier();
        store();
    }

    /**
     * @brief Turns `first` to `end` - 1: `memory(index<turn>)` and `compute(index<turn>)` for each.
     *
     * Memory clusters read shared memory into registers, start loads into shared memory and wait for earlier ones.
     * Compute clusters have the SIMD's matrix cores to themselves, and priority over the other wave's memory cluster.
     */
    template <int first, int end, typename Memory, typename Compute>
    static __device__ inline void turns(Memory &&memory, Compute &&compute) {
        for_each_index<first, end>([&](auto turn) {
            memory(turn);
            pin();
            barrier();
            pin();
            __builtin_amdgcn_s_setprio(1);
            wait_lgkmcnt<0>();
            pin();
            compute(turn);
            __builtin_amdgcn_s_setprio(0);
            pin();
            barrier();
            pin();
        });
    }
};

} // namespace kittens::schedules
