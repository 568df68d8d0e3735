// Cooperative groups: the threads of a block, of a grid, of a tile of a wave, or those that are active, as objects
// that synchronise and exchange values.
//
// Whatever lies within a wave is a set of its 64 lanes; a thread's rank is the number of the group's lanes below its
// own. A grid's barrier needs all of its work-groups at once, which hipLaunchCooperativeKernel promises.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_COOPERATIVE_GROUP_H
#define HIP_INCLUDE_HIP_HIP_COOPERATIVE_GROUP_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COOPERATIVE_GROUPS_H

#include "hip/device/push_names.h"

#include "hip/hip_runtime.h"

namespace cooperative_groups {

namespace impl {

// Target of the hidden argument multigrid_sync_arg, null in a launch that is not cooperative: ROCm's device libraries
// define the layout (ockl/src/cg.cl), and the runtime gives each launch one without any arrivals.
struct launch_state_t {
    unsigned *grid_arrivals;
    unsigned grid, grids;
    unsigned long long threads_before, all_threads;
    unsigned arrivals, unused;
    unsigned blocks;
};
__device__ inline launch_state_t *launch_state() {
    // LLVM AMDGPUUsage, "Code Object V5 Kernel Argument Metadata": byte 88 of the hidden arguments.
    using pointer = launch_state_t *;
    return ((const __attribute__((address_space(4))) pointer *)__builtin_amdgcn_implicitarg_ptr())[11];
}

__device__ inline unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ inline unsigned rank_in_block() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ inline unsigned long long first_lanes(unsigned count) { return __hip_low_bits(count); }
__device__ inline unsigned lane_of_rank(unsigned long long lanes, unsigned rank) { return __hip_nth_bit(lanes, rank); }

// The bits of the group's lanes, moved together: bit i is that of rank i.
__device__ inline unsigned long long by_rank(unsigned long long bits, unsigned long long lanes) {
    unsigned long long result = 0;
    for (unsigned rank = 0; lanes != 0; ++rank, lanes &= lanes - 1) {
        if (bits & lanes & -lanes) result |= 1ull << rank;
    }
    return result;
}

template <typename T>
constexpr bool movable = std::is_trivially_copyable<T>::value && sizeof(T) <= 32;

template <typename Group>
__device__ inline unsigned long long lanes_of(const Group &group) {
    return group.lanes_;
}

} // namespace impl

class coalesced_group;

// Any group; its kind is determined at run time.
class thread_group {
  public:
    __device__ unsigned num_threads() const {
        return lanes_ == 0 ? impl::threads_of_block() : static_cast<unsigned>(__popcll(lanes_));
    }
    __device__ unsigned size() const { return num_threads(); }
    __device__ unsigned thread_rank() const {
        return lanes_ == 0 ? impl::rank_in_block() : static_cast<unsigned>(__popcll(lanes_ & __lanemask_lt()));
    }
    __device__ bool is_valid() const { return true; }
    __device__ void sync() const {
        if (lanes_ == 0)
            __syncthreads();
        else
            __syncwarp();
    }

  protected:
    // No lanes: the whole block.
    __device__ explicit thread_group(unsigned long long lanes = 0, unsigned meta_rank = 0, unsigned meta_size = 1)
        : lanes_(lanes), meta_rank_(meta_rank), meta_size_(meta_size) {}

    friend __device__ thread_group tiled_partition(const thread_group &, unsigned);
    friend __device__ coalesced_group tiled_partition(const coalesced_group &, unsigned);
    template <typename Group>
    friend __device__ unsigned long long impl::lanes_of(const Group &);

    unsigned long long lanes_;
    unsigned meta_rank_, meta_size_;
};

class thread_block : public thread_group {
  public:
    // Result of barrier_arrive, and argument of barrier_wait.
    class arrival_token {};

