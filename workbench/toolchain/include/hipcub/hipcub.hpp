// hipCUB's primitives for a wave and for a block, for a clang that comes without ROCm: names and meaning are hipCUB's.
// Algorithms for a whole device (hipcub::DeviceReduce and its like) are declared by name only. Where AMD's own hipCUB
// is installed, which has them, it takes the place of all of this.
//
// Storage may be used again after __syncthreads(), as with hipCUB; a block is of X * Y * Z work-items.
#pragma once

#if __has_include_next(<hipcub/hipcub.hpp>)
#include_next <hipcub/hipcub.hpp>
#else

#include "hip/device/push_names.h"

#include <hip/hip_runtime.h>

#include <type_traits>

#define HIPCUB_WARP_THREADS 64
#define HIPCUB_DEVICE_WARP_THREADS 64

namespace hipcub {

struct NullType {};
#define __HIPCUB_OPERATOR(name, result)                                                                                \
    struct name {                                                                                                      \
        template <typename T>                                                                                          \
        __host__ __device__ T operator()(const T &a, const T &b) const {                                               \
            return result;                                                                                             \
        }                                                                                                              \
    };
__HIPCUB_OPERATOR(Sum, a + b)
__HIPCUB_OPERATOR(Max, a < b ? b : a)
__HIPCUB_OPERATOR(Min, b < a ? b : a)
#undef __HIPCUB_OPERATOR

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
#define __HIPCUB_MOVES(what)                                                                                           \
    BLOCK_##what##_DIRECT, BLOCK_##what##_STRIPED, BLOCK_##what##_VECTORIZE, BLOCK_##what##_TRANSPOSE,                 \
        BLOCK_##what##_WARP_TRANSPOSE, BLOCK_##what##_WARP_TRANSPOSE_TIMESLICED
enum BlockLoadAlgorithm { __HIPCUB_MOVES(LOAD) };
enum BlockStoreAlgorithm { __HIPCUB_MOVES(STORE) };
#undef __HIPCUB_MOVES

namespace detail {

// A parameter whose type another parameter determines.
template <typename T>
struct identity {
    using type = T;
};
template <typename T>
using same = typename identity<T>::type;

// Room for values whose constructors shared memory does not call.
template <typename T, int N>
struct raw {
    alignas(T) unsigned char bytes[N * sizeof(T)];
    __device__ T &operator[](int i) { return reinterpret_cast<T *>(bytes)[i]; }
};

__device__ inline int linear_id() {
    return threadIdx.x + blockDim.x * (threadIdx.y + static_cast<int>(blockDim.y) * threadIdx.z);
}

// A primitive with its shared memory: the caller's, or its own.
template <typename Storage>
class with_storage {
  public:
    struct TempStorage : Storage {};

  protected:
    TempStorage &storage;
    int id;

    __device__ explicit with_storage(TempStorage &storage) : storage(storage), id(linear_id()) {}
    __device__ static TempStorage &own() {
        __shared__ TempStorage mine;
        return mine;
    }
};
#define __HIPCUB_CONSTRUCTORS(name, Base)                                                                              \
    using typename Base::TempStorage;                                                                                  \
    __device__ name() : Base(Base::own()) {}                                                                           \
    __device__ explicit name(TempStorage &storage) : Base(storage) {}

struct no_prefix {};
template <typename T>
struct initial_value {
    T value;
    __device__ T operator()(const T &) const { return value; }
};

template <typename T, typename Op>
__device__ inline T inclusive_in_wave(T value, Op op, int lane, int width) {
    for (int offset = 1; offset < width; offset *= 2) {
        const T other = __hip_shfl_up(value, offset, width);
        if (lane >= offset) value = op(other, value);
    }
    return value;
}
template <typename T, typename Op>
__device__ inline T reduced_in_wave(T value, Op op, int lane, int width, int valid) {
    for (int offset = 1; offset < width; offset *= 2) {
        const T other = __hip_shfl_down(value, offset, width);
        if (lane + offset < valid) value = op(value, other);
    }
    return value;
}

} // namespace detail

// Results are the first lane's.
template <typename T, int Width = HIPCUB_DEVICE_WARP_THREADS, int Arch = 0>
class WarpReduce : public detail::with_storage<NullType> {
    int lane = this->id % Width;

