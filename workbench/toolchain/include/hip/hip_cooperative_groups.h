// Cooperative groups: the threads of a block, of a grid, of a tile of a wave, or those that are active, as objects
// that synchronise and exchange values.
//
// Whatever lies within a wave is a set of its 64 lanes; a thread's rank is the number of the group's lanes below its
// own. A grid's barrier needs all of its work-groups at once, which hipLaunchCooperativeKernel promises.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_runtime.h"

// Half a period of this counter is one barrier. Whoever loads the code object begins each launch with zero.
extern "C" {
inline __device__ unsigned hipkittens_grid_barrier = 0;
}

namespace cooperative_groups {

namespace impl {

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

} // namespace impl

class coalesced_group;

// Any group, its kind found at run time.
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

    unsigned long long lanes_;
    unsigned meta_rank_, meta_size_;
};

class thread_block : public thread_group {
  public:
    // What barrier_arrive gives and barrier_wait takes.
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
    // A barrier in two steps. The target has no instruction for the first, which only publishes what was written.
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
    __device__ static unsigned long long num_threads() { return 1ull * num_blocks() * impl::threads_of_block(); }
    __device__ static unsigned long long size() { return num_threads(); }
    __device__ static unsigned long long thread_rank() {
        return 1ull * block_rank() * impl::threads_of_block() + impl::rank_in_block();
    }
    __device__ static bool is_valid() { return true; }
    __device__ void sync() const { barrier_wait(barrier_arrive()); }
    // Arrivals add up to half the counter's period, so its top bit changes with the last one.
    __device__ arrival_token barrier_arrive() const {
        arrival_token token;
        token.before = 0;
        __syncthreads();
        if (impl::rank_in_block() == 0) {
            const unsigned mine = block_rank() == 0 ? half - (num_blocks() - 1) : 1;
            token.before =
                __hip_atomic_fetch_add(&hipkittens_grid_barrier, mine, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        }
        return token;
    }
    __device__ void barrier_wait(arrival_token &&token) const {
        if (impl::rank_in_block() == 0) {
            while (((token.before ^
                     __hip_atomic_load(&hipkittens_grid_barrier, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) &
                    half) == 0)
                __builtin_amdgcn_s_sleep(1);
        }
        __syncthreads();
    }

  private:
    static constexpr unsigned half = 0x80000000u;
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

    // From the thread of a rank, which counts modulo the size.
    template <typename T, __hip_if<impl::movable<T>> = 0>
    __device__ T shfl(T value, int source) const {
        return __hip_from_lane(value, impl::lane_of_rank(lanes_, static_cast<unsigned>(source) % size()));
    }
    // From `delta` ranks further up or down; where there is none, its own value.
    template <typename T, __hip_if<impl::movable<T>> = 0>
    __device__ T shfl_down(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return __hip_from_lane(value, impl::lane_of_rank(lanes_, delta < size() - rank ? rank + delta : rank));
    }
    template <typename T, __hip_if<impl::movable<T>> = 0>
    __device__ T shfl_up(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return __hip_from_lane(value, impl::lane_of_rank(lanes_, delta <= rank ? rank - delta : rank));
    }
    // Bit i of a vote is that of rank i.
    __device__ unsigned long long ballot(int predicate) const {
        return impl::by_rank(__ballot(predicate) & lanes_, lanes_);
    }
    __device__ int any(int predicate) const { return (__ballot(predicate) & lanes_) != 0; }
    __device__ int all(int predicate) const { return (__ballot(predicate) & lanes_) == lanes_; }
    template <typename T>
    __device__ unsigned long long match_any(T value) const {
        return impl::by_rank(__match_any(value) & lanes_, lanes_);
    }
    template <typename T>
    __device__ unsigned long long match_all(T value, int &predicate) const {
        const T first = shfl(value, 0);
        predicate = all(__hip_same_bits(first, value));
        return predicate ? impl::first_lanes(size()) : 0;
    }

  private:
    __device__ explicit coalesced_group(unsigned long long lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
        : thread_group(lanes, meta_rank, meta_size) {}

    friend __device__ coalesced_group coalesced_threads();
    friend __device__ coalesced_group tiled_partition(const coalesced_group &, unsigned);
    friend __device__ coalesced_group binary_partition(const coalesced_group &, bool);
    template <unsigned Size, typename Parent>
    friend class thread_block_tile;
};

__device__ inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// `Size` neighbouring threads of a block, which lie within one wave. `Parent` is the group that was divided, or void.
template <unsigned Size, typename Parent = void>
class thread_block_tile : public thread_group {
    static_assert(Size != 0 && Size <= 64 && (Size & (Size - 1)) == 0,
                  "a tile has a power of two of threads, at most the 64 of a wave");

  public:
    // As HIP: the parent group of a tile may be forgotten.
    template <typename Other, typename Own = Parent, __hip_if<std::is_void<Own>::value> = 0>
    __device__ thread_block_tile(const thread_block_tile<Size, Other> &other) : thread_group(other) {}

    __device__ static constexpr unsigned num_threads() { return Size; }
    __device__ static constexpr unsigned size() { return Size; }
    __device__ static unsigned thread_rank() { return __lane_id() & (Size - 1); }
    __device__ void sync() const { __syncwarp(); }
    __device__ unsigned meta_group_rank() const { return meta_rank_; }
    __device__ unsigned meta_group_size() const { return meta_size_; }

    template <typename T, __hip_if<impl::movable<T>> = 0>
    __device__ T shfl(T value, int source) const {
        return __shfl(value, source, Size);
    }
    template <typename T, __hip_if<impl::movable<T>> = 0>
    __device__ T shfl_down(T value, unsigned delta) const {
        return __shfl_down(value, delta, Size);
    }
    template <typename T, __hip_if<impl::movable<T>> = 0>
    __device__ T shfl_up(T value, unsigned delta) const {
        return __shfl_up(value, delta, Size);
    }
    template <typename T, __hip_if<impl::movable<T>> = 0>
    __device__ T shfl_xor(T value, unsigned mask) const {
        return __shfl_xor(value, static_cast<int>(mask), Size);
    }
    __device__ unsigned long long ballot(int predicate) const { return own(__ballot(predicate)); }
    __device__ int any(int predicate) const { return ballot(predicate) != 0; }
    __device__ int all(int predicate) const { return own(__ballot(predicate == 0)) == 0; }
    template <typename T>
    __device__ unsigned long long match_any(T value) const {
        return own(__match_any(value));
    }
    template <typename T>
    __device__ unsigned long long match_all(T value, int &predicate) const {
        const T first = shfl(value, 0);
        predicate = all(__hip_same_bits(first, value));
        return predicate ? impl::first_lanes(Size) : 0;
    }

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
    template <unsigned M, typename G>
    friend class thread_block_tile;
};

__device__ inline thread_block this_thread_block() { return {}; }
__device__ inline grid_group this_grid() { return {}; }

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

// The threads for which the predicate has the same value; those where it holds are number 1.
__device__ inline coalesced_group binary_partition(const coalesced_group &group, bool predicate) {
    const unsigned long long yes = __ballot(predicate) & group.lanes_;
    return coalesced_group(predicate ? yes : group.lanes_ & ~yes, predicate, 2);
}
template <unsigned M, typename G>
__device__ inline coalesced_group binary_partition(const thread_block_tile<M, G> &group, bool predicate) {
    return binary_partition(static_cast<coalesced_group>(group), predicate);
}

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

// What `reduce` and the scans combine with: less and greater give the smaller and the larger.
#define __HIP_GROUP_OPERATION(name, result)                                                                            \
    template <typename T = void>                                                                                       \
    struct name {                                                                                                      \
        __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return result; }                    \
    };                                                                                                                 \
    template <>                                                                                                        \
    struct name<void> {                                                                                                \
        template <typename T>                                                                                          \
        __host__ __device__ constexpr T operator()(const T &a, const T &b) const {                                     \
            return result;                                                                                             \
        }                                                                                                              \
    };
__HIP_GROUP_OPERATION(plus, static_cast<T>(a + b))
__HIP_GROUP_OPERATION(less, b < a ? b : a)
__HIP_GROUP_OPERATION(greater, a < b ? b : a)
__HIP_GROUP_OPERATION(bit_and, static_cast<T>(a &b))
__HIP_GROUP_OPERATION(bit_or, static_cast<T>(a | b))
__HIP_GROUP_OPERATION(bit_xor, static_cast<T>(a ^ b))
#undef __HIP_GROUP_OPERATION

} // namespace cooperative_groups

#include "hip/device/pop_names.h"
