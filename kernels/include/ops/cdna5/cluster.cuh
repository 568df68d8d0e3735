/**
 * @file
 * @brief Work-groups of a cluster, which run at once and share loads and a barrier.
 */
#pragma once

#include "sync.cuh"

#if defined(KITTENS_CDNA5)
namespace kittens::cluster {

/**
 * @brief The mask of `load_async` and `load_tdm`: bit i of `groups` delivers the data to work-group i of the cluster.
 *
 * @param early_timeout the load returns to the waves that have joined by then; others load again.
 */
__host__ __device__ constexpr uint32_t mask(uint16_t groups, bool early_timeout = false) {
    return groups | static_cast<uint32_t>(early_timeout) << 16;
}

/** Arrives at the cluster's barrier for this work-group: one of its waves calls it. */
__device__ inline void arrive() {
    const kittens::detail::program_order order;
    __builtin_amdgcn_s_barrier_signal(-3);
}
/** Waits until every work-group of the cluster has arrived. */
__device__ inline void wait() {
    const kittens::detail::program_order order;
    __builtin_amdgcn_s_barrier_wait(-3);
}
/** Waits until every wave of every work-group of the cluster is here; of one that is in no cluster, its own waves. */
__device__ inline void sync() {
    const kittens::detail::program_order order;
    __builtin_amdgcn_s_cluster_barrier();
}

} // namespace kittens::cluster

#endif