  public:
    __HIPCUB_CONSTRUCTORS(WarpReduce, detail::with_storage<NullType>)

    template <typename Op>
    __device__ T Reduce(T value, Op op, int valid = Width) {
        return detail::reduced_in_wave(value, op, lane, Width, valid);
    }
    __device__ T Sum(T value, int valid = Width) { return Reduce(value, hipcub::Sum(), valid); }
};

template <typename T, int Width = HIPCUB_DEVICE_WARP_THREADS, int Arch = 0>
class WarpScan : public detail::with_storage<NullType> {
    int lane = this->id % Width;

  public:
    __HIPCUB_CONSTRUCTORS(WarpScan, detail::with_storage<NullType>)

    template <typename Op, typename... Total>
    __device__ void InclusiveScan(T in, T &out, Op op, Total &...total) {
        out = detail::inclusive_in_wave(in, op, lane, Width);
        ((total = Broadcast(out, Width - 1)), ...);
    }
    // The first lane's result is not defined.
    template <typename Op, typename... Total, __hip_if<std::is_invocable<Op, T, T>::value> = 0>
    __device__ void ExclusiveScan(T in, T &out, Op op, Total &...total) {
        T inclusive;
        InclusiveScan(in, inclusive, op, total...);
        out = __hip_shfl_up(inclusive, 1, Width);
    }
    template <typename Op, typename... Total, __hip_if<std::is_invocable<Op, T, T>::value> = 0>
    __device__ void ExclusiveScan(T in, T &out, detail::same<T> initial, Op op, Total &...total) {
        ExclusiveScan(in, out, op, total...);
        out = lane == 0 ? initial : op(initial, out);
    }
    template <typename Op>
    __device__ void Scan(T in, T &inclusive, T &exclusive, Op op) {
        InclusiveScan(in, inclusive, op);
        exclusive = __hip_shfl_up(inclusive, 1, Width);
    }
    template <typename... Total>
    __device__ void InclusiveSum(T in, T &out, Total &...total) {
        InclusiveScan(in, out, hipcub::Sum(), total...);
    }
    template <typename... Total>
    __device__ void ExclusiveSum(T in, T &out, Total &...total) {
        ExclusiveScan(in, out, T(0), hipcub::Sum(), total...);
    }
    __device__ T Broadcast(T value, unsigned from) { return __hip_shfl(value, from, Width); }
};

// Results are the first work-item's.
template <typename T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int Arch = 0>
class BlockReduce : public detail::with_storage<detail::raw<T, (X * Y * Z + 63) / 64>> {
    static constexpr int threads = X * Y * Z;
    using Base = detail::with_storage<detail::raw<T, (threads + 63) / 64>>;

  public:
    __HIPCUB_CONSTRUCTORS(BlockReduce, Base)

    template <typename Op>
    __device__ T Reduce(T value, Op op, int valid = threads) {
        const int wave = this->id / 64;
        // The number of items; a work-item may have several.
        valid = valid < threads ? valid : threads;
        value = detail::reduced_in_wave(value, op, this->id % 64, 64, valid - 64 * wave);
        if (this->id % 64 == 0) this->storage[wave] = value;
        __syncthreads();
        if (this->id == 0)
            for (int i = 1; 64 * i < valid; i++) value = op(value, this->storage[i]);
        return value;
    }
    template <int N, typename Op>
    __device__ T Reduce(T (&values)[N], Op op) {
        T value = values[0];
        for (int i = 1; i < N; i++) value = op(value, values[i]);
        return Reduce(value, op);
    }
    __device__ T Sum(T value, int valid = threads) { return Reduce(value, hipcub::Sum(), valid); }
    template <int N>
    __device__ T Sum(T (&values)[N]) {
        return Reduce(values, hipcub::Sum());
    }
};

template <typename T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int Arch = 0>
class BlockScan : public detail::with_storage<detail::raw<T, (X * Y * Z + 63) / 64 + 1>> {
    static constexpr int threads = X * Y * Z, waves = (threads + 63) / 64;
    using Base = detail::with_storage<detail::raw<T, waves + 1>>;