    __device__ thread_block() {}
    __device__ static void sync() { __syncthreads(); }
    __device__ static dim3 group_index() { return blockIdx; }
    __device__ static dim3 thread_index() { return threadIdx; }
    __device__ static dim3 group_dim() { return blockDim; }
    __device__ static dim3 dim_threads() { return blockDim; }
    __device__ static unsigned num_threads() { return impl::threads_of_block(); }
    __device__ static unsigned size() { return num_threads(); }
    __device__ static unsigned thread_rank() { return impl::rank_in_block(); }
    __device__ static bool is_valid() { return true; }
    // A barrier in two steps. The target has no instruction for the first, which only publishes earlier writes.
    __device__ arrival_token barrier_arrive() const {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        return {};
    }
    __device__ void barrier_wait(arrival_token &&) const {
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
};

class grid_group {
  public:
    class arrival_token {
        friend class grid_group;
        unsigned before;
    };

    __device__ static dim3 group_dim() { return gridDim; }
    __device__ static dim3 grid_dim() { return gridDim; }
    __device__ static dim3 dim_blocks() { return gridDim; }
    __device__ static dim3 block_index() { return blockIdx; }
    __device__ static unsigned num_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
    __device__ static unsigned block_rank() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
    // 32 bits, as ROCm counts threads.
    __device__ static unsigned num_threads() { return num_blocks() * impl::threads_of_block(); }
    __device__ static unsigned size() { return num_threads(); }
    __device__ static unsigned thread_rank() { return block_rank() * impl::threads_of_block() + impl::rank_in_block(); }
    // True if the launch was cooperative.
    __device__ static bool is_valid() { return impl::launch_state() != nullptr; }
    // In a launch that was not cooperative this is a fault: there is nothing at the counter's address.
    __device__ void sync() const { barrier_wait(barrier_arrive()); }
    // Arrivals add up to half the counter's period, so its top bit changes with the last one.
    __device__ arrival_token barrier_arrive() const {
        arrival_token token;
        token.before = 0;
        __syncthreads();
        if (impl::rank_in_block() == 0) {
            const unsigned mine = block_rank() == 0 ? half - (num_blocks() - 1) : 1;
            token.before = __hip_atomic_fetch_add(&impl::launch_state()->arrivals, mine, __ATOMIC_ACQ_REL,
                                                  __HIP_MEMORY_SCOPE_AGENT);
        }
        return token;
    }
    __device__ void barrier_wait(arrival_token &&token) const {
        // A sanitized launch continues after the fault in barrier_arrive, and its wait would never end.
        if (impl::rank_in_block() == 0 && is_valid()) {
            while (((token.before ^
                     __hip_atomic_load(&impl::launch_state()->arrivals, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) &
                    half) == 0)
                __builtin_amdgcn_s_sleep(1);
        }
        __syncthreads();
    }

  private:
    static constexpr unsigned half = 0x80000000u;
};

// The grids of one launch on several devices. A launch on one device is none: is_valid() is false then, and the rest is
// a fault where the launch was not cooperative either.
class multi_grid_group {
  public:
    __device__ static bool is_valid() { return impl::launch_state() != nullptr && num_grids() > 0; }
    __device__ static unsigned num_grids() { return impl::launch_state()->grids; }
    __device__ static unsigned grid_rank() { return impl::launch_state()->grid; }
    __device__ static unsigned num_threads() { return static_cast<unsigned>(impl::launch_state()->all_threads); }
    __device__ static unsigned size() { return num_threads(); }
    __device__ static unsigned thread_rank() {
        return static_cast<unsigned>(impl::launch_state()->threads_before) + grid_group::thread_rank();
    }
    __device__ void sync() const {
        const grid_group grid;
        grid.sync();
        if (grid_group::thread_rank() == 0 && num_grids() > 1) {
            // The last grid to arrive counts on in the upper bits.
            unsigned *arrivals = impl::launch_state()->grid_arrivals;
            const unsigned before = __hip_atomic_fetch_add(arrivals, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
            if ((before & 0xff) == num_grids() - 1)
                __hip_atomic_fetch_add(arrivals, 0x100 - num_grids(), __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
            else
                while ((__hip_atomic_load(arrivals, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) & ~0xffu) ==
                       (before & ~0xffu))
                    __builtin_amdgcn_s_sleep(2);
        }
        grid.sync();
    }
};

// Some lanes of a wave: those that were active, or a part of them.
class coalesced_group : public thread_group {
  public:
    __device__ unsigned num_threads() const { return static_cast<unsigned>(__popcll(lanes_)); }
    __device__ unsigned size() const { return num_threads(); }
    __device__ unsigned thread_rank() const { return static_cast<unsigned>(__popcll(lanes_ & __lanemask_lt())); }
    __device__ void sync() const { __syncwarp(); }
    __device__ unsigned meta_group_rank() const { return meta_rank_; }
    __device__ unsigned meta_group_size() const { return meta_size_; }

    // From the thread with a rank, modulo the size.
    template <typename T>
    __device__ T shfl(T value, int source) const {
        return __shfl(value, static_cast<int>(impl::lane_of_rank(lanes_, static_cast<unsigned>(source) % size())));
    }
    // From `delta` ranks further up or down; without such a rank, the thread's own value.
    template <typename T>
    __device__ T shfl_down(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        const unsigned from = delta < size() - rank ? rank + delta : rank;
        return __shfl(value, static_cast<int>(impl::lane_of_rank(lanes_, from)));
    }
    template <typename T>
    __device__ T shfl_up(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        const unsigned from = delta <= rank ? rank - delta : rank;
        return __shfl(value, static_cast<int>(impl::lane_of_rank(lanes_, from)));
    }
#if !defined(HIP_DISABLE_WARP_SYNC_BUILTINS)
    // Bit i of a vote is that of rank i. As ROCm has them, votes trap where other lanes than the group's take part.
    __device__ unsigned long long ballot(int predicate) const {
        return impl::by_rank(__ballot_sync(lanes_, predicate), lanes_);
    }
    __device__ int any(int predicate) const { return __any_sync(lanes_, predicate); }
    __device__ int all(int predicate) const { return __all_sync(lanes_, predicate); }
    template <typename T>
    __device__ unsigned long long match_any(T value) const {
        return impl::by_rank(__match_any_sync(lanes_, value), lanes_);
    }
    template <typename T>
    __device__ unsigned long long match_all(T value, int &predicate) const {
        return impl::by_rank(__match_all_sync(lanes_, value, &predicate), lanes_);
    }
#endif

  private:
    __device__ explicit coalesced_group(unsigned long long lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
        : thread_group(lanes, meta_rank, meta_size) {}

    friend __device__ coalesced_group coalesced_threads();
    friend __device__ coalesced_group tiled_partition(const coalesced_group &, unsigned);
    friend __device__ coalesced_group binary_partition(const coalesced_group &, bool);
    template <typename Label, __hip_if<std::is_integral<Label>::value>>
    friend __device__ coalesced_group labeled_partition(const coalesced_group &, Label);
    template <unsigned Size, typename Parent>
    friend class thread_block_tile;
};

__device__ inline coalesced_group coalesced_threads() { return coalesced_group(__hip_active_lanes()); }

// `Size` neighbouring threads of a block, which lie within one wave. `Parent` is the group that was divided, or void.
template <unsigned Size, typename Parent = void>
class thread_block_tile : public thread_group {
    static_assert(Size != 0 && Size <= 64 && (Size & (Size - 1)) == 0,
                  "a tile has a power of two of threads, at most the 64 of a wave");

  public:
    // As in HIP, a tile may lose the type of its parent group.
    template <typename Other, typename Own = Parent, __hip_if<std::is_void<Own>::value> = 0>
    __device__ thread_block_tile(const thread_block_tile<Size, Other> &other) : thread_group(other) {}

    __device__ static constexpr unsigned num_threads() { return Size; }
    __device__ static constexpr unsigned size() { return Size; }
    __device__ static unsigned thread_rank() { return __lane_id() & (Size - 1); }
    __device__ void sync() const { __syncwarp(); }
    __device__ unsigned meta_group_rank() const { return meta_rank_; }
    __device__ unsigned meta_group_size() const { return meta_size_; }

    template <typename T>
    __device__ T shfl(T value, int source) const {
        return __shfl(value, source, Size);
    }
    template <typename T>
    __device__ T shfl_down(T value, unsigned delta) const {
        return __shfl_down(value, delta, Size);
    }
    template <typename T>
    __device__ T shfl_up(T value, unsigned delta) const {
        return __shfl_up(value, delta, Size);
    }
    template <typename T>
    __device__ T shfl_xor(T value, unsigned mask) const {
        return __shfl_xor(value, static_cast<int>(mask), Size);
    }
#if !defined(HIP_DISABLE_WARP_SYNC_BUILTINS)
    // These trap, as ROCm has them, where not all threads of the tile take part.
    __device__ unsigned long long ballot(int predicate) const { return own(__ballot_sync(lanes_, predicate)); }
    __device__ int any(int predicate) const { return __any_sync(lanes_, predicate); }
    __device__ int all(int predicate) const { return __all_sync(lanes_, predicate); }
    template <typename T>
    __device__ unsigned long long match_any(T value) const {
        return own(__match_any_sync(lanes_, value));
    }
    template <typename T>
    __device__ unsigned long long match_all(T value, int &predicate) const {
        return own(__match_all_sync(lanes_, value, &predicate));
    }
#endif

  private:
    __device__ static unsigned first_lane() { return __lane_id() & ~(Size - 1); }
    __device__ static unsigned long long own(unsigned long long lanes) {
        return lanes >> first_lane() & impl::first_lanes(Size);
    }
    __device__ thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : thread_group(impl::first_lanes(Size) << first_lane(), meta_rank, meta_size) {}
    __device__ operator coalesced_group() const { return coalesced_group(lanes_, meta_rank_, meta_size_); }

    template <unsigned N>
    friend __device__ thread_block_tile<N, thread_block> tiled_partition(const thread_block &);
    template <unsigned N, unsigned M, typename G>
    friend __device__ thread_block_tile<N, thread_block_tile<M, G>> tiled_partition(const thread_block_tile<M, G> &);
    template <unsigned M, typename G>
    friend __device__ coalesced_group binary_partition(const thread_block_tile<M, G> &, bool);
    template <unsigned M, typename G, typename Label>
    friend __device__ coalesced_group labeled_partition(const thread_block_tile<M, G> &, Label);
    template <unsigned M, typename G>
    friend class thread_block_tile;
};

__device__ inline thread_block this_thread_block() { return {}; }
__device__ inline grid_group this_grid() { return {}; }
__device__ inline multi_grid_group this_multi_grid() { return {}; }

template <unsigned N>
__device__ inline thread_block_tile<N, thread_block> tiled_partition(const thread_block &) {
    return {impl::rank_in_block() / N, (impl::threads_of_block() + N - 1) / N};
}
template <unsigned N, unsigned M, typename G>
__device__ inline thread_block_tile<N, thread_block_tile<M, G>> tiled_partition(const thread_block_tile<M, G> &) {
    static_assert(N <= M, "a part of a tile is no larger than the tile");
    return {(__lane_id() & (M - 1)) / N, M / N};
}
// Neighbouring ranks of a group; the last part may have fewer. The size is a power of two up to 64.
__device__ inline thread_group tiled_partition(const thread_group &parent, unsigned size) {
    if (size == 0 || size > 64 || (size & (size - 1)) != 0)
        __assert_fail("tiled_partition: the size is a power of two, at most 64", "hip/hip_cooperative_groups.h", 0,
                      "tiled_partition");
    const unsigned count = parent.size(), part = parent.thread_rank() / size, begin = part * size;
    const unsigned threads = count - begin < size ? count - begin : size;
    const unsigned first = parent.lanes_ == 0 ? begin & 63 : 0;
    unsigned long long lanes = impl::first_lanes(threads) << first;
    if (parent.lanes_ != 0) {
        unsigned long long left = parent.lanes_;
        for (unsigned i = 0; i < begin; ++i) left &= left - 1;
        unsigned long long rest = left;
        for (unsigned i = 0; i < threads; ++i) rest &= rest - 1;
        lanes = left & ~rest;
    }
    return thread_group(lanes, part, (count + size - 1) / size);
}
__device__ inline coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
    const thread_group part = tiled_partition(static_cast<const thread_group &>(parent), size);
    return coalesced_group(part.lanes_, part.meta_rank_, part.meta_size_);
}

#if !defined(HIP_DISABLE_WARP_SYNC_BUILTINS)
// The threads for which the predicate has the same value; those where it holds are number 1.
__device__ inline coalesced_group binary_partition(const coalesced_group &group, bool predicate) {
    const unsigned long long yes = __ballot_sync(group.lanes_, predicate);
    return coalesced_group(predicate ? yes : group.lanes_ & ~yes, predicate, 2);
}
template <unsigned M, typename G>
__device__ inline coalesced_group binary_partition(const thread_block_tile<M, G> &group, bool predicate) {
    return binary_partition(static_cast<coalesced_group>(group), predicate);
}

// The threads with the same label, an integer; the parts are numbered by their first thread.
template <typename Label, __hip_if<std::is_integral<Label>::value> = 0>
__device__ inline coalesced_group labeled_partition(const coalesced_group &group, Label label) {
    unsigned long long left = group.lanes_, own = 0;
    unsigned number = 0, parts = 0;
    for (__hip_check_mask(left); left != 0; ++parts) {
        const Label first = __hip_from_lane(label, __builtin_ctzll(left));
        const unsigned long long same = __ballot(first == label) & left;
        if (same >> __lane_id() & 1) own = same, number = parts;
        left &= ~same;
    }
    return coalesced_group(own, number, parts);
}
template <unsigned M, typename G, typename Label>
__device__ inline coalesced_group labeled_partition(const thread_block_tile<M, G> &group, Label label) {
    return labeled_partition(static_cast<coalesced_group>(group), label);
}
#endif

template <typename Group>
__device__ inline void sync(const Group &group) {
    group.sync();
}
template <typename Group>
__device__ inline auto thread_rank(const Group &group) -> decltype(group.thread_rank()) {
    return group.thread_rank();
}
template <typename Group>
__device__ inline auto group_size(const Group &group) -> decltype(group.size()) {
    return group.size();
}
template <typename Group>
__device__ inline bool is_valid(const Group &group) {
    return group.is_valid();
}

// Operations of `reduce` and the scans: less and greater give the smaller and the larger.
#define __HIP_GROUP_OPERATION(name, result)                                                                            \
    template <typename T>                                                                                              \
    struct name {                                                                                                      \
        __device__ T operator()(const T &a, const T &b) const { return result; }                                       \
    };
__HIP_GROUP_OPERATION(plus, a + b)
__HIP_GROUP_OPERATION(less, a < b ? a : b)
__HIP_GROUP_OPERATION(greater, a < b ? b : a)
__HIP_GROUP_OPERATION(bit_and, a &b)
__HIP_GROUP_OPERATION(bit_or, a | b)
__HIP_GROUP_OPERATION(bit_xor, a ^ b)
#undef __HIP_GROUP_OPERATION

} // namespace cooperative_groups

// This header alone includes parts that ROCm 7 and CUDA have in others.
#include "hip/cooperative_groups/hip_reduce.h"
#include "hip/cooperative_groups/hip_scan.h"
#include "hip/cooperative_groups/memcpy_async.h"

#include "hip/device/pop_names.h"

#endif