    // `Values` is T or an array of T; the result of `prefix` for the block's total precedes all. Returns the total.
    template <bool inclusive, typename Values, typename Op, typename Prefix>
    __device__ T scan(const Values &in, Values &out, Op op, Prefix &&prefix) {
        constexpr int count = sizeof(Values) / sizeof(T);
        const T *const from = reinterpret_cast<const T *>(&in);
        T *const to = reinterpret_cast<T *>(&out), mine = from[0];
        for (int i = 1; i < count; i++) mine = op(mine, from[i]);
        const int lane = this->id % 64, wave = this->id / 64;
        const T up_to_me = detail::inclusive_in_wave(mine, op, lane, 64);
        if (lane == 63 || this->id == threads - 1) this->storage[wave] = up_to_me;
        __syncthreads();
        T before = __hip_shfl_up(up_to_me, 1, 64), total = this->storage[0];
        for (int i = 1; i < waves; i++) {
            if (i == wave) before = lane == 0 ? total : op(total, before);
            total = op(total, this->storage[i]);
        }
        bool first = this->id == 0;
        if constexpr (!std::is_same_v<__remove_cvref(Prefix), detail::no_prefix>) {
            if (wave == 0) {
                const T value = prefix(total);
                if (first) this->storage[waves] = value;
            }
            __syncthreads();
            before = first ? this->storage[waves] : op(this->storage[waves], before);
            first = false;
        }
        for (int i = 0; i < count; i++) {
            const T up_to_this = first ? from[i] : op(before, from[i]);
            to[i] = inclusive ? up_to_this : before;
            before = up_to_this;
            first = false;
        }
        return total;
    }

    // With nothing more, with a place for the block's total, or with a prefix, a function of that total.
    template <bool inclusive, typename Values, typename Op, typename... More>
    __device__ void scan_with(const Values &in, Values &out, Op op, More &...more) {
        if constexpr (sizeof...(More) == 0)
            scan<inclusive>(in, out, op, detail::no_prefix());
        else if constexpr ((std::is_same_v<More, T> && ...))
            ((more = scan<inclusive>(in, out, op, detail::no_prefix())), ...);
        else
            scan<inclusive>(in, out, op, more...);
    }

  public:
    __HIPCUB_CONSTRUCTORS(BlockScan, Base)

    template <typename Values, typename Op, typename... More>
    __device__ void InclusiveScan(const detail::same<Values> &in, Values &out, Op op, More &...more) {
        scan_with<true>(in, out, op, more...);
    }
    // Without an initial value the first work-item's first result is not defined.
    template <typename Values, typename Op, typename... More, __hip_if<std::is_invocable<Op, T, T>::value> = 0>
    __device__ void ExclusiveScan(const detail::same<Values> &in, Values &out, Op op, More &...more) {
        scan_with<false>(in, out, op, more...);
    }
    template <typename Values, typename Op, typename... Total, __hip_if<std::is_invocable<Op, T, T>::value> = 0>
    __device__ void ExclusiveScan(const detail::same<Values> &in, Values &out, detail::same<T> initial, Op op,
                                  Total &...total) {
        const T sum = scan<false>(in, out, op, detail::initial_value<T>{initial});
        ((total = sum), ...);
    }
    template <typename Values, typename... More>
    __device__ void InclusiveSum(const detail::same<Values> &in, Values &out, More &...more) {
        scan_with<true>(in, out, hipcub::Sum(), more...);
    }
    template <typename Values, typename... More>
    __device__ void ExclusiveSum(const detail::same<Values> &in, Values &out, More &...more) {
        if constexpr ((std::is_same_v<More, T> && ...))
            ExclusiveScan(in, out, T(0), hipcub::Sum(), more...);
        else
            scan_with<false>(in, out, hipcub::Sum(), more...);
    }
};

// Blocked: work-item i has items N * i to N * i + N - 1. Striped: items i, i + threads, i + 2 * threads and so on.
template <typename T, int X, int N, bool TimeSlicing = false, int Y = 1, int Z = 1, int Arch = 0>
class BlockExchange : public detail::with_storage<detail::raw<T, X * Y * Z * N>> {
    static constexpr int threads = X * Y * Z;
    using Base = detail::with_storage<detail::raw<T, threads * N>>;

    template <typename From, typename To>
    __device__ void move(const T (&in)[N], T (&out)[N], From from, To to) {
        for (int i = 0; i < N; i++) this->storage[from(i)] = in[i];
        __syncthreads();
        for (int i = 0; i < N; i++) out[i] = this->storage[to(i)];
    }

  public:
    __HIPCUB_CONSTRUCTORS(BlockExchange, Base)

    __device__ void StripedToBlocked(const T (&in)[N], T (&out)[N]) {
        move(in, out, [&](int i) { return this->id + i * threads; }, [&](int i) { return this->id * N + i; });
    }
    __device__ void BlockedToStriped(const T (&in)[N], T (&out)[N]) {
        move(in, out, [&](int i) { return this->id * N + i; }, [&](int i) { return this->id + i * threads; });
    }
    template <typename Offset>
    __device__ void ScatterToBlocked(const T (&in)[N], T (&out)[N], const Offset (&ranks)[N]) {
        move(in, out, [&](int i) { return ranks[i]; }, [&](int i) { return this->id * N + i; });
    }
    template <typename Offset>
    __device__ void ScatterToStriped(const T (&in)[N], T (&out)[N], const Offset (&ranks)[N]) {
        move(in, out, [&](int i) { return ranks[i]; }, [&](int i) { return this->id + i * threads; });
    }
    __device__ void StripedToBlocked(T (&items)[N]) { StripedToBlocked(items, items); }
    __device__ void BlockedToStriped(T (&items)[N]) { BlockedToStriped(items, items); }
};

// To a blocked arrangement, but for BLOCK_LOAD_STRIPED; the forms that transpose read neighbouring items by
// neighbouring lanes.
template <typename T, int X, int N, BlockLoadAlgorithm how = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int Arch = 0>
class BlockLoad : public BlockExchange<T, X, N, false, Y, Z> {
    static constexpr int threads = X * Y * Z;
    static constexpr bool transposes = how >= BLOCK_LOAD_TRANSPOSE;
    using Base = BlockExchange<T, X, N, false, Y, Z>;

    __device__ int place(int i) const {
        return transposes || how == BLOCK_LOAD_STRIPED ? this->id + i * threads : this->id * N + i;
    }

  public:
    __HIPCUB_CONSTRUCTORS(BlockLoad, Base)

    template <typename Iterator>
    __device__ void Load(Iterator from, T (&items)[N], int valid = threads * N) {
        for (int i = 0; i < N; i++)
            if (place(i) < valid) items[i] = from[place(i)];
        if constexpr (transposes) this->StripedToBlocked(items);
    }
    template <typename Iterator, typename Default>
    __device__ void Load(Iterator from, T (&items)[N], int valid, Default otherwise) {
        for (int i = 0; i < N; i++) items[i] = otherwise;
        Load(from, items, valid);
    }
};

template <typename T, int X, int N, BlockStoreAlgorithm how = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int Arch = 0>
class BlockStore : public BlockExchange<T, X, N, false, Y, Z> {
    static constexpr int threads = X * Y * Z;
    static constexpr bool transposes = how >= BLOCK_STORE_TRANSPOSE;
    using Base = BlockExchange<T, X, N, false, Y, Z>;

  public:
    __HIPCUB_CONSTRUCTORS(BlockStore, Base)

    template <typename Iterator>
    __device__ void Store(Iterator to, T (&items)[N], int valid = threads * N) {
        if constexpr (transposes) this->BlockedToStriped(items);
        for (int i = 0; i < N; i++) {
            const int place = transposes || how == BLOCK_STORE_STRIPED ? this->id + i * threads : this->id * N + i;
            if (place < valid) to[place] = items[i];
        }
    }
};

namespace detail {

// A key as an unsigned number that sorts in the same order.
template <typename Key>
__device__ inline unsigned long long ordered_bits(Key key) {
    constexpr unsigned long long top = 1ull << (8 * sizeof(Key) - 1);
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &key, sizeof(Key));
    if constexpr (std::is_integral_v<Key>) return std::is_signed_v<Key> ? bits ^ top : bits;
    return bits & top ? ~bits : bits | top;
}

template <typename Key, typename Value, int X, int Y, int Z, int N>
struct radix_storage {
    typename BlockScan<unsigned, X, BLOCK_SCAN_RAKING, Y, Z>::TempStorage scan;
    typename BlockExchange<Key, X, N, false, Y, Z>::TempStorage keys;
    typename BlockExchange<Value, X, N, false, Y, Z>::TempStorage values;
    unsigned counts[16 * X * Y * Z];
};

} // namespace detail

// Stable, four bits at a time: the place of a key is the number of those with a smaller digit, and of those with its
// digit before it.
template <typename Key, int X, int N, typename Value = NullType, int RadixBits = 4, bool Memoize = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int SharedConfig = 0, int Y = 1, int Z = 1, int Arch = 0>
class BlockRadixSort : public detail::with_storage<detail::radix_storage<Key, Value, X, Y, Z, N>> {
    static constexpr int threads = X * Y * Z, all_bits = 8 * sizeof(Key);
    using Base = detail::with_storage<detail::radix_storage<Key, Value, X, Y, Z, N>>;

    __device__ void ranks(const Key (&keys)[N], int bit, int bits, bool descending, unsigned (&ranks)[N]) {
        unsigned *const counts = this->storage.counts, mine[16];
        for (int digit = 0; digit < 16; digit++) counts[digit * threads + this->id] = 0;
        unsigned *place[N];
        for (int i = 0; i < N; i++) {
            const unsigned long long ordered = detail::ordered_bits(keys[i]) ^ (descending ? ~0ull : 0);
            const unsigned digit = unsigned(ordered >> bit) & ((1u << bits) - 1);
            place[i] = counts + digit * threads + this->id;
            ranks[i] = (*place[i])++;
        }
        __syncthreads();
        for (int i = 0; i < 16; i++) mine[i] = counts[this->id * 16 + i];
        BlockScan<unsigned, X, BLOCK_SCAN_RAKING, Y, Z>(this->storage.scan).ExclusiveSum(mine, mine);
        __syncthreads();
        for (int i = 0; i < 16; i++) counts[this->id * 16 + i] = mine[i];
        __syncthreads();
        for (int i = 0; i < N; i++) ranks[i] += *place[i];
    }

    template <bool striped, typename T, typename Storage>
    __device__ void scatter(T (&items)[N], const unsigned (&ranks)[N], bool last, Storage &storage) {
        BlockExchange<T, X, N, false, Y, Z> exchange(storage);
        if (striped && last)
            exchange.ScatterToStriped(items, items, ranks);
        else
            exchange.ScatterToBlocked(items, items, ranks);
    }

    template <bool striped>
    __device__ void sort(Key (&keys)[N], Value (&values)[N], int begin, int end, bool descending) {
        for (int bit = begin; bit < end; bit += 4) {
            unsigned places[N];
            ranks(keys, bit, end - bit < 4 ? end - bit : 4, descending, places);
            scatter<striped>(keys, places, bit + 4 >= end, this->storage.keys);
            if constexpr (!std::is_same_v<Value, NullType>)
                scatter<striped>(values, places, bit + 4 >= end, this->storage.values);
            __syncthreads();
        }
    }

  public:
    __HIPCUB_CONSTRUCTORS(BlockRadixSort, Base)

#define __HIPCUB_SORT(name, striped, descending)                                                                       \
    __device__ void name(Key(&keys)[N], int begin = 0, int end = all_bits) {                                           \
        Value none[N];                                                                                                 \
        sort<striped>(keys, none, begin, end, descending);                                                             \
    }                                                                                                                  \
    __device__ void name(Key(&keys)[N], Value(&values)[N], int begin = 0, int end = all_bits) {                        \
        sort<striped>(keys, values, begin, end, descending);                                                           \
    }
    __HIPCUB_SORT(Sort, false, false)
    __HIPCUB_SORT(SortDescending, false, true)
    __HIPCUB_SORT(SortBlockedToStriped, true, false)
    __HIPCUB_SORT(SortDescendingBlockedToStriped, true, true)
#undef __HIPCUB_SORT
};
#undef __HIPCUB_CONSTRUCTORS

} // namespace hipcub

#include "hipcub/device/whole_device.hpp"

#include "hip/device/pop_names.h"

#endif
